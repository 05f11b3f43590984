//! What the tests share: a served arena in a process of its own, and agents that answer as a test wants them to. What belongs
//! here: starting, waiting for conditions, stopping by id. What never does: an expectation of a particular test.

pub mod agent;
pub mod nats;
pub mod program;
pub mod proxy;
pub mod served;
pub mod shared;

pub use agent::{Agent, Reply, Seen};
pub use program::{Program, arena};
pub use served::{Registered, ServeOptions, Served};

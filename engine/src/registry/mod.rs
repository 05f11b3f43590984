//! The family registry: agents, the hashes of their secrets, where they are reached. A handle is for ever; every credential has
//! a generation, and a command of an older one is rejected.
//! All of it is in partition 0; the others know those of its agents that play with them as guests.

mod guests;
pub(crate) mod register;
pub(crate) mod rotate_credential;
pub(crate) mod set_endpoint;
mod snapshot;
mod state;

pub use guests::{Guest, Guests};
pub use register::AGENTS_MAX;
pub use state::{Agent, Credential, Registry};

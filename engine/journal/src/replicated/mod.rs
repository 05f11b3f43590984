//! A journal that several processes share: each follows it, one leads, gateways submit to whoever leads.
//!
//! What belongs here: who leads and until when, how a gateway's commands come to the leader and their outcomes back, the local
//! copy, the stream of public events. What never does: how records are stored (the journal's own room), what a command does (the
//! engine's).

mod lease;
mod leaving;
mod look;
mod mirror;
mod node;
mod publisher;
mod service;
mod space;
mod submitter;
mod wire;

pub use lease::{LEASE, MARGIN};
pub use look::{Leader, leader};
pub use node::{Asker, Node, NodeOptions, mirror_in};
#[cfg(test)]
pub(crate) use publisher::{Aligned, LocalCopy, Publisher, Row, Trouble};
pub use publisher::{Lag, Lagging};
pub use service::GATEWAY_LEASE;
#[cfg(test)]
pub(crate) use wire::{Reply, Request};

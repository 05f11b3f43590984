//! A journal that several processes share: each follows it, one leads, gateways submit to whoever leads.
//!
//! What belongs here: who leads and until when, how a gateway's commands come to the leader and their outcomes back, what leaders
//! of several partitions carry to each other, the local copy, the stream of public events. What never does: how records are
//! stored (the journal's own room), what a command does (the engine's).

mod asker;
mod backfill;
mod carrier;
mod following;
mod gateway;
mod keeper;
mod lease;
mod leaving;
mod look;
mod mirror;
mod node;
mod peers;
mod publisher;
mod service;
mod space;
mod submitter;
mod wire;

pub use asker::Asker;
pub use gateway::Gateway;
pub use lease::{LEASE, MARGIN};
pub use look::{Leader, leader};
pub use node::{Node, NodeOptions, mirror_in};
pub use peers::Peers;
#[cfg(test)]
pub(crate) use publisher::{Aligned, LocalCopy, Publisher, Row, Trouble};
pub use publisher::{Lag, Lagging};
pub use service::GATEWAY_LEASE;
#[cfg(test)]
pub(crate) use wire::{Reply, Request};

//! The journal on real NATS servers, and on connections that lose what was said.

mod contract;
#[path = "../../../../../tests/harness/proxy.rs"]
pub(super) mod proxy;
mod removal;
mod restart;
mod sequencer;
mod servers;
mod settings;
pub(super) mod setup;
mod space;
mod sweep;
mod tail;
mod unknown;
mod vault;

use setup::Bench;

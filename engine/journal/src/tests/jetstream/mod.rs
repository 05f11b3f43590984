//! The journal on real NATS servers, and on connections that lose what was said.

mod contract;
#[path = "../../../../../tests/harness/proxy.rs"]
mod proxy;
mod restart;
mod sequencer;
mod settings;
mod setup;
mod sweep;
mod tail;
mod unknown;

use setup::Bench;

//! The journal on real NATS servers, and on connections that lose what was said.

mod contract;
mod proxy;
mod setup;
mod unknown;

use setup::Bench;

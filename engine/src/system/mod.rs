//! The family system: leaders, gateways, rules, eras and lineages. Only the sequencer asks for any of it.

pub(crate) mod announce;
pub(crate) mod evolve;
pub(crate) mod gateway_gone;
pub(crate) mod history;
pub(crate) mod partitions;

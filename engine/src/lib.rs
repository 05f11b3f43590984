//! The law: records of commands in, events out, and the state that the events make.
//!
//! Invariants, all of them absences:
//! - No I/O, no clock, no randomness, no thread, no `async`, no logging, no float, no map whose order depends on a hash.
//!   Time and randomness come in records. `clippy.toml` bans what would break this, and the manifest names the schema alone.
//! - No text that anybody wrote: what stands in a record is a commitment, which the engine never opens.
//! - It does not fail. A command that may not happen yields [`Event::Rejected`]; only a record that is not this journal's next
//!   one, or that this build cannot reduce, is a [`Halt`].
//! - [`State`] is folded from events alone: [`evolve`] sees an event and nothing else.
//! - No family reads another's room: what they share (numbers, second keys, homes, the agenda, the outbox) has rooms of its own.

#![deny(
    clippy::float_arithmetic,
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::disallowed_macros
)]

mod agenda;
mod decide;
mod digest;
pub mod games;
mod homes;
pub mod matches;
mod outbox;
mod producers;
mod reduce;
pub mod registry;
mod rules;
mod second_keys;
pub mod sessions;
mod slots;
mod snapshot;
mod state;
mod system;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use arena_schema::Event;
pub use decide::{Context, decide, refusal};
pub use digest::{EventFrames, genesis_digest};
pub use homes::Homes;
pub use outbox::{Entry, GATEWAYS_WAITING_MAX, OPENINGS_WAITING_MAX, Outbox, PARTITIONS_MAX};
pub use producers::{PRODUCERS_LIVE_MAX, Producers, WINDOW};
pub use reduce::{DIGEST_LAG_MAX, Emitted, Halt, Reduction, reduce};
pub use rules::{RULES_NEWEST, RULES_PARTITIONS, RULES_SESSIONS};
pub use second_keys::{SECOND_KEY_HOURS, SECOND_KEYS_MAX};
pub use slots::Slots;
pub use snapshot::{SNAPSHOT_LAYOUT, SnapshotError};
pub use state::{Head, State, evolve};

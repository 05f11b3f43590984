//! What the engine does, told in scripts: one file a subject. Scripts and how they are printed: see [`crate::testing`].
//!
//! `UPDATE_EXPECT=1 cargo test -p arena-engine` writes what came in place of what was expected: read every line of the difference.

#![allow(clippy::needless_raw_string_hashes, reason = "expect-test writes them so")]

mod absent;
mod agenda;
mod halts;
mod homes;
mod matches;
mod noise;
mod oracle;
mod partitions;
mod producers;
mod registry;
mod second_keys;
mod sessions;
mod snapshots;
mod strikes;
mod system;

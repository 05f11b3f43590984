//! The doors: each protocol translated in and out, and the `arena` binary that puts everything together.
//!
//! Invariants:
//! - A gateway decides nothing that a replay would have to know: what came from outside (a nonce, a latency, a status) is put
//!   into a command as a fact, and the engine judges.
//! - Connections out are opened in [`egress`] and nowhere else.
//! - No token, link, secret or query string is in a log line.
//! - The state's lock is never held across an await.

pub mod agentarena;
pub(crate) mod agentwire;
pub mod api;
pub mod arena;
pub mod bench;
pub mod boards;
pub mod cli;
pub mod directory;
pub mod doctor;
pub mod door;
pub mod egress;
pub mod engine;
pub mod house;
pub mod idempotency;
mod metrics;
pub mod names;
pub mod parts;
mod place;
pub mod problem;
pub mod referee;
pub mod registration;
pub mod secrets;
pub mod server;
pub mod settings;
mod snapshots;
pub mod times;
pub mod web;

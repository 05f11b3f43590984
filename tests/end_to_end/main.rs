//! Whole matches over real HTTP, with a served arena in a process of its own.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agentwire;
mod cli;
mod closing;
mod conformance;
mod look;
mod pages;
mod practice;
mod ratings;
mod readme;
mod refusal;
mod strikes;
mod tls;
mod venue;
mod wire_client;

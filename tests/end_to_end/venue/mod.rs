//! The rules of the venue: who may register and play, and that nobody pays for another's slowness.

mod at_once;
mod challenges;
mod credentials;
mod endpoints;
mod errors;
mod names;
mod repeats;
mod turns;

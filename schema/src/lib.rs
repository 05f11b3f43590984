//! The words that everything in the arena is said in: ids, time, commands, events, rejections, records and their bytes.
//!
//! Invariants:
//! - No I/O, no clock, no randomness, no protocol of the outside world and no rule of play: a word here has bytes and a name,
//!   never a consequence.
//! - Every enum that reaches bytes has explicit codes, every body is decoded to its last byte, and no value on the wire is a
//!   float, a `usize` or a map without order.
//! - What is written here is frozen once released: a change is a new kind or a new version beside the old one. The golden
//!   files under `tests/golden` fail when a byte moves.
//! - No type here can hold what a person or an agent wrote, handles and model keys aside: such text is a [`TextRef`], a
//!   commitment and a size.
//! - What everybody may read (see [`public`]) is decided kind by kind, and shows neither such a commitment nor a hash of a secret.

pub mod codec;
pub mod command;
pub mod event;
mod family;
pub mod hash;
pub mod id;
mod moves;
pub mod public;
pub mod record;
mod rejection;
mod seat;
pub mod subject;
mod text;
mod time;

pub use command::Command;
pub use event::Event;
pub use family::Family;
pub use hash::Hash;
pub use moves::{MOVE_BYTES_MAX, Move};
pub use rejection::Rejection;
pub use seat::Seat;
pub use text::{Commitment, Committing, SecretHash, TEXT_BYTES_MAX, TextRef, TextSalt};
pub use time::{LogTime, micros_of_ms};

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod readme;

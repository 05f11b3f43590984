//! The public event stream's words: whom each kind of event is for, what everybody may read of it, and the id that it is resumed
//! after. What never belongs here: the stream itself, or how a fold finds the names (`arena_journal::PublicEvents`).
//!
//! The same events are published on `arena.event.…` (see [`crate::subject`]) and served at `/feed`. `README.md` of this crate
//! shows each of them.

mod audience;
mod event_id;
mod facts;
mod times;

pub use audience::{Audience, DECISIONS, Decision};
pub use event_id::EventId;
pub use facts::{AgentNamed, MatchNamed, Names, PublicEvent, Unnamed, public_event};
pub use times::rfc3339_ms;

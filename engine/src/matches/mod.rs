//! The family matches: one position, one turn for each seat that is to act, and the policy of the seat for those that fail.

pub(crate) mod abort;
mod close;
pub(crate) mod evolve;
mod faults;
pub(crate) mod open;
pub(crate) mod overdue;
mod policy;
pub(crate) mod record_strike;
pub(crate) mod return_match;
mod send;
mod snapshot;
mod state;
pub(crate) mod submit_move;
pub(crate) mod take;
pub(crate) mod turns;

pub use open::{DEADLINE_MS_MAX, DEADLINE_MS_MIN, MATCHES_OPEN_MAX, OPEN_PER_AGENT_MAX, OPEN_PER_PAIR_MAX};
pub use policy::{STRIKES_MAX, SeatPolicy};
pub use send::MATCHES_AWAY_MAX;
pub(crate) use state::TurnKey;
pub use state::{Away, Match, Matches, SeatState, Turn};
pub use turns::ANSWER_GRACE_MS;

//! The family sessions (agentwire.md): one log for each session, its participants, and how long it lasts. Entries are numbered without
//! gaps, and nothing of one stays here but the count. What never belongs here: a name or a payload, who is receiving just now
//! (presence is the gateways' own), or what the access service decides (a fact from the door).

pub(crate) mod acknowledge;
pub(crate) mod answer_deletion;
mod ask;
pub(crate) mod create;
pub(crate) mod evolve;
mod expiry;
pub(crate) mod join;
pub(crate) mod leave;
pub(crate) mod overdue;
pub(crate) mod rejoin;
pub(crate) mod send;
pub(crate) mod set_account;
mod snapshot;
mod state;
pub(crate) mod touch;

pub(crate) use ask::{home, rehome};
pub use create::SESSIONS_OPEN_MAX;
pub use expiry::{KEPT_FOR_S, SILENCE_FOR_S, UNJOINED_FOR_S, UNRECEIVED_FOR_S};
pub use join::PARTICIPANTS_MAX;
#[cfg(test)]
pub(crate) use state::Standing;
pub use state::{Left, Participant, Question, Session, Sessions};

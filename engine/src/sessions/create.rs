//! A session begins, empty. Whoever creates one has not joined it.

use crate::state::State;
use arena_schema::{
    Event, Rejection, command::sessions::CreateSession, event::sessions::SessionCreated, id::SessionKey,
};

/// How many sessions a partition has open at once.
pub const SESSIONS_OPEN_MAX: usize = 1 << 20;

pub(crate) fn decide(state: &State, command: &CreateSession, out: &mut Vec<Event>) -> Result<(), Rejection> {
    let CreateSession { id, address, owned } = *command;
    let sessions = &state.sessions;
    if id.partition() != state.partition {
        return Err(Rejection::WrongPartition);
    }
    if sessions.by_id(&id).is_some() {
        return Err(Rejection::SessionIdTaken);
    }
    if sessions.by_address(&address).is_some() {
        return Err(Rejection::SessionAddressTaken);
    }
    if sessions.open.len() >= SESSIONS_OPEN_MAX {
        return Err(Rejection::LimitReached);
    }
    let (slot, generation) = sessions.open.next_key();
    let session = SessionKey { slot, generation };
    out.push(SessionCreated { session, id, address, owned }.into());
    Ok(())
}

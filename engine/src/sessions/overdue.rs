//! Nobody joined a session for a day, or received in it for a week: it ends, or its service is asked, also once more where it kept
//! the session or did not answer.

use crate::{sessions::ask, state::State};
use arena_schema::{Event, id::SessionKey};

pub(crate) fn decide(state: &State, session: SessionKey, out: &mut Vec<Event>) {
    if let Some(held) = state.sessions.get(session) {
        ask::vacant(state, session, held, held.vacancy(), out);
    }
}

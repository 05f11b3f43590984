//! Asking the access service whether an owned session may be deleted: which gateway does it.

use crate::{homes, sessions::state::Session, state::State};
use arena_schema::{
    Event,
    event::sessions::{DeletionDue, SessionEnded, Vacancy},
    id::{ProducerId, SessionId, SessionKey},
};

/// The home of a session: among the live gateways the one that rendezvous on its id chooses.
pub(crate) fn home(state: &State, id: &SessionId) -> ProducerId {
    homes::rendezvous(&state.producers, &id.0, ProducerId::NONE)
}

/// What there is to do about a session that nobody is in, or in which nobody receives: it ends, or its service is asked.
pub(super) fn vacant(
    state: &State,
    session: SessionKey,
    held: &Session,
    because: Vacancy,
    out: &mut Vec<Event>,
) {
    let home = home(state, &held.id);
    if held.owned {
        out.push(question(session, held, home, because));
    } else {
        out.push(SessionEnded { session, id: held.id, because, home }.into());
    }
}

fn question(session: SessionKey, held: &Session, home: ProducerId, because: Vacancy) -> Event {
    let attempt = held.attempts.saturating_add(1);
    DeletionDue { session, id: held.id, home, attempt, because }.into()
}

/// Asks anew, as the next attempt, what a home that `leaves` was to ask, from the home that `arrives` says for the session.
pub(crate) fn rehome(
    state: &State,
    leaves: impl Fn(ProducerId) -> bool,
    arrives: impl Fn(&SessionId) -> ProducerId,
    out: &mut Vec<Event>,
) {
    for (session, held, asked) in state.sessions.questions() {
        if leaves(asked.home) {
            out.push(question(session, held, arrives(&held.id), held.vacancy()));
        }
    }
}

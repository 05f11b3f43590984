//! A participant leaves. The last one out ends the session; an owned one is asked about (agentwire.md, *Leave*, *Access*).

use crate::{sessions::ask, state::State};
use arena_schema::{
    Event, Rejection,
    command::sessions::LeaveSession,
    event::sessions::{SessionLeft, Vacancy},
};

pub(crate) fn decide(state: &State, command: &LeaveSession, out: &mut Vec<Event>) -> Result<(), Rejection> {
    let LeaveSession { session, participant } = *command;
    let held = state.sessions.get(session).ok_or(Rejection::SessionGone)?;
    let known = held.participant(participant).ok_or(Rejection::UnknownParticipant)?;
    if !known.is_in() {
        return Ok(());
    }
    out.push(SessionLeft { session, participant, n: held.entries + 1, account: known.account }.into());
    if held.present == 1 {
        ask::vacant(state, session, held, Vacancy::EveryoneLeft, out);
    }
    Ok(())
}

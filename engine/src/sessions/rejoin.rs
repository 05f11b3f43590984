//! A participant joins again: after leaving, under the same name and with its read position; while it is in nothing changes but what
//! it is vouched for by.

use crate::{sessions::set_account, state::State};
use arena_schema::{
    Event, Rejection,
    command::sessions::RejoinSession,
    event::sessions::{AccountSet, SessionRejoined},
};

pub(crate) fn decide(state: &State, command: &RejoinSession, out: &mut Vec<Event>) -> Result<(), Rejection> {
    let RejoinSession { session, participant, account, keeps_account } = *command;
    let held = state.sessions.get(session).ok_or(Rejection::SessionGone)?;
    let known = held.participant(participant).ok_or(Rejection::UnknownParticipant)?;
    let account = if keeps_account { known.account } else { set_account::after(known, account) };
    if !known.is_in() {
        out.push(SessionRejoined { session, participant, n: held.entries + 1, account }.into());
    } else if account != known.account {
        out.push(AccountSet { session, participant, account }.into());
    }
    Ok(())
}

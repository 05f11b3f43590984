//! Somebody joins under a name: a free one, or one of its account's own that it takes back (agentwire.md, *Access*; CHOICES-agentwire
//! 60 to 62). Taking back is one operation: the session is never empty in it, so it does not end.

use crate::{
    sessions::state::{Participant, Session},
    state::State,
};
use arena_schema::{
    Event, Rejection,
    command::sessions::JoinSession,
    event::sessions::{ParticipantReplaced, SessionJoined, SessionLeft},
};

/// How many participants a session has at once, those who left counted: their names stay taken.
pub const PARTICIPANTS_MAX: usize = 4_096;

pub(crate) fn decide(state: &State, command: &JoinSession, out: &mut Vec<Event>) -> Result<(), Rejection> {
    let JoinSession { session, name, name_text, secret, account, takes: _ } = *command;
    let held = state.sessions.get(session).ok_or(Rejection::SessionGone)?;
    if held.participant_by_secret(&secret).is_some() {
        return Err(Rejection::SessionSecretTaken);
    }
    let holder = held.by_name(&name);
    if holder.is_some_and(|(_, holder)| !may_take(command, holder)) {
        return Err(Rejection::SessionNameTaken);
    }
    let participant = next_number(held, holder.is_some())?;
    let mut n = held.entries;
    if let Some((replaced, holder)) = holder {
        if holder.is_in() {
            n += 1;
            out.push(SessionLeft { session, participant: replaced, n, account: holder.account }.into());
        }
        out.push(ParticipantReplaced { session, participant: replaced }.into());
    }
    n += 1;
    out.push(SessionJoined { session, participant, n, name, name_text, secret, account }.into());
    Ok(())
}

/// Whether the name's holder gives way: always to another account than its own, or where it had none; to its own where it is gone.
fn may_take(command: &JoinSession, holder: &Participant) -> bool {
    let (Some(takes), Some(account)) = (command.takes, command.account) else {
        return false;
    };
    let same = holder.account.is_some_and(|own| own.tag == account.tag);
    !same || !holder.is_in() || takes.gone.is_some()
}

/// The number that the next one gets.
fn next_number(held: &Session, replaces: bool) -> Result<u32, Rejection> {
    if !replaces && held.participants.len() >= PARTICIPANTS_MAX {
        return Err(Rejection::LimitReached);
    }
    held.numbered.checked_add(1).ok_or(Rejection::LimitReached)
}

//! A participant sends: one entry more. Of the entry itself nothing stays in the state.

use crate::state::State;
use arena_schema::{
    Event, Rejection, TextRef,
    command::sessions::{ENTRY_NAME_BYTES_MAX, PAYLOAD_BYTES_MAX, PAYLOAD_INLINE_BYTES_MAX, SendEntry},
    event::sessions::EntrySent,
};

pub(crate) fn decide(state: &State, command: &SendEntry, out: &mut Vec<Event>) -> Result<(), Rejection> {
    let SendEntry { session, participant, kind, payload, filename } = *command;
    let held = state.sessions.get(session).ok_or(Rejection::SessionGone)?;
    let sender = held.participant(participant).ok_or(Rejection::UnknownParticipant)?;
    if !sender.is_in() {
        return Err(Rejection::NotIn);
    }
    let fits = |name: &TextRef| (1..=ENTRY_NAME_BYTES_MAX).contains(&name.size);
    let is_object = payload.size > PAYLOAD_INLINE_BYTES_MAX;
    if payload.size > PAYLOAD_BYTES_MAX
        || payload.object.is_some() != is_object
        || !fits(&kind)
        || filename.is_some_and(|name| !fits(&name))
    {
        return Err(Rejection::InvalidEntry);
    }
    let (n, account) = (held.entries + 1, sender.account);
    out.push(EntrySent { session, participant, n, kind, payload, filename, account }.into());
    Ok(())
}

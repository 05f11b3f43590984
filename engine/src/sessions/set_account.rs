//! A participant is vouched for by another account than before, or by none (agentwire.md, *Access*; CHOICES-agentwire 56, 59).

use crate::{sessions::state::Participant, state::State};
use arena_schema::{
    Event, Rejection,
    command::sessions::{Account, SetAccount},
    event::sessions::AccountSet,
};

pub(crate) fn decide(state: &State, command: &SetAccount, out: &mut Vec<Event>) -> Result<(), Rejection> {
    let SetAccount { session, participant, account } = *command;
    let held = state.sessions.get(session).ok_or(Rejection::SessionGone)?;
    let known = held.participant(participant).ok_or(Rejection::UnknownParticipant)?;
    let account = after(known, account);
    if account != known.account {
        out.push(AccountSet { session, participant, account }.into());
    }
    Ok(())
}

/// The account as it is from here on. The same one stays as it was, though its text was committed to anew.
pub(super) fn after(known: &Participant, told: Option<Account>) -> Option<Account> {
    let same = |own: &Account| told.is_some_and(|told| told.tag == own.tag);
    known.account.filter(same).or(told)
}

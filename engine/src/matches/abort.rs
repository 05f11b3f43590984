//! A match ends unrated and without a winner.

use crate::{decide::Context, matches::close, state::State};
use arena_schema::{
    Event, Rejection,
    command::matches::AbortMatch,
    event::matches::{EndReason, MatchEnded},
};

pub(crate) fn decide(
    state: &State,
    context: &Context<'_>,
    command: &AbortMatch,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let open = state.matches.get(command.key).ok_or(Rejection::Gone)?;
    let ended = MatchEnded {
        key: command.key,
        winner: None,
        reason: EndReason::Void,
        accepted: context.accepted_after(&open.accepted),
    };
    close::decide(state, open, ended, out);
    Ok(())
}

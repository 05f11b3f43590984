//! Somebody receives, or received: the week counts anew. A receive that waits counts while its gateway lives (CHOICES, *expiry*).

use crate::{decide::Context, state::State};
use arena_schema::{Event, Rejection, command::sessions::TouchSession, event::sessions::SessionTouched};

pub(crate) fn decide(
    state: &State,
    context: &Context<'_>,
    command: &TouchSession,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let session = command.session;
    let held = state.sessions.get(session).ok_or(Rejection::SessionGone)?;
    let by = context.view.head.producer;
    let waiting = command.waiting && state.producers.is_live(by);
    // Nobody receives where nobody is in: this came late. And what waits already goes on waiting.
    if held.anyone_is_in() && !(waiting && held.waiting.contains(&by)) {
        out.push(SessionTouched { session, by, waiting }.into());
    }
    Ok(())
}

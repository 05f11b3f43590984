//! A gateway's process is gone: what it was to do is opened anew at another home, with the whole deadline, and nobody is struck.

use crate::{decide::Context, homes, matches, sessions, state::State};
use arena_schema::{Event, Rejection, command::system::GatewayGone, event::system::GatewayRemoved};

pub(crate) fn decide(
    state: &State,
    context: &Context<'_>,
    command: &GatewayGone,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let gone = state.producers.of(&command.incarnation).ok_or(Rejection::Expired)?;
    out.push(GatewayRemoved { producer: gone }.into());
    matches::turns::rehome(
        state,
        context.time,
        |home| home == gone,
        |agent| homes::rendezvous(&state.producers, &agent.0, gone),
        out,
    );
    sessions::rehome(
        state,
        |home| home == gone,
        |session| homes::rendezvous(&state.producers, &session.0, gone),
        out,
    );
    if state.is_first() {
        state.outbox.send_to_all(&command.clone().into(), out);
    }
    Ok(())
}

//! The door saw that no move came: what was wrong is its fact, what it costs is judged here.

use crate::{
    decide::Context,
    matches::{
        faults::{self, Fault},
        turns,
    },
    state::State,
};
use arena_schema::{Event, Rejection, command::matches::RecordStrike};

pub(crate) fn decide(
    state: &State,
    context: &Context<'_>,
    command: &RecordStrike,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let named = &command.turn;
    let (open, _) = turns::answered(state, context, named)?;
    let fault = Fault {
        cause: command.cause,
        status: command.status,
        mv: None,
        excerpt: command.excerpt,
        latency_ms: command.latency_ms,
        accepted: context.accepted_after(&open.accepted),
    };
    faults::decide(state, context.time, open, named.key, named.seat, fault, out);
    Ok(())
}

//! A turn that its door said nothing of until the grace was over: no answer came.

use crate::{
    matches::{
        faults::{self, Fault},
        state::TurnKey,
    },
    state::State,
};
use arena_schema::{Event, LogTime, command::matches::StrikeCause};

pub(crate) fn decide(state: &State, now: LogTime, turn: TurnKey, out: &mut Vec<Event>) {
    let Some(open) = state.matches.get(turn.key) else {
        return;
    };
    let fault = Fault {
        cause: StrikeCause::Timeout,
        status: None,
        mv: None,
        excerpt: None,
        latency_ms: open.deadline_ms,
        accepted: open.accepted,
    };
    faults::decide(state, now, open, turn.key, turn.seat, fault, out);
}

//! A turn that its door said nothing of until the grace was over: no answer came. Where no gateway was there to ask, the fault
//! is ours and nobody is struck: the turn is opened anew (CHOICES, *fault of ours*).

use crate::{
    matches::{
        faults::{self, Fault},
        state::TurnKey,
        turns::{self, Asked},
    },
    state::State,
};
use arena_schema::{Event, LogTime, command::matches::StrikeCause, id::ProducerId};

pub(crate) fn decide(state: &State, now: LogTime, turn: TurnKey, out: &mut Vec<Event>) {
    let Some(open) = state.matches.get(turn.key) else {
        return;
    };
    if let Some(unasked) = open.seat(turn.seat).turn.as_ref().filter(|asked| asked.home == ProducerId::NONE) {
        let home = turns::home(state, open, turn.seat);
        let attempt = open.attempts.saturating_add(1);
        out.push(Asked::of(open, turn.key, turn.seat).open(unasked.ply, attempt, home, now));
        return;
    }
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

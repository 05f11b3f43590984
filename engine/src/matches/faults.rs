//! A seat failed: one strike, and what its policy makes of it.

use crate::{
    matches::{
        close,
        policy::Consequence,
        state::Match,
        turns::{self, Asked},
    },
    state::State,
};
use arena_schema::{
    Event, Hash, LogTime, Move, Seat, TextRef,
    command::matches::StrikeCause,
    event::matches::{EndReason, MatchEnded, StrikeRecorded},
    id::MatchKey,
};

/// What went wrong, and what is known of it.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) cause: StrikeCause,
    pub(crate) status: Option<u16>,
    pub(crate) mv: Option<Move>,
    pub(crate) excerpt: Option<TextRef>,
    pub(crate) latency_ms: u32,
    pub(crate) accepted: Hash,
}

/// The strike, then the same position again or the end.
pub(crate) fn decide(
    state: &State,
    now: LogTime,
    open: &Match,
    key: MatchKey,
    seat: Seat,
    fault: Fault,
    out: &mut Vec<Event>,
) {
    let seated = open.seat(seat);
    let ply = seated.turn.as_ref().map_or(open.plies + 1, |turn| turn.ply);
    let strikes = seated.strikes.saturating_add(1);
    out.push(
        StrikeRecorded {
            key,
            seat,
            ply,
            cause: fault.cause,
            strikes,
            status: fault.status,
            mv: fault.mv,
            excerpt: fault.excerpt,
            latency_ms: fault.latency_ms,
            accepted: fault.accepted,
        }
        .into(),
    );
    match seated.policy.after(strikes) {
        Consequence::AskAgain => {
            let home = turns::home(state, open, seat);
            let attempt = open.attempts.saturating_add(1);
            out.push(Asked::of(open, key, seat).open(ply, attempt, home, now));
        }
        Consequence::Forfeit => {
            let (winner, reason) = (Some(seat.other()), EndReason::Forfeit);
            close::decide(state, open, MatchEnded { key, winner, reason, accepted: fault.accepted }, out);
        }
    }
}

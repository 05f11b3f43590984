//! A seat answered with a move of the game. Whether the move is legal now is judged here, by the position alone.

use crate::{
    decide::{Context, emit},
    games::Outcome,
    matches::{
        close,
        faults::{self, Fault},
        turns::{self, Asked},
    },
    state::State,
};
use arena_schema::{
    Event, Rejection,
    command::matches::{StrikeCause, SubmitMove},
    event::matches::{EndReason, MatchEnded, MovePlayed},
};

pub(crate) fn decide(
    state: &State,
    context: &Context<'_>,
    command: &SubmitMove,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let named = &command.turn;
    let (open, _) = turns::answered(state, context, named)?;
    let accepted = context.accepted_after(&open.accepted);
    let mut position = open.position.clone();
    if position.play(named.seat, &command.mv).is_err() {
        let fault = Fault {
            cause: StrikeCause::Illegal,
            status: None,
            mv: Some(command.mv),
            excerpt: command.excerpt.as_deref().copied(),
            latency_ms: command.latency_ms,
            accepted,
        };
        faults::decide(state, context.time, open, named.key, named.seat, fault, out);
        return Ok(());
    }
    emit(out, || MovePlayed {
        key: named.key,
        seat: named.seat,
        ply: named.ply,
        mv: command.mv,
        reason: command.reason,
        latency_ms: command.latency_ms,
        accepted,
    });
    if let Some(outcome) = position.outcome() {
        let (winner, reason) = match outcome {
            Outcome::Win(seat) => (Some(seat), EndReason::Win),
            Outcome::Draw => (None, EndReason::Draw),
        };
        close::decide(state, open, MatchEnded { key: named.key, winner, reason, accepted }, out);
        return Ok(());
    }
    let mut attempt = open.attempts;
    for seat in position.to_act().iter() {
        let asked_already = seat != named.seat && open.seat(seat).turn.is_some();
        if !asked_already {
            attempt = attempt.saturating_add(1);
            let home = turns::home(state, open, seat);
            let asked = Asked::of(open, named.key, seat);
            emit(out, || asked.open(open.plies + 2, attempt, home, context.time));
        }
    }
    Ok(())
}

//! Asking a seat: which gateway does it, until when, and the checks that an answer meets.

use crate::{
    decide::Context,
    matches::state::{Match, Turn},
    state::State,
};
use arena_schema::{
    Event, LogTime, Rejection, Seat,
    command::matches::TurnRef,
    event::matches::TurnOpened,
    id::{AgentId, MatchKey, ProducerId},
    micros_of_ms,
};

/// How long after a turn's deadline the agenda ends it, where its door said nothing (longer than a takeover).
pub const ANSWER_GRACE_MS: u32 = 15_000;

/// How long a turn may stay open: the deadline and the grace.
pub(crate) const fn span_us(deadline_ms: u32) -> u64 {
    micros_of_ms(deadline_ms) + micros_of_ms(ANSWER_GRACE_MS)
}

/// What asks a seat for its next decision.
pub(crate) fn open(
    key: MatchKey,
    seat: Seat,
    ply: u16,
    attempt: u32,
    home: ProducerId,
    deadline_ms: u32,
    now: LogTime,
) -> Event {
    let due = now.cut_to_ms().plus_us(span_us(deadline_ms));
    TurnOpened { key, seat, ply, attempt, home, due }.into()
}

/// The home of what opens now for the agent of this seat.
pub(crate) fn home(state: &State, open: &Match, seat: Seat) -> ProducerId {
    let agent = open.seat(seat).agent;
    match state.registry.agent(agent) {
        Some(known) => state.homes.choose(&state.producers, agent, &known.id),
        None => ProducerId::NONE,
    }
}

/// The match and the turn that an answer names, if it is that turn's and its gateway's.
pub(crate) fn answered<'a>(
    state: &'a State,
    context: &Context<'_>,
    named: &TurnRef,
) -> Result<(&'a Match, &'a Turn), Rejection> {
    let open = state.matches.get(named.key).ok_or(Rejection::Gone)?;
    let Some(turn) = open.seat(named.seat).turn.as_ref() else {
        return Err(if named.ply <= open.plies { Rejection::StalePly } else { Rejection::NotToAct });
    };
    if turn.ply != named.ply {
        return Err(Rejection::StalePly);
    }
    // No home and the sequencer are the same number: where nobody asks, nobody answers.
    let by_home = turn.home != ProducerId::NONE && turn.home == context.view.head.producer;
    if turn.attempt != named.attempt || !by_home {
        return Err(Rejection::StaleAttempt);
    }
    Ok((open, turn))
}

/// Opens anew, with the whole deadline, every turn whose home `leaves`, at the home that `arrives` says for its agent.
pub(crate) fn rehome(
    state: &State,
    now: LogTime,
    leaves: impl Fn(ProducerId) -> bool,
    arrives: impl Fn(&AgentId) -> ProducerId,
    out: &mut Vec<Event>,
) {
    for (slot, generation, open) in state.matches.open.iter() {
        let mut attempt = open.attempts;
        for &seat in Seat::ALL {
            let Some(turn) = open.seat(seat).turn.as_ref().filter(|turn| leaves(turn.home)) else {
                continue;
            };
            let home =
                state.registry.agent(open.seat(seat).agent).map_or(ProducerId::NONE, |a| arrives(&a.id));
            attempt = attempt.saturating_add(1);
            let key = MatchKey { slot, generation };
            out.push(self::open(key, seat, turn.ply, attempt, home, open.deadline_ms, now));
        }
    }
}

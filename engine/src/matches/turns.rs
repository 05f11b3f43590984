//! Asking a seat: which gateway does it, until when, and the checks that an answer meets.

use crate::{
    decide::Context,
    homes,
    matches::state::{Match, Turn},
    state::State,
};
use arena_schema::{
    Event, LogTime, Rejection, Seat,
    command::matches::TurnRef,
    event::matches::TurnOpened,
    id::{AgentId, AgentKey, MatchKey, ProducerId},
    micros_of_ms,
};

/// How long after a turn's deadline the agenda ends it, where the agent comes for its turns by itself and its door said nothing
/// (longer than a takeover).
pub const ANSWER_GRACE_MS: u32 = 15_000;

/// How long a turn may stay open: the deadline and the grace.
pub(crate) const fn span_us(deadline_ms: u32) -> u64 {
    micros_of_ms(deadline_ms) + micros_of_ms(ANSWER_GRACE_MS)
}

/// Whom a seat's next decision is asked of, and how long it may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) key: MatchKey,
    pub(crate) seat: Seat,
    pub(crate) deadline_ms: u32,
    /// See [`ConnectionMethod::is_pushed`](arena_schema::id::ConnectionMethod::is_pushed).
    pub(crate) pushed: bool,
}

impl Asked {
    /// A seat of an open match.
    pub(crate) fn of(open: &Match, key: MatchKey, seat: Seat) -> Self {
        Self { key, seat, deadline_ms: open.deadline_ms, pushed: open.seat(seat).pushed }
    }

    /// What asks for it now.
    pub(crate) fn open(self, ply: u16, attempt: u32, home: ProducerId, now: LogTime) -> Event {
        let due = (!self.pushed).then(|| now.cut_to_ms().plus_us(span_us(self.deadline_ms)));
        TurnOpened { key: self.key, seat: self.seat, ply, attempt, home, due }.into()
    }
}

/// The home of what opens now for the agent of this seat.
pub(crate) fn home(state: &State, open: &Match, seat: Seat) -> ProducerId {
    let agent = open.seat(seat).agent;
    if let Some(guest) = state.guests.get(agent) {
        let kept = state.guests.home(&state.producers, agent);
        return kept.unwrap_or_else(|| homes::rendezvous(&state.producers, &guest.id.0, ProducerId::NONE));
    }
    // Nearly always it keeps its home, and its row need not be looked at.
    state.homes.kept(&state.producers, agent).unwrap_or_else(|| match state.registry.agent(agent) {
        Some(known) => homes::rendezvous(&state.producers, &known.id.0, ProducerId::NONE),
        None => ProducerId::NONE,
    })
}

/// The external id of whoever sits there.
fn id_of(state: &State, agent: AgentKey) -> Option<&AgentId> {
    let guest = state.guests.get(agent).map(|guest| &guest.id);
    guest.or_else(|| state.registry.agent(agent).map(|known| &known.id))
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
            let home = id_of(state, open.seat(seat).agent).map_or(ProducerId::NONE, &arrives);
            attempt = attempt.saturating_add(1);
            let key = MatchKey { slot, generation };
            out.push(Asked::of(open, key, seat).open(turn.ply, attempt, home, now));
        }
    }
}

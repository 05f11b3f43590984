//! What the family's events do to its room, the agenda and the homes.

use crate::{
    agenda::{Agenda, Clock, Due},
    games::Position,
    homes,
    matches::{
        policy::SeatPolicy,
        state::{Away, Match, SeatState, Turn, TurnKey, pair},
        turns,
    },
    state::State,
};
use arena_schema::{
    event::matches::{
        MatchEnded, MatchOpened, MatchReturned, MatchSent, MovePlayed, StrikeRecorded, TurnOpened,
    },
    id::AgentKey,
};

pub(crate) fn opened(state: &mut State, event: &MatchOpened) {
    let Some(position) = Position::start(event.game.0, &event.seed.0) else {
        return;
    };
    let seats = event.seats.map(|agent| {
        let known = match state.guests.get(agent) {
            Some(guest) => Some((guest.protocol, guest.method)),
            None => state.registry.agent(agent).map(|known| (known.protocol, known.method)),
        };
        let policy = known.and_then(|(protocol, _)| SeatPolicy::of(protocol, event.game));
        SeatState {
            agent,
            policy: policy.unwrap_or(SeatPolicy::Strikes),
            pushed: known.is_none_or(|(_, method)| method.is_pushed()),
            strikes: 0,
            turn: None,
        }
    });
    let matches = &mut state.matches;
    matches.open.insert(Match {
        id: event.id,
        rated: event.rated,
        deadline_ms: event.deadline_ms,
        seed: event.seed,
        plies: 0,
        seats,
        position,
        attempts: 0,
        accepted: event.accepted,
    });
    matches.ids.insert(event.id, event.key);
    let [one, other] = event.seats;
    count(state, one, other, true);
}

pub(crate) fn sent(state: &mut State, event: &MatchSent) {
    let [one, other] = event.seats;
    state.matches.away.insert(event.id, Away { seats: event.seats });
    count(state, one, other, true);
}

pub(crate) fn returned(state: &mut State, event: &MatchReturned) {
    if let Some(Away { seats: [one, other] }) = state.matches.away.remove(&event.id) {
        count(state, one, other, false);
    }
}

/// Counts an open match of two agents in, or out. Guests are counted where they are agents.
fn count(state: &mut State, one: AgentKey, other: AgentKey, opens: bool) {
    if state.guests.count(one, opens) & state.guests.count(other, opens) {
        return;
    }
    for agent in [one, other] {
        if opens {
            homes::enter(state, agent);
        } else {
            state.homes.leave(agent);
        }
        let matches = &mut state.matches;
        let at = agent.slot as usize;
        if matches.of_agent.len() <= at {
            matches.of_agent.resize(at + 1, 0);
        }
        let of_agent = &mut matches.of_agent[at];
        *of_agent = if opens { *of_agent + 1 } else { of_agent.saturating_sub(1) };
    }
    let matches = &mut state.matches;
    let of_pair = matches.of_pair.entry(pair(one, other)).or_default();
    *of_pair = if opens { *of_pair + 1 } else { of_pair.saturating_sub(1) };
    if *of_pair == 0 {
        matches.of_pair.remove(&pair(one, other));
    }
}

pub(crate) fn turn_opened(state: &mut State, event: &TurnOpened) {
    let Some(open) = state.matches.open.get_mut(event.key.slot, event.key.generation) else {
        return;
    };
    close_turn(&mut state.agenda, &mut open.seats[event.seat.index()]);
    let due = Due::Turn(TurnKey { key: event.key, seat: event.seat });
    let span_us = turns::span_us(open.deadline_ms);
    let entry = event.due.map(|at| state.agenda.schedule(Clock::Ours, span_us, at, due));
    open.attempts = event.attempt;
    let seat = &mut open.seats[event.seat.index()];
    seat.turn = Some(Turn { ply: event.ply, attempt: event.attempt, home: event.home, entry });
    match state.guests.get(seat.agent) {
        Some(_) => state.guests.settle(seat.agent, event.home),
        None => state.homes.settle(seat.agent, event.home),
    }
}

pub(crate) fn move_played(state: &mut State, event: &MovePlayed) {
    let Some(open) = state.matches.open.get_mut(event.key.slot, event.key.generation) else {
        return;
    };
    close_turn(&mut state.agenda, &mut open.seats[event.seat.index()]);
    let played = open.position.play(event.seat, &event.mv);
    debug_assert!(played.is_ok(), "a move that was decided is legal");
    open.plies += 1;
    open.accepted = event.accepted;
}

pub(crate) fn strike_recorded(state: &mut State, event: &StrikeRecorded) {
    if let Some(open) = state.matches.open.get_mut(event.key.slot, event.key.generation) {
        close_turn(&mut state.agenda, &mut open.seats[event.seat.index()]);
        open.seats[event.seat.index()].strikes = event.strikes;
        open.accepted = event.accepted;
    }
}

pub(crate) fn ended(state: &mut State, event: &MatchEnded) {
    if let Some(mut open) = state.matches.open.remove(event.key.slot, event.key.generation) {
        open.seats.iter_mut().for_each(|seat| close_turn(&mut state.agenda, seat));
        state.matches.ids.remove(&open.id);
        count(state, open.seats[0].agent, open.seats[1].agent, false);
    }
}

/// Nobody is asked any more.
fn close_turn(agenda: &mut Agenda, seat: &mut SeatState) {
    if let Some(entry) = seat.turn.take().and_then(|turn| turn.entry) {
        agenda.cancel(entry);
    }
}

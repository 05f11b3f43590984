//! A match is over, however that came. One that partition 0 sent is told of there.

use crate::{matches::state::Match, state::State};
use arena_schema::{
    Command, Event,
    command::matches::ReturnMatch,
    event::{
        matches::{MatchEnded, MatchResult},
        registry::GuestLeft,
    },
    id::{MatchId, Partition},
};

pub(crate) fn decide(state: &State, open: &Match, ended: MatchEnded, out: &mut Vec<Event>) {
    let result = MatchResult { winner: ended.winner, reason: ended.reason };
    out.push(ended.into());
    let [one, other] = &open.seats;
    if state.guests.get(one.agent).is_none() {
        return;
    }
    for agent in [one.agent, other.agent] {
        if state.guests.leaves_next(agent) {
            out.push(GuestLeft { agent }.into());
        }
    }
    give_back(state, open.id, Some(result), out);
}

/// Tells partition 0 that a match of its own is over, and how it ended, if it began.
pub(crate) fn give_back(state: &State, id: MatchId, result: Option<MatchResult>, out: &mut Vec<Event>) {
    let command: Command = ReturnMatch { id, result }.into();
    state.outbox.send(Partition(0), std::iter::once(command), out);
}

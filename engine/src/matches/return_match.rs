//! A match that was sent to another partition is over there: it counts as open no more. One that is not known is nothing to do.

use crate::state::State;
use arena_schema::{Event, command::matches::ReturnMatch, event::matches::MatchReturned, id::Partition};

pub(crate) fn decide(state: &State, from: Partition, command: &ReturnMatch, out: &mut Vec<Event>) {
    if command.id.partition() == from && state.matches.away.contains_key(&command.id) {
        out.push(MatchReturned { id: command.id, result: command.result }.into());
    }
}

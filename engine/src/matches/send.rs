//! Two agents sit down in another partition: all was checked that is checked for a match that is played here.

use crate::{outbox::OPENINGS_WAITING_MAX, state::State};
use arena_schema::{
    Command, Event, Rejection,
    command::matches::{Guest, OpenMatch, TakeMatch},
    event::matches::MatchSent,
    id::AgentKey,
};

/// How many matches partition 0 has open in others at once.
pub const MATCHES_AWAY_MAX: usize = 1 << 20;

pub(crate) fn decide(
    state: &State,
    command: &OpenMatch,
    seats: [AgentKey; 2],
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let to = command.id.partition();
    if !state.outbox.knows(to) {
        return Err(Rejection::UnknownPartition);
    }
    if state.matches.away.len() >= MATCHES_AWAY_MAX {
        return Err(Rejection::LimitReached);
    }
    if state.outbox.waiting_count(to) >= OPENINGS_WAITING_MAX {
        return Err(Rejection::OutboxFull);
    }
    let [one, other] = seats.map(|agent| guest(state, agent));
    let take = TakeMatch {
        id: command.id,
        game: command.game,
        seats: [one?, other?],
        rated: command.rated,
        deadline_ms: command.deadline_ms,
        seed: command.seed,
    };
    out.push(MatchSent { id: command.id, game: command.game, seats, rated: command.rated }.into());
    state.outbox.send(to, std::iter::once(Command::from(take)), out);
    Ok(())
}

/// The agent as the other side has to know it.
fn guest(state: &State, agent: AgentKey) -> Result<Guest, Rejection> {
    let known = state.registry.agent(agent).ok_or(Rejection::UnknownAgent)?;
    let home = state.homes.choose(&state.producers, agent, &known.id);
    Ok(Guest {
        agent,
        id: known.id,
        handle: known.handle.clone(),
        protocol: known.protocol,
        method: known.method,
        home: state.producers.incarnation(home),
    })
}

//! Two agents sit down.

use crate::{
    decide::Context,
    games::Position,
    matches::{policy::SeatPolicy, send, turns::Asked},
    registry::Agent,
    rules::RULES_PARTITIONS,
    state::State,
};
use arena_schema::{
    Event, Hash, Rejection,
    command::matches::{First, OpenMatch},
    event::matches::MatchOpened,
    id::{AgentKey, ChallengePolicy, MatchKey, Protocol},
};

/// The shortest deadline of a match (SURFACE: `deadline_ms` 500 to 60000).
pub const DEADLINE_MS_MIN: u32 = 500;
/// The longest.
pub const DEADLINE_MS_MAX: u32 = 60_000;
/// How many matches a partition has open at once.
pub const MATCHES_OPEN_MAX: usize = 1 << 20;
/// How many matches a pair has open at once; house agents count nowhere.
pub const OPEN_PER_PAIR_MAX: u32 = 3;
/// How many matches an agent has open at once; house agents count nowhere.
pub const OPEN_PER_AGENT_MAX: u32 = 16;

pub(crate) fn decide(
    state: &State,
    context: &Context<'_>,
    command: &OpenMatch,
    out: &mut Vec<Event>,
) -> Result<(), Rejection> {
    let [challenger, opponent] = command.players;
    if challenger == opponent {
        return Err(Rejection::SelfMatch);
    }
    let one = state.registry.agent(challenger).ok_or(Rejection::UnknownAgent)?;
    let other = state.registry.agent(opponent).ok_or(Rejection::UnknownAgent)?;
    let position = Position::start(command.game.0, &command.seed.0).ok_or(Rejection::UnknownGame)?;
    for agent in [one, other] {
        SeatPolicy::of(agent.protocol, command.game).ok_or(Rejection::GameNotPlayed)?;
    }
    if !(DEADLINE_MS_MIN..=DEADLINE_MS_MAX).contains(&command.deadline_ms) {
        return Err(Rejection::DeadlineOutOfRange);
    }
    if command.rated && [one, other].iter().any(|agent| agent.protocol == Protocol::House) {
        return Err(Rejection::HouseUnrated);
    }
    if command.rated && command.first != First::BySeed {
        return Err(Rejection::FirstIsRated);
    }
    if other.challenges == ChallengePolicy::None {
        return Err(Rejection::ChallengesClosed);
    }
    caps(state, (challenger, one), (opponent, other))?;
    if state.matches.by_id(&command.id).is_some() || state.matches.away.contains_key(&command.id) {
        return Err(Rejection::MatchIdTaken);
    }

    let swapped = match command.first {
        First::Challenger => false,
        First::Opponent => true,
        First::BySeed => command.seed.0[0] & 1 == 1,
        _ => return Err(Rejection::Malformed),
    };
    let seats = if swapped { [opponent, challenger] } else { [challenger, opponent] };
    if state.rules >= RULES_PARTITIONS && command.id.partition() != state.partition {
        return send::decide(state, command, seats, out);
    }
    let (slot, generation) = state.matches.open.next_key();
    let key = MatchKey { slot, generation };
    out.push(
        MatchOpened {
            key,
            id: command.id,
            game: command.game,
            seats,
            rated: command.rated,
            deadline_ms: command.deadline_ms,
            seed: command.seed,
            accepted: context.accepted_after(&Hash::ZERO),
        }
        .into(),
    );
    for (seat, attempt) in position.to_act().iter().zip(1..) {
        let agent = seats[seat.index()];
        let known = if agent == challenger { one } else { other };
        let home = state.homes.choose(&state.producers, agent, &known.id);
        let asked = Asked { key, seat, deadline_ms: command.deadline_ms, pushed: known.method.is_pushed() };
        out.push(asked.open(1, attempt, home, context.time));
    }
    Ok(())
}

fn caps(state: &State, one: (AgentKey, &Agent), other: (AgentKey, &Agent)) -> Result<(), Rejection> {
    let housed = |agent: &Agent| agent.protocol == Protocol::House;
    for (key, agent) in [one, other] {
        if !housed(agent) && state.matches.open_of(key) >= OPEN_PER_AGENT_MAX {
            return Err(Rejection::AgentLimit);
        }
    }
    let of_pair = state.matches.open_between(one.0, other.0);
    if !housed(one.1) && !housed(other.1) && of_pair >= OPEN_PER_PAIR_MAX {
        return Err(Rejection::PairLimit);
    }
    if state.matches.open.len() >= MATCHES_OPEN_MAX {
        return Err(Rejection::LimitReached);
    }
    Ok(())
}

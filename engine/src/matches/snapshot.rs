//! The open matches in a snapshot, by their places. What counts them and finds them by their ids is made anew; where a turn
//! stands on the agenda is the agenda's to say.

use super::{
    policy::SeatPolicy,
    state::{Away, Match, Matches, SeatState, Turn, pair},
};
use crate::{
    agenda::Claims,
    games::Position,
    registry::{Guests, Registry},
    slots::Slots,
    snapshot::Misfit,
};
use arena_schema::{
    Seat,
    codec::{Values, encode},
    id::{AgentKey, MatchKey},
};
use std::collections::BTreeMap;

const AWAY_BYTES_MIN: usize = 21;

impl Matches {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let Self { open, ids: _, away, of_agent: _, of_pair: _ } = self;
        let mut position_bytes = Vec::new();
        open.encode(out, |open, out| {
            let Match { id, rated, deadline_ms, seed, plies, seats, position, attempts, accepted } = open;
            encode(&(id, rated, deadline_ms, seed, plies, attempts, accepted), out);
            position_bytes.clear();
            position.encode(&mut position_bytes);
            encode(&(position.game().as_u16(), &position_bytes), out);
            for SeatState { agent, policy, pushed, strikes, turn } in seats {
                encode(&(agent, policy.code(), pushed, strikes, turn.is_some()), out);
                if let Some(Turn { ply, attempt, home, entry }) = turn {
                    encode(&(ply, attempt, home, entry.is_some()), out);
                }
            }
        });
        encode(&(away.len() as u32), out);
        for (id, Away { seats }) in away {
            encode(&(id, seats), out);
        }
    }

    pub(crate) fn decode(
        values: &mut Values<'_>,
        claims: &mut Claims,
        registry: &Registry,
        guests: &mut Guests,
    ) -> Result<Self, Misfit> {
        let open = Slots::decode(values, |slot, generation, values| {
            let key = MatchKey { slot, generation };
            let (id, rated, deadline_ms, seed, plies, attempts, accepted) = values.take()?;
            let (game, bytes): (u16, &[u8]) = values.take()?;
            let position = Position::decode(game, bytes).ok_or(Misfit("a position is none of its game"))?;
            let first = SeatState::decode(values, claims, (key, Seat::First), (registry, guests))?;
            let second = SeatState::decode(values, claims, (key, Seat::Second), (registry, guests))?;
            let seats = [first, second];
            Ok(Match { id, rated, deadline_ms, seed, plies, seats, position, attempts, accepted })
        })?;
        let mut away = BTreeMap::new();
        for _ in 0..values.count(AWAY_BYTES_MIN)? {
            let (id, seats): (_, [AgentKey; 2]) = values.take()?;
            if seats.iter().any(|agent| registry.agent(*agent).is_none()) {
                return Err(Misfit("nobody sits at a match that is elsewhere"));
            }
            if away.insert(id, Away { seats }).is_some() {
                return Err(Misfit("a match is elsewhere twice"));
            }
        }
        let (mut ids, mut of_agent, mut of_pair) = (BTreeMap::new(), Vec::new(), BTreeMap::new());
        let mut count = |[one, other]: [AgentKey; 2]| {
            for agent in [one, other] {
                let at = agent.slot as usize;
                if of_agent.len() <= at {
                    of_agent.resize(at + 1, 0);
                }
                of_agent[at] += 1;
            }
            *of_pair.entry(pair(one, other)).or_default() += 1;
        };
        for away in away.values() {
            count(away.seats);
        }
        for (slot, generation, open) in open.iter() {
            if ids.insert(open.id, MatchKey { slot, generation }).is_some() {
                return Err(Misfit("two matches have one id"));
            }
            let seats = [open.seats[0].agent, open.seats[1].agent];
            match seats.map(|agent| guests.count(agent, true)) {
                [true, true] => {}
                [false, false] => count(seats),
                _ => return Err(Misfit("a guest plays against one who is none")),
            }
        }
        Ok(Self { open, ids, away, of_agent, of_pair })
    }
}

impl SeatState {
    fn decode(
        values: &mut Values<'_>,
        claims: &mut Claims,
        (key, seat): (MatchKey, Seat),
        (registry, guests): (&Registry, &Guests),
    ) -> Result<Self, Misfit> {
        let (agent, policy, pushed, strikes, asked) = values.take()?;
        // Whoever sits there is known, which also bounds what is counted by its place.
        if guests.get(agent).is_none() && registry.agent(agent).is_none() {
            return Err(Misfit("nobody sits at a match"));
        }
        let policy = SeatPolicy::from_code(policy).ok_or(Misfit("a seat has no such policy"))?;
        let turn = if asked {
            let (ply, attempt, home, due): (_, _, _, bool) = values.take()?;
            let entry = claims.turn(key, seat);
            if entry.is_some() != due {
                return Err(Misfit("a turn and the agenda part"));
            }
            Some(Turn { ply, attempt, home, entry })
        } else {
            None
        };
        Ok(Self { agent, policy, pushed, strikes, turn })
    }
}

impl SeatPolicy {
    const fn code(self) -> u8 {
        match self {
            Self::Strikes => 1,
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Strikes),
            _ => None,
        }
    }
}

//! One request at a time per agent, over all its matches (AA-053): each agent has a lane, a house agent one for each match.
//! A lane that waits for a slow agent holds up nothing but itself.

use super::Due;
use crate::parts::{Parts, protocol_in};
use arena_schema::id::{AgentKey, MatchKey, Partition, Protocol};
use std::collections::{HashMap, VecDeque};

/// How many agents are asked at once over connections.
pub(super) const EXCHANGES_MAX: usize = 8_192;
/// How many house agents' choices are under way or waiting for a thread of the pool.
pub(super) const HOUSE_CHOICES_MAX: usize = 1_024;

/// Whose turns come one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// An agent that we ask over a connection.
    Agent(AgentKey),
    /// A house agent in one match; in others it thinks at the same time.
    House(Partition, MatchKey),
}

/// The lane of a turn that is open; none where it is open no more.
pub(super) fn lane_of(parts: &Parts, due: &Due) -> Option<Lane> {
    let Due { partition, turn } = due;
    let state = parts.get(*partition)?.handle.state();
    let agent = state.matches().get(turn.key)?.seat(turn.seat).agent;
    let housed = protocol_in(&state, agent)? == Protocol::House;
    Some(if housed { Lane::House(*partition, turn.key) } else { Lane::Agent(agent) })
}

/// All lanes with anything in them.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    /// What waits behind the turn that is under way.
    busy: HashMap<Lane, VecDeque<Due>>,
    ready_agents: VecDeque<(Lane, Due)>,
    ready_house: VecDeque<(Lane, Due)>,
    agents_asked: usize,
    house_asked: usize,
}

impl Lanes {
    /// Puts a turn behind those of its lane.
    pub(super) fn put(&mut self, lane: Lane, turn: Due) {
        match self.busy.get_mut(&lane) {
            Some(waiting) => waiting.push_back(turn),
            None => {
                self.busy.insert(lane, VecDeque::new());
                self.ready(lane, turn);
            }
        }
    }

    fn ready(&mut self, lane: Lane, turn: Due) {
        match lane {
            Lane::Agent(_) => self.ready_agents.push_back((lane, turn)),
            Lane::House(..) => self.ready_house.push_back((lane, turn)),
        }
    }

    /// The next turn to be asked, while there is room for one.
    pub(super) fn next(&mut self) -> Option<(Lane, Due)> {
        if self.agents_asked < EXCHANGES_MAX
            && let Some(next) = self.ready_agents.pop_front()
        {
            self.agents_asked += 1;
            return Some(next);
        }
        if self.house_asked < HOUSE_CHOICES_MAX
            && let Some(next) = self.ready_house.pop_front()
        {
            self.house_asked += 1;
            return Some(next);
        }
        None
    }

    /// A lane's turn was answered, or nobody answered it.
    pub(super) fn done(&mut self, lane: Lane) {
        let asked = match lane {
            Lane::Agent(_) => &mut self.agents_asked,
            Lane::House(..) => &mut self.house_asked,
        };
        *asked = asked.saturating_sub(1);
        match self.busy.get_mut(&lane).and_then(VecDeque::pop_front) {
            Some(turn) => self.ready(lane, turn),
            None => {
                self.busy.remove(&lane);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arena_schema::{Seat, command::matches::TurnRef};

    fn turn(slot: u32) -> Due {
        let key = MatchKey { slot, generation: 1 };
        Due { partition: Partition(0), turn: TurnRef { key, seat: Seat::First, ply: 1, attempt: 1 } }
    }

    #[test]
    fn an_agent_has_one_turn_under_way_and_the_others_follow_in_order() {
        let mut lanes = Lanes::default();
        let slow = Lane::Agent(AgentKey { slot: 1, generation: 1 });
        let quick = Lane::Agent(AgentKey { slot: 2, generation: 1 });
        lanes.put(slow, turn(1));
        lanes.put(slow, turn(2));
        lanes.put(quick, turn(3));
        assert_eq!(lanes.next(), Some((slow, turn(1))));
        assert_eq!(lanes.next(), Some((quick, turn(3))));
        assert_eq!(lanes.next(), None);
        lanes.done(quick);
        assert_eq!(lanes.next(), None, "the slow one holds up itself alone");
        lanes.done(slow);
        assert_eq!(lanes.next(), Some((slow, turn(2))));
        lanes.done(slow);
        assert!(lanes.busy.is_empty() && lanes.agents_asked == 0);
    }

    #[test]
    fn no_more_are_asked_at_once_than_there_is_room_for_and_the_house_has_its_own() {
        let mut lanes = Lanes::default();
        for slot in 0..EXCHANGES_MAX as u32 + 10 {
            lanes.put(Lane::Agent(AgentKey { slot, generation: 1 }), turn(slot));
        }
        lanes.put(Lane::House(Partition(0), MatchKey { slot: 0, generation: 1 }), turn(0));
        let under_way = std::iter::from_fn(|| lanes.next()).count();
        assert_eq!(under_way, EXCHANGES_MAX + 1);
        lanes.done(Lane::Agent(AgentKey { slot: 0, generation: 1 }));
        assert_eq!(std::iter::from_fn(|| lanes.next()).count(), 1);
    }
}

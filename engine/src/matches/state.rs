//! What is being played, as the family's events made it.

use crate::{agenda::Entry, games::Position, matches::policy::SeatPolicy, slots::Slots};
use arena_schema::{
    Hash, Seat,
    id::{AgentKey, MatchId, MatchKey, ProducerId, Seed},
};
use std::collections::BTreeMap;

/// A turn as the agenda names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TurnKey {
    pub(crate) key: MatchKey,
    pub(crate) seat: Seat,
}

/// One asking of one seat that has no answer yet.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The ply to be made, from 1.
    pub ply: u16,
    /// Which asking of the match it is, from 1.
    pub attempt: u32,
    /// Who asks.
    pub home: ProducerId,
    /// On the agenda, where the journal's time ends it.
    pub(crate) entry: Option<Entry>,
}

/// Who sits there, and how it stands with them.
#[derive(Debug, Clone)]
pub struct SeatState {
    /// The agent.
    pub agent: AgentKey,
    /// What a failed answer costs.
    pub policy: SeatPolicy,
    /// Whether we carry its requests to it.
    pub pushed: bool,
    /// Strikes in this match.
    pub strikes: u8,
    /// What it is asked now.
    pub turn: Option<Turn>,
}

/// An open match.
#[derive(Debug, Clone)]
pub struct Match {
    /// Its external id.
    pub id: MatchId,
    /// Whether it counts.
    pub rated: bool,
    /// How long a seat has for an answer.
    pub deadline_ms: u32,
    /// Its randomness.
    pub seed: Seed,
    /// Plies made so far.
    pub plies: u16,
    /// The seats, the first mover first.
    pub seats: [SeatState; 2],
    pub(crate) position: Position,
    pub(crate) attempts: u32,
    pub(crate) accepted: Hash,
}

impl Match {
    /// The position as it stands.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// How a seat stands.
    pub fn seat(&self, seat: Seat) -> &SeatState {
        &self.seats[seat.index()]
    }

    /// The seat of an agent.
    pub fn seat_of(&self, agent: AgentKey) -> Option<Seat> {
        Seat::ALL.iter().copied().find(|seat| self.seat(*seat).agent == agent)
    }
}

/// A match of partition 0's agents that is played, or on its way to be, in the partition that its id names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Away {
    /// The agents of the first and the second seat.
    pub seats: [AgentKey; 2],
}

/// The room of the matches.
#[derive(Debug, Clone, Default)]
pub struct Matches {
    pub(crate) open: Slots<Match>,
    pub(crate) ids: BTreeMap<MatchId, MatchKey>,
    /// Those in other partitions, by id.
    pub(crate) away: BTreeMap<MatchId, Away>,
    /// Open matches of each agent, by its slot, those in other partitions too. Guests are not counted.
    pub(crate) of_agent: Vec<u32>,
    /// Open matches of each pair, the lower slot first, as above.
    pub(crate) of_pair: BTreeMap<(u32, u32), u32>,
}

impl Matches {
    /// All open matches.
    pub fn open(&self) -> &Slots<Match> {
        &self.open
    }

    /// The open match under this key.
    pub fn get(&self, key: MatchKey) -> Option<&Match> {
        self.open.get(key.slot, key.generation)
    }

    /// The open match with this external id.
    pub fn by_id(&self, id: &MatchId) -> Option<(MatchKey, &Match)> {
        let &key = self.ids.get(id)?;
        self.get(key).map(|open| (key, open))
    }

    /// The matches that were sent to other partitions and are not known to be over.
    pub fn away(&self) -> &BTreeMap<MatchId, Away> {
        &self.away
    }

    /// How many matches this agent has open, in all partitions.
    pub fn open_of(&self, agent: AgentKey) -> u32 {
        self.of_agent.get(agent.slot as usize).copied().unwrap_or_default()
    }

    /// How many matches these two have open against each other.
    pub fn open_between(&self, one: AgentKey, other: AgentKey) -> u32 {
        self.of_pair.get(&pair(one, other)).copied().unwrap_or_default()
    }
}

/// A pair in one order, whoever is named first.
pub(crate) fn pair(one: AgentKey, other: AgentKey) -> (u32, u32) {
    (one.slot.min(other.slot), one.slot.max(other.slot))
}

//! The public event stream as a fold over the records. What belongs here: the names that events need (which agent a key is, which
//! match) and where an event stands. What never does: how an event looks (`arena_schema::public`), or where it is published.
//!
//! The fold keeps its own small tables, so that it holds no lock of the state and a match has its name also in the event that
//! frees its place. It begins behind any record, given the state of that record, and comes to the same bytes from there.

use arena_engine::{Emitted, State, games};
use arena_schema::{
    Event, Move,
    event::matches::MatchOpened,
    id::{AgentKey, ChallengePolicy, GameCode, Handle, MatchKey, Partition, Protocol, RecordNumber},
    public::{AgentNamed, EventId, MatchNamed, Names, PublicEvent, Unnamed, public_event},
    record::Header,
};
use std::collections::HashMap;

/// Why the fold takes no record any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublicError {
    /// Another record than the next one of this journal.
    #[error("record {expected} of partition {} was expected, record {found} of partition {} came", partition.0, of.0)]
    Gap {
        /// The next one.
        expected: RecordNumber,
        /// Its partition.
        partition: Partition,
        /// What came.
        found: RecordNumber,
        /// Its partition.
        of: Partition,
    },
    /// An event speaks of what the tables do not have.
    #[error(transparent)]
    Unnamed(#[from] Unnamed),
}

/// Turns reduced records into the events that everybody may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicEvents {
    partition: Partition,
    next: RecordNumber,
    tables: Tables,
}

impl PublicEvents {
    /// A fold that begins behind the last record of `state`: with the first record where it has none.
    pub fn after(state: &State) -> Self {
        Self { partition: state.partition(), next: state.head().number.next(), tables: Tables::of(state) }
    }

    /// The record that comes next.
    pub fn next(&self) -> RecordNumber {
        self.next
    }

    /// The public events of the next record, in order. `events` are all of its events, as they were reduced.
    ///
    /// # Errors
    /// [`PublicError`]. What of the record was taken in before stays: this fold goes on no more.
    pub fn follow(&mut self, header: &Header, events: &[Emitted]) -> Result<Vec<PublicEvent>, PublicError> {
        if (header.partition, header.number) != (self.partition, self.next) {
            let (expected, partition) = (self.next, self.partition);
            return Err(PublicError::Gap { expected, partition, found: header.number, of: header.partition });
        }
        let mut public = Vec::new();
        let (mut command, mut place) = (0, 0);
        for emitted in events {
            place = if emitted.command == command { place + 1 } else { 1 };
            command = emitted.command;
            let id = EventId {
                lineage: header.lineage,
                partition: header.partition,
                record: header.number,
                command,
                event: place,
            };
            public.extend(public_event(id, header.time, header.rules, &emitted.event, &self.tables)?);
            self.tables.learn(&emitted.event);
        }
        self.next = header.number.next();
        Ok(public)
    }
}

/// What keys stand for; as many agents as the registry has, as many matches as are open (`AGENTS_MAX`, `MATCHES_OPEN_MAX`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Tables {
    /// By slot.
    agents: Vec<Option<Agent>>,
    matches: HashMap<MatchKey, MatchNamed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Agent {
    generation: u32,
    handle: Handle,
    protocol: Protocol,
    challenges: ChallengePolicy,
}

impl Tables {
    fn of(state: &State) -> Self {
        let mut tables = Self::default();
        for (slot, generation, agent) in state.registry().agents().iter() {
            let (handle, protocol) = (agent.handle.clone(), agent.protocol);
            tables.seat(slot, Agent { generation, handle, protocol, challenges: agent.challenges });
        }
        for (key, guest) in state.guests().iter() {
            tables.seat_guest(key, guest.handle.clone(), guest.protocol);
        }
        for (slot, generation, open) in state.matches().open().iter() {
            let named = MatchNamed {
                id: open.id,
                game: GameCode(open.position().game() as u16),
                rated: open.rated,
                seats: [open.seats[0].agent, open.seats[1].agent],
            };
            tables.matches.insert(MatchKey { slot, generation }, named);
        }
        tables
    }

    fn seat(&mut self, slot: u32, agent: Agent) {
        let at = slot as usize;
        if self.agents.len() <= at {
            self.agents.resize(at + 1, None);
        }
        self.agents[at] = Some(agent);
    }

    /// An agent of partition 0 that plays in this one. Who may challenge it is told there.
    fn seat_guest(&mut self, key: AgentKey, handle: Handle, protocol: Protocol) {
        let AgentKey { slot, generation } = key;
        self.seat(slot, Agent { generation, handle, protocol, challenges: ChallengePolicy::Open });
    }

    fn unseat(&mut self, key: AgentKey) {
        if let Some(agent) = self.agents.get_mut(key.slot as usize) {
            *agent = None;
        }
        let length = self.agents.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        self.agents.truncate(length);
    }

    /// What an event changes of the names. A kind that names something has an arm here.
    fn learn(&mut self, event: &Event) {
        match event {
            Event::AgentRegistered(event) => self.seat(
                event.agent.slot,
                Agent {
                    generation: event.agent.generation,
                    handle: event.handle.clone(),
                    protocol: event.protocol,
                    challenges: event.challenges,
                },
            ),
            Event::EndpointSet(event) => {
                let agent = self.agents.get_mut(event.agent.slot as usize).and_then(Option::as_mut);
                if let Some(agent) = agent.filter(|agent| agent.generation == event.agent.generation) {
                    agent.challenges = event.challenges;
                }
            }
            Event::GuestArrived(event) => {
                self.seat_guest(event.agent, event.handle.clone(), event.protocol);
            }
            Event::GuestLeft(event) => self.unseat(event.agent),
            Event::MatchOpened(event) => {
                let MatchOpened { id, game, rated, seats, .. } = *event;
                self.matches.insert(event.key, MatchNamed { id, game, rated, seats });
            }
            Event::MatchEnded(event) => {
                self.matches.remove(&event.key);
            }
            Event::Rejected(_)
            | Event::NumberSeen(_)
            | Event::SecondKeyKept(_)
            | Event::SecondKeyExpired(_)
            | Event::SequencerAnnounced(_)
            | Event::GatewayAnnounced(_)
            | Event::GatewayRemoved(_)
            | Event::RulesActivated(_)
            | Event::EraClosed(_)
            | Event::LineageBegun(_)
            | Event::CredentialRotated(_)
            | Event::TurnOpened(_)
            | Event::MovePlayed(_)
            | Event::StrikeRecorded(_)
            | Event::PartitionOpened(_)
            | Event::OutboxSent(_)
            | Event::OutboxTrimmed(_)
            | Event::MatchSent(_)
            | Event::MatchReturned(_)
            | Event::SessionCreated(_)
            | Event::SessionJoined(_)
            | Event::SessionRejoined(_)
            | Event::EntrySent(_)
            | Event::ReadsMoved(_)
            | Event::SessionLeft(_)
            | Event::ParticipantReplaced(_)
            | Event::AccountSet(_)
            | Event::SessionTouched(_)
            | Event::DeletionDue(_)
            | Event::DeletionAnswered(_)
            | Event::SessionEnded(_) => {}
        }
    }
}

impl Names for Tables {
    fn agent(&self, key: AgentKey) -> Option<AgentNamed<'_>> {
        let agent = self.agents.get(key.slot as usize)?.as_ref()?;
        (agent.generation == key.generation).then_some(AgentNamed {
            handle: &agent.handle,
            protocol: agent.protocol,
            challenges: agent.challenges,
        })
    }

    fn open_match(&self, key: MatchKey) -> Option<MatchNamed> {
        self.matches.get(&key).copied()
    }

    fn game(&self, game: GameCode) -> Option<&'static str> {
        games::GameCode::from_u16(game.0).map(games::GameCode::name)
    }

    fn move_text(&self, game: GameCode, mv: &Move) -> Option<String> {
        let game = games::GameCode::from_u16(game.0)?;
        shows_moves_at_once(game).then(|| game.move_text(mv))
    }
}

/// Whether a move may be read as soon as it is made: not where both seats decide at once or a move tells of a hidden hand. Who adds
/// a game decides here.
const fn shows_moves_at_once(game: games::GameCode) -> bool {
    match game {
        games::GameCode::Connect4 => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arena_engine::games::GAMES;
    use arena_schema::{
        Hash, LogTime, Seat,
        event::{
            matches::{EndReason, MatchEnded, MovePlayed},
            registry::{GuestArrived, GuestLeft},
        },
        id::{AgentId, ConnectionMethod, Epoch, Era, Lineage, MatchId, ProducerId, RulesVersion, Seed},
    };

    /// In another partition than 0 agents are guests: they have names there while they play, and none is kept behind them.
    #[test]
    fn a_match_in_another_partition_is_told_of_with_its_agents_names() {
        let partition = Partition(3);
        let mut events = PublicEvents::after(&State::new(partition));
        let [one, other] = [4, 9].map(|slot| AgentKey { slot, generation: 1 });
        let key = MatchKey { slot: 0, generation: 1 };
        let arrived = |agent: AgentKey, handle| GuestArrived {
            agent,
            id: AgentId::from_random(Partition(0), [7; 14]),
            handle: Handle::parse(handle).unwrap(),
            protocol: Protocol::AgentArena,
            method: ConnectionMethod::RemoteEndpoint,
            home: ProducerId(1),
        };
        let opened = MatchOpened {
            key,
            id: MatchId::from_random(partition, [8; 14]),
            game: GameCode(1),
            seats: [one, other],
            rated: true,
            deadline_ms: 10_000,
            seed: Seed([0; 32]),
            accepted: Hash::ZERO,
        };
        let (seat, accepted) = (Seat::First, Hash::ZERO);
        let mv = Move::from_byte(3);
        let played = MovePlayed { key, seat, ply: 1, mv, reason: None, latency_ms: 5, accepted };
        let ended = MatchEnded { key, winner: None, reason: EndReason::Void, accepted };
        let record: Vec<Emitted> = [
            Event::from(arrived(one, "left")),
            arrived(other, "right").into(),
            opened.into(),
            played.into(),
            ended.into(),
            GuestLeft { agent: one }.into(),
            GuestLeft { agent: other }.into(),
        ]
        .map(|event| Emitted { command: 1, event })
        .into();
        let header = Header {
            lineage: Lineage([1; 16]),
            partition,
            era: Era(1),
            number: RecordNumber(1),
            previous: Hash::ZERO,
            digest: Hash::ZERO,
            digest_reaches: RecordNumber(0),
            epoch: Epoch(1),
            time: LogTime(1),
            rules: RulesVersion(2),
            salt: [0; 32],
        };
        let told = events.follow(&header, &record).unwrap();
        let kinds: Vec<_> = told.iter().map(|event| event.kind).collect();
        assert_eq!(kinds, ["match_opened", "move_played", "match_ended"]);
        assert!(told[0].json.contains("left") && told[0].json.contains("right"), "{}", told[0].json);
        assert!(told[0].subject.starts_with("arena.event.3.matches.match_opened."));
        assert_eq!(events.tables, Tables::default(), "nothing is kept of who has left");
    }

    #[test]
    fn every_game_has_a_name_and_a_code_that_records_have() {
        for (game, name) in GAMES {
            assert_eq!(Tables::default().game(GameCode(*game as u16)), Some(*name));
        }
        assert_eq!(Tables::default().game(GameCode(0)), None);
    }
}

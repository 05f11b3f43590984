//! All that the events so far have made, and the one function that makes it.

use crate::{
    agenda::Agenda,
    homes::{self, Homes},
    matches,
    outbox::Outbox,
    producers::Producers,
    registry,
    rules::RULES_FIRST,
    second_keys::SecondKeys,
    sessions, system,
};
use arena_schema::{
    Event, Hash, LogTime,
    event::system::{KeyTag, Place},
    hash::BodyDigest,
    id::{AgentKey, Epoch, Era, Lineage, Partition, ProducerId, RecordNumber, RulesVersion, SessionId},
};

/// The last record that was reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Its number; 0 before the first.
    pub number: RecordNumber,
    /// Its hash; zero before the first.
    pub hash: Hash,
    /// Its time.
    pub time: LogTime,
    /// Whose leadership wrote it.
    pub epoch: Epoch,
    /// The running digest after it.
    pub digest: Hash,
}

/// The engine's state. Read by anyone; changed by [`evolve`] and, where a record ends, by [`crate::reduce`].
#[derive(Debug, Clone)]
pub struct State {
    pub(crate) lineage: Option<Lineage>,
    pub(crate) partition: Partition,
    pub(crate) era: Era,
    pub(crate) rules: RulesVersion,
    pub(crate) head: Head,
    /// The digests after the last few records, which a header may name.
    pub(crate) digests: [(RecordNumber, Hash); 8],
    pub(crate) agenda: Agenda,
    pub(crate) producers: Producers,
    pub(crate) second_keys: SecondKeys,
    pub(crate) homes: Homes,
    pub(crate) outbox: Outbox,
    pub(crate) registry: registry::Registry,
    pub(crate) guests: registry::Guests,
    pub(crate) matches: matches::Matches,
    pub(crate) sessions: sessions::Sessions,
}

impl State {
    /// The state before a partition's first record. The lineage is the first record's.
    pub fn new(partition: Partition) -> Self {
        let digest = crate::digest::genesis_digest();
        Self {
            lineage: None,
            partition,
            era: Era(1),
            rules: RULES_FIRST,
            head: Head {
                number: RecordNumber(0),
                hash: Hash::ZERO,
                time: LogTime::ZERO,
                epoch: Epoch(0),
                digest,
            },
            digests: [(RecordNumber(0), digest); 8],
            agenda: Agenda::default(),
            producers: Producers::default(),
            second_keys: SecondKeys::default(),
            homes: Homes::default(),
            outbox: Outbox::default(),
            registry: registry::Registry::default(),
            guests: registry::Guests::default(),
            matches: matches::Matches::default(),
            sessions: sessions::Sessions::default(),
        }
    }

    /// Which history; `None` before the first record.
    pub fn lineage(&self) -> Option<Lineage> {
        self.lineage
    }

    /// Which partition.
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// Whether this is the partition that has the registry, the homes and the caps.
    pub(crate) fn is_first(&self) -> bool {
        self.partition == Partition(0)
    }

    /// Whether nobody is registered, announced or playing.
    pub(crate) fn is_bare(&self) -> bool {
        self.registry.agents().is_empty() && self.matches.open.is_empty() && self.producers.live_count() == 0
    }

    /// The era that the next record is in.
    pub fn era(&self) -> Era {
        self.era
    }

    /// The rules that the next record is reduced under.
    pub fn rules(&self) -> RulesVersion {
        self.rules
    }

    /// The last record.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The live producers.
    pub fn producers(&self) -> &Producers {
        &self.producers
    }

    /// What waits for other partitions, and how far theirs was taken.
    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Agents of partition 0 that play in this one.
    pub fn guests(&self) -> &registry::Guests {
        &self.guests
    }

    /// Agents and their credentials.
    pub fn registry(&self) -> &registry::Registry {
        &self.registry
    }

    /// What is being played.
    pub fn matches(&self) -> &matches::Matches {
        &self.matches
    }

    /// The open sessions.
    pub fn sessions(&self) -> &sessions::Sessions {
        &self.sessions
    }

    /// The home of a session among the gateways that are live now, which composes its presence; none where none is live. A question
    /// to its access service names its own.
    pub fn home_of_session(&self, id: &SessionId) -> ProducerId {
        sessions::home(self, id)
    }

    /// When something falls due next.
    pub fn next_due(&self) -> Option<LogTime> {
        self.agenda.first().map(|(due, _, _)| due)
    }

    /// How many things the agenda holds.
    pub fn agenda_len(&self) -> usize {
        self.agenda.len()
    }

    /// What became of a second key: the tag of its body, the place of its outcome and the outcome's code (0: accepted).
    pub fn second_key(&self, route: u16, caller: AgentKey, key: KeyTag) -> Option<(KeyTag, Place, u16)> {
        self.second_keys.outcome(route, caller, key)
    }

    /// The digest of the command that was the first under a second key: of commands that raced under it, it tells which one acted.
    pub fn second_key_command(&self, route: u16, caller: AgentKey, key: KeyTag) -> Option<BodyDigest> {
        self.second_keys.command(route, caller, key)
    }
}

/// Folds one event into the state. `now` is its record's time.
pub fn evolve(state: &mut State, now: LogTime, event: &Event) {
    match event {
        Event::Rejected(_) => {}
        Event::NumberSeen(event) if event.producer.as_partition().is_some() => {
            state.outbox.took(event.producer, event.number, event.digest);
        }
        Event::NumberSeen(event) => state.producers.see(event),
        Event::SecondKeyKept(event) => {
            // Behind its own command's number.
            let command = state.producers.last_seen();
            state.second_keys.keep(&mut state.agenda, now, event, command);
        }
        Event::SecondKeyExpired(event) => state.second_keys.expire(&mut state.agenda, event),
        Event::SequencerAnnounced(event) => system::evolve::sequencer_announced(state, event),
        Event::GatewayAnnounced(event) => {
            state.producers.announce(event);
            homes::keep_in_step(state, |home| home == ProducerId::NONE);
        }
        Event::GatewayRemoved(event) => {
            state.producers.remove(event.producer);
            homes::keep_in_step(state, |home| home == event.producer);
            sessions::evolve::gone(state, now, |gateway| gateway == event.producer);
        }
        Event::RulesActivated(event) => state.rules = event.version,
        Event::EraClosed(event) => state.era = Era(event.era.0 + 1),
        Event::LineageBegun(event) => system::evolve::lineage_begun(state, now, event),
        Event::PartitionOpened(event) => state.outbox.opened(event.partition),
        Event::OutboxSent(event) => state.outbox.sent_one(event),
        Event::OutboxTrimmed(event) => state.outbox.trimmed(event),
        Event::AgentRegistered(event) => state.registry.registered(event),
        Event::CredentialRotated(event) => state.registry.rotated(event),
        Event::EndpointSet(event) => state.registry.endpoint_set(event),
        Event::GuestArrived(event) => state.guests.arrive(event),
        Event::GuestLeft(event) => state.guests.leave(event.agent),
        Event::MatchOpened(event) => matches::evolve::opened(state, event),
        Event::TurnOpened(event) => matches::evolve::turn_opened(state, event),
        Event::MovePlayed(event) => matches::evolve::move_played(state, event),
        Event::StrikeRecorded(event) => matches::evolve::strike_recorded(state, event),
        Event::MatchEnded(event) => matches::evolve::ended(state, event),
        Event::MatchSent(event) => matches::evolve::sent(state, event),
        Event::MatchReturned(event) => matches::evolve::returned(state, event),
        Event::SessionCreated(event) => sessions::evolve::created(state, now, event),
        Event::SessionJoined(event) => sessions::evolve::joined(state, now, event),
        Event::SessionRejoined(event) => sessions::evolve::rejoined(state, now, event),
        Event::EntrySent(event) => sessions::evolve::sent(state, event),
        Event::ReadsMoved(event) => sessions::evolve::reads_moved(state, event),
        Event::SessionLeft(event) => sessions::evolve::left(state, now, event),
        Event::ParticipantReplaced(event) => sessions::evolve::replaced(state, event),
        Event::AccountSet(event) => sessions::evolve::account_set(state, event),
        Event::SessionTouched(event) => sessions::evolve::touched(state, now, event),
        Event::DeletionDue(event) => sessions::evolve::deletion_due(state, event),
        Event::DeletionAnswered(event) => sessions::evolve::deletion_answered(state, now, event),
        Event::SessionEnded(event) => sessions::evolve::ended(state, event),
    }
}

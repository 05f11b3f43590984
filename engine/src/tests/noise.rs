//! The engine cannot fail: whatever stands in a record, in whatever order, comes to events, and its rooms go on agreeing. What
//! the events must be is the oracle's and the scripts' to say; here are commands that hardly any door would send.

mod sessions;

use crate::{
    RULES_PARTITIONS, RULES_SESSIONS,
    testing::{Body, Journal},
};
use arena_schema::{
    Command, Event, Hash, LogTime, Move, Rejection, Seat, SecretHash, TextRef, TextSalt,
    command::{
        matches::{
            AbortMatch, First, Guest, OpenMatch, RecordStrike, ReturnMatch, StrikeCause, SubmitMove,
            TakeMatch, TurnRef, VoidReason,
        },
        registry::{NewCredential, RegisterAgent, RotateCredential, SetEndpoint},
        system::{
            AcknowledgeOutbox, ActivateRules, AnnounceGateway, AnnounceSequencer, BeginLineage, CloseEra,
            GatewayGone, OpenPartition, Tick,
        },
    },
    event::system::KeyTag,
    hash::BodyDigest,
    id::{
        AgentId, AgentKey, ChallengePolicy, ConnectionMethod, CredentialKind, CredentialRef, GameCode,
        Handle, Incarnation, Lineage, MatchId, MatchKey, Partition, ProducerId, Protocol, PublicSlug,
        RecordNumber, RulesVersion, Seed,
    },
    record::{CommandHead, SecondKey},
};
use std::collections::BTreeMap;

const RECORDS: u64 = 12_000;

pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, end: u32) -> u32 {
        (self.next() >> 11) as u32 % end
    }

    pub(super) fn one_in(&mut self, end: u32) -> bool {
        self.below(end) == 0
    }

    pub(super) fn of<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.below(these.len() as u32) as usize]
    }

    fn agent(&mut self) -> AgentKey {
        AgentKey { slot: self.below(7), generation: if self.one_in(20) { self.below(3) } else { 1 } }
    }

    fn text(&mut self) -> Option<TextRef> {
        self.one_in(2).then(|| TextRef::commit(&TextSalt([1; 32]), "text"))
    }

    fn incarnation(&mut self) -> Incarnation {
        Incarnation([self.below(5) as u8; 16])
    }

    fn credential(&mut self) -> NewCredential {
        NewCredential { kind: self.of(CredentialKind::ALL), hash: SecretHash([self.below(40) as u8; 32]) }
    }

    /// A turn near one that is open, if any is.
    fn turn(&mut self, journal: &Journal) -> TurnRef {
        let open: Vec<_> = journal.state().matches().open().iter().collect();
        let (key, seat, ply, attempt) = match open.get(self.below(open.len().max(1) as u32) as usize) {
            Some(&(slot, generation, open)) if !self.one_in(10) => {
                let asked = Seat::ALL.iter().find_map(|seat| Some((*seat, open.seat(*seat).turn.as_ref()?)));
                let (seat, turn) = asked.expect("somebody is asked in every open match");
                (MatchKey { slot, generation }, seat, turn.ply, turn.attempt)
            }
            _ => (MatchKey { slot: self.below(5), generation: self.below(4) }, self.of(Seat::ALL), 1, 1),
        };
        let near = |random: &mut Self| if random.one_in(8) { random.below(4) } else { 1 };
        TurnRef {
            key,
            seat: if self.one_in(10) { seat.other() } else { seat },
            ply: ply.wrapping_add(near(self) as u16).wrapping_sub(1),
            attempt: attempt.wrapping_add(near(self)).wrapping_sub(1),
        }
    }

    fn command(&mut self, journal: &Journal) -> Command {
        if journal.state().rules() >= RULES_SESSIONS && self.one_in(2) {
            return self.session_command(journal);
        }
        match self.below(40) {
            0 => AnnounceSequencer {
                incarnation: self.incarnation(),
                outage_us: self.next() >> self.of(&[1, 30, 44]),
            }
            .into(),
            1..4 => AnnounceGateway { incarnation: self.incarnation(), rules_known: RulesVersion(1) }.into(),
            4 if self.one_in(2) => GatewayGone { incarnation: self.incarnation() }.into(),
            4..6 => Tick {}.into(),
            6 => {
                // Never the next ones, which would end the history.
                let first = journal.state().rules() < RULES_PARTITIONS;
                let others = if first { [0, 1, 3, u32::MAX] } else { [0, 9, 9, u32::MAX] };
                ActivateRules { version: RulesVersion(self.of(&others)) }.into()
            }
            7 if self.one_in(4) => CloseEra {}.into(),
            8 if self.one_in(4) => {
                let head = *journal.state().head();
                let hash = if self.one_in(3) { Hash::ZERO } else { head.hash };
                let number = RecordNumber(head.number.0 - u64::from(self.one_in(3) && head.number.0 > 0));
                BeginLineage { lineage: Lineage([self.below(9) as u8; 16]), number, hash }.into()
            }
            7..11 => {
                let housed = self.one_in(6);
                RegisterAgent {
                    id: AgentId::from_random(Partition(0), [self.below(250) as u8; 14]),
                    public_slug: PublicSlug([0; 12]),
                    handle: Handle::parse(&format!("agent-{}", self.below(14))).unwrap(),
                    name: self.text(),
                    protocol: if housed {
                        Protocol::House
                    } else if self.one_in(5) {
                        self.of(Protocol::ALL)
                    } else {
                        Protocol::AgentArena
                    },
                    method: if housed {
                        ConnectionMethod::House
                    } else {
                        self.of(&[ConnectionMethod::RemoteEndpoint, ConnectionMethod::Polling])
                    },
                    endpoint: if housed { None } else { self.text() },
                    challenges: ChallengePolicy::Open,
                    credentials: (0..self.below(6)).map(|_| self.credential()).collect(),
                }
                .into()
            }
            11 => RotateCredential { agent: self.agent(), credential: self.credential() }.into(),
            12 => {
                let challenges = self
                    .one_in(2)
                    .then(|| if self.one_in(9) { ChallengePolicy::None } else { ChallengePolicy::Open });
                SetEndpoint { agent: self.agent(), endpoint: self.text(), challenges }.into()
            }
            13..24 => OpenMatch {
                id: self.match_id(journal),
                game: GameCode(if self.one_in(20) { self.next() as u16 } else { 1 }),
                players: [self.agent(), self.agent()],
                first: self.of(First::ALL),
                rated: self.one_in(2),
                deadline_ms: self.of(&[499, 500, 10_000, 60_000, 60_000, 60_000, 60_000, 60_001]),
                seed: Seed([self.next() as u8; 32]),
            }
            .into(),
            24..35 => SubmitMove {
                turn: self.turn(journal),
                mv: if self.one_in(20) {
                    Move::new(&[6; 32]).unwrap()
                } else {
                    Move::from_byte(self.below(8) as u8)
                },
                reason: self.text(),
                excerpt: self.text().map(Box::new),
                nonce: None,
                latency_ms: self.next() as u32,
            }
            .into(),
            35..39 => RecordStrike {
                turn: self.turn(journal),
                cause: self.of(StrikeCause::ALL),
                status: self.one_in(2).then_some(404),
                excerpt: self.text(),
                nonce: None,
                latency_ms: self.next() as u32,
            }
            .into(),
            _ => AbortMatch { key: self.turn(journal).key, reason: VoidReason::Operator }.into(),
        }
    }

    /// Ids of other partitions are for rules that know what they mean.
    fn match_id(&mut self, journal: &Journal) -> MatchId {
        let partition = if journal.state().rules() < RULES_PARTITIONS { 0 } else { self.below(4) as u16 };
        MatchId::from_random(Partition(partition), [self.below(250) as u8; 14])
    }

    fn guest(&mut self) -> Guest {
        let agent = self.agent();
        Guest {
            agent,
            id: AgentId::from_random(Partition(0), [agent.slot as u8; 14]),
            handle: Handle::parse(&format!("agent-{}", agent.slot)).unwrap(),
            protocol: if self.one_in(20) { self.of(Protocol::ALL) } else { Protocol::AgentArena },
            method: self.of(&[ConnectionMethod::RemoteEndpoint, ConnectionMethod::Polling]),
            home: self.one_in(2).then(|| self.incarnation()),
        }
    }

    /// What comes from another partition, or from the leader that carries it.
    fn across(&mut self, journal: &Journal) -> (CommandHead, Command) {
        let (state, other) = (journal.state(), Partition(self.below(3) as u16));
        let next = state.outbox().taken(other) + if self.one_in(9) { u64::from(self.below(3)) } else { 1 };
        let entry =
            CommandHead { producer: ProducerId::of_partition(other), number: next, ..CommandHead::SEQUENCER };
        match self.below(9) {
            0 if self.one_in(4) => (CommandHead::SEQUENCER, OpenPartition { partition: other }.into()),
            0 | 1 => {
                let waiting: Vec<_> = state.outbox().waiting(other, 0).collect();
                let count = self.below(waiting.len() as u32 + 2) as usize;
                let through = state.outbox().acknowledged(other) + count as u64;
                // Right until something has left.
                let digest = |entry: &crate::Entry| BodyDigest::of(entry.kind, &entry.body).0;
                let chain = waiting
                    .iter()
                    .take(count)
                    .fold(Hash::ZERO, |chain, (_, entry)| chain.then(&digest(entry)));
                let chain = if self.one_in(4) { Hash::ZERO } else { chain };
                (CommandHead::SEQUENCER, AcknowledgeOutbox { to: other, through, chain }.into())
            }
            2 => (
                entry,
                AnnounceGateway { incarnation: self.incarnation(), rules_known: RulesVersion(2) }.into(),
            ),
            3 => (entry, GatewayGone { incarnation: self.incarnation() }.into()),
            4..6 => (entry, ReturnMatch { id: self.match_id(journal), result: None }.into()),
            _ => {
                let take = TakeMatch {
                    id: self.match_id(journal),
                    game: GameCode(if self.one_in(20) { self.next() as u16 } else { 1 }),
                    seats: [self.guest(), self.guest()],
                    rated: true,
                    deadline_ms: self.of(&[500, 10_000]),
                    seed: Seed([self.next() as u8; 32]),
                };
                (entry, take.into())
            }
        }
    }

    /// Its body as it should be, or spoilt.
    fn body(&mut self, command: Command) -> Body {
        if !self.one_in(15) {
            return Body::Known(command);
        }
        let mut bytes = Vec::new();
        command.encode_body(&mut bytes);
        let at = self.below(bytes.len().max(1) as u32) as usize;
        match self.below(4) {
            0 => bytes.truncate(at),
            1 => bytes.push(self.next() as u8),
            2 if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
            _ => bytes = (0..self.below(300)).map(|_| self.next() as u8).collect(),
        }
        let kind = match self.below(4) {
            0 => self.of(Command::KINDS).0,
            1 => self.next() as u16,
            _ => command.kind(),
        };
        Body::Raw(kind, bytes)
    }

    fn head(&mut self, journal: &Journal, command: &Command) -> CommandHead {
        let live: Vec<ProducerId> = journal.state().producers().live().map(|(id, _)| id).collect();
        let by_sequencer = command.kind() < 0x0100 && !self.one_in(30);
        let producer = match command {
            _ if by_sequencer => ProducerId::SEQUENCER,
            _ if live.is_empty() || self.one_in(30) => ProducerId(u64::from(self.below(9))),
            Command::SubmitMove(SubmitMove { turn, .. })
            | Command::RecordStrike(RecordStrike { turn, .. }) => {
                let open = journal.state().matches().get(turn.key);
                let asked = open.and_then(|open| open.seat(turn.seat).turn.as_ref());
                asked.map_or(live[0], |asked| asked.home)
            }
            Command::AnswerDeletion(answer) if !self.one_in(9) => {
                Self::asked_at(journal, answer).unwrap_or(live[0])
            }
            _ => self.of(&live),
        };
        CommandHead {
            producer,
            number: match self.below(2_000) {
                0 => u64::MAX,
                1..20 => 0,
                20..24 => 70_000,
                _ => 1 + self.next() % 30_000,
            },
            credential: if self.one_in(6) {
                CredentialRef { id: u64::from(self.below(12)), generation: self.below(4) }
            } else {
                CredentialRef::NONE
            },
            second_key: self.one_in(12).then(|| SecondKey {
                route: self.below(2) as u16,
                caller: AgentKey { slot: self.below(3), generation: 1 },
                key: KeyTag([self.below(99) as u8; 32]),
                body: KeyTag([self.below(2) as u8; 32]),
            }),
        }
    }
}

/// A journal of noise, and how often it came to what.
fn noise(partition: Partition, rules: RulesVersion, records: u64) -> BTreeMap<&'static str, u32> {
    let random = &mut Random(0x2545_f491_4f6c_dd1d);
    let mut journal = Journal::of(partition);
    let mut time = LogTime(1_800_000_000_000_000);
    let mut kinds = BTreeMap::<&str, u32>::new();
    let mut last: Option<(CommandHead, Body)> = None;
    while rules > journal.state().rules() {
        let next_rules = ActivateRules { version: RulesVersion(journal.state().rules().0 + 1) };
        journal.append(time, &[(CommandHead::SEQUENCER, Body::Known(next_rules.into()))], |_| ()).unwrap();
        time.0 += 1;
    }
    for _ in 0..records {
        time.0 += 1 + random.next() % random.of(&[2, 1_000, 1_000_000, 30_000_000]);
        if random.one_in(300) {
            time.0 += 3_600_000_000 * u64::from(random.below(30));
        }
        let mut record = Vec::new();
        for _ in 0..random.of(&[0, 1, 1, 1, 2, 5]) {
            if rules >= RULES_PARTITIONS && random.one_in(2) {
                let (head, command) = random.across(&journal);
                record.push((head, random.body(command)));
            } else {
                let command = random.command(&journal);
                record.push((random.head(&journal, &command), random.body(command)));
            }
            record.extend(last.take().filter(|_| random.one_in(10)));
            last = record.last().cloned();
        }
        for emitted in journal.append(time, &record, |_| ()).expect("the header is the next one's") {
            let name = match &emitted.event {
                Event::Rejected(rejection) => rejection.as_str(),
                event => event.name(),
            };
            *kinds.entry(name).or_default() += 1;
        }
    }
    journal.replay();
    journal.replay_through_snapshots(97);
    kinds
}

#[test]
fn under_the_rules_of_partitions_they_agree_too_whatever_another_partition_sends() {
    let first = noise(Partition(0), RULES_PARTITIONS, 4_000);
    let other = noise(Partition(2), RULES_PARTITIONS, 4_000);
    for name in
        ["PartitionOpened", "OutboxSent", "OutboxTrimmed", "MatchSent", "MatchReturned", "outbox_forked"]
    {
        assert!(first.contains_key(name), "never came to {name}: {first:?}");
    }
    for name in ["GuestArrived", "GuestLeft", "MatchOpened", "MatchEnded", "OutboxSent", "GatewayRemoved"] {
        assert!(other.contains_key(name), "never came to {name}: {other:?}");
    }
}

#[test]
fn whatever_stands_in_a_record_comes_to_events_and_the_rooms_agree() {
    let kinds = noise(Partition(0), RulesVersion(1), RECORDS);
    // A history that never came to these would prove nothing of them.
    // The caps take more than seven agents and a test's patience; other rules would end the history.
    let unreached = ["RulesActivated", "limit_reached", "agent_limit"];
    // What rules 2 brought has histories of its own, with other partitions to send to.
    let of_partitions = [
        "PartitionOpened",
        "OutboxSent",
        "OutboxTrimmed",
        "GuestArrived",
        "GuestLeft",
        "MatchSent",
        "MatchReturned",
        "wrong_partition",
        "unknown_partition",
        "outbox_gap",
        "outbox_full",
        "outbox_forked",
    ];
    // And so has what rules 3 brought.
    let events = Event::KINDS.iter().filter(|(kind, _)| kind >> 8 != 7).map(|(_, name)| *name);
    let events = events.filter(|name| *name != "Rejected");
    let rejections = Rejection::ALL.iter().filter(|one| one.code() < 700).map(|one| one.as_str());
    for name in
        events.chain(rejections).filter(|name| !unreached.contains(name) && !of_partitions.contains(name))
    {
        assert!(kinds.contains_key(name), "never came to {name}: {kinds:?}");
    }
}

//! Random histories of several partitions. What is true behind each record is the network's to check ([`crate::testing::Network`]).

mod sessions;

use super::{agent, asked, gateway, match_id, mv, open, register};
use crate::{
    testing::{Body, Letter, Network},
    tests::noise::Random,
};
use arena_schema::{
    Command, Event,
    command::{
        matches::{AbortMatch, OpenMatch, RecordStrike, ReturnMatch, StrikeCause, VoidReason},
        system::{AcknowledgeOutbox, AnnounceSequencer, GatewayGone, OpenPartition, Tick},
    },
    id::{ConnectionMethod, CredentialRef, Incarnation, Partition, ProducerId, Protocol},
    record::CommandHead,
};

struct History {
    random: Random,
    network: Network,
    /// Read out of an outbox some time ago, and delivered whenever.
    late: Vec<Letter>,
    matches: u64,
    gateways: u8,
    agents: u8,
}

const AGENTS: u8 = 12;

impl History {
    fn step(&mut self) {
        let partitions = self.network.partitions() as u32;
        let at = self.random.below(partitions) as usize;
        let span = self.random.of(&[1, 1_000, 200_000, 9_000_000]);
        self.network.pass(at, self.random.next() % span);
        match self.random.below(100) {
            0..4 => self.gateway_comes_or_goes(),
            4..7 => self.registers(),
            7..30 => self.opens(),
            30..62 => self.plays(at),
            62..66 => self.aborts(at),
            66..69 => drop(self.network.write(at, Tick {})),
            69..71 => drop(
                self.network
                    .write(at, AnnounceSequencer { incarnation: Incarnation([9; 16]), outage_us: 4_000_000 }),
            ),
            71..74 => self.network.restart(at),
            74..76 => self.wrong(at),
            76..78 if self.random.one_in(4) => {
                let partition = Partition(1 + self.random.below(partitions) as u16);
                if usize::from(partition.0) < self.network.partitions() {
                    self.network.write(0, OpenPartition { partition });
                }
            }
            78 if self.random.one_in(9) => self.begins_a_lineage(),
            79..86 => self.talks(at),
            _ => {
                let p = 1 + self.random.below(partitions - 1) as usize;
                self.carries(p);
            }
        }
    }

    fn by_any(&mut self, at: usize, command: impl Into<Command>) -> Vec<Event> {
        let live: Vec<_> = self.network.state(at).producers().live().map(|(id, _)| id).collect();
        if live.is_empty() {
            return Vec::new();
        }
        let producer = self.random.of(&live);
        let head = self.network.by(at, producer);
        self.network.append(at, &[(head, Body::Known(command.into()))])
    }

    fn gateway_comes_or_goes(&mut self) {
        let live: Vec<_> = self.network.state(0).producers().live().map(|(_, one)| one.incarnation).collect();
        let goes = self.random.below(6) < live.len() as u32;
        if goes {
            let incarnation = self.random.of(&live);
            self.network.write(0, GatewayGone { incarnation });
        } else {
            self.gateways = self.gateways.wrapping_add(1);
            self.network.write(0, gateway(self.gateways));
        }
    }

    fn registers(&mut self) {
        if self.agents == AGENTS {
            return;
        }
        let method = self.random.of(&[ConnectionMethod::RemoteEndpoint, ConnectionMethod::Polling]);
        let (protocol, method) = if self.random.one_in(4) {
            (Protocol::House, ConnectionMethod::House)
        } else {
            (Protocol::AgentArena, method)
        };
        if !self.by_any(0, register(self.agents, protocol, method)).is_empty() {
            self.agents += 1;
        }
    }

    fn opens(&mut self) {
        self.matches += 1;
        // Nearly all in partitions that there are, some with the id of one before.
        let beyond = u32::from(self.random.one_in(20));
        let partition = self.random.below(self.network.partitions() as u32 + beyond);
        let at = if self.random.one_in(15) { self.random.next() % self.matches } else { self.matches };
        let players = [self.random.below(AGENTS.into()), self.random.below(AGENTS.into())];
        let command = OpenMatch {
            deadline_ms: self.random.of(&[500, 10_000]),
            ..open(match_id(partition as u16, at), players)
        };
        self.by_any(0, command);
    }

    fn plays(&mut self, at: usize) {
        let asked = asked(&self.network, at);
        if asked.is_empty() {
            return;
        }
        let (turn, home) = self.random.of(&asked);
        if self.random.one_in(3) || home == ProducerId::NONE {
            self.by_any(at, mv(turn, self.random.0 as u8 % 7));
            return;
        }
        let head = self.network.by(at, home);
        let command: Command = if self.random.one_in(3) {
            let (status, excerpt, nonce, latency_ms) = (None, None, None, 3);
            let cause = StrikeCause::Timeout;
            RecordStrike { turn, cause, status, excerpt, nonce, latency_ms }.into()
        } else {
            mv(turn, self.random.below(7) as u8).into()
        };
        self.network.append(at, &[(head, Body::Known(command))]);
    }

    fn aborts(&mut self, at: usize) {
        let asked = asked(&self.network, at);
        if !asked.is_empty() {
            let key = self.random.of(&asked).0.key;
            self.by_any(at, AbortMatch { key, reason: VoidReason::Operator });
        }
    }

    /// A leader does its work, or somebody does it late, twice, in part or from the middle.
    fn carries(&mut self, p: usize) {
        let (from, to) = if self.random.one_in(2) { (0, p) } else { (p, 0) };
        let acknowledged = self.network.state(from).outbox().acknowledged(Partition(to as u16));
        match self.random.below(9) {
            0..4 => drop(self.network.carry(from, to, 1 + self.random.0 as usize % 9)),
            4 => drop(self.network.acknowledge(from, to)),
            5..7 => {
                let after = acknowledged + u64::from(self.random.below(3));
                let letters = self.network.waiting(from, to, after, 1 + self.random.0 as usize % 5);
                self.late.extend(letters);
                let beyond = self.late.len().saturating_sub(40);
                self.late.drain(..beyond);
            }
            7 => {
                let letters: Vec<_> = (0..self.random.below(4))
                    .filter_map(|_| {
                        let at = self.random.below(self.late.len() as u32 + 1) as usize;
                        self.late.get(at).filter(|letter| letter.to == to).map(Letter::command)
                    })
                    .collect();
                if !letters.is_empty() {
                    self.network.append(to, &letters);
                }
            }
            _ => {
                // What was acknowledged before, and what never is sent, whatever falls due in this record.
                let sent = self.network.state(from).outbox().sent(Partition(to as u16));
                let chain = self.network.state(to).outbox().taken_chain(Partition(from as u16));
                let through = self.random.of(&[0, acknowledged, sent + 1_000, u64::MAX]);
                self.network.write(from, AcknowledgeOutbox { to: Partition(to as u16), through, chain });
            }
        }
    }

    /// What no partition of this arena would do.
    fn wrong(&mut self, at: usize) {
        let p = 1 + self.random.below(self.network.partitions() as u32 - 1) as usize;
        let (from, to) = if at == 0 { (p, 0) } else { (0, at) };
        let next = self.network.state(to).outbox().taken(Partition(from as u16)) + 1;
        let entry = |from: usize, number| CommandHead {
            producer: ProducerId::of_partition(Partition(from as u16)),
            number,
            ..CommandHead::SEQUENCER
        };
        let back: Command = ReturnMatch { id: match_id(p as u16, self.matches), result: None }.into();
        let tick: Command = Tick {}.into();
        let records = [
            (entry(from, next), Body::Known(tick.clone())),
            (entry(from, next), Body::Raw(0x0305, vec![1, 2, 3])),
            (entry(from, next), Body::Raw(0x0fff, Vec::new())),
            (entry(from, next - 1), Body::Known(tick)),
            (entry(77, 1), Body::Known(back.clone())),
            (entry(to, 1), Body::Known(back.clone())),
            (
                CommandHead { credential: CredentialRef { id: 1, generation: 1 }, ..entry(from, next) },
                Body::Known(back.clone()),
            ),
            (CommandHead::SEQUENCER, Body::Known(back)),
        ];
        let one = self.random.below(records.len() as u32) as usize;
        let events = self.network.append(to, &records[one..=one]);
        assert!(matches!(events.last(), Some(Event::Rejected(_))), "{events:?}");
        if at > 0 {
            for command in [
                Command::from(gateway(99)),
                GatewayGone { incarnation: Incarnation([1; 16]) }.into(),
                OpenPartition { partition: Partition(0) }.into(),
            ] {
                let events = self.network.write(at, command);
                assert!(matches!(events.last(), Some(Event::Rejected(_))), "{events:?}");
            }
            self.by_any(at, open(match_id(at as u16, self.matches + 1), [0, 1]));
            self.by_any(at, register(200, Protocol::House, ConnectionMethod::House));
        }
    }

    fn begins_a_lineage(&mut self) {
        self.network.begin_lineage(0);
        self.gateways = self.gateways.wrapping_add(1);
        self.network.write(0, gateway(self.gateways));
    }
}

fn run(seed: u64, partitions: u16, steps: u32) -> Network {
    let mut history = History {
        random: Random(seed),
        network: Network::of(partitions),
        late: Vec::new(),
        matches: 0,
        gateways: 0,
        agents: 0,
    };
    history.network.write(0, gateway(0));
    for at in 0..3 {
        // Some are known, and play, before there is another partition.
        history.by_any(0, register(at, Protocol::AgentArena, ConnectionMethod::Polling));
        history.agents += 1;
    }
    history.by_any(0, open(match_id(0, 1 << 40), [0, 1]));
    history.network.open_all();
    for _ in 0..steps {
        history.step();
    }
    history.network.settle();
    // What is left ends, and nothing is left of it anywhere.
    history.gateways = history.gateways.wrapping_add(1);
    history.network.write(0, gateway(history.gateways));
    history.network.settle();
    for at in 0..history.network.partitions() {
        while let Some((turn, _)) = asked(&history.network, at).first().copied() {
            history.by_any(at, AbortMatch { key: turn.key, reason: VoidReason::Operator });
        }
    }
    history.network.settle();
    for at in 0..history.network.partitions() {
        let state = history.network.state(at);
        assert!(state.matches().open().is_empty() && state.matches().away().is_empty());
        assert!(state.guests().is_empty());
        assert!((0..u32::from(AGENTS)).all(|slot| state.matches().open_of(agent(slot)) == 0));
    }
    history.network
}

#[test]
fn whatever_comes_late_twice_or_out_of_order_each_entry_acts_once_and_the_books_agree() {
    let mut kinds = std::collections::BTreeMap::<&str, u32>::new();
    for seed in 1..=6u64 {
        let network = run(seed * 0x1e37_79b9_7f4a_7c15, 2 + (seed % 3) as u16, 2_500);
        network.replay(61);
        for (name, seen) in &network.kinds {
            *kinds.entry(name).or_default() += seen;
        }
    }
    // A history that never came to these would prove nothing of them. A full outbox has a test of its own.
    for name in [
        "PartitionOpened",
        "OutboxSent",
        "OutboxTrimmed",
        "GuestArrived",
        "GuestLeft",
        "MatchSent",
        "MatchReturned",
        "LineageBegun",
        "SessionCreated",
        "SessionJoined",
        "SessionRejoined",
        "SessionLeft",
        "SessionTouched",
        "DeletionDue",
        "DeletionAnswered",
        "SessionEnded",
        "agent_limit",
        "duplicate",
        "expired",
        "malformed",
        "match_id_taken",
        "number_reused",
        "outbox_forked",
        "outbox_gap",
        "pair_limit",
        "unknown_kind",
        "unknown_partition",
        "wrong_partition",
    ] {
        assert!(kinds.contains_key(name), "never came to {name}: {kinds:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_digests_in_every_partition() {
    let digests = |seed| run(seed, 3, 700).digests();
    assert_eq!(digests(77), digests(77));
    assert_ne!(digests(77), digests(78));
}

//! Partitions without sequencers: each has a journal in memory, whose records the engine reduces as they are written, and what
//! waits in one's outbox is submitted to the other. What belongs here: what happens in the arena. What never does: the views.

use arena_engine::{RULES_NEWEST, Reduction, State, games::GameCode as Game, reduce};
use arena_journal::{Followed, SealedText, TextOwner, Texts, Vault, VaultKey, vault::random};
use arena_schema::{
    Command, Event, LogTime, Seat,
    command::{
        matches::{
            AbortMatch, First, OpenMatch, RecordStrike, ReturnMatch, StrikeCause, SubmitMove, TurnRef,
            VoidReason,
        },
        registry::RegisterAgent,
        system::{ActivateRules, AnnounceGateway, OpenPartition},
    },
    id::{
        AgentId, AgentKey, ChallengePolicy, ConnectionMethod, Epoch, GameCode, Handle, Incarnation, Lineage,
        MatchId, MatchKey, Partition, ProducerId, Protocol, PublicSlug, RulesVersion, Seed,
    },
    record::{CommandHead, EncodedRecord, Header, RecordView, encode_command},
};
use std::{collections::BTreeMap, sync::Arc};

/// One partition.
struct Journal {
    state: State,
    reduction: Reduction,
    /// The next record's, where nobody says another.
    time: LogTime,
    /// The last number of the gateway here.
    numbered: u64,
    records: Vec<Arc<Followed>>,
}

pub(in crate::tests) struct Network {
    pub(in crate::tests) texts: Texts,
    journals: Vec<Journal>,
    agents: BTreeMap<AgentKey, AgentId>,
}

impl Network {
    /// Under the newest rules, with one gateway and two agents that are known everywhere they play.
    pub(in crate::tests) fn of(partitions: u16) -> Self {
        let journal = |partition| Journal {
            state: State::new(Partition(partition)),
            reduction: Reduction::default(),
            // No two agree on the time.
            time: LogTime(1_700_000_000_000_000 + 7_777_777 * u64::from(partition)),
            numbered: 0,
            records: Vec::new(),
        };
        let mut network = Self {
            texts: Texts::new(Arc::new(Vault::in_memory(VaultKey::draw()).unwrap())),
            journals: (0..partitions).map(journal).collect(),
            agents: BTreeMap::new(),
        };
        for partition in 0..partitions {
            for version in 2..=RULES_NEWEST.0 {
                network.write(partition, ActivateRules { version: RulesVersion(version) });
            }
        }
        let incarnation = Incarnation([1; 16]);
        network.write(0, AnnounceGateway { incarnation, rules_known: RULES_NEWEST });
        for partition in 1..partitions {
            network.write(0, OpenPartition { partition: Partition(partition) });
        }
        network.carry();
        network
    }

    /// All records of a partition.
    pub(in crate::tests) fn records(&self, partition: u16) -> &[Arc<Followed>] {
        &self.journals[usize::from(partition)].records
    }

    pub(in crate::tests) fn head(&self, partition: u16) -> &Followed {
        self.records(partition).last().unwrap()
    }

    /// The next record of a partition is of this time.
    pub(in crate::tests) fn at(&mut self, partition: u16, time: LogTime) {
        self.journals[usize::from(partition)].time = time;
    }

    /// A record of the sequencer's.
    pub(in crate::tests) fn write(&mut self, partition: u16, command: impl Into<Command>) -> Vec<Event> {
        self.append(partition, CommandHead::SEQUENCER, &command.into(), Vec::new())
    }

    /// A record of the gateway's.
    pub(in crate::tests) fn by_gateway(
        &mut self,
        partition: u16,
        command: impl Into<Command>,
        texts: Vec<SealedText>,
    ) -> Vec<Event> {
        let journal = &mut self.journals[usize::from(partition)];
        journal.numbered += 1;
        let producer = journal.state.producers().live().next().expect("the gateway is known").0;
        let head = CommandHead { producer, number: journal.numbered, ..CommandHead::SEQUENCER };
        self.append(partition, head, &command.into(), texts)
    }

    /// A record of one command, none of which is refused.
    #[track_caller]
    fn append(
        &mut self,
        partition: u16,
        head: CommandHead,
        command: &Command,
        texts: Vec<SealedText>,
    ) -> Vec<Event> {
        let journal = &mut self.journals[usize::from(partition)];
        let at = *journal.state.head();
        let header = Header {
            lineage: Lineage([partition as u8; 16]),
            partition: Partition(partition),
            era: journal.state.era(),
            number: at.number.next(),
            previous: at.hash,
            digest: at.digest,
            digest_reaches: at.number,
            epoch: Epoch(0),
            time: journal.time,
            rules: journal.state.rules(),
            salt: [0; 32],
        };
        journal.time.0 += 1;
        let mut commands = Vec::new();
        encode_command(&head, command, &mut commands);
        let bytes = EncodedRecord::seal(&header, &commands).into_bytes();
        let view = RecordView::parse(&bytes).unwrap();
        reduce(&mut journal.state, &view, &mut journal.reduction).unwrap();
        let (hash, digest) = (view.hash, journal.state.head().digest);
        let emitted = Arc::new(journal.reduction.events.clone());
        let events: Vec<Event> = emitted.iter().map(|one| one.event.clone()).collect();
        assert!(!events.iter().any(|event| matches!(event, Event::Rejected(_))), "{events:?}");
        let followed = Followed { header, hash, digest, events: emitted, bytes, texts, live: false };
        journal.records.push(Arc::new(followed));
        events
    }

    /// Submits to each partition what waits for it in the others, until nothing does.
    pub(in crate::tests) fn carry(&mut self) {
        let others = 1..self.journals.len() as u16;
        for partition in others.clone() {
            self.carry_between(0, partition);
        }
        for partition in others {
            self.carry_between(partition, 0);
        }
    }

    /// What waits in one partition for another.
    pub(in crate::tests) fn carry_between(&mut self, from: u16, to: u16) {
        let taken = self.journals[usize::from(to)].state.outbox().taken(Partition(from));
        let outbox = self.journals[usize::from(from)].state.outbox();
        let waiting: Vec<_> = outbox
            .waiting(Partition(to), taken)
            .map(|(number, entry)| (number, entry.command().unwrap()))
            .collect();
        for (number, command) in waiting {
            self.deliver(from, to, number, &command);
        }
    }

    fn deliver(&mut self, from: u16, to: u16, number: u64, command: &Command) {
        let producer = ProducerId::of_partition(Partition(from));
        self.append(to, CommandHead { producer, number, ..CommandHead::SEQUENCER }, command, Vec::new());
    }

    /// A partition that could not open a match gives it back, as one does that has older rules.
    pub(in crate::tests) fn give_back_unopened(&mut self, id: MatchId) {
        let from = id.partition();
        let number = self.journals[0].state.outbox().taken(from) + 1;
        self.deliver(from.0, 0, number, &ReturnMatch { id, result: None }.into());
    }

    pub(in crate::tests) fn register(&mut self, handle: &str) -> AgentKey {
        let id = AgentId::from_random(Partition(0), random());
        let owner = TextOwner::Agent(id);
        self.texts.create_owner(owner).unwrap();
        let (name, sealed) = self.texts.seal(owner, &format!("NAME of {handle}")).unwrap();
        let command = RegisterAgent {
            id,
            public_slug: PublicSlug(random()),
            handle: Handle::parse(handle).unwrap(),
            name: Some(name),
            protocol: Protocol::AgentArena,
            method: ConnectionMethod::Polling,
            endpoint: None,
            challenges: ChallengePolicy::Open,
            credentials: Vec::new(),
        };
        let events = self.by_gateway(0, command, vec![sealed]);
        let registered = events.into_iter().find_map(|event| match event {
            Event::AgentRegistered(registered) => Some(registered.agent),
            _ => None,
        });
        let agent = registered.expect("it was registered");
        self.agents.insert(agent, id);
        agent
    }

    /// A match that is played in this partition, where it runs once this returns; the first player moves first (the seed says so).
    pub(in crate::tests) fn open(&mut self, partition: u16, players: [AgentKey; 2], rated: bool) -> MatchId {
        let id = self.decide(partition, players, rated);
        if partition > 0 {
            self.carry_between(0, partition);
        }
        id
    }

    /// The same, still on its way there.
    pub(in crate::tests) fn decide(
        &mut self,
        partition: u16,
        players: [AgentKey; 2],
        rated: bool,
    ) -> MatchId {
        let id = MatchId::from_random(Partition(partition), random());
        let command = OpenMatch {
            id,
            game: GameCode(Game::Connect4.as_u16()),
            players,
            first: First::BySeed,
            rated,
            deadline_ms: 10_000,
            seed: Seed([2; 32]),
        };
        self.by_gateway(0, command, Vec::new());
        id
    }

    /// The match's key, the turn that is asked, and the agent that it is asked of.
    fn turn(&self, id: MatchId) -> (MatchKey, TurnRef, AgentId) {
        let state = &self.journals[usize::from(id.partition().0)].state;
        let (key, open) = state.matches().by_id(&id).expect("the match runs");
        let seat = open.position().to_act().iter().next().unwrap();
        let turn = open.seat(seat).turn.as_ref().expect("a seat is asked");
        let turn = TurnRef { key, seat, ply: turn.ply, attempt: turn.attempt };
        (key, turn, self.agents[&open.seat(seat).agent])
    }

    /// Each move says so.
    pub(in crate::tests) fn play(&mut self, id: MatchId, moves: &str) {
        for letter in moves.chars() {
            let (_, turn, agent) = self.turn(id);
            let (reason, sealed) =
                self.texts.seal(TextOwner::Agent(agent), &format!("REASON for {letter}")).unwrap();
            let command = SubmitMove {
                turn,
                mv: Game::Connect4.parse_move(&letter.to_string()).unwrap(),
                reason: Some(reason),
                excerpt: None,
                nonce: None,
                latency_ms: 12,
            };
            self.by_gateway(id.partition().0, command, vec![sealed]);
        }
    }

    pub(in crate::tests) fn strike(&mut self, id: MatchId, excerpt: &str) {
        let (_, turn, agent) = self.turn(id);
        let (reference, sealed) = self.texts.seal(TextOwner::Agent(agent), excerpt).unwrap();
        let command = RecordStrike {
            turn,
            cause: StrikeCause::NotJson,
            status: Some(200),
            excerpt: Some(reference),
            nonce: None,
            latency_ms: 34,
        };
        self.by_gateway(id.partition().0, command, vec![sealed]);
    }

    /// This seat forfeits a match in which nothing was played.
    pub(in crate::tests) fn lose(&mut self, id: MatchId, seat: Seat) {
        if seat == Seat::Second {
            self.play(id, "d");
        }
        for _ in 0..3 {
            self.strike(id, "EXCERPT");
        }
    }

    pub(in crate::tests) fn abort(&mut self, id: MatchId) {
        let (key, ..) = self.turn(id);
        let command = AbortMatch { key, reason: VoidReason::Operator };
        self.by_gateway(id.partition().0, command, Vec::new());
    }
}

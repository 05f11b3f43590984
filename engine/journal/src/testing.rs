//! What the tests of this crate share: commands that play, records as a sequencer writes them, and journals in a folder of
//! their own. What never belongs here: an expectation.

use crate::{
    journal::{Journal, Visit},
    sequencer::{Followed, Follower, Sequencer, StartError, StartOptions},
    sqlite::SqliteJournal,
    texts::{SealedText, TextOwner, encode_texts},
    {Clock, Mark},
};
use arena_engine::{Emitted, RULES_NEWEST, Reduction, State, reduce};
use arena_schema::{
    Command, Commitment, Event, Hash, LogTime, Move, SecretHash, TextRef,
    command::{
        matches::{First, OpenMatch, SubmitMove, TurnRef},
        registry::{NewCredential, RegisterAgent},
        system::{AnnounceGateway, AnnounceSequencer},
    },
    id::{
        AgentId, AgentKey, ChallengePolicy, ConnectionMethod, CredentialKind, Epoch, GameCode, Handle,
        Incarnation, Lineage, MatchId, Nonce, Partition, ProducerId, Protocol, PublicSlug, RecordNumber,
        RulesVersion, Seed,
    },
    record::{CommandHead, EncodedRecord, Header, RecordView, encode_command},
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};
use tempfile::TempDir;

pub(crate) const PARTITION: Partition = Partition(0);

/// `SplitMix64`: the same numbers on every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.next().to_le_bytes()[..part.len()]);
        }
        bytes
    }
}

/// The id of the agent with this number.
pub(crate) fn agent_id(at: u64) -> AgentId {
    AgentId::from_random(PARTITION, Dice(at).bytes::<16>()[..14].try_into().unwrap())
}

/// A house agent of this number; its handle is `agent-<number>`.
pub(crate) fn register(at: u64) -> RegisterAgent {
    RegisterAgent {
        id: agent_id(at),
        public_slug: PublicSlug(Dice(at).bytes()),
        handle: Handle::parse(&format!("agent-{at}")).unwrap(),
        name: None,
        protocol: Protocol::House,
        method: ConnectionMethod::House,
        endpoint: None,
        challenges: ChallengePolicy::Open,
        credentials: vec![NewCredential {
            kind: CredentialKind::ApiKey,
            hash: SecretHash(Dice(at ^ 0xffff).bytes()),
        }],
    }
}

/// The key of the agent that was registered as the one of this number, from 0.
pub(crate) fn agent_key(slot: u32) -> AgentKey {
    AgentKey { slot, generation: 1 }
}

/// A match of two agents; the first of them moves first.
pub(crate) fn open_match(at: u64, players: [AgentKey; 2]) -> OpenMatch {
    OpenMatch {
        id: MatchId::from_random(PARTITION, Dice(at).bytes::<16>()[..14].try_into().unwrap()),
        game: GameCode(1),
        players,
        first: First::Challenger,
        rated: false,
        deadline_ms: 500,
        seed: Seed([7; 32]),
    }
}

/// A move into this column.
pub(crate) fn submit_move(turn: TurnRef, column: u8) -> SubmitMove {
    SubmitMove {
        turn,
        mv: Move::from_byte(column),
        reason: None,
        excerpt: None,
        nonce: Some(Nonce([9; 16])),
        latency_ms: 12,
    }
}

/// The asking that events tell of, if any does.
pub(crate) fn turn_of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Option<TurnRef> {
    events.into_iter().find_map(|event| match event {
        Event::TurnOpened(event) => {
            Some(TurnRef { key: event.key, seat: event.seat, ply: event.ply, attempt: event.attempt })
        }
        _ => None,
    })
}

/// A text as it would be sealed; nobody can open it.
pub(crate) fn sealed_text(owner: AgentId, size: usize, dice: &mut Dice) -> (TextRef, SealedText) {
    let reference = TextRef { commitment: Commitment(dice.bytes()), size: size as u32 };
    let sealed: Vec<u8> = (0..72 + size).map(|_| dice.next() as u8).collect();
    let digest = Hash::of(&sealed);
    let owner = TextOwner::Agent(owner);
    (reference, SealedText { owner, commitment: reference.commitment, digest, sealed })
}

/// Writes records as a sequencer does, with times and salts that are the same on every run.
pub(crate) struct Writer {
    pub(crate) state: State,
    pub(crate) events: Vec<Emitted>,
    /// How much later than their turn the records to come are.
    pub(crate) late_us: u64,
    digests: [Hash; 2],
    numbers: u64,
}

impl Writer {
    pub(crate) fn new() -> Self {
        Self {
            state: State::new(PARTITION),
            events: Vec::new(),
            late_us: 0,
            digests: [arena_engine::genesis_digest(); 2],
            numbers: 0,
        }
    }

    /// The first two records: a leader, and a gateway that is producer 1.
    pub(crate) fn begin(&mut self) -> Vec<EncodedRecord> {
        let incarnation = Incarnation([1; 16]);
        let sequencer = AnnounceSequencer { incarnation, outage_us: 0 };
        let gateway = AnnounceGateway { incarnation, rules_known: RulesVersion(1) };
        [Command::from(sequencer), gateway.into()]
            .into_iter()
            .map(|command| self.seal(&[(CommandHead::SEQUENCER, command)]))
            .collect()
    }

    /// A record of commands by producer 1.
    pub(crate) fn record(&mut self, commands: Vec<Command>) -> EncodedRecord {
        let numbered: Vec<_> = commands
            .into_iter()
            .map(|command| {
                self.numbers += 1;
                let head =
                    CommandHead { producer: ProducerId(1), number: self.numbers, ..CommandHead::SEQUENCER };
                (head, command)
            })
            .collect();
        self.seal(&numbered)
    }

    /// A record of these commands.
    pub(crate) fn seal(&mut self, commands: &[(CommandHead, Command)]) -> EncodedRecord {
        let head = self.state.head();
        let mut bytes = Vec::new();
        for (head, command) in commands {
            encode_command(head, command, &mut bytes);
        }
        let header = Header {
            lineage: self.state.lineage().unwrap_or(Lineage([3; 16])),
            partition: PARTITION,
            era: self.state.era(),
            number: head.number.next(),
            previous: head.hash,
            digest: self.digests[0],
            digest_reaches: RecordNumber(head.number.0.saturating_sub(1)),
            epoch: Epoch(1),
            time: LogTime(1_750_000_000_000_000 + head.number.0 * 1_000 + self.late_us),
            rules: self.state.rules(),
            salt: Dice(head.number.0).bytes(),
        };
        let record = EncodedRecord::seal(&header, &bytes);
        let view = RecordView::parse(record.as_bytes()).unwrap();
        let mut reduction = Reduction::default();
        reduce(&mut self.state, &view, &mut reduction).unwrap();
        self.events = reduction.events;
        self.digests = [self.digests[1], self.state.head().digest];
        record
    }
}

/// So many records of connect4, several moves in each, some with a short reason beside them.
pub(crate) fn played(records: usize, seed: u64) -> Vec<(EncodedRecord, Vec<SealedText>)> {
    played_with_texts(records, seed, 60)
}

/// The same with texts of up to so many bytes.
pub(crate) fn played_with_texts(
    records: usize,
    seed: u64,
    text_bytes_max: u64,
) -> Vec<(EncodedRecord, Vec<SealedText>)> {
    let (mut writer, mut dice) = (Writer::new(), Dice(seed));
    let mut all: Vec<_> = writer.begin().into_iter().map(|record| (record, Vec::new())).collect();
    let mut texts = Vec::new();
    let registrations = (0..8)
        .map(|at| {
            let (reference, text) = sealed_text(agent_id(at), 20, &mut dice);
            texts.push(text);
            RegisterAgent { name: Some(reference), ..register(at) }.into()
        })
        .collect();
    all.push((writer.record(registrations), texts));
    let mut matches = 0;
    while all.len() < records {
        let mut texts = Vec::new();
        let mut commands = Vec::new();
        let asked: Vec<(TurnRef, AgentId)> = writer
            .state
            .matches()
            .open()
            .iter()
            .flat_map(|(slot, generation, open)| {
                let key = arena_schema::id::MatchKey { slot, generation };
                open.seats.iter().zip(arena_schema::Seat::ALL).filter_map(move |(state, &seat)| {
                    let turn = state.turn.as_ref()?;
                    let (ply, attempt) = (turn.ply, turn.attempt);
                    Some((TurnRef { key, seat, ply, attempt }, agent_id(u64::from(state.agent.slot))))
                })
            })
            .collect();
        for (turn, agent) in asked {
            if dice.below(3) == 0 {
                continue;
            }
            let mut mv = submit_move(turn, dice.below(7) as u8);
            mv.nonce = Some(Nonce(dice.bytes()));
            if dice.below(4) == 0 {
                let size = dice.below(text_bytes_max) as usize;
                let (reference, text) = sealed_text(agent, size, &mut dice);
                mv.reason = Some(reference);
                texts.push(text);
            }
            commands.push(mv.into());
        }
        if writer.state.matches().open().len() < 6 {
            matches += 1;
            let one = dice.below(8) as u32;
            let other = (one + 1 + dice.below(7) as u32) % 8;
            commands.push(open_match(matches, [agent_key(one), agent_key(other)]).into());
        }
        all.push((writer.record(commands), texts));
    }
    all
}

/// A SQLite journal in a folder of its own.
pub(crate) struct Folder {
    folder: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.path().join("records-0-1.db")
    }

    pub(crate) fn journal(&self) -> SqliteJournal {
        SqliteJournal::open(&self.file()).unwrap()
    }

    /// Another program's connection to the file.
    pub(crate) fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file()).unwrap()
    }
}

/// All rows as they lie there: number, record, texts.
pub(crate) type Rows = Vec<(u64, Vec<u8>, Vec<u8>)>;

pub(crate) fn rows(journal: &dyn Journal) -> Rows {
    let mut rows = Vec::new();
    journal
        .reader()
        .unwrap()
        .read(RecordNumber(1), &mut |stored| {
            rows.push((stored.number.0, stored.bytes.to_vec(), stored.texts.to_vec()));
            Visit::Next
        })
        .unwrap();
    rows
}

pub(crate) fn rows_of(records: &[(EncodedRecord, Vec<SealedText>)]) -> Rows {
    let row = |(record, texts): &(EncodedRecord, Vec<SealedText>)| {
        (record.number().0, record.as_bytes().to_vec(), encode_texts(texts))
    };
    records.iter().map(row).collect()
}

/// A follower that remembers what it was handed, may fail, and may have a mark.
#[derive(Clone, Default)]
pub(crate) struct Witness {
    pub(crate) seen: Arc<Mutex<Vec<Arc<Followed>>>>,
    pub(crate) fails_at: Option<u64>,
    pub(crate) panics_at: Option<u64>,
    pub(crate) mark: Option<Mark>,
}

impl Witness {
    pub(crate) fn seen(&self) -> Vec<Arc<Followed>> {
        self.seen.lock().unwrap().clone()
    }

    /// All events so far, in order.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.seen().iter().flat_map(|record| record.events.iter().map(|it| it.event.clone())).collect()
    }
}

impl Follower for Witness {
    fn mark(&self) -> Option<Mark> {
        self.mark.clone()
    }

    fn wants(&self, _: RecordNumber, _: bool) -> bool {
        true
    }

    fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String> {
        let number = record.header.number.0;
        assert_ne!(self.panics_at, Some(number), "the witness panics");
        if self.fails_at == Some(number) {
            return Err(format!("the witness had enough at record {number}"));
        }
        self.seen.lock().unwrap().push(Arc::clone(record));
        Ok(())
    }
}

/// How many records a sequencer begins a new journal with: its leader, its gateway, and each of the rules behind the first.
pub(crate) const BEGINNING: u64 = 2 + RULES_NEWEST.0 as u64 - 1;

/// Starts a sequencer as the run of this number.
pub(crate) fn start(
    journal: impl Journal + 'static,
    run: u8,
    clock: Clock,
    witness: &Witness,
) -> Result<Sequencer, StartError> {
    let options = StartOptions {
        partition: PARTITION,
        clock,
        incarnation: Incarnation([run; 16]),
        followers: vec![Box::new(witness.clone())],
    };
    Sequencer::start(Box::new(journal), options)
}

/// Runs a future to its end.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

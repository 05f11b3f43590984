//! The stream of public events on real servers: what a fold over the records gives, each once and in order, whoever leads and
//! whatever breaks. Here is what its tests share.

mod analyst;
mod broken;
mod catching_up;
mod restores;
mod takeover;

pub(in crate::tests) use analyst::accounts;

use crate::{
    Clock, Outcome, Producer, PublicEvents, SealedText, SqliteJournal, Submission, Visit,
    jetstream::Nats,
    replicated::{Gateway, LocalCopy, Node, NodeOptions, Peers, mirror_in},
    testing::{PARTITION, agent_key, open_match, played, register, submit_move, turn_of},
    tests::jetstream::setup::{Bench, append_all, wait_until},
};
use arena_engine::{Reduction, State, reduce};
use arena_schema::{
    Command, Event,
    command::matches::TurnRef,
    id::{Partition, RecordNumber},
    public::PublicEvent,
    record::{EncodedRecord, RecordView},
    subject,
};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const PATIENCE: Duration = Duration::from_secs(60);
const STREAM: &str = "ARENA_EVENTS_0";

/// A subject and what was published there.
pub(in crate::tests) type Told = Vec<(String, String)>;

pub(in crate::tests) fn options(nats: Nats, data: &Path) -> NodeOptions {
    NodeOptions {
        nats,
        partition: PARTITION,
        clock: Clock::System,
        data: data.to_owned(),
        snapshots: None,
        followers: Vec::new(),
        behind: Vec::new(),
        era_bytes_max: crate::ERA_BYTES,
        may_lead: true,
        gateway: Some(Gateway::new(PARTITION)),
        peers: Peers::of(1),
    }
}

/// A process that leads and submits.
fn arena(nats: Nats, data: &Path) -> Node {
    Node::start(options(nats, data)).unwrap()
}

/// One that stands by.
fn engine(nats: Nats, data: &Path) -> Node {
    Node::start(NodeOptions { gateway: None, ..options(nats, data) }).unwrap()
}

/// One that submits alone.
fn gateway(nats: Nats, data: &Path) -> Node {
    Node::start(NodeOptions { may_lead: false, ..options(nats, data) }).unwrap()
}

/// Registers the two agents, and plays matches between them.
struct Play {
    producer: Producer,
    matches: u64,
}

impl Play {
    fn begin(bench: &Bench, node: &Node) -> Self {
        let play = Self { producer: node.producer().unwrap(), matches: 0 };
        for at in 0..2 {
            play.submit(bench, register(at)).result.unwrap();
        }
        play
    }

    fn submit(&self, bench: &Bench, command: impl Into<Command>) -> Outcome {
        bench.runtime.block_on(async {
            let submitted = self.producer.submit(vec![Submission::new(command)]).await.unwrap();
            tokio::time::timeout(PATIENCE, submitted.outcome()).await.unwrap().unwrap()
        })
    }

    /// Opens a match; the turn that it begins with.
    fn open(&mut self, bench: &Bench) -> TurnRef {
        self.matches += 1;
        let opened = self.submit(bench, open_match(self.matches, [agent_key(0), agent_key(1)]));
        turn_of(&opened.result.unwrap()).unwrap()
    }

    /// Answers a turn; the next one, if the match goes on. The columns are such that X wins with its fourth move.
    fn answer(&self, bench: &Bench, turn: TurnRef) -> Option<TurnRef> {
        let column = if turn.ply % 2 == 1 { 3 } else { 0 };
        let events = self.submit(bench, submit_move(turn, column)).result.unwrap();
        assert!(events.iter().any(|event| matches!(event, Event::MovePlayed(_))), "{events:?}");
        turn_of(&events)
    }

    /// Plays so many matches to their end: nine public events each.
    fn play(&mut self, bench: &Bench, matches: usize) {
        for _ in 0..matches {
            let mut turn = Some(self.open(bench));
            while let Some(asked) = turn {
                turn = self.answer(bench, asked);
            }
        }
    }
}

/// What a fold over a local copy gives from the first record on.
fn folded(data: &Path) -> Told {
    folded_file(&mirror_in(data, PARTITION))
}

fn folded_file(path: &Path) -> Told {
    folded_of(PARTITION, path)
}

/// The same of any partition's records.
pub(super) fn folded_of(partition: Partition, path: &Path) -> Told {
    let mut told = Told::new();
    each_event(partition, path, |event| told.push((event.subject, event.json)));
    told
}

fn each_event(partition: Partition, path: &Path, mut take: impl FnMut(PublicEvent)) {
    let (mut state, mut reduction) = (State::new(partition), Reduction::default());
    let mut fold = PublicEvents::after(&state);
    SqliteJournal::open_reader(path)
        .unwrap()
        .read(RecordNumber(1), &mut |stored| {
            let view = RecordView::parse(stored.bytes).unwrap();
            reduce(&mut state, &view, &mut reduction).unwrap();
            fold.follow(&view.header, &reduction.events).unwrap().into_iter().for_each(&mut take);
            Visit::Next
        })
        .unwrap();
}

/// What a fold gives of records that were played without a node.
fn fold(records: &[(EncodedRecord, Vec<SealedText>)]) -> Vec<PublicEvent> {
    let data = TempDir::new().unwrap();
    let path = data.path().join("records.db");
    append_all(&mut SqliteJournal::open(&path).unwrap(), records);
    let mut events = Vec::new();
    each_event(PARTITION, &path, |event| events.push(event));
    events
}

/// A local copy with records that were played without a node.
fn copied(data: &TempDir, records: usize) -> LocalCopy {
    let path = data.path().join("copy.db");
    append_all(&mut SqliteJournal::open(&path).unwrap(), &played(records, 7));
    LocalCopy { mirror_at: path, snapshots: None }
}

/// What the stream holds, asked of its leader one by one.
fn published(bench: &Bench) -> Told {
    published_seen_by(&bench.connect(), bench)
}

fn published_seen_by(nats: &Nats, bench: &Bench) -> Told {
    published_in(PARTITION, nats, &bench.runtime)
}

/// The same of any partition's stream.
pub(super) fn published_in(partition: Partition, nats: &Nats, runtime: &Runtime) -> Told {
    runtime.block_on(async {
        let mut stream = nats.jetstream().get_stream(subject::events_stream(partition)).await.unwrap();
        let state = stream.info().await.unwrap().state.clone();
        let mut told = Told::new();
        for sequence in 1..=state.last_sequence {
            let message = stream.get_raw_message(sequence).await.unwrap();
            let id = message.headers.get("Nats-Msg-Id").map(ToString::to_string);
            let json = String::from_utf8(message.payload.to_vec()).unwrap();
            assert!(id.is_none_or(|id| json.starts_with(&format!(r#"{{"id":"{id}","#))), "{json}");
            told.push((message.subject.to_string(), json));
        }
        told
    })
}

/// Waits until this process leads and has published all that it has reduced.
#[track_caller]
pub(in crate::tests) fn wait_published(node: &Node) {
    let begun = Instant::now();
    loop {
        let (position, lag) = (node.handle().position(), node.lagging().unwrap().lag());
        if lag.is_some_and(|lag| lag.is_none()) && node.handle().position() == position {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{lag:?} behind record {position}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until this process's local copy has all that it has reduced.
#[track_caller]
pub(in crate::tests) fn wait_copied(node: &Node, data: &Path) {
    let position = node.handle().position();
    wait_until("the local copy", || {
        let mut found = false;
        let mut copy = SqliteJournal::open_reader(&mirror_in(data, PARTITION)).unwrap();
        copy.read(position, &mut |_| {
            found = true;
            Visit::Enough
        })
        .unwrap();
        found
    });
}

/// That the stream holds what a local copy's records give: byte for byte, in order, without a gap or a double.
#[track_caller]
pub(in crate::tests) fn assert_told(bench: &Bench, data: &Path) -> Told {
    assert_same(&folded(data), published(bench))
}

#[track_caller]
pub(super) fn assert_same(expected: &Told, found: Told) -> Told {
    if let Some(at) = expected.iter().zip(&found).position(|(one, other)| one != other) {
        panic!("message {} is {:?}, and should be {:?}", at + 1, found[at], expected[at]);
    }
    assert!(expected.len() >= found.len(), "more was told: {:?}", found[expected.len()]);
    assert!(found.len() >= expected.len(), "this was not told: {:?}", expected[found.len()]);
    found
}

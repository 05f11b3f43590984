//! Several partitions on one real server: processes that follow all of them, each led by whoever has its lease, matches that are
//! played where their ids say, and the first partition that is told of their ends.

use crate::{
    AuditReport, Clock, Submission, audit,
    jetstream::{JetStreamJournal, Nats, NatsOptions},
    journal::Journal,
    nats_servers::{NatsServers, NatsSetup, left_out},
    replicated::{Gateway, Node, NodeOptions, Peers, mirror_in},
    testing::{Dice, agent_key, register, submit_move},
    tests::publisher::{assert_same, folded_of, published_in},
};
use arena_engine::{RULES_NEWEST, RULES_PARTITIONS, State};
use arena_schema::{
    Rejection, Seat,
    command::matches::{First, OpenMatch, TurnRef},
    id::{Era, GameCode, MatchId, MatchKey, Partition, RecordNumber, Seed},
    subject,
};
use std::{
    collections::BTreeSet,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const PATIENCE: Duration = Duration::from_secs(60);
const FIRST: Partition = Partition(0);

/// A server and a runtime for all processes of a test.
struct Bench {
    runtime: Runtime,
    servers: NatsServers,
}

/// One process's nodes, by partition.
struct Process(Vec<Node>, Peers);

impl Bench {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        Self { runtime, servers: NatsServers::one(&NatsSetup::default()) }
    }

    fn nats(&self) -> Nats {
        self.runtime.block_on(Nats::connect(&NatsOptions::new(self.servers.url()))).unwrap()
    }

    fn options(&self, data: &Path, partition: u16, peers: &Peers) -> NodeOptions {
        NodeOptions {
            nats: self.nats(),
            partition: Partition(partition),
            clock: Clock::System,
            data: data.to_owned(),
            snapshots: None,
            followers: Vec::new(),
            behind: Vec::new(),
            may_lead: true,
            gateway: None,
            peers: peers.clone(),
            era_bytes_max: crate::ERA_BYTES,
        }
    }

    fn engine(&self, data: &Path, partitions: u16) -> Process {
        self.process(data, partitions, true, None)
    }

    fn gateway(&self, data: &Path, partitions: u16) -> Process {
        self.process(data, partitions, false, Some(&Gateway::new(FIRST)))
    }

    fn process(&self, data: &Path, partitions: u16, may_lead: bool, gateway: Option<&Gateway>) -> Process {
        let peers = Peers::of(partitions);
        // The others first, so that they hear of the gateway's announcement.
        let mut nodes: Vec<Node> = (0..partitions)
            .rev()
            .map(|partition| {
                let options = self.options(data, partition, &peers);
                Node::start(NodeOptions { may_lead, gateway: gateway.cloned(), ..options }).unwrap()
            })
            .collect();
        nodes.reverse();
        Process(nodes, peers)
    }

    fn audit(&self, partition: u16) -> AuditReport {
        let partition = Partition(partition);
        let nats = self.nats();
        let open = JetStreamJournal::open(&nats, partition, Era(1), RecordNumber(1));
        let journal = self.runtime.block_on(open).unwrap();
        audit(journal.reader().unwrap().as_mut(), partition, &[]).unwrap()
    }

    /// Registers so many agents of the house and waits until the partitions are open.
    fn prepare(&self, gateway: &Process, agents: u64) {
        let producer = gateway.0[0].producer().unwrap();
        for at in 0..agents {
            self.runtime.block_on(async {
                let pending = producer.submit(vec![Submission::new(register(at))]).await.unwrap();
                pending.outcome().await.unwrap().result.unwrap();
            });
        }
        let partitions = gateway.0.len();
        wait("every partition's opening", || {
            gateway.state(0).outbox().partitions().count() == partitions - 1
        });
    }

    /// Opens a match in a partition.
    fn open(
        &self,
        gateway: &Process,
        at: u64,
        partition: u16,
        players: [u32; 2],
    ) -> Result<MatchId, Rejection> {
        let id = MatchId::from_random(Partition(partition), Dice(at).bytes::<16>()[..14].try_into().unwrap());
        let command = OpenMatch {
            id,
            game: GameCode(1),
            players: players.map(agent_key),
            first: First::Challenger,
            rated: false,
            deadline_ms: 5_000,
            seed: Seed([7; 32]),
        };
        let producer = gateway.0[0].producer().unwrap();
        let outcome = self.runtime.block_on(async {
            producer.submit(vec![Submission::new(command)]).await.unwrap().outcome().await.unwrap()
        });
        outcome.result.map(|_| id)
    }

    /// Makes the moves that this process is home to in a partition, until `stop`.
    fn play(&self, gateway: &Process, partition: usize, stop: &AtomicBool) {
        let (handle, producer) = (gateway.0[partition].handle(), gateway.0[partition].producer().unwrap());
        while !stop.load(Ordering::SeqCst) {
            let home = producer.id();
            let moves: Vec<Submission> = turns(&handle.state())
                .filter(|(_, at)| *at == home)
                // Each column is filled before the next: always legal, and sooner or later a row of four.
                .map(|(turn, _)| Submission::new(submit_move(turn, ((turn.ply - 1) / 6 % 7) as u8)))
                .take(64)
                .collect();
            if moves.is_empty() {
                thread::sleep(Duration::from_millis(2));
                continue;
            }
            let answered = self.runtime.block_on(async {
                let pending = producer.submit(moves).await.ok()?;
                tokio::time::timeout(PATIENCE, pending.answered()).await.expect("an answer").ok()
            });
            if answered.is_none() {
                return;
            }
        }
    }
}

impl Process {
    fn state(&self, partition: usize) -> std::sync::RwLockReadGuard<'_, State> {
        self.0[partition].handle().state()
    }

    fn stop(self) {
        Node::stop_all(self.0).unwrap();
    }

    /// Why it ended, if it did.
    fn ended(&self) -> Option<String> {
        self.0.iter().find_map(|node| node.handle().stopped().borrow().clone())
    }
}

/// The turns that are open in a state, with their homes.
fn turns(state: &State) -> impl Iterator<Item = (TurnRef, arena_schema::id::ProducerId)> {
    state.matches().open().iter().flat_map(|(slot, generation, open)| {
        Seat::ALL.iter().filter_map(move |&seat| {
            let turn = open.seat(seat).turn.as_ref()?;
            let key = MatchKey { slot, generation };
            Some((TurnRef { key, seat, ply: turn.ply, attempt: turn.attempt }, turn.home))
        })
    })
}

#[track_caller]
fn wait(what: &str, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "{what} does not come");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn matches_are_played_where_their_ids_say_whichever_processes_come_and_go() {
    const PARTITIONS: u16 = 3;
    if left_out() {
        return;
    }
    let bench = Bench::new();
    let folders: Vec<_> = (0..5).map(|_| TempDir::new().unwrap()).collect();
    let engine = |at: usize| bench.engine(folders[at].path(), PARTITIONS);
    let gateway = |at: usize| bench.gateway(folders[at].path(), PARTITIONS);
    let mut engines = vec![engine(0), engine(1)];
    let (one, other) = (gateway(2), gateway(3));
    bench.prepare(&one, 6);
    for partition in 0..usize::from(PARTITIONS) {
        assert!(one.state(partition).rules() >= RULES_PARTITIONS);
        wait("the newest rules", || one.state(partition).rules() == RULES_NEWEST);
    }
    let stop = AtomicBool::new(false);
    let mut opened = BTreeSet::new();
    thread::scope(|scope| {
        for process in [&one, &other] {
            for partition in 0..usize::from(PARTITIONS) {
                let (bench, stop) = (&bench, &stop);
                scope.spawn(move || bench.play(process, partition, stop));
            }
        }
        let mut numbers = 0..;
        for round in 0..3 {
            for at in numbers.by_ref().take(30) {
                let players = [(at % 6) as u32, ((at + 1 + at % 5) % 6) as u32];
                let from = if at % 2 == 0 { &one } else { &other };
                opened.insert(bench.open(from, at, (at % 3) as u16, players).unwrap());
            }
            // Whoever leads what goes, and another comes.
            engines.remove(0).stop();
            engines.push(engine(round % 2));
        }
        wait("the end of all matches", || {
            let open = |partition| one.state(partition).matches().open().len();
            let away = one.state(0).matches().away().len();
            (0..usize::from(PARTITIONS)).map(open).sum::<usize>() + away == 0
        });
        stop.store(true, Ordering::SeqCst);
    });
    assert_eq!(opened.len(), 90);
    wait("that nothing waits for another partition", || {
        let state = one.state(0);
        (1..PARTITIONS).all(|p| state.outbox().waiting_count(Partition(p)) == 0)
            && (1..usize::from(PARTITIONS)).all(|p| one.state(p).outbox().waiting_count(FIRST) == 0)
    });
    // A gateway that ends is told of everywhere.
    other.stop();
    for partition in 0..usize::from(PARTITIONS) {
        wait("the going of a gateway", || one.state(partition).producers().live_count() == 1);
    }
    // One that comes has its number everywhere.
    let third = gateway(4);
    for node in &third.0 {
        let producer = node.producer().unwrap();
        wait("its number", || producer.id() != arena_schema::id::ProducerId::NONE);
    }
    third.stop();
    one.stop();
    for engine in engines {
        assert_eq!(engine.ended(), None);
        engine.stop();
    }
    for partition in (0..PARTITIONS).map(Partition) {
        bench.audit(partition.0);
        // The last one's announcement may wait for the next leader to be told.
        let copies = folders.iter().map(|folder| mirror_in(folder.path(), partition));
        let told = copies.filter(|copy| copy.is_file()).map(|copy| folded_of(partition, &copy));
        let mut longest = told.max_by_key(Vec::len).unwrap();
        let published = published_in(partition, &bench.nats(), &bench.runtime);
        longest.truncate(published.len());
        let published = assert_same(&longest, published);
        let ended = published.iter().filter(|(subject, _)| subject.contains(".match_ended.")).count();
        assert_eq!(ended, 30, "each partition tells of its own matches");
    }
}

#[test]
fn a_match_waits_for_a_partition_that_nobody_leads_and_the_others_go_on() {
    if left_out() {
        return;
    }
    let bench = Bench::new();
    let folders: Vec<_> = (0..2).map(|_| TempDir::new().unwrap()).collect();
    let mut engine = bench.engine(folders[0].path(), 2);
    let gateway = bench.gateway(folders[1].path(), 2);
    bench.prepare(&gateway, 2);
    // The second partition's node goes, and its stand-in does not lead.
    engine.0.pop().unwrap().stop().unwrap();
    let id = bench.open(&gateway, 1, 1, [0, 1]).unwrap();
    bench.open(&gateway, 2, 0, [0, 1]).unwrap();
    assert_eq!(gateway.state(0).matches().open().len(), 1);
    assert!(gateway.state(0).matches().away().contains_key(&id));
    assert!(gateway.state(1).matches().by_id(&id).is_none());
    engine.0.push(Node::start(bench.options(folders[0].path(), 1, &engine.1)).unwrap());
    wait("the match", || gateway.state(1).matches().by_id(&id).is_some());
    let (_, home) = turns(&gateway.state(1)).next().unwrap();
    assert_eq!(home, gateway.0[1].producer().unwrap().id(), "asked by the agent's home");
    gateway.stop();
    engine.stop();
}

#[test]
fn a_process_that_does_not_follow_a_partition_ends_by_name_when_it_is_opened_and_at_its_start() {
    if left_out() {
        return;
    }
    let bench = Bench::new();
    let folders: Vec<_> = (0..3).map(|_| TempDir::new().unwrap()).collect();
    let engine = bench.engine(folders[0].path(), 1);
    let gateway = bench.gateway(folders[1].path(), 1);
    engine.stop();
    let engine = bench.engine(folders[0].path(), 2);
    wait("its end", || gateway.ended().is_some());
    let why = gateway.ended().unwrap();
    assert!(why.contains("partition 1 was opened, and this process follows 1 alone"), "{why}");
    let late = Node::start(bench.options(folders[2].path(), 0, &Peers::of(1)));
    let why = late.err().map(|why| why.to_string()).unwrap();
    assert!(why.contains("partition 1 was opened"), "{why}");
    assert!(Node::stop_all(gateway.0).is_err());
    engine.stop();
}

#[test]
fn a_journal_that_lost_what_another_partition_has_taken_is_refused_by_name() {
    if left_out() {
        return;
    }
    let bench = Bench::new();
    let folders: Vec<_> = (0..4).map(|_| TempDir::new().unwrap()).collect();
    let engine = bench.engine(folders[0].path(), 2);
    let gateway = bench.gateway(folders[1].path(), 2);
    bench.prepare(&gateway, 2);
    let id = bench.open(&gateway, 1, 1, [0, 1]).unwrap();
    wait("the match", || gateway.state(1).matches().by_id(&id).is_some());
    gateway.stop();
    engine.stop();
    // Everything of the first partition is gone, its leader's mark too; the second is there.
    let nats = bench.nats();
    bench.runtime.block_on(async {
        for name in [
            subject::records_stream(FIRST, Era(1)),
            subject::texts_stream(FIRST),
            format!("KV_{}", subject::LEASES_BUCKET),
        ] {
            nats.jetstream().delete_stream(name).await.unwrap();
        }
    });
    let engine = bench.engine(folders[2].path(), 2);
    wait("its refusal", || engine.ended().is_some());
    let why = engine.ended().unwrap();
    assert!(
        why.contains(
            "the journal of partition 0 is refused: it has sent 0 entries to partition 1, which has taken 3"
        ),
        "{why}"
    );
    let _ = Node::stop_all(engine.0);
}

//! Several processes' worth of nodes on one real server.

use crate::{
    AuditReport, Clock, Outcome, Producer, SqliteJournal, Submission, SubmitError, audit,
    jetstream::{JetStreamJournal, Nats, NatsOptions},
    journal::Journal,
    nats_servers::{NatsServers, NatsSetup, left_out},
    replicated::{Gateway, Node, NodeOptions, Peers, mirror_in},
    testing::{Dice, agent_id, register, sealed_text},
};
use arena_schema::{
    Event,
    command::registry::RegisterAgent,
    id::{Era, Partition, RecordNumber},
};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

const PARTITION: Partition = Partition(0);
const PATIENCE: Duration = Duration::from_secs(30);

/// A server and a runtime for all nodes of a test.
struct Bench {
    runtime: Runtime,
    servers: NatsServers,
}

impl Bench {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        Self { runtime, servers: NatsServers::one(&NatsSetup::default()) }
    }

    fn nats(&self) -> Nats {
        self.runtime.block_on(Nats::connect(&NatsOptions::new(self.servers.url()))).unwrap()
    }

    fn node(&self, data: &Path, may_lead: bool, submits: bool) -> Node {
        self.node_of_eras(data, may_lead, submits, crate::ERA_BYTES)
    }

    fn node_of_eras(&self, data: &Path, may_lead: bool, submits: bool, era_bytes_max: u64) -> Node {
        Node::start(NodeOptions {
            nats: self.nats(),
            partition: PARTITION,
            clock: Clock::System,
            data: data.to_owned(),
            snapshots: None,
            followers: Vec::new(),
            behind: Vec::new(),
            may_lead,
            gateway: submits.then(|| Gateway::new(PARTITION)),
            peers: Peers::of(1),
            era_bytes_max,
        })
        .unwrap()
    }

    fn register(&self, producer: &Producer, at: u64) -> Outcome {
        self.runtime.block_on(async {
            producer.submit(vec![Submission::new(register(at))]).await.unwrap().outcome().await.unwrap()
        })
    }

    /// What an auditor finds in the stream.
    fn audit(&self) -> AuditReport {
        let nats = self.nats();
        let open = JetStreamJournal::open(&nats, PARTITION, Era(1), RecordNumber(1));
        let journal = self.runtime.block_on(open).unwrap();
        audit(journal.reader().unwrap().as_mut(), PARTITION, &[]).unwrap()
    }
}

#[track_caller]
fn wait(what: &str, done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "{what} does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn registered(outcome: &Outcome, at: u64) -> bool {
    matches!(outcome.result.as_deref(), Ok([Event::AgentRegistered(event)]) if event.id == agent_id(at))
}

fn rows(data: &Path) -> u64 {
    let path = SqliteJournal::path_in(&data.join("mirror"), PARTITION, Era(1));
    SqliteJournal::open(&path).unwrap().last().unwrap().0
}

#[test]
fn one_process_leads_and_submits_and_goes_on_after_a_stop() {
    if left_out() {
        return;
    }
    let bench = Bench::new();
    let data = TempDir::new().unwrap();
    for run in 0..3 {
        let node = bench.node(data.path(), true, true);
        let producer = node.producer().unwrap();
        for at in run * 50..run * 50 + 50 {
            assert!(registered(&bench.register(&producer, at), at));
        }
        assert_eq!(node.handle().state().registry().agents().len() as u64, run * 50 + 50);
        assert_eq!(node.handle().state().producers().live_count(), 1);
        let last = node.handle().position();
        node.stop().unwrap();
        assert!(rows(data.path()) > last.0, "the closing record is in the local copy too");
    }
    let report = bench.audit();
    assert_eq!(report.records, rows(data.path()));
}

#[test]
fn over_the_end_of_an_era_leaders_followers_gateways_and_local_copies_go_on() {
    if left_out() {
        return;
    }
    let bench = Bench::new();
    let folders: Vec<_> = (0..3).map(|_| TempDir::new().unwrap()).collect();
    let node = |at: usize, may_lead| bench.node_of_eras(folders[at].path(), may_lead, !may_lead, 4_000);
    let mut engines = vec![node(0, true), node(1, true)];
    let gateway = node(2, false);
    let producer = gateway.producer().unwrap();
    let mut next = 0..;
    for round in 0..3_usize {
        for at in next.by_ref().take(40) {
            assert!(registered(&bench.register(&producer, at), at));
        }
        // Whoever leads stops; the other goes on, and the one that stopped comes back from its own copy.
        engines.remove(0).stop().unwrap();
        engines.push(node(round % 2, true));
    }
    // Longer than a journal must be seen cut short before that is believed: a closed era's end is not the journal's.
    std::thread::sleep(Duration::from_secs(6));
    for node in engines.iter().chain([&gateway]) {
        assert_eq!(*node.handle().stopped().borrow(), None);
    }
    assert!(registered(&bench.register(&producer, 1_000), 1_000));
    assert!(gateway.handle().state().era() > Era(5), "{:?}", gateway.handle().state().era());
    gateway.stop().unwrap();
    for engine in engines {
        engine.stop().unwrap();
    }
    let report = bench.audit();
    assert_eq!(report.records, rows(folders[0].path()).max(rows(folders[1].path())));
    for folder in &folders {
        let path = mirror_in(folder.path(), PARTITION);
        let own = audit(SqliteJournal::open_reader(&path).unwrap().as_mut(), PARTITION, &[]).unwrap();
        assert!(own.records <= report.records);
    }
}

#[test]
fn a_gateway_submits_to_whoever_leads_and_both_have_the_same() {
    if left_out() {
        return;
    }
    let bench = Bench::new();
    let folders: Vec<_> = (0..3).map(|_| TempDir::new().unwrap()).collect();
    let leader = bench.node(folders[0].path(), true, false);
    let gateways = [bench.node(folders[1].path(), false, true), bench.node(folders[2].path(), false, true)];
    for at in 0..100 {
        let gateway = &gateways[at as usize % 2];
        assert!(registered(&bench.register(&gateway.producer().unwrap(), at), at));
        // A write through one is read through the other at once.
        let other = &gateways[1 - at as usize % 2];
        assert!(bench.runtime.block_on(other.asker().caught_up(PATIENCE)));
        assert_eq!(other.handle().state().registry().agents().len() as u64, at + 1);
    }
    for node in gateways {
        node.stop().unwrap();
    }
    wait("the gateways' leave", || leader.handle().state().producers().live_count() == 0);
    leader.stop().unwrap();
    bench.audit();
}

#[test]
fn when_the_leader_stops_another_takes_over_and_every_command_acts_once() {
    if left_out() {
        return;
    }
    let bench = Bench::new();
    let folders: Vec<_> = (0..3).map(|_| TempDir::new().unwrap()).collect();
    let mut engines =
        vec![bench.node(folders[0].path(), true, false), bench.node(folders[1].path(), true, false)];
    let gateway = bench.node(folders[2].path(), false, true);
    let producer = gateway.producer().unwrap();
    let mut next = 0..;
    for round in 0..4 {
        let pending: Vec<_> = (0..200)
            .map(|_| {
                let at = next.next().unwrap();
                (at, producer.try_submit(vec![Submission::new(register(at))]).unwrap())
            })
            .collect();
        // Whoever leads stops with some of it under way; another begins.
        engines.remove(0).stop().unwrap();
        engines.push(bench.node(folders[round % 2].path(), true, false));
        bench.runtime.block_on(async {
            for (at, one) in pending {
                let outcome = tokio::time::timeout(PATIENCE, one.outcome()).await.unwrap().unwrap();
                assert!(registered(&outcome, at), "{outcome:?}");
            }
        });
    }
    assert_eq!(gateway.handle().state().registry().agents().len(), 800);
    gateway.stop().unwrap();
    for engine in engines {
        engine.stop().unwrap();
    }
    bench.audit();
}

#[test]
fn what_waited_for_a_leader_is_placed_however_much_it_is_and_acts_once() {
    if left_out() {
        return;
    }
    let bench = Bench::new();
    let folders: Vec<_> = (0..2).map(|_| TempDir::new().unwrap()).collect();
    let engine = bench.node(folders[0].path(), true, false);
    let gateway = bench.node(folders[1].path(), false, true);
    let producer = gateway.producer().unwrap();
    engine.stop().unwrap();
    // More than a server takes in one message.
    let mut dice = Dice(1);
    let pending: Vec<_> = (0..1_000)
        .map(|at| {
            let (name, text) = sealed_text(agent_id(at), 3_000, &mut dice);
            let submission = Submission::new(RegisterAgent { name: Some(name), ..register(at) });
            (at, producer.try_submit(vec![submission.with_text(text)]).unwrap())
        })
        .collect();
    let (_, text) = sealed_text(agent_id(0), 1_000_000, &mut dice);
    let large = producer.try_submit(vec![Submission::new(register(0)).with_text(text)]);
    assert!(matches!(large, Err(SubmitError::TooLarge)), "what fits into no request is refused at once");
    let engine = bench.node(folders[0].path(), true, false);
    bench.runtime.block_on(async {
        for (at, one) in pending {
            let outcome = tokio::time::timeout(PATIENCE, one.outcome()).await.expect("it is placed").unwrap();
            assert!(registered(&outcome, at), "{outcome:?}");
        }
    });
    gateway.stop().unwrap();
    engine.stop().unwrap();
    assert_eq!(bench.audit().texts, 1_000);
}

//! Limits on a real server: they are seen, the leader's door refuses what adds, and a gateway tells its callers so.

use super::{
    Bench,
    setup::{PATIENCE, alter, append_all, ask, wait_until},
};
use crate::{
    Clock, JetStreamJournal, Limit, Measure, NatsOptions, Submission, SubmitError, Unanswered,
    jetstream::Nats,
    nats_servers::{NatsServers, NatsSetup, left_out},
    replicated::{Gateway, Node, NodeOptions, Peers, Reply, Request},
    testing::{PARTITION, agent_key, open_match, played, register, submit_move, turn_of},
};
use arena_engine::RULES_NEWEST;
use arena_schema::{
    Command, Seat,
    command::matches::TurnRef,
    id::{Incarnation, MatchKey},
    record::{CommandHead, encode_command},
    subject,
};
use serde_json::{Value, json};
use std::{path::Path, time::Duration};
use tempfile::TempDir;

const RECORDS: &str = "ARENA_RECORDS_0_1";
const AGENTS: u64 = 200;

fn limits(journal: &mut JetStreamJournal, nats: &Nats) -> Vec<Limit> {
    nats.runtime().block_on(journal.limits()).unwrap()
}

#[test]
fn the_limits_of_the_open_era_of_the_texts_and_of_the_account_are_seen() {
    if left_out() {
        return;
    }
    let extra = "accounts { ARENA { jetstream: { max_file: 4000000, max_mem: 0 }, users: [{ user: arena, password: a1 }] } }\n";
    let servers = NatsServers::one(&NatsSetup { extra: extra.to_owned(), ..NatsSetup::default() });
    let credentials = Some(servers.file("arena.txt", "arena:a1"));
    let bench = Bench::on(servers);
    let nats = bench.connect_with(&NatsOptions { credentials, ..bench.options() });
    let mut journal = super::setup::open(&nats, 0).with_era_bytes(1);
    append_all(&mut journal, &played(40, 1));
    let account = || {
        let told = ask(&nats, "INFO", &Value::Null);
        let used = told["storage"].as_u64().unwrap();
        Limit {
            of: "the account on NATS".to_owned(),
            measure: Measure::Used { used, most: 4_000_000, unit: "bytes" },
        }
    };
    assert_eq!(limits(&mut journal, &nats), [account()], "the streams have none");
    alter(&nats, RECORDS, "max_bytes", json!(1_000_000));
    alter(&nats, "ARENA_TEXTS_0", "max_msgs", json!(5_000));
    let state = |stream: &str, of: &str| {
        let told = ask(&nats, &format!("STREAM.INFO.{stream}"), &Value::Null);
        told["state"][of].as_u64().unwrap()
    };
    let stream = |stream: &str, used, most, unit| Limit {
        of: format!("the stream {stream}"),
        measure: Measure::Used { used, most, unit },
    };
    let expected = [
        stream(RECORDS, state(RECORDS, "bytes"), 1_000_000, "bytes"),
        stream("ARENA_TEXTS_0", state("ARENA_TEXTS_0", "messages"), 5_000, "messages"),
        account(),
    ];
    assert_eq!(limits(&mut journal, &nats), expected);
    assert!(expected.iter().all(|limit| !limit.is_near()));
    let small = state("ARENA_TEXTS_0", "messages") * 100 / 90;
    alter(&nats, "ARENA_TEXTS_0", "max_msgs", json!(small));
    let monitor_url = Some(bench.servers.monitor_url());
    let watched = bench.connect_with(&NatsOptions { monitor_url, ..nats.options().clone() });
    let told = limits(&mut super::setup::open(&watched, 0), &watched);
    let server = told.last().unwrap();
    let Measure::Used { used, most, .. } = server.measure else { panic!("{server}") };
    assert!(server.of == "the NATS server n1" && used > 0 && most > used, "{server}");

    let near: Vec<bool> = limits(&mut journal, &nats).iter().map(Limit::is_near).collect();
    assert_eq!(near, [false, true, false], "the texts' is near, though the records' is not");
}

fn node(nats: Nats, data: &Path, may_lead: bool, submits: bool) -> Node {
    Node::start(NodeOptions {
        nats,
        partition: PARTITION,
        clock: Clock::System,
        data: data.to_owned(),
        snapshots: None,
        followers: Vec::new(),
        behind: Vec::new(),
        may_lead,
        gateway: submits.then(|| Gateway::new(PARTITION)),
        peers: Peers::of(1),
        era_bytes_max: crate::ERA_BYTES,
    })
    .unwrap()
}

/// Sets the records' limit so that so many percent of it are used.
fn use_percent(nats: &Nats, percent: u64) {
    let used = ask(nats, &format!("STREAM.INFO.{RECORDS}"), &Value::Null)["state"]["bytes"].as_u64().unwrap();
    alter(nats, RECORDS, "max_bytes", json!(used * 100 / percent));
}

#[test]
fn a_gateway_that_has_not_seen_that_space_is_short_is_told_by_the_leader_and_tells_its_callers() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let leader = node(bench.connect(), folders[0].path(), true, false);
    let gateway = node(bench.connect(), folders[1].path(), false, true);
    let producer = gateway.producer().unwrap();
    let submit = |command: Command| {
        bench.runtime.block_on(async {
            let pending = producer.submit(vec![Submission::new(command)]).await.unwrap();
            tokio::time::timeout(PATIENCE, pending.outcome()).await.expect("there is an outcome")
        })
    };
    // A tenth of what they take has room for a match.
    for at in 0..AGENTS {
        submit(register(at).into()).unwrap().result.unwrap();
    }
    let opened = submit(open_match(1, [agent_key(0), agent_key(1)]).into()).unwrap();
    let mut turn = turn_of(&opened.result.unwrap()).unwrap();
    let operator = bench.connect();
    use_percent(&operator, 92);
    for process in [&leader, &gateway] {
        wait_until("the look", || process.handle().space().shortage().is_some());
    }
    let own_door =
        bench.runtime.block_on(producer.submit(vec![Submission::new(register(2_000))])).unwrap_err();
    assert!(matches!(own_door, SubmitError::Short(_)), "{own_door}");

    gateway.handle().space().see_nothing();
    // What adds and what does not are handed in at once, many of each, and are told apart.
    let adding: Vec<_> =
        (1_000..1_050).map(|at| producer.try_submit(vec![Submission::new(register(at))]).unwrap()).collect();
    let moved = submit(submit_move(turn, 3).into()).unwrap();
    turn = turn_of(&moved.result.unwrap()).unwrap();
    for pending in adding {
        let outcome = async { tokio::time::timeout(PATIENCE, pending.outcome()).await.unwrap() };
        let refused = bench.runtime.block_on(outcome).unwrap_err();
        let Unanswered::Short(shortage) = refused else { panic!("{refused}") };
        assert!(shortage.0.contains(RECORDS), "{shortage}");
    }
    assert_eq!(producer.unanswered(), 0, "what was refused takes no room");
    assert_eq!(leader.handle().state().registry().agents().len() as u64, AGENTS);
    for column in [0, 3, 0, 3, 0, 3] {
        let moved = submit(submit_move(turn, column).into()).unwrap();
        turn = turn_of(&moved.result.unwrap()).unwrap_or(turn);
    }
    assert_eq!(leader.handle().state().matches().open().len(), 0, "it was played to its end");

    alter(&operator, RECORDS, "max_bytes", json!(-1));
    wait_until("the look", || leader.handle().space().shortage().is_none());
    submit(register(2_000).into()).unwrap().result.unwrap();
    gateway.stop().unwrap();
    leader.stop().unwrap();
}

#[test]
fn the_leader_s_door_reads_what_commands_do_and_takes_none_of_a_request_of_which_one_adds() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let folder = TempDir::new().unwrap();
    let leader = node(bench.connect(), folder.path(), true, false);
    let nats = bench.connect();
    let question = |request: &Request<'_>| {
        let asked =
            async_nats::Request::new().payload(request.encode().into()).timeout(Some(Duration::from_secs(2)));
        let answer =
            bench.runtime.block_on(nats.client().send_request(subject::submit(PARTITION), asked)).ok()?;
        Reply::decode(&answer.payload).ok()
    };
    let incarnation = Incarnation([7; 16]);
    let announce = Request::Announce { incarnation, rules_known: RULES_NEWEST };
    let mut announced = None;
    wait_until("a leader", || question(&Request::Position).is_some());
    wait_until("its number", || question(&announce) != Some(Reply::Busy));
    if let Some(Reply::Announced { producer }) = question(&announce) {
        announced = Some(producer);
    }
    let producer = announced.unwrap();
    let submit = |first: u64, commands: &[Command]| {
        let mut bytes = Vec::new();
        for (number, command) in (first..).zip(commands) {
            encode_command(&CommandHead { producer, number, ..CommandHead::SEQUENCER }, command, &mut bytes);
        }
        let count = commands.len() as u32;
        question(&Request::Submit { producer, count, commands: &bytes, texts: &[] }).unwrap()
    };
    let mut opened: Vec<Command> = (0..AGENTS).map(|at| register(at).into()).collect();
    opened.push(open_match(1, [agent_key(0), agent_key(1)]).into());
    assert!(matches!(submit(1, &opened), Reply::Placed { .. }));
    let turn = {
        let state = leader.handle().state();
        let (slot, generation, open) = state.matches().open().iter().next().unwrap();
        let key = MatchKey { slot, generation };
        let seat = Seat::First;
        let asked = open.seat(seat).turn.as_ref().unwrap();
        TurnRef { key, seat, ply: asked.ply, attempt: asked.attempt }
    };
    use_percent(&nats, 95);
    wait_until("the look", || leader.handle().space().shortage().is_some());
    let before = leader.handle().position();
    let mixed = [submit_move(turn, 3).into(), register(AGENTS).into()];
    assert!(matches!(submit(1_000, &mixed), Reply::Short { why } if why.contains(RECORDS)));
    assert_eq!(leader.handle().position(), before, "nothing of it is in the journal");
    assert!(matches!(submit(1_000, &mixed[..1]), Reply::Placed { .. }));
    leader.stop().unwrap();
}

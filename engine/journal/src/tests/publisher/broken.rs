//! Servers that die in the middle, connections that lose answers, streams that are not what they must be.

use super::{PATIENCE, Play, STREAM, arena, assert_told, options, published, wait_copied, wait_published};
use crate::{
    StartError,
    jetstream::{EventStream, NatsOptions},
    journal::JournalError,
    nats_servers::left_out,
    replicated::Node,
    testing::{PARTITION, played, register},
    tests::jetstream::{
        proxy::Proxy,
        setup::{Bench, alter, append_all, ask, remake, wait_until},
    },
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tempfile::TempDir;

#[test]
fn a_server_that_is_killed_in_the_middle_costs_no_event_and_doubles_none() {
    if left_out() {
        return;
    }
    let mut bench = Bench::one();
    append_all(&mut bench.journal(0), &played(1_500, 9));
    let data = TempDir::new().unwrap();
    let node = arena(bench.connect(), data.path());
    let play = Play { producer: node.producer().unwrap(), matches: 0 };
    let mut deaths = 0;
    while node.lagging().unwrap().lag().is_none_or(|lag| !lag.is_none()) && deaths < 4 {
        std::thread::sleep(Duration::from_millis(150));
        bench.servers.nodes[0].kill();
        bench.servers.nodes[0].start();
        deaths += 1;
    }
    assert!(deaths > 0, "it was published before a server could die");
    play.submit(&bench, register(1_000)).result.unwrap();
    wait_published(&node);
    node.stop().unwrap();
    assert_told(&bench, data.path());
}

#[test]
fn answers_that_get_lost_cost_no_event_and_double_none() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let proxy = Proxy::before(bench.servers.nodes[0].address());
    append_all(&mut bench.journal(0), &played(1_000, 11));
    let data = TempDir::new().unwrap();
    let node = arena(bench.connect_with(&NatsOptions { url: proxy.url(), ..bench.options() }), data.path());
    for round in 0..6 {
        proxy.swallow(round % 2 == 0);
        std::thread::sleep(Duration::from_millis(60));
        if round % 2 == 0 {
            proxy.cut(false);
            proxy.swallow(false);
        } else {
            // In the middle of a message.
            proxy.cut_after(20_000 + 777 * round);
            let begun = Instant::now();
            while !proxy.has_cut() && begun.elapsed() < Duration::from_secs(1) {
                std::thread::sleep(Duration::from_millis(2));
            }
            proxy.open();
        }
    }
    proxy.open();
    wait_published(&node);
    node.stop().unwrap();
    assert_told(&bench, data.path());
}

#[test]
fn a_stream_of_events_that_is_set_up_otherwise_is_refused_by_the_settings_name() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let cases: &[(&str, Value, &str)] = &[
        ("subjects", json!(["arena.event.0.>", "arena.other"]), r#"["arena.event.0.>"]"#),
        ("storage", json!("memory"), r#""file""#),
        ("retention", json!("interest"), r#""limits""#),
        ("discard", json!("new"), r#""old""#),
        ("max_msgs_per_subject", json!(100), "-1"),
        ("max_msg_size", json!(1000), "-1"),
        ("max_consumers", json!(4), "-1"),
        ("duplicate_window", json!(100_000_000), "120000000000"),
        ("deny_delete", json!(false), "true"),
        ("deny_purge", json!(false), "true"),
        ("allow_direct", json!(false), "true"),
        ("first_seq", json!(5), "unset"),
        ("no_ack", json!(true), "unset"),
        ("allow_msg_ttl", json!(true), "unset"),
        ("allow_rollup_hdrs", json!(true), "unset"),
        ("republish", json!({"src": ">", "dest": "copy.>"}), "unset"),
        ("subject_transform", json!({"src": "arena.event.0.>", "dest": "arena.other.>"}), "unset"),
    ];
    // A server may still be at deleting what was there before.
    let open = || {
        let begun = Instant::now();
        loop {
            match bench.runtime.block_on(EventStream::open(&nats, PARTITION)) {
                Err(why) if why.to_string().contains("creating store") && begun.elapsed() < PATIENCE => {}
                opened => return opened,
            }
        }
    };
    let delete = || ask(&nats, &format!("STREAM.DELETE.{STREAM}"), &json!({}));
    for (name, value, expected) in cases {
        open().unwrap_or_else(|why| panic!("before {name}: {why}"));
        let deny_purge = name == &"allow_rollup_hdrs";
        if deny_purge {
            // The server itself takes not both.
            assert!(remake(&nats, STREAM, name, value.clone()).is_err());
            delete();
            continue;
        }
        remake(&nats, STREAM, name, value.clone()).unwrap_or_else(|why| panic!("{name}: {why}"));
        match open() {
            Err(JournalError::Format { why, .. }) => {
                let words = [STREAM, &format!("setting {name} "), &format!("must be {expected}")];
                assert!(words.iter().all(|word| why.contains(word)), "{name}: {why}");
            }
            other => panic!("{name}: {other:?}"),
        }
        delete();
    }
    // Limits are the operator's.
    open().unwrap();
    for (name, value) in [
        ("max_bytes", json!(1_000_000)),
        ("max_msgs", json!(1_000)),
        ("max_age", json!(3_600_000_000_000_u64)),
    ] {
        alter(&nats, STREAM, name, value);
    }
    open().unwrap();
    // A process that may lead does not start with another.
    remake(&nats, STREAM, "discard", json!("new")).unwrap();
    let data = TempDir::new().unwrap();
    match Node::start(options(bench.connect(), data.path())) {
        Err(StartError::Journal(JournalError::Format { why, .. })) => {
            assert!(why.contains("discard"), "{why}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it started"),
    }
}

#[test]
fn a_stream_that_keeps_the_newest_alone_takes_all_that_comes() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let data = TempDir::new().unwrap();
    let node = arena(bench.connect(), data.path());
    let mut play = Play::begin(&bench, &node);
    alter(&bench.connect(), STREAM, "max_msgs", json!(10));
    play.play(&bench, 3);
    wait_published(&node);
    let nats = bench.connect();
    let (messages, sequence, json) = bench.runtime.block_on(async {
        let mut stream = nats.jetstream().get_stream(STREAM).await.unwrap();
        let state = stream.info().await.unwrap().state.clone();
        let message = stream.get_raw_message(state.last_sequence).await.unwrap();
        (state.messages, state.last_sequence, String::from_utf8(message.payload.to_vec()).unwrap())
    });
    wait_copied(&node, data.path());
    let folded = super::folded(data.path());
    assert_eq!((messages, sequence), (10, folded.len() as u64));
    assert_eq!(json, folded.last().unwrap().1);
    node.stop().unwrap();
}

#[test]
fn a_stream_that_tells_of_another_journal_is_left_alone_and_stops_nobody() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let mut other = super::fold(&played(20, 13));
    bench.runtime.block_on(async {
        let mut stream = EventStream::open(&nats, PARTITION).await.unwrap();
        other.truncate(5);
        assert_eq!(stream.publish(0, other.iter()).await, (5, Ok(())));
    });
    let data = TempDir::new().unwrap();
    let node = arena(bench.connect(), data.path());
    let mut play = Play::begin(&bench, &node);
    play.play(&bench, 3);
    let lag = node.lagging().unwrap();
    wait_until("a lag that is seen", || lag.lag().is_some_and(|lag| lag.records > 20));
    let other: Vec<_> = other.into_iter().map(|event| (event.subject, event.json)).collect();
    assert_eq!(published(&bench), other);
    node.stop().unwrap();
    assert_eq!(published(&bench), other);
}

#[test]
fn a_cluster_whose_stream_loses_its_leader_goes_on_without_a_gap_or_a_double() {
    if left_out() {
        return;
    }
    let mut bench = Bench::three();
    append_all(&mut bench.journal(0), &played(1_000, 17));
    let data = TempDir::new().unwrap();
    let node = arena(bench.connect(), data.path());
    wait_until("the first events", || last_sequence(&bench) > 0);
    let leader = bench.servers.leader_of(STREAM);
    bench.servers.nodes[leader].kill();
    std::thread::sleep(Duration::from_millis(500));
    bench.servers.nodes[leader].start();
    bench.servers.wait_ready();
    wait_until("a leader", || node.lagging().unwrap().lag().is_some());
    let play = Play { producer: node.producer().unwrap(), matches: 0 };
    play.submit(&bench, register(1_000)).result.unwrap();
    wait_published(&node);
    node.stop().unwrap();
    assert_told(&bench, data.path());
}

fn last_sequence(bench: &Bench) -> u64 {
    let info = ask(&bench.connect(), &format!("STREAM.INFO.{STREAM}"), &json!({}));
    info.pointer("/state/last_seq").and_then(Value::as_u64).unwrap_or_default()
}

//! What is refused at the opening: old servers, lazy servers, streams that are set up otherwise.

use super::{
    Bench,
    setup::{FIRST, remake},
};
use crate::{
    JetStreamJournal, JournalError, NatsError,
    jetstream::{Durability, Nats, NatsOptions},
    nats_servers::{NatsServers, NatsSetup, left_out},
};
use arena_schema::id::{Era, Partition};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    path::PathBuf,
    thread,
};

#[test]
fn a_stream_that_is_set_up_otherwise_is_refused_by_the_settings_name() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let (records, texts) = ("ARENA_RECORDS_0_1", "ARENA_TEXTS_0");
    let cases: &[(&str, &str, Value, &str)] = &[
        (records, "subjects", json!(["arena.record.0.1", "arena.record.0.9"]), r#"["arena.record.0.1"]"#),
        (records, "storage", json!("memory"), r#""file""#),
        (records, "retention", json!("interest"), r#""limits""#),
        (records, "discard", json!("old"), r#""new""#),
        (records, "max_age", json!(3_600_000_000_000_u64), "0"),
        (records, "max_msgs_per_subject", json!(100), "-1"),
        (records, "max_msg_size", json!(1000), "-1"),
        (records, "max_consumers", json!(4), "-1"),
        (records, "duplicate_window", json!(120_000_000_000_u64), "100000000"),
        (records, "deny_delete", json!(false), "true"),
        (records, "deny_purge", json!(false), "true"),
        (records, "first_seq", json!(5), "unset"),
        (records, "no_ack", json!(true), "unset"),
        (records, "allow_msg_ttl", json!(true), "unset"),
        (records, "persist_mode", json!("async"), "unset"),
        (records, "republish", json!({"src": ">", "dest": "copy.>"}), "unset"),
        (records, "subject_transform", json!({"src": "arena.record.0.1", "dest": "arena.other"}), "unset"),
        (texts, "storage", json!("memory"), r#""file""#),
        (texts, "discard", json!("old"), r#""new""#),
        (texts, "deny_delete", json!(true), "false"),
        (texts, "max_age", json!(3_600_000_000_000_u64), "0"),
    ];
    let open =
        |nats: &Nats| bench.runtime.block_on(JetStreamJournal::open(nats, Partition(0), Era(1), FIRST));
    for (stream, name, value, expected) in cases {
        open(&nats).unwrap();
        remake(&nats, stream, name, value.clone()).unwrap_or_else(|why| panic!("{name}: {why}"));
        match open(&nats) {
            Err(JournalError::Format { why, .. }) => {
                let words = [*stream, &format!("setting {name} "), &format!("must be {expected}")];
                let named = words.iter().all(|word| why.contains(word));
                assert!(named, "{name}: {why}");
            }
            other => panic!("{name}: {other:?}"),
        }
        super::setup::ask(&nats, &format!("STREAM.DELETE.{stream}"), &json!({}));
    }
    open(&nats).unwrap();
    let three = bench.connect_with(&NatsOptions { replicas: 3, ..bench.options() });
    let error = open(&three).unwrap_err().to_string();
    assert!(error.contains("num_replicas") && error.contains("is 1, and must be 3"), "{error}");
    // A limit of the operator's is none of ours.
    remake(&nats, records, "max_bytes", json!(1_000_000_000)).unwrap();
    open(&nats).unwrap();
}

#[test]
fn an_old_server_is_refused_by_its_version() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let info = json!({"server_id": "OLD", "server_name": "old", "version": "2.9.10", "go": "go1.19",
            "host": "127.0.0.1", "port": 4222, "headers": true, "max_payload": 1_048_576, "proto": 1,
            "client_id": 1, "jetstream": true});
        client.write_all(format!("INFO {info}\r\n").as_bytes()).unwrap();
        let lines = BufReader::new(client.try_clone().unwrap()).lines();
        for line in lines.map_while(Result::ok).filter(|line| line == "PING") {
            assert_eq!(line, "PING");
            client.write_all(b"PONG\r\n").unwrap();
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    match runtime.block_on(Nats::connect(&NatsOptions::new(url))) {
        Err(NatsError::Version { found }) => assert_eq!(found, "2.9.10"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn where_nobody_answers_the_address_is_named_and_no_password() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let options = NatsOptions::new(format!("nats://me:secret@127.0.0.1:{port}"));
    let error = runtime.block_on(Nats::connect(&options)).unwrap_err().to_string();
    assert!(error.contains(&format!("nats://127.0.0.1:{port}")) && !error.contains("secret"), "{error}");
}

#[test]
fn where_jetstream_is_not_enabled_it_is_said_soon() {
    if left_out() {
        return;
    }
    let extra = "accounts { PLAIN { users: [{ user: plain, password: p1 }] } }\n".to_owned();
    let servers = NatsServers::one(&NatsSetup { extra, ..NatsSetup::default() });
    let credentials = Some(servers.file("plain.txt", "plain:p1"));
    let bench = Bench::on(servers);
    let nats = bench.connect_with(&NatsOptions { credentials, ..bench.options() });
    let error =
        bench.runtime.block_on(JetStreamJournal::open(&nats, Partition(0), Era(1), FIRST)).unwrap_err();
    assert!(error.to_string().contains("not enabled"), "{error}");
}

/// Servers that sync so often, with a system account and an ordinary one.
fn accounts(sync_interval: &str) -> (Bench, [PathBuf; 2]) {
    let extra = "system_account: SYS\naccounts {\n  SYS { users: [{ user: sys, password: s1 }] }\n  \
                 ARENA { jetstream: enabled, users: [{ user: arena, password: a1 }] }\n}\n";
    let setup = NatsSetup { sync_interval: sync_interval.to_owned(), extra: extra.to_owned() };
    let servers =
        if sync_interval == "always" { NatsServers::three(&setup) } else { NatsServers::one(&setup) };
    let files = [servers.file("sys.txt", "sys:s1\n"), servers.file("arena.txt", "arena:a1\n")];
    (Bench::on(servers), files)
}

#[test]
fn whether_a_server_syncs_is_seen_on_its_monitoring_port_or_by_the_system_account() {
    if left_out() {
        return;
    }
    for (sync_interval, syncs) in [("always", true), ("\"2m\"", false)] {
        let (bench, [system, arena]) = accounts(sync_interval);
        let plain = NatsOptions { credentials: Some(arena.clone()), ..bench.options() };
        let see =
            |options: &NatsOptions| bench.runtime.block_on(bench.connect_with(options).require_durability());
        let Ok(Durability::Unchecked { how }) = see(&plain) else {
            panic!("nothing to see it by, and yet it is seen");
        };
        assert!(how.contains("nats.monitor_url") && how.contains("nats.system_credentials"), "{how}");
        let monitor = NatsOptions { monitor_url: Some(bench.servers.monitor_url()), ..plain.clone() };
        let account = NatsOptions { system_credentials: Some(system), ..plain.clone() };
        for options in [monitor, account] {
            match see(&options) {
                Ok(Durability::Syncs) if syncs => {}
                Err(error @ NatsError::Lazy { .. }) if !syncs => {
                    let error = error.to_string();
                    assert!(error.contains("sync_interval 120s") && error.contains("n1"), "{error}");
                    let relaxed = see(&NatsOptions { relaxed: true, ..options });
                    assert!(matches!(relaxed, Ok(Durability::Lazy { .. })), "{relaxed:?}");
                }
                other => panic!("{sync_interval}: {other:?}"),
            }
        }
        let wrong = NatsOptions { system_credentials: Some(arena), ..plain.clone() };
        assert!(matches!(see(&wrong), Ok(Durability::Unchecked { .. })));
        let wrong = NatsOptions { monitor_url: Some(bench.servers.url().replace("nats", "http")), ..plain };
        assert!(matches!(see(&wrong), Ok(Durability::Unchecked { .. })));
    }
}

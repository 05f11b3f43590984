//! Every server that may come to lead a stream is looked at, not only the one that answered.

use super::Bench;
use crate::{
    jetstream::{NatsError, NatsOptions, ServerReport, ServerSeen},
    nats_servers::{NatsServers, NatsSetup, left_out},
};
use serde_json::{Value, json};
use std::{
    io::Write,
    net::{TcpListener, TcpStream},
    thread,
};

/// Says so much to whoever calls, for as long as the test runs; gives its address.
fn says(line: &str) -> String {
    let (listener, line) = (TcpListener::bind("127.0.0.1:0").unwrap(), line.to_owned());
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let mut kept: Vec<TcpStream> = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            // Who calls may have hung up.
            let _ = stream.write_all(line.as_bytes());
            kept.push(stream);
        }
    });
    address
}

fn info(name: &str, version: &str, jetstream: bool, others: &[&str]) -> String {
    let info: Value = json!({
        "server_id": name, "server_name": name, "version": version, "proto": 1, "go": "go1.19", "host": "127.0.0.1",
        "port": 4222, "headers": true, "max_payload": 1_048_576, "jetstream": jetstream, "client_id": 1,
        "connect_urls": others,
    });
    format!("INFO {info}\r\n")
}

fn names(servers: &[ServerReport]) -> Vec<&str> {
    servers.iter().map(|server| server.server.as_str()).collect()
}

#[test]
fn the_servers_of_a_cluster_are_found_from_one_of_them() {
    if left_out() {
        return;
    }
    let bench = Bench::three();
    let version = bench.connect().server_version();
    let one = NatsOptions::new(bench.servers.nodes[1].url());
    let monitored = NatsOptions { monitor_url: Some(bench.servers.monitor_url()), ..one.clone() };
    for options in [one, monitored, bench.options()] {
        let nats = bench.connect_with(&options);
        let servers = bench.runtime.block_on(nats.servers());
        assert_eq!(names(&servers), ["n1", "n2", "n3"]);
        for server in &servers {
            assert_eq!(server.seen, ServerSeen::Version(version.clone()));
        }
        assert_eq!(bench.runtime.block_on(nats.require_versions()).unwrap(), []);
    }
}

#[test]
fn one_that_is_too_old_is_refused_by_name_whoever_answered() {
    if left_out() {
        return;
    }
    // The servers announce it as one of theirs: as in a cluster that is halfway through an upgrade.
    let old = says(&info("old", "2.9.10", true, &[]));
    let extra = format!("client_advertise: \"{old}\"\n");
    let bench = Bench::on(NatsServers::three(&NatsSetup { extra, ..NatsSetup::default() }));
    let nats = bench.connect_with(&NatsOptions::new(bench.servers.nodes[0].url()));
    let refused = bench.runtime.block_on(nats.require_versions()).unwrap_err();
    assert!(matches!(&refused, NatsError::OldServer { server, .. } if server == "old"), "{refused}");
    assert!(refused.to_string().contains("2.9.10 on old is too old"), "{refused}");
    assert!(bench.runtime.block_on(nats.servers()).iter().any(ServerReport::is_old));
}

#[test]
fn one_that_leads_no_stream_may_be_old_and_one_that_cannot_be_asked_is_told_of() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let nats = bench.connect();
    let check = |also: &[&str]| {
        let mut urls = vec![bench.servers.nodes[0].url()];
        urls.extend(also.iter().map(|address| format!("nats://me:secret@{address}")));
        let options = NatsOptions::new(urls.join(","));
        bench.runtime.block_on(nats.with_options(options).require_versions())
    };
    // One names another, which only it knows.
    let old = says(&info("old", "2.12.2", true, &[]));
    let between = says(&info("between", "2.9.10", false, &[&old]));
    assert!(matches!(check(&[&between]), Err(NatsError::OldServer { server, .. }) if server == "old"));
    let without = says(&info("without", "2.9.10", false, &[]));
    assert_eq!(check(&[&without]).unwrap(), []);
    let silent = says("");
    for (address, why) in [
        ("127.0.0.1:1".to_owned(), "refused"),
        (says("HTTP/1.1 400 Bad Request\r\n"), "no NATS server"),
        (says("INFO {\r\n"), "cannot be read"),
        (silent, "does not say who it is"),
    ] {
        let unseen = check(&[&address]).unwrap();
        let [ServerReport { server, seen: ServerSeen::Unseen(said) }] = &unseen[..] else {
            panic!("{unseen:?}")
        };
        assert!(server.contains(&address) && !server.contains("secret"), "{server}");
        assert!(said.contains(why) && !said.contains("secret"), "{said}");
    }
}

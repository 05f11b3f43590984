//! In which order processes start, and what they refuse.

use super::{PATIENCE, Site, command, refused, restrict, wait_until};
use arena_tests::{ServeOptions, nats::left_out};
use serde_json::json;
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    os::unix::process::ExitStatusExt,
    process::Stdio,
    thread,
    time::Instant,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_comes_before_any_engine_waits_and_then_serves() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let (gateway, engine) = thread::scope(|scope| {
        let waiting = scope.spawn(|| site.serve("g1", "gateway"));
        // It is as far as it comes alone.
        wait_until("the gateway's copy", || {
            arena_journal::replicated::mirror_in(&site.data("g1"), super::PARTITION).is_file()
        });
        let engine = site.serve("e1", "engine");
        (waiting.join().unwrap(), engine)
    });
    assert_eq!(gateway.get("/readyz", None).await.0, 200);
    super::leader::stop_all(gateway, vec![engine]);
    site.judge();
}

#[test]
fn a_gateway_that_waits_for_an_engine_says_so_and_ends_when_it_is_asked_to() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let mut gateway = command(&site.options("g1", "gateway", &site.servers.url()));
    let mut gateway = gateway.stderr(Stdio::piped()).spawn().unwrap();
    let mut words = BufReader::new(gateway.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(words.any(|line| line.contains("no engine leads")), "it says what it waits for");
    let asked = Instant::now();
    let kill = std::process::Command::new("kill").arg("-TERM").arg(gateway.id().to_string()).status();
    assert!(kill.unwrap().success());
    let status = gateway.wait().unwrap();
    assert!(status.success() && status.signal().is_none(), "{status}");
    assert!(asked.elapsed() < PATIENCE / 6, "{:?}", asked.elapsed());
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let url = site.servers.url();
    for role in ["engine", "gateway", "all"] {
        let words = refused(&site.options("down", role, "nats://127.0.0.1:9"));
        assert!(words.contains("NATS at nats://127.0.0.1:9 cannot be reached"), "{role}: {words}");
        let old = old_server();
        let words = refused(&site.options("old", role, &old));
        assert!(words.contains("nats-server 2.9.10 is too old"), "{role}: {words}");
        // Also where another answers: the old one may come to lead a stream.
        let words = refused(&site.options("old", role, &format!("{url},{}", old_server())));
        assert!(words.contains("nats-server 2.9.10 ") && words.contains("is too old"), "{role}: {words}");
    }
    // The vault's key is missing, and is another than the one that the others have.
    let keyed = |name: &str| {
        let options = site.options("keyed", "all", &url);
        let key = site.data(name).display().to_string();
        ServeOptions {
            variables: [vec![("ARENA_VAULT__KEY_FILE".to_owned(), key)], options.variables[1..].to_vec()]
                .concat(),
            ..options
        }
    };
    let words = refused(&keyed("missing.key"));
    assert!(words.contains("missing.key") && words.contains("vault key"), "{words}");
    site.serve("a1", "all").stop();
    fs::write(site.data("other.key"), [8; 32]).unwrap();
    restrict(&site.data("other.key"));
    let words = refused(&keyed("other.key"));
    assert!(words.contains("key"), "{words}");
    site.alter("discard", json!("old"));
    for role in ["engine", "gateway", "all"] {
        let words = refused(&site.options("strange", role, &url));
        assert!(
            words.contains("the setting discard of the stream ARENA_RECORDS_0_1 is \"old\""),
            "{role}: {words}"
        );
    }
}

/// Says that it is a server of long ago.
fn old_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let info = json!({
            "server_id": "OLD", "server_name": "old", "version": "2.9.10", "proto": 1, "go": "go1.19", "host": "127.0.0.1",
            "port": 4222, "headers": true, "max_payload": 1_048_576, "jetstream": true, "client_id": 1,
        });
        stream.write_all(format!("INFO {info}\r\n").as_bytes()).unwrap();
        let said = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
        for _ in said.filter(|line| line.starts_with("PING")) {
            let _ = stream.write_all(b"PONG\r\n");
        }
    });
    url
}

//! An orderly stop under load.

use crate::{dice::Dice, load::Load, records};
use arena_tests::{Agent, Reply, Served, served::poll_async};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// The grace for clients that stay and the one for facts on their way are 5 s together; the rest is for a busy machine.
const SECONDS: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_under_load_ends_in_seconds_and_loses_nothing_that_was_acknowledged() {
    let mut dice = Dice::new();
    let arena = Served::start();
    let load = Load::start(&arena, &mut dice, 12).await;
    // It answers nothing until the arena is gone.
    let silent =
        Agent::start(|n, request| if n == 0 { Reply::Silence } else { Reply::middle(request) }).await;
    let me = arena.register("Silent-1", &silent.url).await;
    let further = json!({"first": me.slug, "rated": false, "deadline_ms": 60_000});
    let held_up = arena.challenge(&me, &load.playing[0].slug, further).await;
    wait(|| silent.seen().len() == 1).await;

    let mut events = arena.client().get(format!("{}/m/{held_up}/events", arena.url)).send().await.unwrap();
    assert_eq!(events.status(), 200);
    let mut idle = keep_alive(&arena).await;
    let mut half = connect(&arena).await;
    half.write_all(b"POST /practice HTTP/1.1\r\nhost: arena\r\ncontent-length: 100\r\n\r\n{").await.unwrap();
    let clients = load.run(&arena, &mut dice, usize::MAX);
    let enough = load.happened() + 150;
    wait(|| load.happened() >= enough).await;

    let asked = Instant::now();
    let stopped = arena.stop();
    let took = asked.elapsed();
    assert!(took < SECONDS, "it took {took:?}");
    clients.join_all().await;
    // The stream was ended, not cut off.
    while events.chunk().await.expect("a stream that ends in order").is_some() {}
    let mut rest = Vec::new();
    let _ = idle.read_to_end(&mut rest).await;

    records::assert_closed(&stopped.data);
    let audit = stopped.audit();
    assert_eq!(audit["holds"], true, "{audit}");
    let arena = stopped.start();
    wait(|| silent.seen().len() > 1).await;
    let seen = silent.seen();
    assert_eq!(seen[1].body["match_id"], held_up.as_str());
    assert_eq!(seen[1].body["move_number"], 1, "the turn that was open is asked again");
    assert_eq!(seen[1].body["strikes"], 0);
    assert_ne!(seen[1].body["nonce"], seen[0].body["nonce"]);
    {
        let mut ledger = load.ledger();
        ledger.agents.push(me);
        ledger.registrations_sent += 1;
        ledger.matches_sent += 1;
    }
    arena.finished(&held_up).await;
    load.assert_finished(&arena).await;
    let stopped = arena.stop();
    load.assert_once(&stopped.data);
    records::assert_closed(&stopped.data);
}

#[tokio::test]
async fn an_idle_arena_stops_in_order_and_so_does_one_that_is_told_by_an_interrupt() {
    let stopped = Served::start().stop();
    records::assert_closed(&stopped.data);
    let mut arena = stopped.start();
    arena.signal("INT");
    assert!(arena.wait().success(), "{}", arena.log());
    records::assert_closed(&stopped.data);
}

async fn connect(arena: &Served) -> TcpStream {
    TcpStream::connect(arena.url.strip_prefix("http://").unwrap()).await.unwrap()
}

/// A connection that has had one answer and stays.
async fn keep_alive(arena: &Served) -> TcpStream {
    let mut stream = connect(arena).await;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: arena\r\n\r\n").await.unwrap();
    let mut part = [0; 1_024];
    let count = stream.read(&mut part).await.unwrap();
    assert!(part[..count].starts_with(b"HTTP/1.1 200"));
    stream
}

async fn wait(holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < arena_tests::served::PATIENCE, "the condition does not come");
        poll_async().await;
    }
}

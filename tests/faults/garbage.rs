//! Garbage at the door while agents play: raw bytes, broken HTTP, connections that do nothing.

use crate::{dice::Dice, load::Load};
use arena_tests::{Served, served::PATIENCE};
use std::{fs, time::Instant};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const ROUNDS: usize = 400;
const IDLE: usize = 600;
/// Far above what the connections need, far below what an unbounded buffer would take.
const GROWTH_BYTES_MAX: u64 = 200 << 20;

/// The memory that a process has.
pub(crate) fn resident_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
}

/// Something that is no good request; whole enough to reach as many parsers as there are.
fn garbage(dice: &mut Dice) -> Vec<u8> {
    let count = 1 + dice.below(2_000);
    let noise = dice.bytes(count);
    let path = *dice.pick(&[
        "/practice",
        "/api/v1/agents",
        "/api/v1/matches",
        "/m/x.json",
        "/",
        "/healthz",
        "*",
        "/%00%ff",
    ]);
    let method = *dice.pick(&["GET", "POST", "PUT", "DELETE", "BREW", "get", "", "CONNECT"]);
    let start = format!("{method} {path} HTTP/1.1\r\nhost: arena\r\n");
    let with = |head: String, body: &[u8]| [head.as_bytes(), body].concat();
    match dice.below(12) {
        0 => noise,
        1 => with(start, &noise),
        2 => with(format!("{start}content-length: {}\r\n\r\n", noise.len()), &noise),
        3 => with(format!("{start}content-length: {}\r\n\r\n", noise.len() * 2), &noise),
        4 => with(format!("{start}content-length: {}\r\n\r\n", noise.len() / 2), &noise),
        5 => with(format!("{start}content-length: 18446744073709551616\r\n\r\n"), &noise),
        6 => with(format!("{start}content-length: 5\r\ncontent-length: 6\r\n\r\n"), &noise),
        7 => with(format!("{start}transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n"), &noise),
        8 => with(format!("{start}transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n4\r\n"), &noise),
        9 => format!("{start}{}\r\n", "x-many: 1\r\n".repeat(dice.below(5_000))).into_bytes(),
        10 => with(format!("{start}x-long: {}", "y".repeat(dice.below(1 << 20))), &noise),
        _ => with(
            format!(
                "GET /{}?{} HTTP/1.1\r\nhost: arena\r\n\r\n",
                "z".repeat(dice.below(100_000)),
                "q".repeat(9_000)
            ),
            &noise,
        ),
    }
}

/// What came back, if the other side ended it in good time; the sender closes its half.
async fn exchange(address: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // It may close before all is sent: it owes nothing to garbage.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    assert!(
        read.is_ok(),
        "a connection hangs after {:?}",
        String::from_utf8_lossy(&bytes[..bytes.len().min(300)])
    );
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_and_slow_clients_neither_stop_a_match_nor_fill_the_memory() {
    let mut dice = Dice::new();
    let arena = Served::start();
    let load = Load::start(&arena, &mut dice, 3).await;
    let clients = load.run(&arena, &mut dice, 40);
    let address = arena.url.strip_prefix("http://").unwrap().to_owned();
    exchange(&address, b"GET /healthz HTTP/1.1\r\nhost: arena\r\nconnection: close\r\n\r\n").await;
    let before = resident_bytes(arena.id());

    // Slow ones: half of a head, a byte now and then.
    let mut slow = Vec::new();
    for _ in 0..IDLE {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let begun = garbage(&mut dice);
        let _ = stream.write_all(&begun[..begun.len().min(1 + dice.below(40))]).await;
        slow.push(stream);
    }
    let started = Instant::now();
    for round in 0..ROUNDS {
        let answer = exchange(&address, &garbage(&mut dice)).await;
        let shown = String::from_utf8_lossy(&answer);
        assert!(!shown.starts_with("HTTP/1.1 5"), "round {round}: garbage is no fault of ours: {shown}");
        let at = dice.below(slow.len());
        let _ = slow[at].write_all(b"x").await;
        if round % 50 == 0 {
            let (status, ready) = arena.get("/readyz", None).await;
            assert_eq!(status, 200, "{ready}");
        }
    }
    println!("{ROUNDS} rounds in {:?}", started.elapsed());
    let after = resident_bytes(arena.id());
    assert!(after < before + GROWTH_BYTES_MAX, "from {before} to {after} bytes");
    clients.join_all().await;
    load.assert_finished(&arena).await;
    let log = arena.log();
    assert!(!log.contains("panicked"), "{log}");
    drop(slow);
    let stopped = arena.stop();
    load.assert_once(&stopped.data);
    assert_eq!(stopped.audit()["holds"], true);
}

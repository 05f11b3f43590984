//! Whole replies of which the status or the size is wrong.

use super::rows::{Row, strike};
use crate::look::clean;
use arena_tests::{Agent, Reply, Served};
use serde_json::{Value, json};

fn good(request: &Value) -> String {
    json!({"move": "d", "nonce": request["nonce"]}).to_string()
}

#[tokio::test]
async fn every_status_but_200_is_a_strike_however_good_the_body() {
    let arena = Served::start();
    let mut rows = Vec::new();
    for line in [
        "201 Created",
        "202 Accepted",
        "203 Non-Authoritative Information",
        "206 Partial Content",
        "400 Bad Request",
        "401 Unauthorized",
        "404 Not Found",
        "418 I'm a teapot",
        "429 Too Many Requests",
        "500 Internal Server Error",
        "503 Service Unavailable",
        "599 Whatever",
    ] {
        let status = line[..3].parse().unwrap();
        let reply = move |_: usize, request: &Value| Reply::status(line, &good(request));
        rows.push(Row::replying(line, ("status", Some(status)), reply).await);
    }
    let nothing = |_: usize, _: &Value| Reply::Raw(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec());
    rows.push(Row::replying("204", ("status", Some(204)), nothing).await);
    strike(&arena, rows).await;
}

#[tokio::test]
async fn a_redirect_is_a_strike_and_its_target_is_not_contacted() {
    let arena = Served::start();
    let target = Agent::good().await;
    let mut rows = Vec::new();
    for line in [
        "300 Multiple Choices",
        "301 Moved",
        "302 Found",
        "303 See Other",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let status = line[..3].parse().unwrap();
        let url = target.url.clone();
        let reply = move |_: usize, request: &Value| {
            let body = good(request);
            let head = format!("HTTP/1.1 {line}\r\nlocation: {url}\r\ncontent-length: {}", body.len());
            Reply::Raw(format!("{head}\r\n\r\n{body}").into_bytes())
        };
        rows.push(Row::replying(line, ("redirect", Some(status)), reply).await);
    }
    strike(&arena, rows).await;
    assert!(target.seen().is_empty(), "nobody was sent there");
}

/// A gzip stream that says two bytes of zeros for each bit or so: ten megabytes of them, without an end.
fn bomb() -> Vec<u8> {
    // One literal zero, then lengths of 258 at distance 1, in deflate's fixed codes, most significant bit first.
    let mut bits = "110".to_owned() + "00110000";
    for _ in 0..40_000 {
        bits += "1100010100000";
    }
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let packed = bits.as_bytes().chunks(8).map(|byte| {
        byte.iter().enumerate().fold(0, |packed, (n, bit)| packed | (u8::from(*bit == b'1') << n))
    });
    bytes.extend(packed);
    bytes
}

#[tokio::test]
async fn more_than_16_kb_is_a_strike_however_it_is_sent() {
    let too_large = ("too_large", Some(200));
    let arena = Served::start();
    let padded = |length: usize| {
        move |_: usize, request: &Value| {
            let body = good(request);
            Reply::Body(format!("{body}{}", " ".repeat(length - body.len())))
        }
    };
    let bomb = bomb();
    assert!(bomb.len() < 100_000);
    let rows = vec![
        Row::replying("16,385 bytes", too_large, padded(16_385)).await,
        Row::replying("a megabyte", too_large, padded(1 << 20)).await,
        Row::replying("a length that is a lie", too_large, |_, _| {
            Reply::Endless(
                b"HTTP/1.1 200 OK\r\ncontent-length: 9000000000000000000\r\n\r\n".to_vec(),
                vec![b' '; 4_096],
            )
        })
        .await,
        Row::replying("chunks without end", too_large, |_, _| {
            let chunk = format!("400\r\n{}\r\n", " ".repeat(0x400));
            Reply::Endless(
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec(),
                chunk.into_bytes(),
            )
        })
        .await,
        Row::replying("a body without length and end", too_large, |_, _| {
            Reply::Endless(b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), b"{\"move\":\"d\"}".repeat(100))
        })
        .await,
        Row::replying("a gzip bomb", too_large, move |_, _| {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
                bomb.len()
            );
            Reply::Raw([head.as_bytes(), &bomb].concat())
        })
        .await,
    ];
    strike(&arena, rows).await;
}

#[tokio::test]
async fn replies_of_16_384_bytes_of_any_type_and_with_other_fields_play_a_match() {
    let arena = Served::start();
    let agent = Agent::start(|_, request| {
        let legal = request["legal"].as_array().unwrap();
        let body = json!({
            "nonce": request["nonce"], "thoughts": {"a": [1, {"b": null}], "move": 7}, "move": legal[legal.len() / 2],
            "reason": ["not", "a", "text"],
        });
        let body = format!("{:<16384}", body.to_string());
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nset-cookie: a=b\r\ncontent-length: 16384\r\n\r\n";
        Reply::Raw(format!("{head}{body}").into_bytes())
    })
    .await;
    let me = arena.register("Left-1", &agent.url).await;
    let id = arena.practice(&me, "pebble-1").await;
    clean(&arena.finished(&id).await);
    assert!(agent.seen().iter().all(|request| !request.head.to_lowercase().contains("\r\ncookie:")));
}

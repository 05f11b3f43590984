//! No whole reply: too late, or broken on the way.

use super::rows::{Row, strike};
use arena_tests::{Reply, Served};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpSocket;

fn good(request: &Value) -> String {
    json!({"move": "d", "nonce": request["nonce"]}).to_string()
}

fn whole(request: &Value) -> String {
    let body = good(request);
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn what_is_not_whole_at_the_deadline_is_a_timeout() {
    let none = ("timeout", None);
    let begun = ("timeout", Some(200));
    let arena = Served::start();
    let rows = vec![
        Row::replying("silence", none, |_, _| Reply::Silence).await.short(),
        Row::replying("a good reply that is late", none, |_, request| {
            Reply::Late(Duration::from_millis(900), good(request))
        })
        .await
        .short(),
        Row::replying("headers that drip", none, |_, request| {
            Reply::Drip(whole(request).into_bytes(), Duration::from_millis(30))
        })
        .await
        .short(),
        Row::replying("a body that drips past the deadline", begun, |_, request| {
            let (head, body) =
                whole(request).split_once("\r\n\r\n").map(|(h, b)| (h.to_owned(), b.to_owned())).unwrap();
            let mut parts = vec![(Duration::ZERO, format!("{head}\r\n\r\n").into_bytes())];
            parts.extend(body.bytes().map(|byte| (Duration::from_millis(30), vec![byte])));
            Reply::Parts(parts)
        })
        .await
        .short(),
        Row::replying("a last byte that is late", begun, |_, request| {
            let mut bytes = whole(request).into_bytes();
            let last = bytes.pop().unwrap();
            Reply::Parts(vec![(Duration::ZERO, bytes), (Duration::from_millis(900), vec![last])])
        })
        .await
        .short(),
        Row::replying("informational answers alone", none, |_, _| {
            Reply::Parts(vec![(Duration::from_millis(50), b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()); 60])
        })
        .await
        .short(),
    ];
    strike(&arena, rows).await;
}

#[tokio::test]
async fn what_breaks_on_the_way_is_a_fault_of_transport() {
    let none = ("transport", None);
    let begun = ("transport", Some(200));
    // Bound and never listening: nobody else gets the port, and nobody answers there.
    let closed = TcpSocket::new_v4().unwrap();
    closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let refused = format!("http://{}/play", closed.local_addr().unwrap());
    let arena = Served::start();
    let rows = vec![
        Row::at("a closed port", none, refused),
        Row::replying("a reset", none, |_, _| Reply::Reset).await,
        Row::replying("an end without a word", none, |_, _| Reply::Raw(Vec::new())).await,
        Row::replying("garbage", none, |_, _| Reply::Raw(b"\x00\xff move d please\r\n\r\n".to_vec())).await,
        Row::replying("another protocol", none, |_, _| Reply::Raw(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec())).await,
        Row::replying("headers cut short", none, |_, _| {
            Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec())
        })
        .await,
        Row::replying("a body cut short", begun, |_, request| {
            Reply::Raw(
                format!("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{}", good(request)).into_bytes(),
            )
        })
        .await,
        Row::replying("chunks cut short", begun, |_, request| {
            let body = good(request);
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            Reply::Raw(format!("{head}{:x}\r\n{body}\r\n", body.len()).into_bytes())
        })
        .await,
        Row::replying("a damaged encoding", begun, |_, request| {
            let body = good(request);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            Reply::Raw(format!("{head}{body}").into_bytes())
        })
        .await,
    ];
    strike(&arena, rows).await;
}

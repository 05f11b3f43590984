//! Limits: of a payload, and of what one receive returns.

use super::{
    relay::{Received, Relay},
    wire::Request,
};

const PAYLOAD_BYTES_MAX: usize = 10_000_000;

#[tokio::test]
async fn a_payload_has_at_most_ten_million_bytes() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let bytes: Vec<u8> = (0..PAYLOAD_BYTES_MAX).map(|at| (at % 251) as u8).collect();
    let post = || Request::post(&luis.link).header("Content-Type", "application/octet-stream");
    let more = [bytes.as_slice(), b"!"].concat();
    post().body(bytes.clone()).send().await.is(200);
    post().body(more.clone()).send().await.fails(413);
    post().body(bytes.clone()).chunked().send().await.is(200);
    post().body(more.clone()).chunked().send().await.fails(413);
    post().body(bytes.clone()).after_continue().await.is(200);
    post().body(more).after_continue().await.fails(413);
    let entries = session.entries().await;
    assert_eq!(entries.len(), 4, "what was too large was not appended");
    for n in 2..=4 {
        assert_eq!(entries[n - 1]["size"], PAYLOAD_BYTES_MAX);
        let fetched = Request::get(format!("{}/{n}", luis.link)).send().await.is(200);
        assert!(fetched.body == bytes, "{n} came back otherwise");
    }
}

#[tokio::test]
async fn a_receive_is_cut_at_about_a_megabyte_and_the_next_returns_the_rest() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    for _ in 0..40 {
        ada.send(&"x".repeat(60_000)).await;
    }
    let mut numbers = Vec::new();
    loop {
        let answer = luis.get("?wait=0").await.is(200);
        let received = Received::of(&answer);
        let last = numbers.len() + received.entries.len() == 41;
        assert!(answer.body.len() < 1_300_000, "at most about 1 MB: {}", answer.body.len());
        assert!(last || answer.body.len() > 400_000, "about 1 MB: {}", answer.body.len());
        numbers.extend(received.numbers());
        assert_eq!(luis.position(&session).await, *numbers.last().unwrap(), "it covers what it returned");
        if last {
            break;
        }
    }
    assert_eq!(numbers, (2..=42).collect::<Vec<u64>>());
}

#[tokio::test]
async fn a_cut_receive_acknowledges_nothing_beyond_its_last_entry_however_it_chooses() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    for _ in 0..25 {
        ada.send(&"x".repeat(60_000)).await;
        ada.send_as("text/other", "y").await;
    }
    let mut numbers = Vec::new();
    while numbers.len() < 25 {
        let more = luis.receive("?wait=0&only=text/plain").await.numbers();
        assert!(!more.is_empty(), "{numbers:?}");
        numbers.extend(more);
    }
    assert_eq!(numbers, (0..25).map(|k| 3 + 2 * k).collect::<Vec<u64>>());
}

#[tokio::test]
async fn large_payloads_that_are_fetched_by_number_do_not_cut() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    for _ in 0..5 {
        ada.send_as("image/png", vec![7; 500_000]).await;
    }
    assert_eq!(luis.receive("").await.numbers(), [2, 3, 4, 5, 6, 7]);
}

#[tokio::test]
async fn many_small_entries_are_cut_as_well() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    // Escaped, each byte is six on its line.
    for _ in 0..6 {
        ada.send(&"\u{1}".repeat(60_000)).await;
    }
    let answer = luis.get("").await.is(200);
    let first = Received::of(&answer);
    assert!(answer.body.len() < 1_300_000 && !first.entries.is_empty(), "{} bytes", answer.body.len());
    let mut all = first.numbers();
    while all.len() < 7 {
        all.extend(luis.receive("").await.numbers());
    }
    assert_eq!(all, (2..=8).collect::<Vec<u64>>());
}

#[tokio::test]
async fn an_operator_may_take_smaller_payloads() {
    let relay = Relay::with(&[("PAYLOAD_BYTES_MAX", "1000")], &[]);
    let session = relay.create().await;
    let luis = session.join("luis").await;
    luis.send(&"x".repeat(1_000)).await;
    Request::post(&luis.link).body("x".repeat(1_001)).send().await.fails(413);
}

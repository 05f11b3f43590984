//! One receive at a time, and receives that are cut off.

use super::{
    relay::{PAUSE, Received, Relay, until},
    wire::Request,
};
use std::time::Instant;
use tokio::io::AsyncReadExt;

#[tokio::test]
async fn a_newer_receive_ends_the_one_before_with_409_after_the_pause() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let older = luis.waiting(&session, "?after=2").await;
    let replaced = Instant::now();
    let newer = luis.begins("?after=2");
    older.answer().await.fails(409);
    assert!(replaced.elapsed() >= PAUSE, "409 pauses too");
    assert!(!newer.is_over(), "the newer one goes on");
    assert_eq!(session.presence().await["luis"]["receiving"], true);
    ada.send("x").await;
    assert_eq!(newer.received().await.texts(), ["x"]);
}

#[tokio::test]
async fn a_replaced_receive_acknowledges_nothing_and_its_pause_is_no_receiving() {
    // Long enough that it is not over before it is looked at.
    let relay = Relay::with(&[("FAILED_RECEIVE_PAUSE_S", "5")], &[]);
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    luis.receive("").await;
    let older = luis.waiting(&session, "").await;
    let received = luis.receive("?wait=0").await;
    assert_eq!(received.entries.len(), 0);
    assert!(!older.is_over(), "it still pauses");
    assert_eq!(session.presence().await["luis"]["receiving"], false, "though nobody receives any more");
    ada.send("x").await;
    older.answer().await.fails(409);
    assert_eq!(luis.position(&session).await, 2);
    assert_eq!(luis.receive("").await.texts(), ["x"]);
}

#[tokio::test]
async fn a_malformed_receive_ends_none() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let waiting = luis.waiting(&session, "?after=2").await;
    luis.get("?skp=x").await.fails(400);
    assert!(!waiting.is_over());
    ada.send("x").await;
    assert_eq!(waiting.received().await.texts(), ["x"]);
}

#[tokio::test]
async fn the_receives_of_two_participants_and_reads_are_apart() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let waiting = [luis.waiting(&session, "?after=2").await, ada.waiting(&session, "?after=2").await];
    let reading = [session.reading("?after=2"), session.reading("?after=2")];
    let grace = session.join("grace").await;
    for one in waiting.into_iter().chain(reading) {
        assert_eq!(one.received().await.numbers(), [grace.n]);
    }
}

#[tokio::test]
async fn a_client_that_goes_away_is_receiving_no_more_and_acknowledged_nothing() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    luis.receive("").await;
    let stream = Request::get(&luis.link).open().await.unwrap();
    session.receiving("luis").await;
    drop(stream);
    let seen = session.shows("luis's end", |presence| presence["luis"]["receiving"] == false).await;
    assert!(seen["luis"]["since"].is_string(), "{seen}");
    ada.send("later").await;
    assert_eq!(luis.position(&session).await, 2);
    assert_eq!(luis.receive("").await.texts(), ["later"]);
}

#[tokio::test]
async fn a_receive_after_a_number_that_was_cut_off_loses_nothing() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    for _ in 0..10 {
        ada.send(&"x".repeat(60_000)).await;
    }
    for _ in 0..5 {
        let mut stream = Request::get(format!("{}?after=1", luis.link)).open().await.unwrap();
        let mut part = [0; 1_000];
        stream.read_exact(&mut part).await.unwrap();
    }
    assert_eq!(luis.receive("?after=1").await.numbers(), (2..=12).collect::<Vec<u64>>());
    assert_eq!(luis.position(&session).await, 1);
}

#[tokio::test]
async fn what_a_receive_without_after_returned_is_acknowledged_even_if_it_was_cut_off_on_the_way() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    for _ in 0..10 {
        ada.send(&"x".repeat(60_000)).await;
    }
    let mut stream = Request::get(&luis.link).open().await.unwrap();
    let mut part = [0; 1_000];
    stream.read_exact(&mut part).await.unwrap();
    drop(stream);
    until("the position", async || luis.position(&session).await == 12).await;
    assert_eq!(Received::of(&luis.get("?wait=0").await.is(200)).entries.len(), 0);
}

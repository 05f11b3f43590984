//! Reading without joining.

use super::{
    relay::{PAUSE, Received, Relay},
    wire::Request,
};
use std::time::Duration;
use tokio::task::JoinSet;

#[tokio::test]
async fn a_read_returns_everyones_entries_and_the_presence_last() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    luis.send("three").await;
    ada.send("four").await;
    let answer = session.read("").await.is(200);
    assert!(answer.header("content-type").unwrap().starts_with("application/x-ndjson"));
    let whole = Received::of(&answer);
    assert_eq!(whole.numbers(), [1, 2, 3, 4], "from the start");
    assert_eq!(whole.presence.as_object().unwrap().keys().collect::<Vec<_>>(), ["ada", "luis"]);
    assert_eq!(Received::of(&session.read("?after=2").await.is(200)).numbers(), [3, 4]);
    let mine = luis.receive("?after=0&own=1").await;
    assert_eq!(mine.lines[..4], whole.lines[..4], "the same entries in the same order");
}

#[tokio::test]
async fn a_read_leaves_no_trace() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let before = session.presence().await;
    let waiting = luis.waiting(&session, "?after=1").await;
    for query in ["", "?after=0", "?wait=0", "?after=0&presence=1"] {
        session.read(query).await.is(200);
    }
    let reading = session.reading("?after=1");
    assert_eq!(session.presence().await.as_object().unwrap().len(), 1, "whoever reads is no participant");
    assert!(!waiting.is_over(), "a read ends no receive");
    drop((waiting, reading));
    let after = session.shows("the end", |presence| presence["luis"]["receiving"] == false).await;
    assert_eq!(after["luis"]["read"], 1, "which luis's own receive set, from {before}");
    assert_eq!(session.entries().await.len(), 1);
}

#[tokio::test]
async fn a_read_waits_as_a_receive_does() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    assert_eq!(Received::of(&session.read("?after=1&wait=0").await.is(200)).lines.len(), 1);
    let ran_out = session.read("?after=1&wait=1").await.is(200);
    assert!(ran_out.took >= Duration::from_secs(1));
    assert_eq!(Received::of(&ran_out).lines.len(), 1, "the presence alone");
    let (reading, only) =
        (session.reading("?after=1"), session.reading("?after=1&only=image/&skip=image/gif"));
    luis.send("x").await;
    assert_eq!(reading.received().await.texts(), ["x"]);
    luis.send_as("image/gif", "g").await;
    assert!(!only.is_over());
    let n = luis.send_as("image/png", "p").await;
    assert_eq!(only.received().await.numbers(), [n]);
}

#[tokio::test]
async fn a_read_with_presence_returns_when_it_changes() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let ada = session.join("ada").await;
    let reading = session.reading("?after=2&only=none/&presence=1");
    // Whether it waits already nobody sees, so positions move until it has seen one.
    let mut receives = [&luis, &ada].into_iter().cycle();
    while !reading.is_over() {
        let me = receives.next().unwrap();
        let n = me.send_as("application/x-unread", "").await;
        me.receive(&format!("?after={n}&wait=0")).await;
    }
    assert_eq!(reading.received().await.entries.len(), 0);
}

#[tokio::test]
async fn a_read_is_not_woken_by_presence_unless_it_asks() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let reading = session.reading("?after=1&wait=2");
    while !reading.is_over() {
        luis.receive("?wait=0").await;
    }
    let answer = reading.answer().await.is(200);
    assert!(answer.took >= Duration::from_secs(2), "after {:?}", answer.took);
}

#[tokio::test]
async fn a_read_takes_its_own_parameters_alone() {
    let relay = Relay::start();
    let session = relay.create().await;
    session.join("luis").await;
    let mut failing = JoinSet::new();
    for query in [
        "own=1",
        "read=1",
        "after=x",
        "after=-1",
        "wait=",
        "only=",
        "skip=",
        "presence=0",
        "x=1",
        "after=0&after=0",
    ] {
        let session = session.clone();
        failing.spawn(async move { (query, session.read(&format!("?{query}")).await) });
    }
    while let Some(done) = failing.join_next().await {
        let (query, answer) = done.unwrap();
        assert_eq!(answer.status, 400, "{query}");
        answer.fails_after(400, PAUSE);
    }
}

#[tokio::test]
async fn a_read_is_cut_as_a_receive_is_and_goes_on_after_its_last_entry() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    for _ in 0..30 {
        luis.send(&"x".repeat(60_000)).await;
    }
    let first = session.read("").await.is(200);
    assert!((400_000..1_300_000).contains(&first.body.len()), "about 1 MB: {}", first.body.len());
    let mut numbers = Received::of(&first).numbers();
    while numbers.len() < 31 {
        let more = session.read(&format!("?after={}&wait=0", numbers.last().unwrap())).await.is(200);
        let more = Received::of(&more).numbers();
        assert!(!more.is_empty(), "{numbers:?}");
        numbers.extend(more);
    }
    assert_eq!(numbers, (1..=31).collect::<Vec<u64>>());
}

#[tokio::test]
async fn a_read_of_no_session_fails_after_the_pause() {
    let relay = Relay::start();
    Request::get(relay.at("/v2/s/nosuchsession0123456789/log?wait=0")).send().await.fails_after(404, PAUSE);
}

//! Receiving: what comes back, when, and which parameters choose it.

use super::{
    relay::{Me, PAUSE, Relay, Session},
    wire::Request,
};
use std::time::Duration;
use tokio::task::JoinSet;

async fn two(relay: &Relay) -> (Session, Me, Me) {
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    (session, luis, ada)
}

#[tokio::test]
async fn a_receive_returns_what_others_sent_since_and_the_presence_last() {
    let relay = Relay::start();
    let (_, luis, ada) = two(&relay).await;
    ada.send("one").await;
    luis.send("mine").await;
    ada.send("two").await;
    let answer = luis.get("").await.is(200);
    assert!(answer.header("content-type").unwrap().starts_with("application/x-ndjson"));
    assert!(answer.body.ends_with(b"\n"), "each line is ended");
    let received = super::relay::Received::of(&answer);
    assert_eq!(received.numbers(), [2, 3, 5], "ada's joining is an entry too, and luis's own are left out");
    assert_eq!(received.texts(), ["one", "two"]);
    ada.send("three").await;
    assert_eq!(luis.receive("").await.texts(), ["three"], "a participant keeps nothing but its link");
}

#[tokio::test]
async fn a_receive_waits_until_there_is_one() {
    let relay = Relay::start();
    let (session, luis, ada) = two(&relay).await;
    luis.receive("").await;
    let waiting = luis.waiting(&session, "").await;
    luis.send("its own wakes it not").await;
    let begun = luis.position(&session).await;
    assert!(!waiting.is_over() && begun == 2);
    ada.send("now").await;
    assert_eq!(waiting.received().await.texts(), ["now"]);
}

#[tokio::test]
async fn joining_and_leaving_wake_a_receive_too() {
    let relay = Relay::start();
    let (session, luis, ada) = two(&relay).await;
    luis.receive("").await;
    let waiting = luis.waiting(&session, "").await;
    ada.leave().await;
    assert_eq!(waiting.received().await.entries[0]["type"], "application/vnd.agentwire.leave");
    let waiting = luis.waiting(&session, "").await;
    ada.post("join").await.is(200);
    assert_eq!(waiting.received().await.entries[0]["type"], "application/vnd.agentwire.join");
}

#[tokio::test]
async fn after_gives_what_comes_after_a_number() {
    let relay = Relay::start();
    let (_, luis, ada) = two(&relay).await;
    for text in ["three", "four", "five"] {
        ada.send(text).await;
    }
    assert_eq!(luis.receive("?after=3").await.numbers(), [4, 5]);
    assert_eq!(luis.receive("?after=0").await.numbers(), [2, 3, 4, 5], "also of what was acknowledged");
    assert_eq!(luis.receive("?after=4").await.numbers(), [5]);
    assert_eq!(luis.receive("?after=4&wait=0").await.numbers(), [5], "again, as nothing is lost");
}

#[tokio::test]
async fn after_beyond_the_end_waits_for_a_number_above_it() {
    let relay = Relay::start();
    let (session, luis, ada) = two(&relay).await;
    let waiting = luis.waiting(&session, "?after=4").await;
    assert_eq!(ada.send("three").await, 3);
    assert_eq!(ada.send("four").await, 4);
    assert_eq!(ada.send("five").await, 5);
    assert_eq!(waiting.received().await.numbers(), [5]);
    let none = luis.receive("?after=99999999999999999999999999&wait=0").await;
    assert_eq!(none.numbers(), [] as [u64; 0], "a number beyond all others");
}

#[tokio::test]
async fn with_wait_a_receive_waits_no_longer() {
    let relay = Relay::start();
    let (session, luis, ada) = two(&relay).await;
    luis.receive("").await;
    let at_once = luis.get("?wait=0").await.is(200);
    assert_eq!(super::relay::Received::of(&at_once).lines.len(), 1, "the presence alone");
    let later = luis.get("?wait=2").await.is(200);
    assert!(later.took >= Duration::from_secs(2), "after {:?}", later.took);
    assert_eq!(super::relay::Received::of(&later).lines.len(), 1, "the presence alone");
    let waiting = luis.waiting(&session, "?wait=999999").await;
    ada.send("before that").await;
    assert_eq!(waiting.received().await.texts(), ["before that"]);
    ada.send("at once").await;
    assert_eq!(luis.receive("?wait=0").await.texts(), ["at once"]);
}

#[tokio::test]
async fn only_and_skip_choose_by_the_start_of_the_type_in_any_case() {
    let relay = Relay::start();
    let (_, luis, ada) = two(&relay).await;
    let kinds = [
        "application/vnd.agentwire.voice.say+json",
        "application/vnd.agentwire.voice.trace",
        "text/plain; charset=utf-8",
        "Text/Markdown",
        "image/png",
        "application/json; x=Y",
    ];
    for kind in kinds {
        ada.send_as(kind, "1").await;
    }
    let rows: [(&str, &[u64]); 13] = [
        ("only=text/", &[5, 6]),
        ("only=TEXT%2Fm", &[6]),
        ("skip=text%2F&skip=image", &[2, 3, 4, 8]),
        ("only=application/vnd.agentwire.voice.&skip=application/vnd.agentwire.voice.trace", &[3]),
        ("only=text/plain&only=image/png", &[5, 7]),
        ("only=application/vnd.agentwire.voice.say+json", &[3]),
        ("only=application/vnd.agentwire.voice.say%2Bjson", &[3]),
        ("only=text/plain;%20charset", &[5]),
        ("only=APPLICATION/JSON;%20x%3Dy", &[8]),
        ("only=application/vnd.agentwire.join", &[2]),
        ("only=text&skip=text", &[]),
        ("only=plain", &[]),
        ("skip=a&skip=t", &[7]),
    ];
    for (query, expected) in rows {
        let received = luis.receive(&format!("?after=0&wait=0&{query}")).await;
        assert_eq!(received.numbers(), expected, "{query}");
    }
}

#[tokio::test]
async fn only_and_skip_wake_for_what_is_wanted_alone() {
    let relay = Relay::start();
    let (session, luis, ada) = two(&relay).await;
    let only = luis.waiting(&session, "?after=2&only=image/").await;
    let grace = session.join("grace").await;
    let skip = grace.waiting(&session, "?after=3&skip=text/").await;
    ada.send("not this").await;
    let n = ada.send_as("image/png", "png").await;
    assert_eq!(only.received().await.numbers(), [n], "the first thing that woke it");
    assert_eq!(skip.received().await.numbers(), [n]);
}

#[tokio::test]
async fn own_gives_the_callers_own_entries_too() {
    let relay = Relay::start();
    let (session, luis, ada) = two(&relay).await;
    luis.send("mine").await;
    ada.send("hers").await;
    assert_eq!(luis.receive("?after=0&own=1").await.numbers(), [1, 2, 3, 4]);
    assert_eq!(luis.receive("?after=0").await.numbers(), [2, 4]);
    let waiting = luis.waiting(&session, "?after=4&own=1").await;
    luis.send("wakes it").await;
    assert_eq!(waiting.received().await.texts(), ["wakes it"]);
}

#[tokio::test]
async fn presence_returns_when_someones_presence_changes() {
    let relay = Relay::start();
    let (session, luis, ada) = two(&relay).await;
    // Someone's read position.
    let watching = luis.waiting(&session, "?after=2&presence=1").await;
    ada.receive("?after=1&wait=0&presence=1").await;
    let received = watching.received().await;
    assert_eq!((received.entries.len(), &received.presence["ada"]["read"]), (0, &1.into()));
    // Someone begins to receive, and ends.
    let watching = luis.waiting(&session, "?after=2&presence=1").await;
    let waiting = ada.waiting(&session, "?after=2&only=none/").await;
    watching.received().await;
    let watching = luis.waiting(&session, "?after=2&presence=1").await;
    drop(waiting);
    watching.received().await;
    // An entry, as ever.
    session.shows("ada's end", |presence| presence["ada"]["receiving"] == false).await;
    let watching = luis.waiting(&session, "?after=2&presence=1").await;
    ada.send("x").await;
    assert_eq!(watching.received().await.texts(), ["x"]);
}

#[tokio::test]
async fn a_receive_without_presence_is_not_woken_by_it() {
    let relay = Relay::start();
    let (session, luis, ada) = two(&relay).await;
    let waiting = luis.waiting(&session, "?after=2").await;
    ada.receive("?after=2&wait=0").await;
    ada.send("only this").await;
    let received = waiting.received().await;
    assert_eq!((received.texts(), &received.presence["ada"]["read"]), (vec!["only this"], &2.into()));
}

#[tokio::test]
async fn two_that_watch_the_presence_do_not_wake_each_other() {
    let relay = Relay::start();
    let (session, luis, ada) = two(&relay).await;
    ada.receive("?after=2&wait=0&presence=1").await;
    let watching = luis.waiting(&session, "?after=2&presence=1").await;
    let other = ada.waiting(&session, "?after=2&presence=1").await;
    drop(other);
    session.shows("ada's end", |presence| presence["ada"]["receiving"] == false).await;
    let other = ada.waiting(&session, "?after=2&presence=1").await;
    assert!(!watching.is_over(), "neither a beginning nor an end of such a receive counts");
    let grace = session.join("grace").await;
    assert_eq!(watching.received().await.numbers(), [grace.n]);
    assert_eq!(other.received().await.numbers(), [grace.n]);
}

#[tokio::test]
async fn a_parameter_that_is_malformed_or_not_taken_fails() {
    let relay = Relay::start();
    let (session, luis, _) = two(&relay).await;
    let mut failing = JoinSet::new();
    let queries = [
        "after=",
        "after",
        "after=x",
        "after=-1",
        "after=1.5",
        "after=%201",
        "after=0x1",
        "read=",
        "read=x",
        "read=-1",
        "wait=",
        "wait=x",
        "wait=-1",
        "wait=1.5",
        "only=",
        "only",
        "skip=",
        "skip=&skip=a",
        "own=0",
        "own",
        "own=2",
        "presence=0",
        "presence",
        "presence=true",
        "skp=x",
        "After=1",
        "as=luis",
        "filename=x",
        "after=1&after=1",
        "wait=0&wait=0",
        "read=1&read=1",
        "own=1&own=1",
        "presence=1&presence=1",
    ];
    for query in queries {
        let request = Request::get(format!("{}?{query}", luis.link));
        failing.spawn(async move { (query, request.send().await) });
    }
    while let Some(done) = failing.join_next().await {
        let (query, answer) = done.unwrap();
        assert_eq!(answer.status, 400, "{query}: {}", answer.text());
        answer.fails_after(400, PAUSE);
    }
    assert_eq!(luis.position(&session).await, 0, "nothing was acknowledged");
}

#[tokio::test]
async fn only_who_is_in_receives() {
    let relay = Relay::start();
    let (session, luis, _) = two(&relay).await;
    luis.leave().await;
    luis.get("?wait=0").await.fails_after(403, PAUSE);
    let nobody = format!("{}/nosuchsecretatall0123456789?wait=0", session.link);
    Request::get(nobody).send().await.fails_after(403, PAUSE);
    let nowhere = relay.at("/v2/s/nosuchsession0123456789/secret0123456789?wait=0");
    Request::get(nowhere).send().await.fails_after(404, PAUSE);
}

//! The presence: who is in, how far they read, whether they are receiving.

use super::{entries::is_time, relay::Relay};
use serde_json::json;

#[tokio::test]
async fn who_is_not_receiving_has_since_and_who_is_has_not() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let joined = session.entries().await[0]["time"].clone();
    let seen = session.presence().await;
    assert_eq!(seen, json!({"luis": {"read": 0, "receiving": false, "since": joined}}), "since it joined");
    let waiting = luis.waiting(&session, "?after=1").await;
    assert_eq!(session.presence().await, json!({"luis": {"read": 1, "receiving": true}}));
    drop(waiting);
    let seen = session.shows("the end", |presence| presence["luis"]["receiving"] == false).await;
    assert!(is_time(&seen["luis"]["since"]) && seen["luis"]["since"].as_str() >= joined.as_str(), "{seen}");
}

#[tokio::test]
async fn since_is_when_the_last_receive_ended() {
    let relay = Relay::with(&[], &["--test-clock"]);
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let joined = session.presence().await["luis"]["since"].clone();
    relay.advance(std::time::Duration::from_secs(90)).await;
    let luis_only = session.presence().await;
    assert_eq!(luis_only["luis"]["since"], joined, "nothing ended yet");
    luis.receive("?wait=0").await;
    let ended = session.presence().await["luis"]["since"].clone();
    assert!(is_time(&ended) && ended.as_str() > joined.as_str(), "{joined} then {ended}");
    luis.send("a send is no receive").await;
    relay.advance(std::time::Duration::from_secs(90)).await;
    assert_eq!(session.presence().await["luis"]["since"], ended);
}

#[tokio::test]
async fn the_presence_is_everyone_in_the_session() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("luis/claude").await);
    let names = |value: serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(luis.receive("?wait=0").await.presence), ["luis", "luis/claude"]);
    ada.leave().await;
    assert_eq!(names(luis.receive("?wait=0").await.presence), ["luis"]);
    ada.post("join").await.is(200);
    assert_eq!(names(luis.receive("?wait=0").await.presence), ["luis", "luis/claude"]);
}

#[tokio::test]
async fn all_receives_that_one_entry_wakes_carry_the_presence_from_before_any_ended() {
    let relay = Relay::start();
    let session = relay.create().await;
    let mut all = Vec::new();
    for name in ["a", "b", "c", "d"] {
        all.push(session.join(name).await);
    }
    for me in &all {
        me.receive("?after=4&wait=0").await;
    }
    let mut waiting = Vec::new();
    for (me, query) in all.iter().zip(["?after=4", "", "?after=4&presence=1&own=1"]) {
        waiting.push(me.waiting(&session, query).await);
    }
    all[3].send("x").await;
    let before = json!({"read": 4, "receiving": true});
    let mut lines = Vec::new();
    for one in waiting {
        let received = one.received().await;
        for name in ["a", "b", "c"] {
            assert_eq!(received.presence[name], before, "of {name}");
        }
        assert_eq!(received.presence["d"]["receiving"], false);
        lines.push(received.lines.last().unwrap().clone());
    }
    assert!(lines.iter().all(|line| *line == lines[0]), "the same line: {lines:?}");
    let seen = session.presence().await;
    assert!(["a", "b", "c"].iter().all(|name| seen[name]["receiving"] == false), "then they ended: {seen}");
    let read = ["a", "b", "c"].map(|name| seen[name]["read"].as_u64().unwrap());
    assert_eq!(read, [4, 5, 4], "and the one without after acknowledged it");
}

#[tokio::test]
async fn a_page_that_receives_its_own_entry_still_shows_as_receiving() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let waiting = luis.waiting(&session, "?after=1&own=1&presence=1").await;
    luis.send("mine").await;
    let received = waiting.received().await;
    assert_eq!((received.texts(), &received.presence["luis"]["receiving"]), (vec!["mine"], &true.into()));
}

#[tokio::test]
async fn joiners_are_in_the_presence_of_the_receives_they_wake() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let waiting = luis.waiting(&session, "?after=1").await;
    session.join("ada").await;
    let received = waiting.received().await;
    assert_eq!(received.presence["ada"]["read"], 0);
    assert_eq!(received.presence["luis"], json!({"read": 1, "receiving": true}));
}

#[tokio::test]
async fn a_receive_that_returns_at_once_shows_its_caller_receiving() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    assert_eq!(luis.receive("?wait=0").await.presence["luis"]["receiving"], true);
    assert_eq!(session.presence().await["luis"]["receiving"], false);
}

#[tokio::test]
async fn nobody_times_out() {
    let relay = Relay::with(&[], &["--test-clock"]);
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let waiting = luis.waiting(&session, "?after=2").await;
    relay.advance(std::time::Duration::from_secs(6 * 86_400)).await;
    let seen = session.presence().await;
    assert_eq!(
        (seen["luis"]["receiving"].clone(), seen["ada"]["receiving"].clone()),
        (true.into(), false.into())
    );
    ada.send("still in").await;
    assert_eq!(waiting.received().await.texts(), ["still in"]);
}

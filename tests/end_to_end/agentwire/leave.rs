//! Leaving, and the end of a session.

use super::{
    relay::{PAUSE, Received, Relay},
    wire::Request,
};
use serde_json::json;

#[tokio::test]
async fn leaving_returns_the_number_of_its_entry_and_twice_the_same() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let left = luis.post("leave").await.is(200);
    assert_eq!(left.text().trim_end(), r#"{"n":3}"#);
    assert_eq!(luis.leave().await, 3);
    let entries = session.entries().await;
    assert_eq!(entries.len(), 3, "leaving twice does nothing");
    assert_eq!(
        (&entries[2]["from"], &entries[2]["type"]),
        (&json!("luis"), &json!("application/vnd.agentwire.leave"))
    );
    luis.post("join").await.is(200);
    assert_eq!(luis.leave().await, 5, "a new one after joining again");
    assert!(ada.receive("?after=0").await.presence.get("luis").is_none(), "who left is not in the presence");
}

#[tokio::test]
async fn others_that_wait_see_who_leaves() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let waiting = ada.waiting(&session, "?after=2").await;
    let left = luis.leave().await;
    let received = waiting.received().await;
    assert_eq!(received.numbers(), [left]);
    assert!(received.presence.get("luis").is_none(), "the leaver is out");
}

#[tokio::test]
async fn the_leavers_own_receive_returns() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let waiting = luis.waiting(&session, "?after=2").await;
    luis.leave().await;
    assert_eq!(waiting.received().await.entries.len(), 0, "its own leaving is its own");
    luis.get("?wait=0").await.fails(403);
    ada.send("still here").await;
}

#[tokio::test]
async fn leaving_takes_no_parameter_and_is_for_participants() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    Request::post(format!("{}/leave?x=1", luis.link)).send().await.fails(400);
    Request::post(format!("{}/nosuchsecret0123456789/leave", session.link)).send().await.fails(403);
    assert_eq!(session.entries().await.len(), 1);
}

#[tokio::test]
async fn the_last_to_leave_ends_the_session_payloads_and_all() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let n = luis.send("payload").await;
    luis.leave().await;
    ada.get(&format!("/{n}")).await.is(200);
    ada.leave().await;
    session.gone().await;
    for me in [&luis, &ada] {
        me.post("join").await.fails(404);
        me.post("leave").await.fails(404);
        Request::post(&me.link).body("x").send().await.fails(404);
    }
    ada.get(&format!("/{n}")).await.fails_after(404, PAUSE);
    ada.get("?wait=0").await.fails_after(404, PAUSE);
    session.read("?wait=0").await.fails_after(404, PAUSE);
}

#[tokio::test]
async fn whoever_waits_as_the_session_ends_is_answered() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let reading = session.reading("?after=1");
    let waiting = luis.waiting(&session, "?after=1").await;
    luis.leave().await;
    waiting.received().await;
    let read = reading.answer().await;
    if read.status == 200 {
        assert_eq!(Received::of(&read).numbers(), [2], "the last leaving");
    } else {
        // It came when all was over.
        read.fails(404);
    }
}

#[tokio::test]
async fn the_last_leavers_own_receive_returns_whatever_it_would_acknowledge() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let waiting = luis.waiting(&session, "").await;
    luis.leave().await;
    assert_eq!(waiting.received().await.entries.len(), 0);
    session.gone().await;
}

#[tokio::test]
async fn a_session_lives_while_anyone_is_in_it() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    for name in ["a", "b", "c"] {
        session.join(name).await.leave().await;
    }
    luis.send("alone").await;
    assert_eq!(session.entries().await.len(), 8);
}

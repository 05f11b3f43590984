//! Sessions that nobody uses end by the clock.

use super::{
    relay::{PAUSE, Relay},
    wire::Request,
};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

fn with_clock() -> Relay {
    Relay::with(&[], &["--test-clock"])
}

#[tokio::test]
async fn a_session_that_nobody_joined_is_deleted_a_day_after_it_was_created() {
    let relay = with_clock();
    let (joined, alone) = (relay.create().await, relay.create().await);
    relay.advance(23 * HOUR).await;
    let luis = joined.join("luis").await;
    alone.read("?wait=0").await.is(200);
    relay.advance(2 * HOUR).await;
    alone.try_join("luis", None).await.fails(404);
    alone.read("?wait=0").await.fails_after(404, PAUSE);
    luis.send("the other one goes on").await;
}

#[tokio::test]
async fn a_session_that_nobody_received_in_for_a_week_is_deleted_payloads_and_all() {
    let relay = with_clock();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let n = luis.send("x").await;
    luis.receive("?wait=0").await;
    relay.advance(6 * DAY + 23 * HOUR).await;
    luis.get(&format!("/{n}")).await.is(200);
    relay.advance(2 * HOUR).await;
    session.try_join("ada", None).await.fails(404);
    luis.post("leave").await.fails(404);
    luis.get(&format!("/{n}")).await.fails_after(404, PAUSE);
}

#[tokio::test]
async fn where_nobody_ever_received_the_week_begins_with_the_last_join() {
    let relay = with_clock();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    relay.advance(5 * DAY).await;
    session.join("ada").await;
    relay.advance(5 * DAY).await;
    luis.send("within a week of ada's joining").await;
    relay.advance(2 * DAY + HOUR).await;
    Request::post(&luis.link).body("x").send().await.fails(404);
}

#[tokio::test]
async fn any_receive_by_any_participant_counts() {
    let relay = with_clock();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    for me in [&luis, &ada, &luis] {
        relay.advance(6 * DAY).await;
        me.receive("?wait=0").await;
    }
    luis.send("three weeks on").await;
}

#[tokio::test]
async fn a_receive_that_still_waits_counts() {
    let relay = with_clock();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let waiting = luis.waiting(&session, "?after=2").await;
    for _ in 0..3 {
        relay.advance(6 * DAY).await;
    }
    ada.send("still there").await;
    assert_eq!(waiting.received().await.texts(), ["still there"]);
    relay.advance(6 * DAY).await;
    ada.send("within a week of its end").await;
    relay.advance(2 * DAY).await;
    session.try_join("grace", None).await.fails(404);
}

#[tokio::test]
async fn sends_reads_fetches_and_failed_receives_do_not_count() {
    let relay = with_clock();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    luis.receive("?wait=0").await;
    relay.advance(6 * DAY).await;
    luis.send("x").await;
    session.read("?wait=0").await.is(200);
    luis.get("/1").await.is(200);
    luis.get("?skp=1").await.fails(400);
    relay.advance(DAY + HOUR).await;
    session.try_join("ada", None).await.fails(404);
}

#[tokio::test]
async fn who_goes_away_without_leaving_keeps_the_session_for_a_while() {
    let relay = with_clock();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    ada.leave().await;
    relay.advance(3 * DAY).await;
    assert!(session.presence().await["luis"].is_object());
    ada.post("join").await.is(200);
    luis.send("back").await;
}

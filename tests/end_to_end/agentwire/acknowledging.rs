//! The read position: what moves it, when, and what never does.

use super::relay::{Me, Relay, Session};

/// Luis in a session in which Ada's joining and three texts follow his: the last entry is 5.
async fn five(relay: &Relay) -> (Session, Me, Me) {
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    for text in ["three", "four", "five"] {
        ada.send(text).await;
    }
    (session, luis, ada)
}

#[tokio::test]
async fn receiving_after_a_number_acknowledges_up_to_it_as_it_begins() {
    let relay = Relay::start();
    let (session, luis, _) = five(&relay).await;
    luis.receive("?after=3").await;
    assert_eq!(luis.position(&session).await, 3, "and not what it returned");
    let waiting = luis.waiting(&session, "?after=5").await;
    assert_eq!(luis.position(&session).await, 5, "others see it while it waits");
    drop(waiting);
}

#[tokio::test]
async fn a_read_position_never_goes_back() {
    let relay = Relay::start();
    let (session, luis, _) = five(&relay).await;
    luis.receive("?after=4").await;
    assert_eq!(luis.receive("?after=2").await.numbers(), [3, 4, 5]);
    assert_eq!(luis.position(&session).await, 4);
    luis.receive("?after=0&read=1").await;
    assert_eq!(luis.position(&session).await, 4);
}

#[tokio::test]
async fn a_read_position_never_goes_beyond_the_last_entry() {
    let relay = Relay::start();
    let (session, luis, ada) = five(&relay).await;
    luis.receive("?after=1000&wait=0").await;
    assert_eq!(luis.position(&session).await, 5);
    ada.receive("?after=0&read=99999999999999999999999").await;
    assert_eq!(ada.position(&session).await, 5);
    ada.send("six").await;
    assert_eq!(luis.receive("").await.texts(), ["six"], "what came later was not acknowledged");
}

#[tokio::test]
async fn receiving_without_after_acknowledges_what_it_returned_and_left_out_as_it_returns() {
    let relay = Relay::start();
    let (session, luis, ada) = five(&relay).await;
    assert_eq!(luis.receive("").await.numbers(), [2, 3, 4, 5]);
    assert_eq!(luis.position(&session).await, 5);
    let own = luis.send("mine").await;
    luis.receive("?wait=0").await;
    assert_eq!(luis.position(&session).await, own, "its own, which was left out");
    let waiting = luis.waiting(&session, "?only=image/").await;
    let skipped = ada.send("not wanted").await;
    assert_eq!(luis.position(&session).await, own, "not before it returns");
    let wanted = ada.send_as("image/png", "p").await;
    assert_eq!(waiting.received().await.numbers(), [wanted]);
    assert_eq!(luis.position(&session).await, wanted);
    assert_eq!(luis.receive("?wait=0").await.numbers(), [] as [u64; 0], "{skipped} was acknowledged too");
}

#[tokio::test]
async fn a_wait_that_ran_out_acknowledges_what_it_left_out() {
    let relay = Relay::start();
    let (session, luis, _) = five(&relay).await;
    let received = luis.receive("?wait=0&skip=text/&skip=application/").await;
    assert_eq!(received.entries.len(), 0);
    assert_eq!(luis.position(&session).await, 5);
}

#[tokio::test]
async fn read_acknowledges_a_position_of_its_own_and_nothing_else() {
    let relay = Relay::start();
    let (session, luis, ada) = five(&relay).await;
    assert_eq!(luis.receive("?after=4&read=2").await.numbers(), [5]);
    assert_eq!(luis.position(&session).await, 2);
    let waiting = luis.waiting(&session, "?after=5&read=3").await;
    assert_eq!(luis.position(&session).await, 3, "as it begins, too");
    ada.send("six").await;
    assert_eq!(waiting.received().await.numbers(), [6]);
    assert_eq!(luis.position(&session).await, 3, "neither five nor six");
}

#[tokio::test]
async fn read_alone_receives_from_the_position_before_it() {
    let relay = Relay::start();
    let (session, luis, _) = five(&relay).await;
    luis.receive("?after=2").await;
    assert_eq!(luis.receive("?read=4").await.numbers(), [3, 4, 5]);
    assert_eq!(luis.position(&session).await, 4);
}

#[tokio::test]
async fn everyone_sees_everyones_position() {
    let relay = Relay::start();
    let (session, luis, ada) = five(&relay).await;
    luis.receive("?after=4").await;
    let seen = ada.receive("?after=1&wait=0").await.presence;
    assert_eq!((&seen["luis"]["read"], &seen["ada"]["read"]), (&4.into(), &1.into()));
    assert_eq!(session.presence().await["luis"]["read"], 4);
}

#[tokio::test]
async fn sending_fetching_and_reading_acknowledge_nothing() {
    let relay = Relay::start();
    let (session, luis, _) = five(&relay).await;
    luis.send("six").await;
    luis.get("/3").await.is(200);
    session.read("?wait=0").await.is(200);
    luis.post("join").await.is(200);
    assert_eq!(luis.position(&session).await, 0);
}

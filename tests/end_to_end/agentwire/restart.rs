//! A relay that stops, or is killed, in the middle.

use super::relay::{Relay, number, until};
use arena_tests::served::Stopped;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

async fn goes_on(end: impl FnOnce(Relay) -> Stopped) {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada, grace) =
        (session.join("luis").await, session.join("ada").await, session.join("grace").await);
    ada.send("kept").await;
    let file = ada.send_as("image/png", vec![9; 300_000]).await;
    grace.leave().await;
    luis.receive("?after=3").await;
    let before = session.entries().await;
    let waiting = luis.waiting(&session, "?after=6").await;

    let stopped = end(relay);
    drop(waiting);
    let relay = Relay::over(Some(stopped.data.clone()), &[], &[]);
    let (session, luis, ada, grace) =
        (session.moved(&relay), luis.moved(&relay), ada.moved(&relay), grace.moved(&relay));
    assert_eq!(session.entries().await, before, "an entry never changes");
    let presence = session.presence().await;
    assert_eq!(presence.as_object().unwrap().keys().collect::<Vec<_>>(), ["ada", "luis"]);
    assert_eq!(presence["luis"]["receiving"], false, "a receive ends with the relay");
    assert!(luis.position(&session).await >= 3, "what was acknowledged stays so");
    assert_eq!(luis.get(&format!("/{file}")).await.is(200).body, vec![9; 300_000]);
    session.try_join("grace", None).await.fails(409);
    let back = grace.post("join").await.is(200).json();
    assert_eq!((number(&back), back["link"].as_str()), (7, Some(grace.link.as_str())));
    assert_eq!(ada.send("goes on").await, 8);
    assert_eq!(luis.receive("?after=6").await.numbers(), [7, 8]);
}

#[tokio::test]
async fn a_session_goes_on_after_a_stop() {
    goes_on(|relay| relay.served.stop()).await;
}

#[tokio::test]
async fn a_session_goes_on_after_a_kill() {
    goes_on(|relay| relay.served.kill()).await;
}

#[tokio::test]
async fn a_session_that_ended_stays_ended() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    luis.leave().await;
    session.gone().await;
    let stopped = relay.served.kill();
    let relay = Relay::over(Some(stopped.data.clone()), &[], &[]);
    luis.moved(&relay).post("join").await.fails(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_before_a_kill_is_there_after_it() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.join("luis").await;
    let answered = Arc::new(AtomicU64::new(0));
    let (count, me) = (Arc::clone(&answered), luis.clone());
    let sending = tokio::spawn(async move {
        for k in 2.. {
            let request = super::wire::Request::post(&me.link).body(k.to_string());
            match request.try_send().await {
                Ok(answer) => count.store(number(&answer.is(200).json()), Ordering::SeqCst),
                Err(_) => return,
            }
        }
    });
    until("thirty answers", async || answered.load(Ordering::SeqCst) >= 30).await;
    let stopped = relay.served.kill();
    sending.await.unwrap();
    let relay = Relay::over(Some(stopped.data.clone()), &[], &[]);
    let entries = session.moved(&relay).entries().await;
    let last = answered.load(Ordering::SeqCst);
    assert!(entries.len() as u64 >= last, "{} of {last}", entries.len());
    for entry in &entries[1..] {
        assert_eq!(entry["text"], number(entry).to_string());
    }
}

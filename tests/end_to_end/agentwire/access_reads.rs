//! Reads are asked about too, and what waits is asked about again.

use super::{
    relay::{PAUSE, until},
    service::{Says, Service, vouch},
    wire::Request,
};
use serde_json::json;

#[tokio::test]
async fn a_read_of_an_owned_session_asks_always_and_of_any_other_with_a_token() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let (owned, open) = (relay.create_owned().await, relay.create().await);
    for (session, is_owned) in [(&owned, true), (&open, false)] {
        session.join("luis").await;
        for path in ["log?wait=0", "log/1"] {
            for token in [None, Some("luis-token")] {
                service.taken();
                Request::get(format!("{}/{path}", session.link)).token(token).send().await.is(200);
                let asked = service.taken();
                let expected = json!({"session": session.address(), "token": token, "owned": is_owned});
                if is_owned || token.is_some() {
                    assert!(!asked.is_empty(), "{path} {token:?}");
                    assert!(
                        asked.iter().all(|asked| asked.what == "POST /read" && asked.body == expected),
                        "{asked:?}"
                    );
                } else {
                    assert_eq!(asked.len(), 0, "{path}: {asked:?}");
                }
            }
        }
        for path in ["log?wait=0", "log/1"] {
            let refused = Request::get(format!("{}/{path}", session.link)).token(Some("bad")).send().await;
            assert_eq!(refused.fails_after(403, PAUSE).text().trim_end(), "not you");
        }
    }
    service.now(|_| Says::status("500 Oops"));
    owned.read("/1").await.fails_after(503, PAUSE);
    let open_read = Request::get(format!("{}/log?wait=0", open.link)).token(Some("luis-token"));
    open_read.send().await.is(200);
}

#[tokio::test]
async fn a_read_that_waited_is_asked_about_again_before_it_answers() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = relay.create_owned().await;
    let luis = session.join_with("luis", "luis-token").await;
    service.taken();
    let reading = session.reading("?after=1");
    until("the question", async || service.asked().iter().any(|asked| asked.what == "POST /read")).await;
    service.now(|asked| if asked.what == "POST /read" { Says::no() } else { vouch(asked) });
    luis.send("not for them").await;
    reading.answer().await.fails(403);
}

#[tokio::test]
async fn a_receive_that_waited_is_asked_about_before_it_answers_and_acknowledges_nothing_where_refused() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = relay.create_owned().await;
    let luis = session.join_with("luis", "luis-token").await;
    let ada = session.join_with("ada", "ada-token").await;
    luis.receive("?wait=0").await;
    let waiting = luis.waiting(&session, "").await;
    service.now(|asked| if asked.token() == Some("luis-token") { Says::no() } else { vouch(asked) });
    ada.send("not for luis").await;
    waiting.answer().await.fails_after(403, PAUSE);
    let presence = session.presence().await;
    assert_eq!(presence["luis"]["read"], 2, "{presence}");
    assert!(presence["luis"].get("account").is_none(), "{presence}");
    service.now(vouch);
    assert_eq!(luis.receive("").await.texts(), ["not for luis"]);
}

#[tokio::test]
async fn revoking_takes_effect_on_a_receive_already_waiting() {
    let service = Service::vouching().await;
    // The default: a yes holds for five seconds.
    let relay = service.relay_with(&[], &[]);
    for session in [relay.create_owned().await, relay.create().await] {
        let luis = session.join_with("luis", "luis-token").await;
        let waiting = luis.waiting(&session, "?after=1").await;
        service.now(|asked| if asked.token() == Some("luis-token") { Says::no() } else { vouch(asked) });
        waiting.answer().await.fails(403);
        service.now(vouch);
    }
}

#[tokio::test]
async fn a_service_that_fails_while_a_receive_waits_blocks_nobody_in_an_open_session() {
    let service = Service::vouching().await;
    let relay = service.relay_with(&[("ACCESS_CACHE_S", "1")], &[]);
    let session = relay.create().await;
    let (luis, ada) = (session.join_with("luis", "luis-token").await, session.join("ada").await);
    let waiting = luis.waiting(&session, "?after=2").await;
    service.taken();
    service.now(|_| Says::status("500 Oops"));
    until("a question", async || !service.asked().is_empty()).await;
    ada.send("x").await;
    let received = waiting.received().await;
    assert_eq!((received.texts(), &received.presence["luis"]["account"]), (vec!["x"], &"luis".into()));
}

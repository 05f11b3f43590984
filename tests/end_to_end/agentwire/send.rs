//! Sending: what becomes of a body, its type and its file name.

use super::{
    relay::{Me, Relay, Session, number},
    wire::{Answer, Request},
};
use serde_json::{Value, json};

async fn alone(relay: &Relay) -> (Session, Me) {
    let session = relay.create().await;
    let me = session.join("luis").await;
    (session, me)
}

async fn last(session: &Session) -> Value {
    session.entries().await.pop().unwrap()
}

async fn named(me: &Me, file: &str) -> Answer {
    Request::post(format!("{}?filename={file}", me.link)).body("x").send().await
}

#[tokio::test]
async fn sending_appends_an_entry_and_returns_its_number() {
    let relay = Relay::start();
    let (session, me) = alone(&relay).await;
    for n in 2..6_u64 {
        let answer = Request::post(&me.link).body(format!("body {n}")).send().await.is(200);
        assert_eq!(answer.text().trim_end(), format!(r#"{{"n":{n}}}"#));
        let entry = last(&session).await;
        assert_eq!((number(&entry), &entry["text"]), (n, &json!(format!("body {n}"))));
    }
}

#[tokio::test]
async fn the_content_type_is_the_payloads_type_as_it_was_given() {
    let relay = Relay::start();
    let (session, me) = alone(&relay).await;
    let long = format!("text/{}", "x".repeat(251));
    let kinds = [
        "text/markdown",
        "image/png",
        "text/plain; charset=utf-8",
        "Text/HTML",
        "application/vnd.agentwire.chat.x+json",
        "application/octet-stream",
        &long,
    ];
    for kind in kinds {
        me.send_as(kind, "{}").await;
        assert_eq!(last(&session).await["type"], kind);
    }
}

#[tokio::test]
async fn no_type_and_curls_own_default_count_as_plain_text() {
    let relay = Relay::start();
    let (session, me) = alone(&relay).await;
    me.send("none at all").await;
    assert_eq!(last(&session).await["type"], "text/plain; charset=utf-8");
    let none = [
        "application/x-www-form-urlencoded",
        "Application/X-WWW-Form-URLencoded",
        "application/x-www-form-urlencoded; charset=utf-8",
        "",
    ];
    for kind in none {
        me.send_as(kind, "as text").await;
        let entry = last(&session).await;
        assert_eq!(
            (&entry["type"], &entry["text"]),
            (&json!("text/plain; charset=utf-8"), &json!("as text"))
        );
    }
}

#[tokio::test]
async fn a_type_that_is_too_long_not_ascii_or_the_relays_own_is_refused() {
    let relay = Relay::start();
    let (session, me) = alone(&relay).await;
    let long = format!("text/{}", "x".repeat(252));
    let forged = [
        "application/vnd.agentwire.join",
        "application/vnd.agentwire.leave",
        "Application/VND.agentwire.LEAVE",
    ];
    for kind in [long.as_str(), "text/pläin"].into_iter().chain(forged) {
        let answer = Request::post(&me.link).header("Content-Type", kind).body("x").send().await;
        assert_eq!(answer.status, 400, "{kind:?}: {}", answer.text());
    }
    assert_eq!(session.entries().await.len(), 1);
}

#[tokio::test]
async fn a_payload_may_be_empty() {
    let relay = Relay::start();
    let (session, me) = alone(&relay).await;
    me.send("").await;
    let entry = last(&session).await;
    assert_eq!((&entry["size"], &entry["text"]), (&json!(0), &json!("")));
    let n = me.send_as("image/png", Vec::new()).await;
    assert_eq!(Request::get(format!("{}/{n}", me.link)).send().await.is(200).body, b"");
}

#[tokio::test]
async fn a_file_name_names_the_payload() {
    let relay = Relay::start();
    let (session, me) = alone(&relay).await;
    let long = "f".repeat(256);
    let umlauts = "%C3%BC".repeat(128);
    let rows = [
        ("plot.png", "plot.png"),
        ("a+b%20c%2B.txt", "a b c+.txt"),
        ("%E5%9B%BE.png", "图.png"),
        ("a%22%5Cb;c.txt", "a\"\\b;c.txt"),
        (long.as_str(), long.as_str()),
        (umlauts.as_str(), &"ü".repeat(128)),
    ];
    for (given, name) in rows {
        named(&me, given).await.is(200);
        assert_eq!(last(&session).await["filename"], name);
    }
    me.send("without").await;
    assert!(last(&session).await.get("filename").is_none());
}

#[tokio::test]
async fn a_file_name_that_is_empty_too_long_or_has_control_characters_is_refused() {
    let relay = Relay::start();
    let (session, me) = alone(&relay).await;
    let long = "f".repeat(257);
    for given in
        ["", "a%0Ab", "a%00", "a%0D", "%7F", "%C2%85", "%FF", &long, "a&filename=b", "a&type=b", "a&after=1"]
    {
        let answer = named(&me, given).await;
        assert_eq!(answer.status, 400, "{given:?}: {}", answer.text());
        answer.fails(400);
    }
    Request::post(format!("{}?flename=a", me.link)).body("x").send().await.fails(400);
    assert_eq!(session.entries().await.len(), 1, "nothing was appended");
}

#[tokio::test]
async fn a_body_in_chunks_and_one_that_waits_to_be_asked_for_are_taken() {
    let relay = Relay::start();
    let (session, me) = alone(&relay).await;
    Request::post(&me.link).body("in chunks").chunked().send().await.is(200);
    assert_eq!(last(&session).await["text"], "in chunks");
    Request::post(&me.link).body("asked for").after_continue().await.is(200);
    assert_eq!(last(&session).await["text"], "asked for");
}

#[tokio::test]
async fn only_who_is_in_sends() {
    let relay = Relay::start();
    let (session, me) = alone(&relay).await;
    let ada = session.join("ada").await;
    me.leave().await;
    Request::post(&me.link).body("x").send().await.fails(403);
    Request::post(format!("{}/nosuchsecretatall0123456789", session.link)).body("x").send().await.fails(403);
    Request::post(relay.at("/v2/s/nosuchsession0123456789/secret0123456789"))
        .body("x")
        .send()
        .await
        .fails(404);
    assert_eq!(last(&session).await["type"], "application/vnd.agentwire.leave");
    me.post("join").await.is(200);
    me.send("back in").await;
    ada.send("still in").await;
}

#[tokio::test]
async fn types_nobody_knows_are_carried_like_any_other() {
    let relay = Relay::start();
    let (session, me) = alone(&relay).await;
    let ada = session.join("ada").await;
    let n = me.send_as("application/vnd.agentwire.nobody.knows", vec![0, 255, 10, 13]).await;
    let received = ada.receive("").await;
    let entry = received.entries.last().unwrap();
    assert_eq!(
        (&entry["from"], &entry["type"]),
        (&json!("luis"), &json!("application/vnd.agentwire.nobody.knows"))
    );
    assert_eq!(Request::get(format!("{}/{n}", ada.link)).send().await.is(200).body, [0, 255, 10, 13]);
}

//! Creating a session, joining it, joining again.

use super::{
    relay::{Me, Received, Relay},
    wire::Request,
};
use serde_json::json;
use std::collections::HashSet;

#[tokio::test]
async fn creating_answers_the_link_as_one_line_of_text() {
    let relay = Relay::start();
    let mut links = HashSet::new();
    for _ in 0..3 {
        let answer = Request::post(relay.at("/v2/s")).send().await.is(200);
        assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
        let text = answer.text();
        let link = text.strip_suffix('\n').expect("it ends in a newline");
        let address = link.strip_prefix(&relay.at("/v2/s/")).expect("the relay's address and the session's");
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
        assert!(address.len() >= 16 && address.chars().all(plain), "a secret in one part: {address:?}");
        assert!(links.insert(link.to_owned()), "a link of its own");
    }
}

#[tokio::test]
async fn a_new_session_is_empty() {
    let relay = Relay::start();
    let received = Received::of(&relay.create().await.read("?wait=0").await.is(200));
    assert_eq!(received.lines, [r#"{"presence":{}}"#]);
}

#[tokio::test]
async fn creating_takes_no_other_parameter() {
    let relay = Relay::start();
    for query in ["?owed", "?owned=1", "?owned&x=1", "?as=luis"] {
        Request::post(relay.at(&format!("/v2/s{query}"))).send().await.fails(400);
    }
    Request::post(relay.at("/v2/s?owned")).send().await.is(200);
}

#[tokio::test]
async fn joining_answers_number_name_read_position_and_a_link_of_ones_own() {
    let relay = Relay::start();
    let session = relay.create().await;
    let luis = session.try_join("luis", None).await.is(200).json();
    let link = luis["link"].as_str().unwrap();
    let secret = link.strip_prefix(&format!("{}/", session.link)).expect("below the session's link");
    assert!(secret.len() >= 16 && !secret.contains('/'), "{secret:?}");
    assert_eq!(luis, json!({"n": 1, "name": "luis", "read": 0, "link": link}));
    let claude = session.try_join("luis/claude", None).await.is(200).json();
    assert_eq!(
        (&claude["n"], &claude["name"], &claude["read"]),
        (&json!(2), &json!("luis/claude"), &json!(0))
    );
    assert_ne!(claude["link"], luis["link"]);
    let entries = session.entries().await;
    let from: Vec<_> = entries.iter().map(|entry| (entry["from"].clone(), entry["type"].clone())).collect();
    let join = json!("application/vnd.agentwire.join");
    assert_eq!(from, [(json!("luis"), join.clone()), (json!("luis/claude"), join)]);
}

#[tokio::test]
async fn a_link_is_bound_to_its_name() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    luis.send("from luis").await;
    ada.send("from ada").await;
    let entries = session.entries().await;
    let from: Vec<_> = entries[2..].iter().map(|entry| (&entry["from"], &entry["text"])).collect();
    assert_eq!(from, [(&json!("luis"), &json!("from luis")), (&json!("ada"), &json!("from ada"))]);
}

#[tokio::test]
async fn one_program_may_hold_several_names() {
    let relay = Relay::start();
    let session = relay.create().await;
    for name in ["a", "b", "a/b", "b/a"] {
        session.join(name).await.send(name).await;
    }
    assert_eq!(session.presence().await.as_object().unwrap().len(), 4);
}

#[tokio::test]
async fn names_as_the_model_has_them_are_let_in() {
    let relay = Relay::start();
    let session = relay.create().await;
    let mut names: Vec<String> =
        ["a", "0", "luis-wirth/claude-2", "x/0", "a-", "a--b", "7-of-9/0"].map(str::to_owned).into();
    names.push("n".repeat(256));
    names.push(format!("{}/{}", "p".repeat(127), "q".repeat(128)));
    for name in names {
        assert_eq!(session.join(&name).await.name, name);
    }
    let encoded = session.try_join("luis%2Fgpt", None).await.is(200).json();
    assert_eq!(encoded["name"], "luis/gpt", "a client that encodes all the same");
}

#[tokio::test]
async fn any_other_name_is_refused() {
    let relay = Relay::start();
    let session = relay.create().await;
    let long = "n".repeat(257);
    let long_in_two = format!("{}/{}", "p".repeat(128), "q".repeat(128));
    let names = [
        "",
        "A",
        "Luis",
        "-a",
        "a/",
        "/a",
        "a//b",
        "a/b/c",
        "a/-b",
        "a%20b",
        "a+b",
        "%C3%A4",
        "*",
        "a/*",
        "a_b",
        "a.b",
        "a%0A",
        "a%00",
        "@",
        "%FF",
        &long,
        &long_in_two,
    ];
    for name in names {
        let answer = session.try_join(name, None).await;
        assert_eq!(answer.status, 400, "{name:?}: {}", answer.text());
        answer.fails(400);
    }
    Request::post(format!("{}/join", session.link)).send().await.fails(400);
    Request::post(format!("{}/join?as", session.link)).send().await.fails(400);
    assert_eq!(session.entries().await.len(), 0, "none of them joined");
}

#[tokio::test]
async fn joining_takes_its_parameter_once_and_no_other() {
    let relay = Relay::start();
    let session = relay.create().await;
    for query in ["?as=a&as=b", "?as=a&x=1", "?as=a&wait=0", "?AS=a"] {
        Request::post(format!("{}/join{query}", session.link)).send().await.fails(400);
    }
    let me = session.join("a").await;
    for query in ["?as=a", "?x=1"] {
        Request::post(format!("{}/join{query}", me.link)).send().await.fails(400);
    }
}

#[tokio::test]
async fn a_name_that_anyone_joined_under_is_taken() {
    let relay = Relay::start();
    let session = relay.create().await;
    let _ada = session.join("ada").await;
    let luis = session.join("luis").await;
    session.try_join("luis", None).await.fails(409);
    luis.leave().await;
    session.try_join("luis", None).await.fails(409);
    session.join("luis/claude").await;
    relay.create().await.join("luis").await;
    assert_eq!(session.entries().await.len(), 4, "the refused ones left no entry");
}

#[tokio::test]
async fn joining_again_after_leaving_answers_the_same_with_the_position_as_it_was_left() {
    let relay = Relay::start();
    let session = relay.create().await;
    let (luis, ada) = (session.join("luis").await, session.join("ada").await);
    let said = ada.send("one").await;
    luis.receive("").await;
    luis.leave().await;
    ada.send("two").await;
    let again = luis.post("join").await.is(200).json();
    assert_eq!(again, json!({"n": 6, "name": "luis", "read": said, "link": luis.link}));
    let received = luis.receive("?wait=0").await;
    assert_eq!(received.texts(), ["two"], "it goes on where it was left");
    luis.send("back").await;
}

#[tokio::test]
async fn joining_again_while_in_does_nothing_and_tells_whose_a_link_is() {
    let relay = Relay::start();
    let session = relay.create().await;
    let _ada = session.join("ada").await;
    let luis = session.join("luis").await;
    for _ in 0..3 {
        let again = luis.post("join").await.is(200).json();
        assert_eq!(again, json!({"n": luis.n, "name": "luis", "read": 0, "link": luis.link}));
    }
    luis.leave().await;
    let back = Me::of(&luis.post("join").await.is(200));
    assert_eq!(Me::of(&luis.post("join").await.is(200)).n, back.n, "the number of the newer join");
    assert_eq!(session.entries().await.len(), 4);
}

#[tokio::test]
async fn nobody_joins_where_no_session_is_or_with_a_link_that_is_nobodys() {
    let relay = Relay::start();
    Request::post(relay.at("/v2/s/nosuchsessionatall0123456789/join?as=a")).send().await.fails(404);
    let session = relay.create().await;
    session.join("ada").await;
    Request::post(format!("{}/nosuchsecretatall0123456789/join", session.link)).send().await.fails(403);
}

#[tokio::test]
async fn a_late_joiner_begins_before_the_first_entry() {
    let relay = Relay::start();
    let session = relay.create().await;
    let ada = session.join("ada").await;
    ada.send("early").await;
    let late = session.join("late").await;
    assert_eq!(late.position(&session).await, 0);
    assert_eq!(late.receive("").await.numbers(), [1, 2]);
}

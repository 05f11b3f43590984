//! An account takes its own names back.

use super::{
    relay::{Me, PAUSE, Relay, Session},
    service::{Says, Service, vouch},
    wire::Request,
};
use std::time::Duration;

/// That `token` takes `name` from `holder`, whose link is then nobody's.
async fn taken_back(session: &Session, holder: &Me, token: &str) -> Me {
    let before = session.entries().await.len();
    let new = session.join_with(&holder.name, token).await;
    assert_ne!(new.link, holder.link);
    let all = session.entries().await;
    let kinds: Vec<_> =
        all[before..].iter().map(|entry| (entry["from"].clone(), entry["type"].clone())).collect();
    let kind = |what: &str| (holder.name.clone().into(), format!("application/vnd.agentwire.{what}").into());
    if all[..before].iter().rev().find(|entry| is_coming_or_going(entry, &holder.name)).unwrap()["type"]
        == kind("join").1
    {
        assert_eq!(kinds, [kind("leave"), kind("join")], "its holder leaves, as the log shows");
    } else {
        assert_eq!(kinds, [kind("join")]);
    }
    Request::post(&holder.link).body("x").send().await.fails(403);
    holder.post("join").await.fails(403);
    holder.get("?wait=0").await.fails_after(403, PAUSE);
    new.send("mine again").await;
    new
}

fn is_coming_or_going(entry: &serde_json::Value, name: &str) -> bool {
    let kind = entry["type"].as_str().unwrap();
    entry["from"] == name
        && ["application/vnd.agentwire.join", "application/vnd.agentwire.leave"].contains(&kind)
}

async fn session(relay: &Relay) -> Session {
    let session = relay.create().await;
    session.join("keeper").await;
    session
}

#[tokio::test]
async fn from_a_holder_without_an_account() {
    let service = Service::vouching().await;
    let relay = service.relay();
    for name in ["alice", "alice/claude"] {
        let session = session(&relay).await;
        let holder = session.join(name).await;
        let new = taken_back(&session, &holder, "alice-token").await;
        assert_eq!(session.presence().await[name]["account"], "alice");
        assert_eq!(new.position(&session).await, 0, "it is a new participant");
    }
}

#[tokio::test]
async fn from_a_holder_with_another_account() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = session(&relay).await;
    let holder = session.join_with("alice", "mallory-token").await;
    taken_back(&session, &holder, "alice-token").await;
}

#[tokio::test]
async fn a_receive_of_the_holder_that_still_waits_ends_with_403() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = session(&relay).await;
    let holder = session.join("alice").await;
    let waiting = holder.waiting(&session, "?after=2").await;
    session.join_with("alice", "alice-token").await;
    waiting.answer().await.fails_after(403, PAUSE);
}

#[tokio::test]
async fn a_holder_of_the_same_account_that_is_there_keeps_the_name() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = session(&relay).await;
    let holder = session.join_with("alice/claude", "alice-token").await;
    session.try_join("alice/claude", Some("alice-token")).await.fails(409);
    session.try_join("alice/claude", Some("alice-token-2")).await.fails(409);
    holder.send("still mine").await;
}

#[tokio::test]
async fn from_the_same_account_once_it_left() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = session(&relay).await;
    let holder = session.join_with("alice", "alice-token").await;
    holder.leave().await;
    taken_back(&session, &holder, "alice-token-2").await;
}

#[tokio::test]
async fn from_the_same_account_once_its_own_token_is_refused() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = session(&relay).await;
    let holder = session.join_with("alice", "alice-token").await;
    service.now(|asked| match asked.token() {
        Some("alice-token") => Says::status("500 Oops"),
        _ => vouch(asked),
    });
    session.try_join("alice", Some("alice-token-2")).await.fails(409);
    service.now(|asked| match asked.token() {
        Some("alice-token") => Says::no(),
        _ => vouch(asked),
    });
    taken_back(&session, &holder, "alice-token-2").await;
}

#[tokio::test]
async fn a_kept_yes_does_not_hide_that_the_holders_token_is_refused() {
    let service = Service::vouching().await;
    let relay = service.relay_with(&[("ACCESS_CACHE_S", "600")], &[]);
    let session = session(&relay).await;
    session.join_with("alice", "alice-token").await;
    service.now(|asked| match asked.token() {
        Some("alice-token") => Says::no(),
        _ => vouch(asked),
    });
    session.join_with("alice", "alice-token-2").await;
}

#[tokio::test]
async fn from_the_same_account_once_it_has_not_received_for_an_hour() {
    let service = Service::vouching().await;
    let relay = service.relay_with(&[("ACCESS_CACHE_S", "0")], &["--test-clock"]);
    let session = session(&relay).await;
    let holder = session.join_with("alice", "alice-token").await;
    let minutes = |count: u64| Duration::from_secs(60 * count);
    relay.advance(minutes(40)).await;
    holder.receive("?wait=0").await;
    relay.advance(minutes(40)).await;
    session.try_join("alice", Some("alice-token-2")).await.fails(409);
    let waiting = holder.waiting(&session, "?after=99").await;
    relay.advance(minutes(200)).await;
    session.try_join("alice", Some("alice-token-2")).await.fails(409);
    drop(waiting);
    session.shows("the end", |presence| presence["alice"]["receiving"] == false).await;
    relay.advance(minutes(61)).await;
    holder.send("a send is no receive").await;
    taken_back(&session, &holder, "alice-token-2").await;
}

#[tokio::test]
async fn a_name_that_is_not_the_accounts_own_stays_taken() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = session(&relay).await;
    for name in ["bob", "bob/alice", "alice-2", "alicex/claude"] {
        session.join(name).await;
        session.try_join(name, Some("alice-token")).await.fails(409);
    }
    session.join("alice").await;
    session.try_join("alice", None).await.fails(409);
    session.try_join("alice", Some("bad")).await.fails(403);
}

#[tokio::test]
async fn its_entries_do_not_change_hands() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = session(&relay).await;
    let holder = session.join("alice").await;
    holder.send("not verified").await;
    let before = session.entries().await;
    let new = taken_back(&session, &holder, "alice-token").await;
    let after = session.entries().await;
    assert_eq!(after[..before.len()], before[..]);
    assert!(after[before.len() - 1].get("account").is_none() && after.last().unwrap()["account"] == "alice");
    let received = new.receive("?after=2").await;
    assert!(received.texts().contains(&"not verified"), "they are another's: {:?}", received.entries);
}

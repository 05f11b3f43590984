//! An access service: who is let in, what is asked when, and what is passed on.

use super::{
    relay::{Me, PAUSE, Relay},
    service::{Says, Service, vouch},
    wire::Request,
};
use serde_json::json;

#[tokio::test]
async fn joining_an_owned_session_asks_the_service() {
    let service = Service::start(|_| Says::yes()).await;
    let relay = service.relay();
    let session = relay.create_owned().await;
    assert_eq!(service.taken().len(), 0, "creating asks nothing");
    session.join("ada").await;
    session.join_with("luis", "t0k.en-~+/=").await;
    let asked = service.taken();
    assert!(asked.iter().all(|asked| asked.what == "POST /join"), "{asked:?}");
    let body = |name: &str, token| json!({"session": session.address(), "name": name, "token": token, "owned": true});
    assert_eq!(asked[0].body, body("ada", json!(null)));
    assert!(asked.iter().any(|asked| asked.body == body("luis", json!("t0k.en-~+/="))), "{asked:?}");
    service.now(|_| Says::Status("403 Forbidden", "the door is shut\nand more\n".to_owned()));
    assert_eq!(session.try_join("grace", None).await.fails(403).text().trim_end(), "the door is shut");
    service.now(|_| Says::status("403 Forbidden"));
    session.try_join("grace", None).await.fails(403);
    assert_eq!(session.entries_len(&service).await, 2, "who was refused did not join");
}

#[tokio::test]
async fn an_open_session_asks_for_who_has_a_token_alone() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = relay.create().await;
    let ada = session.join("ada").await;
    ada.send("x").await;
    ada.receive("?after=2&wait=0").await;
    let basic =
        Request::post(format!("{}/join?as=basic", session.link)).header("Authorization", "Basic YTpi");
    basic.send().await.is(200);
    assert_eq!(service.taken().len(), 0);
    session.join_with("luis", "luis-token").await;
    let asked = service.taken();
    let body = json!({"session": session.address(), "name": "luis", "token": "luis-token", "owned": false});
    assert_eq!(asked[0].body, body);
    session.try_join("grace", Some("bad")).await.fails(403);
    let presence = session.presence().await;
    assert_eq!(presence["luis"]["account"], "luis");
    assert!(presence["ada"].get("account").is_none() && presence.get("grace").is_none(), "{presence}");
}

#[tokio::test]
async fn each_later_request_but_leaving_asks_again() {
    let service = Service::vouching().await;
    let relay = service.relay();
    for session in [relay.create_owned().await, relay.create().await] {
        let luis = session.join_with("luis", "luis-token").await;
        let _ada = session.join_with("ada", "ada-token").await;
        service.taken();
        luis.send("x").await;
        assert!(!service.taken().is_empty(), "sending");
        luis.receive("?after=0&wait=0").await;
        assert!(!service.taken().is_empty(), "receiving");
        luis.get("/1").await.is(200);
        assert!(!service.taken().is_empty(), "fetching");
        luis.post("join").await.is(200);
        let asked = service.taken();
        assert!(!asked.is_empty(), "joining again");
        assert!(
            asked.iter().all(|asked| asked.token() == Some("luis-token") && asked.body["name"] == "luis"),
            "{asked:?}"
        );
        service.now(|_| Says::no());
        Request::post(&luis.link).body("x").send().await.fails(403);
        luis.get("?wait=0").await.fails_after(403, PAUSE);
        luis.get("/1").await.fails_after(403, PAUSE);
        luis.post("join").await.fails(403);
        service.taken();
        luis.leave().await;
        let joins = service.taken().iter().filter(|asked| asked.what == "POST /join").count();
        assert_eq!(joins, 0, "a participant can always leave");
        service.now(vouch);
    }
}

#[tokio::test]
async fn the_account_stands_in_the_presence_and_in_entries_as_it_was_then() {
    let service = Service::start(|asked| match asked.token() {
        Some(_) => Says::account("acct"),
        None => Says::yes(),
    })
    .await;
    let relay = service.relay();
    for session in [relay.create_owned().await, relay.create().await] {
        let luis = session.join_with("luis", "t").await;
        let ada = session.join("ada").await;
        luis.send("vouched").await;
        ada.send("not").await;
        let seen = ada.receive("?after=0&own=1").await;
        let accounts: Vec<_> = seen.entries.iter().map(|entry| entry.get("account").cloned()).collect();
        assert_eq!(accounts, [Some(json!("acct")), None, Some(json!("acct")), None]);
        assert_eq!(seen.presence["luis"]["account"], "acct");
        assert!(seen.presence["ada"].get("account").is_none());
        service.now(|_| Says::yes());
        luis.send("no longer").await;
        let seen = ada.receive("?after=0&own=1").await;
        assert_eq!(seen.entries[2]["account"], "acct", "an entry never changes");
        assert!(seen.entries[4].get("account").is_none() && seen.presence["luis"].get("account").is_none());
        service.now(|asked| if asked.token().is_some() { Says::account("acct") } else { Says::yes() });
    }
}

#[tokio::test]
async fn the_account_is_shown_until_the_service_refuses() {
    let service = Service::vouching().await;
    let relay = service.relay();
    let session = relay.create().await;
    let _ada = session.join("ada").await;
    let luis = session.join_with("luis", "luis-token").await;
    service.now(|_| Says::no());
    Request::post(&luis.link).body("x").send().await.fails(403);
    let presence = session.presence().await;
    assert!(presence["luis"].is_object(), "it is still in: {presence}");
    assert!(presence["luis"].get("account").is_none(), "{presence}");
}

#[tokio::test]
async fn what_the_service_says_about_the_session_is_passed_on() {
    let about = json!({"title": "Plan \"ü\"", "deep": [1, {"a": null}]});
    let told = about.clone();
    let service = Service::start(move |_| Says::with(&json!({"about": told}))).await;
    let relay = service.relay();
    let session = relay.create_owned().await;
    let joined = session.try_join("luis", None).await.is(200);
    assert_eq!(joined.json()["about"], about);
    let again = Me::of(&joined).post("join").await.is(200).json();
    assert_eq!(again["about"], about);
    service.now(|_| Says::yes());
    assert!(session.try_join("ada", None).await.is(200).json().get("about").is_none());
}

#[tokio::test]
async fn a_grant_is_kept_in_place_of_the_token() {
    let service = Service::start(|asked| match (asked.token(), asked.body["grant"].as_str()) {
        (Some(_), None) => Says::with(&json!({"account": "acct", "grant": "granted"})),
        (None, Some("granted")) => Says::account("acct"),
        _ => Says::no(),
    })
    .await;
    let relay = service.relay();
    let session = relay.create_owned().await;
    let luis = session.join_with("luis", "a-secret-token-never-kept").await;
    service.taken();
    luis.send("x").await;
    let asked = service.taken();
    let body = json!({"session": session.address(), "name": "luis", "grant": "granted", "owned": true});
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked.body == body), "{asked:?}");
    // A request that presents a token is asked about by it, and the newer grant is kept.
    service.now(|asked| match asked.token() {
        Some("newer") => Says::with(&json!({"grant": "granted-2"})),
        _ if asked.body["grant"] == "granted-2" => Says::yes(),
        _ => Says::no(),
    });
    Request::post(format!("{}/join", luis.link)).token(Some("newer")).send().await.is(200);
    service.taken();
    luis.send("by the newer grant").await;
    let asked = service.taken();
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked.body["grant"] == "granted-2"), "{asked:?}");
    let stopped = relay.served.stop();
    let said = "a-secret-token-never-kept";
    for file in walk(&stopped.data) {
        let bytes = std::fs::read(&file).unwrap();
        let has = bytes.windows(said.len()).any(|part| part == said.as_bytes());
        assert!(!has, "{} holds a token", file.display());
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    assert!(!files.is_empty() || folder.file_name().is_some());
    files
}

#[tokio::test]
async fn a_token_on_joining_again_replaces_the_one_before_unless_it_is_refused() {
    let service = Service::vouching().await;
    let relay = service.relay();
    for session in [relay.create_owned().await, relay.create().await] {
        let luis = session.join_with("luis", "one-token").await;
        Request::post(format!("{}/join", luis.link)).token(Some("bad")).send().await.fails(403);
        service.taken();
        luis.send("still in with the old one").await;
        assert!(service.taken().iter().all(|asked| asked.token() == Some("one-token")));
        Request::post(format!("{}/join", luis.link)).token(Some("two-token")).send().await.is(200);
        service.taken();
        luis.send("x").await;
        let asked = service.taken();
        assert!(
            !asked.is_empty() && asked.iter().all(|asked| asked.token() == Some("two-token")),
            "{asked:?}"
        );
        assert_eq!(session.entries_len(&service).await, 3, "nobody joined twice");
        let presence = session.read_presence(&service).await;
        assert_eq!(presence["luis"]["account"], "two");
    }
}

#[tokio::test]
async fn a_yes_is_kept_for_a_few_seconds() {
    let service = Service::vouching().await;
    let relay = service.relay_with(&[("ACCESS_CACHE_S", "600")], &[]);
    let session = relay.create_owned().await;
    let luis = session.join_with("luis", "luis-token").await;
    for k in 0..20 {
        luis.send(&k.to_string()).await;
    }
    assert_eq!(service.asked().len(), 1, "{:?}", service.asked());
    let luis_only = session.try_join("ada", Some("bad")).await;
    luis_only.fails(403);
}

#[tokio::test]
async fn a_relay_without_a_service_lets_nobody_into_an_owned_session_and_passes_over_tokens() {
    let relay = Relay::start();
    let owned = relay.create_owned().await;
    let refused = owned.try_join("luis", Some("t")).await.fails(503);
    assert!(refused.header("retry-after").is_some());
    let session = relay.create().await;
    let luis = session.join_with("luis", "t").await;
    luis.send("x").await;
    assert!(session.presence().await["luis"].get("account").is_none());
}

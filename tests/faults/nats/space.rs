//! The store is nearly full: what is open is played to its end, and nothing new begins until there is more.

use super::{Load, Site, leader::stop_all, wait_until};
use arena_tests::{Agent, Reply, Served, nats::left_out, program::arena, served::PATIENCE};
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::Semaphore;

const STREAM: &str = "ARENA_RECORDS_0_1";
/// How many agents fill the stream, so that a tenth of it has room for a match and for what comes before the limit is seen.
const AGENTS: usize = 900;

/// Registers one; the status, the `Retry-After`, and the answer.
async fn try_post(
    served: &Served,
    path: &str,
    key: Option<&str>,
    body: Value,
) -> (u16, Option<String>, Value) {
    let mut request = served.client().post(format!("{}{path}", served.url)).body(body.to_string());
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let response = request.header("content-type", "application/json").send().await.unwrap();
    let after = response.headers().get("retry-after").map(|after| after.to_str().unwrap().to_owned());
    let status = response.status().as_u16();
    (status, after, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap())
}

fn agent_of(name: &str) -> Value {
    json!({"name": name, "protocol": "agentarena/1", "endpoint_url": "http://127.0.0.1:9/play"})
}

#[track_caller]
fn assert_refused(answer: &(u16, Option<String>, Value)) {
    let (status, after, value) = answer;
    assert_eq!((*status, &value["code"]), (503, &json!("short_of_space")), "{value}");
    assert_eq!(after.as_deref(), Some("30"));
}

/// What a process says of itself: `/readyz` and a figure of `/metrics`.
async fn says(served: &Served) -> (Value, bool) {
    let (status, ready) = served.get("/readyz", None).await;
    assert_eq!((status, &ready["status"]), (200, &json!("ready")), "it serves on");
    let page = served.client().get(format!("{}/metrics", served.url)).send().await.unwrap();
    let page = page.text().await.unwrap();
    (
        ready["short_of_space"].clone(),
        page.lines().any(|line| line == "arena_short_of_space{partition=\"0\"} 1"),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn near_a_streams_limit_matches_are_played_to_their_end_and_nothing_begins_until_it_is_raised() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [engine, gateway] = site.serve_all([("e1", "engine"), ("g1", "gateway")]);
    let held = Arc::new(Semaphore::new(0));
    let holding = Arc::clone(&held);
    let agent = Agent::start(move |_, request| {
        let legal = request["legal"].as_array().unwrap();
        let answer = json!({"move": legal[legal.len() / 2], "nonce": request["nonce"]});
        Reply::Held(Arc::clone(&holding), answer.to_string())
    })
    .await;
    let left = gateway.register("Left-1", &agent.url).await;
    let right = gateway.register("Right-1", &agent.url).await;
    let further = json!({"rated": false, "deadline_ms": 60_000});
    let id = gateway.challenge(&left, &right.slug, further.clone()).await;
    wait_until("the first turn", || !agent.seen().is_empty());
    let load = Load::start(&[&gateway], 8);
    load.more(AGENTS).await;
    load.stop().await;
    assert_eq!(says(&gateway).await, (Value::Null, false));

    // Nearly nine tenths; the rest comes one by one.
    let bytes = site.ask(&format!("STREAM.INFO.{STREAM}"), &Value::Null)["state"]["bytes"].as_u64().unwrap();
    site.alter("max_bytes", json!(bytes * 100 / 89));
    let begun = Instant::now();
    let mut before = 0;
    loop {
        let answer = try_post(&gateway, "/api/v1/agents", None, agent_of(&format!("one-{before}"))).await;
        if answer.0 != 201 {
            break assert_refused(&answer);
        }
        before += 1;
        assert!(begun.elapsed() < PATIENCE, "nothing is refused");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("{bytes} bytes and {before} agents more");
    for process in [&gateway, &engine] {
        let begun = Instant::now();
        let words = loop {
            match says(process).await {
                (Value::String(words), true) => break words,
                other => assert!(begun.elapsed() < PATIENCE, "{other:?}"),
            }
        };
        assert!(words.contains(STREAM) && words.contains("takes only what ends"), "{words}");
    }
    let data = site.data("new");
    let arguments = ["doctor", "--json", "--data", data.to_str().unwrap(), "--nats", &site.servers.url()];
    let arguments = arguments.map(str::to_owned);
    let printed = tokio::task::spawn_blocking(move || arena(arguments)).await.unwrap();
    let report: Value = serde_json::from_str(&printed.out).unwrap();
    let space = report["checks"].as_array().unwrap().iter().find(|check| check["what"] == "space").unwrap();
    assert!(space["verdict"] == "note" && space["says"].as_str().unwrap().contains(STREAM), "{report:#}");

    // What would begin is refused, each time, and what ends a secret is not.
    let mut challenge = further;
    (challenge["game"], challenge["opponent"]) = (json!("connect4"), json!(right.slug));
    assert_refused(&try_post(&gateway, "/api/v1/matches", Some(&left.api_key), challenge.clone()).await);
    assert_refused(&try_post(&gateway, "/practice", Some(&left.api_key), json!({})).await);
    let address = json!({"endpoint_url": "http://127.0.0.1:10/play"});
    let endpoint = "/api/v1/agents/right-1/endpoint";
    assert_refused(&try_post(&gateway, endpoint, Some(&right.api_key), address).await);
    let (status, _, rotated) = try_post(&gateway, endpoint, Some(&right.api_key), json!({})).await;
    assert!(status == 200 && rotated["api_key"] != json!(right.api_key), "{rotated}");
    // What is open ends.
    held.add_permits(1_000);
    let replay = gateway.finished(&id).await;
    assert_eq!(replay["status"], "finished", "{replay}");
    assert!(replay["result"]["reason"] != "void", "{replay}");
    assert_refused(&try_post(&gateway, "/api/v1/agents", None, agent_of("one-too-many")).await);

    site.alter("max_bytes", json!(-1));
    let begun = Instant::now();
    while try_post(&gateway, "/api/v1/agents", None, agent_of("one-again")).await.0 != 201 {
        assert!(begun.elapsed() < PATIENCE, "nothing is taken any more");
    }
    let (status, _, opened) = try_post(&gateway, "/api/v1/matches", Some(&left.api_key), challenge).await;
    assert_eq!(status, 201, "{opened}");
    gateway.finished(opened["match_id"].as_str().unwrap()).await;
    assert_eq!(says(&gateway).await, (Value::Null, false));
    stop_all(gateway, vec![engine]);
    super::assert_nobody_paid(&site.judge());
}

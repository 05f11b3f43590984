//! A nonce proves that a reply belongs to its request.

use crate::look::{clean, events};
use arena_tests::{Agent, Reply, Served};
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Mutex};

type Cached = Mutex<HashMap<(String, u64), String>>;

/// An agent that fails its first request, and then answers each position from what it keeps of the first time.
async fn caching(what: impl Fn(&Value, &str) -> Reply + Send + Sync + 'static) -> Agent {
    let cached = Cached::default();
    Agent::start(move |n, request| {
        let key =
            (request["match_id"].as_str().unwrap().to_owned(), request["move_number"].as_u64().unwrap());
        let fresh = json!({"move": request["legal"][0], "nonce": request["nonce"]}).to_string();
        let kept = cached.lock().unwrap().entry(key).or_insert(fresh).clone();
        if n == 0 { Reply::Body(String::new()) } else { what(request, &kept) }
    })
    .await
}

#[tokio::test]
async fn an_agent_that_caches_its_move_by_match_and_move_number_recovers_from_a_strike() {
    let arena = Served::start();
    let agent = caching(|request, kept| {
        let kept: Value = serde_json::from_str(kept).unwrap();
        Reply::mv(request, kept["move"].as_str().unwrap())
    })
    .await;
    let me = arena.register("Left-1", &agent.url).await;
    let id = arena.practice(&me, "pebble-1").await;
    let replay = arena.finished(&id).await;
    assert_eq!(events(&replay, "strike").len(), 1, "{replay}");
    assert_ne!(replay["result"]["reason"], "forfeit");
}

#[tokio::test]
async fn an_agent_that_replays_its_cached_body_strikes_by_its_nonce() {
    let arena = Served::start();
    let agent = caching(|_, kept| Reply::Body(kept.to_owned())).await;
    let me = arena.register("Left-1", &agent.url).await;
    let id = arena.practice(&me, "pebble-1").await;
    let replay = arena.finished(&id).await;
    let causes: Vec<&Value> = events(&replay, "strike").iter().map(|strike| &strike["cause"]).collect();
    assert_eq!(causes, ["not_json", "nonce", "nonce"], "{replay}");
}

#[tokio::test]
async fn a_nonce_of_another_match_is_a_wrong_one() {
    let arena = Served::start();
    // Answers every match with the nonce of the very first request that it saw.
    let first = Mutex::new(None);
    let agent = Agent::start(move |_, request| {
        let nonce = first.lock().unwrap().get_or_insert_with(|| request["nonce"].clone()).clone();
        Reply::Body(json!({"move": "d", "nonce": nonce}).to_string())
    })
    .await;
    let me = arena.register("Left-1", &agent.url).await;
    let begun = arena.practice(&me, "pebble-1").await;
    let second = arena.practice(&me, "pebble-1").await;
    for id in [&begun, &second] {
        let replay = arena.finished(id).await;
        assert!(events(&replay, "strike").iter().all(|strike| strike["cause"] == "nonce"), "{replay}");
        assert_eq!(replay["result"]["reason"], "forfeit", "{replay}");
    }
}

#[tokio::test]
async fn no_nonce_comes_twice_over_matches_and_agents() {
    let arena = Served::start();
    let agents = [Agent::good().await, Agent::good().await];
    let me = arena.register("Left-1", &agents[0].url).await;
    arena.register("Right-1", &agents[1].url).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(arena.challenge(&me, "right-1", json!({})).await);
        ids.push(arena.practice(&me, "copper-4").await);
    }
    for id in &ids {
        clean(&arena.finished(id).await);
    }
    let mut nonces: Vec<String> =
        agents.iter().flat_map(Agent::seen).map(|seen| seen.body["nonce"].to_string()).collect();
    let all = nonces.len();
    nonces.sort_unstable();
    nonces.dedup();
    assert_eq!(nonces.len(), all);
}

//! One request at a time per agent, and whose turns wait for whom.

use crate::look::{clean, events};
use arena_tests::{Agent, Reply, Served, served::poll_async};
use serde_json::{Value, json};
use std::time::Duration;

fn move_in(request: &Value) -> String {
    json!({"move": request["legal"][0], "nonce": request["nonce"]}).to_string()
}

#[tokio::test]
async fn an_agent_in_sixteen_matches_at_once_has_one_request_open_at_a_time() {
    let arena = Served::start();
    let agent = Agent::start(|_, request| Reply::Late(Duration::from_millis(2), move_in(request))).await;
    let me = arena.register("busy", &agent.url).await;
    let other = Agent::good().await;
    let mut ids = Vec::new();
    for n in 0..4 {
        let rival = arena.register(&format!("rival-{n}"), &other.url).await;
        ids.push(arena.challenge(&rival, "busy", json!({})).await);
        ids.push(arena.challenge(&me, &rival.slug, json!({})).await);
    }
    for house in ["pebble-1", "copper-4"].into_iter().cycle().take(8) {
        ids.push(arena.practice(&me, house).await);
    }
    for id in &ids {
        clean(&arena.finished(id).await);
    }
    assert_eq!(agent.most_open(), 1);
}

#[tokio::test]
async fn a_slow_agent_holds_up_its_own_matches_and_nobody_elses() {
    let arena = Served::start();
    let slow = Agent::start(|_, _| Reply::Silence).await;
    let quick = Agent::good().await;
    let me = arena.register("slow", &slow.url).await;
    let left = arena.register("left", &quick.url).await;
    arena.register("right", &quick.url).await;
    let waits = json!({"rated": false, "first": "slow", "deadline_ms": 60_000});
    let held = [
        arena.challenge(&me, "left", waits.clone()).await,
        arena.challenge(&me, "right", waits.clone()).await,
        arena.challenge(&me, "pebble-1", json!({"first": "slow", "deadline_ms": 60_000})).await,
    ];
    while slow.seen().is_empty() {
        poll_async().await;
    }
    for _ in 0..3 {
        let id = arena.challenge(&left, "right", json!({})).await;
        clean(&arena.finished(&id).await);
        let id = arena.practice(&left, "copper-4").await;
        clean(&arena.finished(&id).await);
    }
    for id in &held {
        let replay = arena.replay(id, None).await;
        assert_eq!((&replay["status"], &replay["events"]), (&json!("running"), &json!([])), "{replay}");
    }
    assert_eq!(slow.seen().len(), 1, "its other matches wait for the one request that it has");
}

#[tokio::test]
async fn the_wait_for_an_agents_own_slot_is_not_counted_against_it() {
    let arena = Served::start();
    // The first round alone takes longer than the deadline of each turn in it.
    let agent = Agent::start(|n, request| {
        if n < 8 {
            Reply::Late(Duration::from_millis(200), move_in(request))
        } else {
            Reply::Body(move_in(request))
        }
    })
    .await;
    let me = arena.register("busy", &agent.url).await;
    let mut ids = Vec::new();
    for _ in 0..8 {
        ids.push(arena.challenge(&me, "pebble-1", json!({"first": "busy", "deadline_ms": 1_200})).await);
    }
    for id in &ids {
        let replay = arena.finished(id).await;
        clean(&replay);
        assert!(events(&replay, "move").iter().all(|mv| mv["latency_ms"].as_u64().unwrap() < 1_200));
    }
    let first_round: Vec<Value> =
        agent.seen().iter().take(8).map(|request| request.body["move_number"].clone()).collect();
    assert_eq!(first_round, [json!(1), json!(1), json!(1), json!(1), json!(1), json!(1), json!(1), json!(1)]);
    assert_eq!(agent.most_open(), 1);
}

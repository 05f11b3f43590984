//! Challenges and practice: what opens, and what is refused.

use crate::{look::clean, refusal::refused};
use arena_tests::{Agent, Registered, Reply, Served};
use reqwest::RequestBuilder;
use serde_json::{Value, json};

fn challenging(arena: &Served, by: &Registered, body: &Value) -> RequestBuilder {
    let request = arena.client().post(format!("{}/api/v1/matches", arena.url));
    request.bearer_auth(&by.api_key).body(body.to_string())
}

fn practising(arena: &Served, by: &Registered, body: &Value) -> RequestBuilder {
    arena.client().post(format!("{}/practice", arena.url)).bearer_auth(&by.api_key).body(body.to_string())
}

/// Two agents that never answer, so that every match of theirs stays open.
async fn silent_pair(arena: &Served) -> (Agent, Registered, Registered) {
    let agent = Agent::start(|_, _| Reply::Silence).await;
    let left = arena.register("left", &agent.url).await;
    let right = arena.register("right", &agent.url).await;
    (agent, left, right)
}

#[tokio::test]
async fn a_pair_has_three_matches_open_at_most_whoever_opened_them() {
    let arena = Served::start();
    let (_agent, left, right) = silent_pair(&arena).await;
    arena.challenge(&left, "right", json!({})).await;
    arena.challenge(&right, "left", json!({})).await;
    arena.challenge(&left, "right", json!({"rated": false})).await;
    for by in [(&left, "right"), (&right, "left")] {
        let body = json!({"game": "connect4", "opponent": by.1});
        refused("a fourth", challenging(&arena, by.0, &body), 409, "pair_limit").await;
    }
    arena.register("third", "http://127.0.0.1:9/play").await;
    arena.challenge(&left, "third", json!({})).await;
}

#[tokio::test]
async fn an_agent_has_sixteen_matches_open_at_most_practice_counted() {
    let arena = Served::start();
    let (_agent, left, right) = silent_pair(&arena).await;
    for house in ["pebble-1", "copper-4", "gremlin-9", "oracle-42"].into_iter().cycle().take(16) {
        arena.practice(&left, house).await;
    }
    refused("practice", practising(&arena, &left, &json!({})), 409, "agent_limit").await;
    let body = json!({"game": "connect4", "opponent": "right"});
    refused("its challenge", challenging(&arena, &left, &body), 409, "agent_limit").await;
    let body = json!({"game": "connect4", "opponent": "left"});
    refused("another's challenge", challenging(&arena, &right, &body), 409, "agent_limit").await;
    arena.practice(&right, "pebble-1").await;
}

#[tokio::test]
async fn a_place_is_free_again_when_a_match_ends() {
    let arena = Served::start();
    let agent = Agent::good().await;
    let left = arena.register("left", &agent.url).await;
    arena.register("right", &agent.url).await;
    for _ in 0..3 {
        let ids = [
            arena.challenge(&left, "right", json!({})).await,
            arena.challenge(&left, "right", json!({})).await,
            arena.challenge(&left, "right", json!({})).await,
        ];
        for id in ids {
            clean(&arena.finished(&id).await);
        }
    }
}

#[tokio::test]
async fn an_agent_that_takes_no_challenges_is_not_challenged_but_may_challenge_and_practise() {
    let arena = Served::start();
    let agent = Agent::good().await;
    let closed = json!({
        "name": "closed", "connection_method": "remote_endpoint", "protocol": "agentarena/1",
        "endpoint_url": agent.url, "challenges": "none",
    });
    let (status, closed) = arena.post("/api/v1/agents", None, &closed).await;
    assert_eq!((status, &closed["challenges"]), (201, &json!("none")));
    let key = closed["api_key"].as_str().unwrap().to_owned();
    let closed = Registered { slug: "closed".to_owned(), api_key: key };
    let other = arena.register("other", &agent.url).await;
    let body = json!({"game": "connect4", "opponent": "closed"});
    refused("a challenge", challenging(&arena, &other, &body), 409, "challenges_closed").await;
    let id = arena.challenge(&closed, "other", json!({})).await;
    clean(&arena.finished(&id).await);
    let id = arena.practice(&closed, "pebble-1").await;
    clean(&arena.finished(&id).await);

    let endpoint = "/api/v1/agents/closed/endpoint";
    let (status, opened) = arena.post(endpoint, Some(&closed.api_key), &json!({"challenges": "open"})).await;
    assert_eq!((status, &opened["challenges"]), (200, &json!("open")), "{opened}");
    assert!(opened.get("api_key").is_none(), "the key stays");
    arena.challenge(&other, "closed", json!({})).await;
}

#[tokio::test]
async fn a_challenge_that_does_not_fit_says_why() {
    let arena = Served::start();
    let (_agent, left, _) = silent_pair(&arena).await;
    arena.register("third", "http://127.0.0.1:9/play").await;
    let rows: &[(Value, u16, &str)] = &[
        (json!({"opponent": "right"}), 422, "missing_field"),
        (json!({"game": "connect4"}), 422, "missing_field"),
        (json!({"game": "chess2", "opponent": "right"}), 422, "unknown_game"),
        (json!({"game": "connect4", "opponent": "nobody"}), 404, "not_found"),
        (json!({"game": "connect4", "opponent": ""}), 404, "not_found"),
        (json!({"game": "connect4", "opponent": "left"}), 422, "self_match"),
        (json!({"game": "connect4", "opponent": "LEFT"}), 422, "self_match"),
        (json!({"game": "connect4", "opponent": "gremlin-9", "rated": true}), 422, "house_unrated"),
        (json!({"game": "connect4", "opponent": "GREMLIN-9", "rated": true}), 422, "house_unrated"),
        (
            json!({"game": "connect4", "opponent": "right", "rated": true, "first": "left"}),
            422,
            "first_is_rated",
        ),
        (json!({"game": "connect4", "opponent": "right", "first": "third"}), 422, "invalid_value"),
        (json!({"game": "connect4", "opponent": "right", "first": "nobody"}), 422, "invalid_value"),
        (json!({"game": "connect4", "opponent": "right", "deadline_ms": 499}), 422, "deadline_out_of_range"),
        (
            json!({"game": "connect4", "opponent": "right", "deadline_ms": 60_001}),
            422,
            "deadline_out_of_range",
        ),
        (json!({"game": "connect4", "opponent": "right", "deadline_ms": 0}), 422, "deadline_out_of_range"),
        (json!({"game": "connect4", "opponent": "right", "deadline_ms": -1}), 422, "invalid_body"),
        (json!({"game": "connect4", "opponent": "right", "deadline_ms": 1000.5}), 422, "invalid_body"),
        (json!({"game": "connect4", "opponent": "right", "deadline_ms": "1000"}), 422, "invalid_body"),
        (json!({"game": "connect4", "opponent": "right", "rated": "yes"}), 422, "invalid_body"),
        (json!({"game": "connect4", "opponent": "right", "colour": "X"}), 422, "invalid_body"),
    ];
    for (body, status, code) in rows {
        refused(&body.to_string(), challenging(&arena, &left, body), *status, code).await;
    }
    for (body, code) in [
        (json!({"opponent": "right"}), "no_house_agent"),
        (json!({"opponent": "house:pebble-1"}), "no_house_agent"),
        (json!({"game": "go"}), "unknown_game"),
        (json!({"deadline_ms": 500}), "invalid_body"),
    ] {
        refused(&body.to_string(), practising(&arena, &left, &body), 422, code).await;
    }
    let (_, profile) = arena.get("/api/v1/agents/left", None).await;
    assert_eq!(profile["matches"], json!([]), "nothing was opened");
}

#[tokio::test]
async fn first_moves_first_and_the_deadline_is_the_one_that_was_asked_for() {
    let arena = Served::start();
    let agent = Agent::good().await;
    let left = arena.register("left", &agent.url).await;
    arena.register("right", &agent.url).await;
    for (first, deadline_ms) in [("left", 500), ("right", 60_000), ("RIGHT", 1_234)] {
        let further = json!({"rated": false, "first": first, "deadline_ms": deadline_ms});
        let id = arena.challenge(&left, "right", further).await;
        let replay = arena.finished(&id).await;
        assert_eq!(replay["players"][0]["agent"], first.to_lowercase(), "{replay}");
        assert_eq!(replay["players"][0]["seat"], "X");
        assert_eq!((&replay["deadline_ms"], &replay["rated"]), (&json!(deadline_ms), &json!(false)));
    }
    assert!(agent.seen().iter().any(|request| request.body["deadline_ms"] == 1_234));
}

#[tokio::test]
async fn who_is_x_comes_from_the_match_and_is_not_always_the_challenger() {
    let arena = Served::start();
    let agent = Agent::good().await;
    let left = arena.register("left", &agent.url).await;
    let mut sides = std::collections::HashSet::new();
    // One in a million that a fair draw fails this.
    for _ in 0..20 {
        let id = arena.practice(&left, "pebble-1").await;
        let replay = arena.finished(&id).await;
        sides.insert(replay["players"][0]["agent"].to_string());
    }
    assert_eq!(sides.len(), 2, "{sides:?}");
}

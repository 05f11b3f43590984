//! The replay's JSON: the same shape and order of fields from the first moment to the end.

use crate::look::{events, keys};
use arena_tests::{Agent, Reply, Served};
use serde_json::{Value, json, value::RawValue};
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::Semaphore;

const TOP: [&str; 12] = [
    "match_id",
    "game",
    "rated",
    "status",
    "rules_version",
    "deadline_ms",
    "players",
    "result",
    "events",
    "journal",
    "evidence",
    "unproven",
];

async fn text(arena: &Served, path: &str, api_key: Option<&str>) -> String {
    let mut request = arena.client().get(format!("{}{path}", arena.url));
    if let Some(key) = api_key {
        request = request.bearer_auth(key);
    }
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    response.text().await.unwrap()
}

fn part(text: &str, field: &str) -> String {
    let parts: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).unwrap();
    parts[field].get().to_owned()
}

/// The fields of each element of a list, in their order.
fn keys_of_each(list: &str) -> Vec<Vec<String>> {
    let elements: Vec<Box<RawValue>> = serde_json::from_str(list).unwrap();
    elements.iter().map(|element| keys(element.get())).collect()
}

fn is_instant(text: &Value) -> bool {
    let text = text.as_str().unwrap();
    let digits =
        text.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte }).collect::<Vec<u8>>();
    digits == b"0000-00-00T00:00:00.000Z"
}

#[tokio::test]
async fn a_replay_has_the_fields_of_the_surface_in_its_order() {
    let arena = Served::start();
    // Strikes by silence on the wire, by an illegal move, and plays on.
    let left = Agent::start(|n, request| match n {
        0 => Reply::status("503 Service Unavailable", "later"),
        1 => Reply::mv(request, "D"),
        _ => Reply::Body(json!({"move": "d", "nonce": request["nonce"], "reason": "centre"}).to_string()),
    })
    .await;
    let right = Agent::start(|_, request| Reply::mv(request, "a")).await;
    let me = arena.register("Left", &left.url).await;
    arena.register("Right", &right.url).await;
    let id = arena.challenge(&me, "right", json!({"rated": false, "first": "left"})).await;
    arena.finished(&id).await;

    let replay = text(&arena, &format!("/m/{id}.json"), Some(&me.api_key)).await;
    assert_eq!(keys(&replay), TOP);
    let players = [["seat", "agent", "name", "protocol"]; 2];
    assert_eq!(keys_of_each(&part(&replay, "players")), players);
    assert_eq!(keys(&part(&replay, "result")), ["winner", "reason", "line"]);
    assert_eq!(keys(&part(&replay, "journal")), ["partition", "first", "last"]);
    let mv = ["n", "at", "kind", "seat", "move_number", "move", "reason", "latency_ms"];
    let strike =
        ["n", "at", "kind", "seat", "move_number", "cause", "strikes", "latency_ms", "status", "excerpt"];
    for (keys, event) in keys_of_each(&part(&replay, "events"))
        .iter()
        .zip(serde_json::from_str::<Value>(&replay).unwrap()["events"].as_array().unwrap())
    {
        match event["kind"].as_str().unwrap() {
            "move" => assert_eq!(keys, &mv),
            "strike" => assert_eq!(keys, &strike),
            "end" => assert_eq!(keys[..3], mv[..3]),
            other => panic!("{other}: {event}"),
        }
    }

    let replay: Value = serde_json::from_str(&replay).unwrap();
    let expected = json!({
        "match_id": id, "game": "connect4", "rated": false, "status": "finished", "rules_version": 3,
        "deadline_ms": 10_000,
        "players": [
            {"seat": "X", "agent": "left", "name": "Left", "protocol": "agentarena/1"},
            {"seat": "O", "agent": "right", "name": "Right", "protocol": "agentarena/1"},
        ],
        "result": {"winner": "X", "reason": "win", "line": ["d1", "d2", "d3", "d4"]},
        "evidence": {}, "unproven": ["players"],
    });
    for (field, expected) in expected.as_object().unwrap() {
        assert_eq!(&replay[field], expected, "{field}");
    }
    let journal = &replay["journal"];
    assert_eq!(journal["partition"], 0);
    assert!(journal["first"].as_u64().unwrap() < journal["last"].as_u64().unwrap(), "{journal}");

    let all = replay["events"].as_array().unwrap();
    let numbers: Vec<&Value> = all.iter().map(|event| &event["n"]).collect();
    assert_eq!(json!(numbers), json!((1..=all.len()).collect::<Vec<_>>()));
    assert!(all.iter().all(|event| is_instant(&event["at"])), "{replay}");
    assert!(all.is_sorted_by_key(|event| event["at"].as_str().unwrap()), "{replay}");
    let causes: Vec<&Value> = events(&replay, "strike").iter().map(|strike| &strike["cause"]).collect();
    assert_eq!(causes, ["status", "illegal"]);
    assert_eq!(events(&replay, "move")[0]["reason"], "centre");
    assert_eq!(events(&replay, "move")[1]["reason"], Value::Null);
}

#[tokio::test]
async fn a_running_match_has_the_same_shape_and_no_result() {
    let arena = Served::start();
    let permits = Arc::new(Semaphore::new(2));
    let held = Arc::clone(&permits);
    let agent = Agent::start(move |_, request| {
        let body = json!({"move": request["legal"][0], "nonce": request["nonce"]}).to_string();
        Reply::Held(Arc::clone(&held), body)
    })
    .await;
    let me = arena.register("Left", &agent.url).await;
    let id = arena.challenge(&me, "copper-4", json!({"first": "left", "deadline_ms": 60_000})).await;
    arena.until(&id, "two moves each", |replay| events(replay, "move").len() == 4).await;

    let running = text(&arena, &format!("/m/{id}.json"), None).await;
    assert_eq!(keys(&running), TOP);
    let running: Value = serde_json::from_str(&running).unwrap();
    assert_eq!((&running["status"], &running["result"]), (&json!("running"), &Value::Null));
    let (_, state) = arena.get(&format!("/api/v1/matches/{id}"), None).await;
    assert_eq!((&state["status"], &state["to_move"]), (&json!("running"), &json!(["X"])));
    assert_eq!(state["ended_at"], Value::Null);
    assert!(is_instant(&state["opened_at"]));

    permits.add_permits(100);
    let finished = arena.finished(&id).await;
    assert_eq!(finished["status"], "finished");
    let (first, all) = (running["events"].as_array().unwrap(), finished["events"].as_array().unwrap());
    assert_eq!(first[..], all[..first.len()], "what was shown stays as it was");
    let (_, state) = arena.get(&format!("/api/v1/matches/{id}"), None).await;
    assert_eq!((&state["status"], &state["to_move"]), (&json!("finished"), &json!([])));
    assert!(is_instant(&state["ended_at"]));
}

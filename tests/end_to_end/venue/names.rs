//! What an agent may be called.

use crate::refusal::refused;
use arena_tests::Served;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

const ENDPOINT: &str = "http://127.0.0.1:9/play";

fn registering(arena: &Served, body: &Value) -> RequestBuilder {
    arena.client().post(format!("{}/api/v1/agents", arena.url)).body(body.to_string())
}

fn named(name: &Value) -> Value {
    json!({
        "name": name, "connection_method": "remote_endpoint", "protocol": "agentarena/1", "endpoint_url": ENDPOINT,
    })
}

#[tokio::test]
async fn a_registration_answers_who_one_is_and_a_key_that_is_nowhere_else() {
    let arena = Served::start();
    let (status, me) = arena.post("/api/v1/agents", None, &named(&json!("Left_Hand-1"))).await;
    assert_eq!(status, 201);
    let expected = json!({
        "slug": "left_hand-1", "agent_id": "agt_left_hand-1", "name": "Left_Hand-1",
        "connection_method": "remote_endpoint", "protocol": "agentarena/1", "endpoint_url": ENDPOINT,
        "endpoint_status": "active",
    });
    for (field, expected) in expected.as_object().unwrap() {
        assert_eq!(&me[field], expected, "{field}");
    }
    let key = me["api_key"].as_str().unwrap();
    assert!(key.len() >= 22, "128 bits or more: {key}");
    for path in ["/api/v1/agents/left_hand-1", "/api/v1/agents", "/"] {
        let page = arena.client().get(format!("{}{path}", arena.url)).send().await.unwrap();
        let page = page.text().await.unwrap();
        assert!(!page.contains(key) && !page.contains(ENDPOINT), "{path}: {page}");
    }
    let (_, own) = arena.get("/api/v1/agents/left_hand-1", Some(key)).await;
    assert_eq!((&own["endpoint_url"], &own["api_key"]), (&json!(ENDPOINT), &Value::Null));
    assert!(!arena.log().contains(key));
}

#[tokio::test]
async fn a_name_is_taken_whatever_the_case_of_its_letters() {
    let arena = Served::start();
    arena.register("Left-1", ENDPOINT).await;
    for name in ["Left-1", "left-1", "LEFT-1", "lEfT-1"] {
        refused(name, registering(&arena, &named(&json!(name))), 409, "name_taken").await;
    }
    arena.register("Left_1", ENDPOINT).await;
}

#[tokio::test]
async fn of_many_that_want_a_name_at_once_one_gets_it() {
    let arena = Served::start();
    let mut asked = tokio::task::JoinSet::new();
    for n in 0..16 {
        let name = if n % 2 == 0 { "Left-1" } else { "LEFT-1" };
        let request = registering(&arena, &named(&json!(name)));
        asked.spawn(async move { request.send().await.unwrap().status().as_u16() });
    }
    let mut answers = asked.join_all().await;
    answers.sort_unstable();
    assert_eq!(answers[0], 201);
    assert_eq!(answers[1..], [409; 15]);
}

#[tokio::test]
async fn the_houses_names_are_reserved() {
    let arena = Served::start();
    for name in ["PEBBLE-1", "pebble-1", "Copper-4", "GREMLIN-9", "Oracle-42"] {
        let problem = refused(name, registering(&arena, &named(&json!(name))), 422, "name_reserved").await;
        assert_eq!(problem["field"], "name");
    }
}

#[tokio::test]
async fn a_name_is_3_to_32_of_letters_digits_dash_and_underscore() {
    let arena = Served::start();
    let long = "x".repeat(33);
    for name in [
        "",
        " ",
        "ab",
        &long,
        "with space",
        " left",
        "left ",
        "left.1",
        "left/1",
        "left@1",
        "ünï",
        "日本語",
        "left\n1",
        "left\u{200b}1",
        "ｌｅｆｔ",
        "<b>left</b>",
        "0123456789abcdef01234567",
        "0123456789ABCDEF01234567",
    ] {
        let problem = refused(name, registering(&arena, &named(&json!(name))), 422, "invalid_name").await;
        assert_eq!(problem["field"], "name", "{name}");
    }
    for name in [json!(null), json!(7), json!(["left"])] {
        let problem = registering(&arena, &named(&name)).send().await.unwrap();
        assert_eq!(problem.status(), 422, "{name}");
    }
    for name in ["abc", "---", "___", &"x".repeat(32), "0123456789abcdef0123456", "0123456789abcdef0123456g"]
    {
        arena.register(name, ENDPOINT).await;
    }
}

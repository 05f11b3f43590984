//! Bad input of every kind gets a clear error with a stable code, and changes nothing.

use crate::refusal::refused;
use arena_tests::Served;
use reqwest::Method;
use serde_json::{Value, json};

const AGENTS: &str = "/api/v1/agents";

async fn posted(arena: &Served, path: &str, body: impl Into<String>, status: u16, code: &str) -> Value {
    let body = body.into();
    let what = format!("POST {path} {}", &body[..body.len().min(200)]);
    let request = arena.client().post(format!("{}{path}", arena.url)).body(body);
    refused(&what, request, status, code).await
}

fn registering(change: impl Fn(&mut Value)) -> String {
    let mut body = json!({
        "name": "Left-1", "connection_method": "remote_endpoint", "protocol": "agentarena/1",
        "endpoint_url": "http://127.0.0.1:9/play",
    });
    change(&mut body);
    body.to_string()
}

#[tokio::test]
async fn a_registration_that_does_not_fit_says_which_field_and_why() {
    let arena = Served::start();
    let rows: &[(&str, Value, &str)] = &[
        ("protocol", json!("ludux/1"), "protocol_not_served"),
        ("protocol", json!("evalduel-agent-v0"), "protocol_not_served"),
        ("protocol", json!("agentarena/2"), "invalid_value"),
        ("protocol", json!("AGENTARENA/1"), "invalid_value"),
        ("protocol", json!("house"), "invalid_value"),
        ("protocol", Value::Null, "protocol_not_served"),
        ("connection_method", json!("websocket"), "invalid_value"),
        ("connection_method", json!("polling"), "invalid_value"),
        ("connection_method", json!("mcp"), "sign_in_instead"),
        ("connection_method", json!("house"), "invalid_value"),
        ("connection_method", json!("pigeon"), "invalid_value"),
        ("challenges", json!("some"), "invalid_value"),
        ("name", Value::Null, "missing_field"),
        ("endpoint_url", Value::Null, "missing_field"),
    ];
    for (field, value, code) in rows {
        let body = registering(|body| body[*field] = value.clone());
        let problem = posted(&arena, AGENTS, body, 422, code).await;
        assert_eq!(problem["field"], *field, "{problem}");
    }
    posted(&arena, AGENTS, registering(|body| body["endpoint_uri"] = json!("x")), 422, "invalid_body").await;
    posted(&arena, AGENTS, registering(|body| body["endpoint_url"] = json!(7)), 422, "invalid_body").await;
    let (_, agents) = arena.get(AGENTS, None).await;
    let registered = agents["agents"].as_array().unwrap().iter().filter(|agent| agent["protocol"] != "house");
    assert_eq!(registered.count(), 0, "{agents}");
}

#[tokio::test]
async fn a_body_that_is_no_json_or_too_large_is_refused() {
    let arena = Served::start();
    for body in ["{", "name=left", "{\"name\":\"left\"", "\u{feff}{}", "{} {}"] {
        posted(&arena, AGENTS, body, 400, "invalid_json").await;
    }
    for body in ["[]", "7", "\"left\"", "null", "{\"name\":\"a\",\"name\":\"b\"}"] {
        posted(&arena, AGENTS, body, 422, "invalid_body").await;
    }
    let nested = format!("{{\"name\":{}", "[".repeat(10_000));
    let request = arena.client().post(format!("{}{AGENTS}", arena.url)).body(nested);
    assert!((400..500).contains(&request.send().await.unwrap().status().as_u16()));
    let large = registering(|body| body["name"] = json!("x".repeat(70_000)));
    posted(&arena, AGENTS, large, 413, "body_too_large").await;
    let bytes = arena.client().post(format!("{}{AGENTS}", arena.url)).body(b"{\"name\":\"\xff\"}".to_vec());
    refused("invalid UTF-8", bytes, 400, "invalid_json").await;
}

#[tokio::test]
async fn a_wrong_method_is_405_and_an_unknown_place_404() {
    let arena = Served::start();
    let id = "9f2c1a44-0000-8000-8000-000000000001";
    let missing = [
        "/nothing".to_owned(),
        "/api/v1/nothing".to_owned(),
        "/api/v1/agents/nobody".to_owned(),
        "/api/v1/agents/a%2Fb".to_owned(),
        "/api/v1/agents/%ff".to_owned(),
        format!("/api/v1/matches/{id}"),
        "/api/v1/matches/7".to_owned(),
        format!("/m/{id}"),
        format!("/m/{id}.json"),
        format!("/m/{id}/events"),
        format!("/m/{}", id.to_uppercase()),
        "/m/x".to_owned(),
        "/m/x.json".to_owned(),
        "/assets/arena.js".to_owned(),
        "/assets/..%2f..%2fCargo.toml".to_owned(),
    ];
    for path in missing {
        let request = arena.client().get(format!("{}{path}", arena.url));
        let response = request.try_clone().unwrap().send().await.unwrap();
        // A path that is no text is the one thing that is no page's name.
        if path.contains("%ff") {
            assert!((400..500).contains(&response.status().as_u16()), "{path}: {}", response.status());
        } else {
            refused(&path, request, 404, "not_found").await;
        }
    }
    for (method, path) in [
        ("DELETE", "/api/v1/agents"),
        ("PUT", "/api/v1/agents/gremlin-9"),
        ("GET", "/api/v1/agents/gremlin-9/endpoint"),
        ("GET", "/api/v1/matches"),
        ("DELETE", "/practice"),
        ("POST", "/"),
        ("POST", "/healthz"),
        ("PATCH", "/m/x"),
    ] {
        let request = arena
            .client()
            .request(Method::from_bytes(method.as_bytes()).unwrap(), format!("{}{path}", arena.url));
        refused(&format!("{method} {path}"), request, 405, "method_not_allowed").await;
    }
}

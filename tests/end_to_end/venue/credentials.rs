//! Keys: who may do what, what a rotation ends, and what a change of endpoint does.

use crate::{
    look::{clean, of_match},
    refusal::refused,
};
use arena_tests::{Agent, Registered, Reply, Served, served::poll_async};
use serde_json::json;

const PLACES: [(&str, &str); 3] = [
    ("/practice", "{}"),
    ("/api/v1/matches", "{\"game\":\"connect4\",\"opponent\":\"right\"}"),
    ("/api/v1/agents/left/endpoint", "{}"),
];

#[tokio::test]
async fn a_missing_or_bad_key_is_401_everywhere() {
    let arena = Served::start();
    let me = arena.register("left", "http://127.0.0.1:9/play").await;
    arena.register("right", "http://127.0.0.1:9/play").await;
    let key = me.api_key.as_str();
    let headers = [
        None,
        Some("Bearer".to_owned()),
        Some("Bearer ".to_owned()),
        Some("Bearer nonsense".to_owned()),
        Some(format!("Bearer {key}x")),
        Some(format!("Bearer {}", &key[..key.len() - 1])),
        Some(format!("Bearer {}", key.to_uppercase())),
        Some(format!("Basic {key}")),
        Some(key.to_owned()),
    ];
    for (path, body) in PLACES {
        for header in &headers {
            let mut request = arena.client().post(format!("{}{path}", arena.url)).body(body);
            if let Some(header) = header {
                request = request.header("authorization", header);
            }
            refused(&format!("{path} {header:?}"), request, 401, "unauthorized").await;
        }
    }
    // A bad key on a public page is an error all the same.
    let request = arena.client().get(format!("{}/api/v1/agents/left", arena.url)).bearer_auth("nonsense");
    refused("a profile", request, 401, "unauthorized").await;
    // In another case of the scheme it is the same key.
    let request = arena
        .client()
        .post(format!("{}/practice", arena.url))
        .header("authorization", format!("bearer {key}"));
    assert_eq!(request.send().await.unwrap().status(), 201);
}

#[tokio::test]
async fn another_agents_key_changes_nothing() {
    let arena = Served::start();
    let left = arena.register("left", "http://127.0.0.1:9/play").await;
    let right = arena.register("right", "http://127.0.0.1:9/play").await;
    let url = format!("{}/api/v1/agents/left/endpoint", arena.url);
    for body in ["{}", "{\"endpoint_url\":\"http://127.0.0.1:1/play\"}", "{\"challenges\":\"none\"}"] {
        let request = arena.client().post(&url).bearer_auth(&right.api_key).body(body);
        refused(body, request, 403, "not_allowed").await;
    }
    let request = arena.client().post(url.replace("left", "nobody")).bearer_auth(&right.api_key);
    refused("nobody", request, 404, "not_found").await;
    let request = arena.client().post(url.replace("left", "gremlin-9")).bearer_auth(&right.api_key);
    refused("the house", request, 403, "not_allowed").await;
    let (_, own) = arena.get("/api/v1/agents/left", Some(&left.api_key)).await;
    assert_eq!(
        (&own["endpoint_url"], &own["challenges"]),
        (&json!("http://127.0.0.1:9/play"), &json!("open"))
    );
}

#[tokio::test]
async fn a_rotated_key_is_dead_at_once_and_the_new_one_opens_what_it_opened() {
    let arena = Served::start();
    let mut me = arena.register("left", "http://127.0.0.1:9/play").await;
    let endpoint = "/api/v1/agents/left/endpoint";
    for body in [json!({}), json!({"rotate_secret": true})] {
        let (status, rotated) = arena.post(endpoint, Some(&me.api_key), &body).await;
        assert_eq!(status, 200, "{rotated}");
        let new = rotated["api_key"].as_str().unwrap().to_owned();
        assert_ne!(new, me.api_key);
        for (path, body) in PLACES {
            let request =
                arena.client().post(format!("{}{path}", arena.url)).bearer_auth(&me.api_key).body(body);
            refused(path, request, 401, "unauthorized").await;
        }
        me.api_key = new;
        let (status, own) = arena.get("/api/v1/agents/left", Some(&me.api_key)).await;
        assert_eq!((status, &own["endpoint_url"]), (200, &json!("http://127.0.0.1:9/play")));
    }
    let stopped = arena.kill();
    let arena = stopped.start();
    let (status, _) = arena.get("/api/v1/agents/left", Some(&me.api_key)).await;
    assert_eq!(status, 200, "after a restart too");
}

#[tokio::test]
async fn a_new_endpoint_is_asked_from_the_next_turn_on() {
    let arena = Served::start();
    let old = Agent::start(|n, request| if n < 2 { Reply::middle(request) } else { Reply::Silence }).await;
    let new = Agent::good().await;
    let me = arena.register("left", &old.url).await;
    let id = arena.challenge(&me, "pebble-1", json!({"first": "left", "deadline_ms": 500})).await;
    while old.seen().len() < 3 {
        poll_async().await;
    }
    let (status, changed) = arena
        .post("/api/v1/agents/left/endpoint", Some(&me.api_key), &json!({"endpoint_url": new.url}))
        .await;
    assert_eq!((status, &changed["endpoint_url"]), (200, &json!(new.url)));
    assert!(changed.get("api_key").is_none(), "the key stays");
    let replay = arena.finished(&id).await;
    assert_eq!(crate::look::events(&replay, "strike").len(), 1, "the turn that was under way: {replay}");
    assert_eq!(of_match(&old, &id).len(), 3);
    let next = of_match(&new, &id);
    assert_eq!((&next[0].body["move_number"], &next[0].body["strikes"]), (&json!(5), &json!(1)));
}

#[tokio::test]
async fn a_refused_endpoint_changes_nothing() {
    let arena = Served::start();
    let agent = Agent::good().await;
    let me: Registered = arena.register("left", &agent.url).await;
    for body in [
        json!({"endpoint_url": "https://10.0.0.1/play"}),
        json!({"endpoint_url": "nonsense", "rotate_secret": true}),
        json!({"endpoint_url": "http://169.254.169.254/", "challenges": "none"}),
    ] {
        let url = format!("{}/api/v1/agents/left/endpoint", arena.url);
        let request = arena.client().post(url).bearer_auth(&me.api_key).body(body.to_string());
        refused(&body.to_string(), request, 422, "endpoint_refused").await;
    }
    let (status, own) = arena.get("/api/v1/agents/left", Some(&me.api_key)).await;
    assert_eq!((status, &own["endpoint_url"], &own["challenges"]), (200, &json!(agent.url), &json!("open")));
    let id = arena.practice(&me, "pebble-1").await;
    clean(&arena.finished(&id).await);
}

//! What a faulty reply said is its agent's own affair.

use crate::look::events;
use arena_tests::{Agent, Registered, Reply, Served};
use serde_json::{Value, json};

const MARK: &str = "SECRET-OF-THE-STRIKER";

async fn failures(arena: &Served, slug: &str, api_key: Option<&str>) -> Value {
    let (status, profile) = arena.get(&format!("/api/v1/agents/{slug}"), api_key).await;
    assert_eq!(status, 200, "{profile}");
    profile["failures"].clone()
}

async fn text(arena: &Served, path: &str, api_key: Option<&str>) -> String {
    let mut request = arena.client().get(format!("{}{path}", arena.url));
    if let Some(key) = api_key {
        request = request.bearer_auth(key);
    }
    request.send().await.unwrap().text().await.unwrap()
}

/// A match that its first player loses by three replies with this body.
async fn struck(body: &str) -> (Served, Registered, Registered, String) {
    let arena = Served::start();
    let body = body.to_owned();
    let left = Agent::start(move |_, _| Reply::Body(body.clone())).await;
    let right = Agent::good().await;
    let me = arena.register("Left-1", &left.url).await;
    let other = arena.register("Right-1", &right.url).await;
    let id = arena.challenge(&me, "right-1", json!({"rated": false, "first": "left-1"})).await;
    arena.finished(&id).await;
    (arena, me, other, id)
}

#[tokio::test]
async fn an_excerpt_is_shown_to_the_striker_and_to_nobody_else_anywhere() {
    let (arena, me, other, id) = struck(MARK).await;
    let own = arena.replay(&id, Some(&me.api_key)).await;
    for strike in events(&own, "strike") {
        assert_eq!(strike["excerpt"], MARK);
    }
    let own = failures(&arena, "left-1", Some(&me.api_key)).await;
    assert_eq!(own[0]["excerpt"], MARK);
    assert!(text(&arena, &format!("/m/{id}/events"), Some(&me.api_key)).await.contains(MARK));

    for key in [None, Some(other.api_key.as_str())] {
        assert!(failures(&arena, "left-1", key).await.is_null());
        let public = ["/m/ID.json", "/m/ID", "/m/ID/events", "/api/v1/matches/ID", "/api/v1/agents/left-1"];
        for path in public.into_iter().chain(["/api/v1/agents/right-1", "/api/v1/agents", "/"]) {
            let text = text(&arena, &path.replace("ID", &id), key).await;
            assert!(!text.contains(MARK), "{path}: {text}");
            assert!(!text.contains("\"excerpt\":\""), "{path}: {text}");
        }
    }
    assert_eq!(failures(&arena, "right-1", Some(&other.api_key)).await, json!([]), "those of its own");
}

#[tokio::test]
async fn an_excerpt_is_the_first_kilobyte_at_most_and_never_half_a_character() {
    let long = "é".repeat(4_000);
    let (arena, me, _, id) = struck(&format!("x{long}")).await;
    let own = arena.replay(&id, Some(&me.api_key)).await;
    let excerpt = events(&own, "strike")[0]["excerpt"].as_str().unwrap().to_owned();
    assert!((1_000..=1_024).contains(&excerpt.len()), "{}", excerpt.len());
    assert!(excerpt.starts_with("xéé"), "{excerpt}");
}

#[tokio::test]
async fn a_profile_shows_its_own_last_ten_failures_the_newest_first() {
    let arena = Served::start();
    let agent = Agent::start(|n, _| Reply::Body(format!("reply {n}"))).await;
    let me = arena.register("Left-1", &agent.url).await;
    for _ in 0..4 {
        let id = arena.practice(&me, "pebble-1").await;
        arena.finished(&id).await;
    }
    let own = failures(&arena, "left-1", Some(&me.api_key)).await;
    let excerpts: Vec<&Value> = own.as_array().unwrap().iter().map(|failure| &failure["excerpt"]).collect();
    let expected: Vec<String> = (2..12).rev().map(|n| format!("reply {n}")).collect();
    assert_eq!(json!(excerpts), json!(expected));
    let mut fields: Vec<&String> = own[0].as_object().unwrap().keys().collect();
    fields.sort();
    let expected = [
        "at",
        "cause",
        "excerpt",
        "latency_ms",
        "match_id",
        "move",
        "move_number",
        "seat",
        "status",
        "strikes",
    ];
    assert_eq!(fields, expected);
}

#[tokio::test]
async fn a_reason_is_shown_to_all_cut_at_280_characters_and_another_type_is_none() {
    let arena = Served::start();
    let agent = Agent::start(|n, request| {
        let reason = match n {
            0 => json!("é".repeat(300)),
            1 => json!("<script>alert(1)</script> & \"quotes\""),
            2 => json!(7),
            _ => json!(null),
        };
        Reply::Body(
            json!({"move": request["legal"][0], "nonce": request["nonce"], "reason": reason}).to_string(),
        )
    })
    .await;
    let right = Agent::start(|_, request| Reply::mv(request, "g")).await;
    let me = arena.register("Left-1", &agent.url).await;
    arena.register("Right-1", &right.url).await;
    let id = arena.challenge(&me, "right-1", json!({"rated": false, "first": "left-1"})).await;
    let replay = arena.finished(&id).await;
    crate::look::clean(&replay);
    let moves = events(&replay, "move");
    let reasons: Vec<&Value> = moves.iter().filter(|mv| mv["seat"] == "X").map(|mv| &mv["reason"]).collect();
    assert_eq!(reasons[0], &json!("é".repeat(280)));
    assert_eq!(reasons[1], "<script>alert(1)</script> & \"quotes\"");
    assert_eq!((reasons[2], reasons[3]), (&Value::Null, &Value::Null));
    let page = text(&arena, &format!("/m/{id}"), None).await;
    assert!(
        page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script>alert"),
        "{page}"
    );
}

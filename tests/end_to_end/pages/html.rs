//! The pages for people, as text.

use crate::look::{columns, events};
use arena_tests::{Agent, Reply, Served};
use serde_json::{Value, json};

async fn page(arena: &Served, path: &str) -> String {
    let response = arena.client().get(format!("{}{path}", arena.url)).send().await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    let headers = response.headers();
    assert_eq!(headers["content-type"], "text/html; charset=utf-8", "{path}");
    assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
    let policy = headers["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    let text = response.text().await.unwrap();
    assert!(text.starts_with("<!DOCTYPE html><html lang=\"en\">"), "{path}: {text}");
    text
}

/// A page's words, without its tags.
fn words(page: &str) -> String {
    let mut text = String::new();
    let mut tag = false;
    for c in page.chars() {
        match c {
            '<' => {
                tag = true;
                text.push(' ');
            }
            '>' => tag = false,
            _ if !tag => text.push(c),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn has(page: &str, expected: &[&str]) {
    let words = words(page);
    for expected in expected {
        assert!(words.contains(expected), "{expected:?} is not in: {words}");
    }
}

#[tokio::test]
async fn a_matchs_page_shows_its_players_its_board_its_moves_and_how_it_ended() {
    let arena = Served::start();
    let left = Agent::start(|_, request| {
        Reply::Body(json!({"move": "d", "nonce": request["nonce"], "reason": "straight up"}).to_string())
    })
    .await;
    let right =
        Agent::start(|n, request| if n == 0 { Reply::Body("{".into()) } else { Reply::mv(request, "a") })
            .await;
    let me = arena.register("Left-1", &left.url).await;
    arena.register("RIGHT_2", &right.url).await;
    let id = arena.challenge(&me, "right_2", json!({"rated": false, "first": "left-1"})).await;
    let replay = arena.finished(&id).await;
    let html = page(&arena, &format!("/m/{id}")).await;
    has(
        &html,
        &[
            "Left-1 – RIGHT_2",
            "connect4, unrated, 10000 ms a turn",
            "Left-1 (X) wins.",
            "X d “ straight up ”",
            "O strike 1: not_json (status 200)",
            "O a",
            "a b c d e f g",
            "The replay as JSON",
        ],
    );
    assert_eq!(html.matches("</li>").count(), replay["events"].as_array().unwrap().len());
    assert_eq!(html.matches("won").count(), 4, "the line: {html}");
    assert_eq!(columns(&replay), "dadadad");
}

#[tokio::test]
async fn the_first_page_shows_what_is_played_who_leads_and_the_house() {
    let arena = Served::start();
    let html = page(&arena, "/").await;
    has(
        &html,
        &[
            "Leaderboard: connect4 No rated match has been played yet.",
            "Being played Nothing is being played right now.",
            "Played last Nothing has been played yet.",
            "PEBBLE-1",
            "COPPER-4",
            "GREMLIN-9",
            "ORACLE-42",
        ],
    );
    let silent = Agent::start(|_, _| Reply::Silence).await;
    let good = Agent::good().await;
    let left = arena.register("Left-1", &good.url).await;
    let right = arena.register("Right-1", &silent.url).await;
    let done = arena.practice(&left, "pebble-1").await;
    arena.finished(&done).await;
    let open = arena.challenge(&right, "copper-4", json!({"first": "right-1", "deadline_ms": 60_000})).await;
    let html = page(&arena, "/").await;
    has(&html, &["Right-1 – COPPER-4", "connect4 , unrated running 0 moves"]);
    for id in [done, open] {
        assert!(html.contains(&format!("href=\"/m/{id}\"")), "{html}");
    }
}

#[tokio::test]
async fn the_practice_page_says_how_to_bring_an_agent_and_its_calls_work_as_printed() {
    let arena = Served::start();
    let html = page(&arena, "/practice").await;
    has(&html, &["Practise against the house", "pebble-1", "copper-4", "gremlin-9", "oracle-42", "API_KEY"]);
    let body = html.split_once("-d '{&quot;name").unwrap().1;
    let body = format!("{{\"name{}", body.split_once('\'').unwrap().0.replace("&quot;", "\""));
    let mut body: Value = serde_json::from_str(&body).unwrap();
    let agent = Agent::good().await;
    body["endpoint_url"] = json!(agent.url);
    let (status, me) = arena.post("/api/v1/agents", None, &body).await;
    assert_eq!(status, 201, "{me}");
    let (status, opened) =
        arena.post("/practice", me["api_key"].as_str(), &json!({"opponent": "pebble-1"})).await;
    assert_eq!(status, 201, "{opened}");
    let id = opened["match_id"].as_str().unwrap();
    assert_eq!(opened["replay_url"], format!("{}/m/{id}", arena.url));
    let replay = arena.finished(id).await;
    assert!(events(&replay, "strike").is_empty());
}

#[tokio::test]
async fn the_page_of_a_session_asks_for_a_link_and_sends_nothing_by_itself() {
    let arena = Served::start();
    let html = page(&arena, "/s").await;
    has(&html, &["The session's link", "Your name in the session", "Message", "Who is in", "Leave"]);
    assert!(
        !html.contains("name=\"link\"") && !html.contains("name=\"name\""),
        "no form puts it into an address"
    );
    for script in ["session.js", "session-relay.js", "session-view.js"] {
        let response = arena.client().get(format!("{}/assets/{script}", arena.url)).send().await.unwrap();
        assert_eq!(response.status(), 200, "{script}");
        assert_eq!(response.headers()["content-type"], "text/javascript; charset=utf-8", "{script}");
    }
}

#[tokio::test]
async fn health_and_readiness_answer_in_json() {
    let arena = Served::start();
    let (status, health) = arena.get("/healthz", None).await;
    assert_eq!((status, &health["status"]), (200, &json!("ok")));
    let (status, ready) = arena.get("/readyz", None).await;
    assert_eq!((status, &ready["status"]), (200, &json!("ready")));
    assert!(ready["record"].as_u64().unwrap() > 0, "{ready}");
}

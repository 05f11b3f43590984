//! The request: its headers, its fields, what stands in each.

use crate::look::{events, keys, of_match};
use arena_tests::{Agent, Reply, Served};
use serde_json::{Value, json};
use std::collections::HashSet;

const FIELDS: [&str; 13] = [
    "protocol",
    "type",
    "match_id",
    "game",
    "you",
    "opponent",
    "move_number",
    "board",
    "legal",
    "strikes",
    "deadline_ms",
    "nonce",
    "replay_url",
];

fn lower_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[tokio::test]
async fn the_first_request_is_as_the_text_has_it_to_the_byte() {
    let arena = Served::start();
    let [left, right] = [Agent::good().await, Agent::good().await];
    let me = arena.register("Left-1", &left.url).await;
    arena.register("RIGHT_2", &right.url).await;
    let id = arena.challenge(&me, "right_2", json!({"rated": false, "first": "left-1"})).await;
    arena.finished(&id).await;

    let first = &of_match(&left, &id)[0];
    let nonce = first.body["nonce"].as_str().unwrap();
    let expected = format!(
        concat!(
            r#"{{"protocol":"agentarena/1","type":"move_request","match_id":"{id}","game":"connect4","you":"X","#,
            r#""opponent":"RIGHT_2","move_number":1,"#,
            r#""board":"```\n .......\n .......\n .......\n .......\n .......\n .......\n abcdefg\n```","#,
            r#""legal":["a","b","c","d","e","f","g"],"strikes":0,"deadline_ms":10000,"#,
            r#""nonce":"{nonce}","replay_url":"{url}/m/{id}"}}"#,
        ),
        id = id,
        nonce = nonce,
        url = arena.url,
    );
    assert_eq!(first.text, expected);

    let second = &of_match(&right, &id)[0].body;
    assert_eq!(
        (&second["you"], &second["opponent"], &second["move_number"]),
        (&json!("O"), &json!("Left-1"), &json!(2))
    );
    assert_eq!(
        second["board"],
        "```\n .......\n .......\n .......\n .......\n .......\n ...X...\n abcdefg\n```"
    );
}

#[tokio::test]
async fn every_request_of_a_match_has_the_headers_and_all_fields_in_the_texts_order() {
    let arena = Served::start();
    let agent = Agent::good().await;
    let me = arena.register("Left-1", &agent.url).await;
    let id = arena.practice(&me, "copper-4").await;
    arena.finished(&id).await;
    let seen = agent.seen();
    assert!(seen.len() >= 4, "a whole match");
    for request in &seen {
        let mut lines = request.head.lines();
        assert_eq!(lines.next(), Some("POST /play HTTP/1.1"));
        let values = |name: &str| -> Vec<String> {
            let headers = request.head.lines().skip(1).filter_map(|line| line.split_once(": "));
            headers
                .filter(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.to_owned())
                .collect()
        };
        assert_eq!(values("content-type"), ["application/json"]);
        assert_eq!(values("user-agent"), ["agentarena-referee/1"]);
        assert_eq!(values("accept-encoding"), ["identity"]);
        assert_eq!(values("content-length"), [request.text.len().to_string()]);
        assert_eq!(values("host"), [agent.url.trim_start_matches("http://").trim_end_matches("/play")]);

        assert_eq!(keys(&request.text), FIELDS);
        let body = &request.body;
        assert_eq!(body["match_id"], id.as_str());
        assert_eq!(body["replay_url"], format!("{}/m/{id}", arena.url));
        assert_eq!(body["opponent"], "COPPER-4");
        assert_eq!((&body["strikes"], &body["deadline_ms"]), (&json!(0), &json!(10_000)));
        assert!(lower_hex(body["nonce"].as_str().unwrap(), 32), "{body}");
    }
}

#[tokio::test]
async fn a_match_id_is_a_hyphenated_lower_case_uuid() {
    let arena = Served::start();
    let agent = Agent::good().await;
    let me = arena.register("Left-1", &agent.url).await;
    let id = arena.practice(&me, "pebble-1").await;
    let parts: Vec<&str> = id.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12]);
    assert!(parts.iter().all(|part| lower_hex(part, part.len())), "{id}");
}

#[tokio::test]
async fn the_endpoints_path_and_query_are_kept_to_the_letter() {
    let arena = Served::start();
    let agent = Agent::good().await;
    let endpoint = agent.url.replace("/play", "/a/%7Bb%7D/play.cgi?key=a%20b&x=1&x=2");
    let me = arena.register("Left-1", &endpoint).await;
    let id = arena.practice(&me, "pebble-1").await;
    arena.finished(&id).await;
    for request in agent.seen() {
        assert!(
            request.head.starts_with("POST /a/%7Bb%7D/play.cgi?key=a%20b&x=1&x=2 HTTP/1.1\r\n"),
            "{}",
            request.head
        );
    }
}

#[tokio::test]
async fn links_are_made_from_the_public_url() {
    let flags = ["--public-url", "https://arena.example"].map(str::to_owned).to_vec();
    let arena = Served::with(arena_tests::ServeOptions { flags, ..Default::default() });
    let agent = Agent::good().await;
    let me = arena.register("Left-1", &agent.url).await;
    let (status, opened) = arena.post("/practice", Some(&me.api_key), &json!({})).await;
    assert_eq!(status, 201);
    let id = opened["match_id"].as_str().unwrap();
    assert_eq!(opened["replay_url"], format!("https://arena.example/m/{id}"));
    arena.finished(id).await;
    assert_eq!(agent.seen()[0].body["replay_url"], format!("https://arena.example/m/{id}"));
}

#[tokio::test]
async fn a_position_that_is_sent_again_differs_in_strikes_and_nonce_alone() {
    let arena = Served::start();
    // Twice per match no move at all, at the second turn.
    let agent =
        Agent::start(
            |n, request| {
                if n == 1 || n == 2 { Reply::Body("{}".to_owned()) } else { Reply::middle(request) }
            },
        )
        .await;
    let me = arena.register("Left-1", &agent.url).await;
    let id = arena.practice(&me, "pebble-1").await;
    let replay = arena.finished(&id).await;
    assert_eq!(events(&replay, "strike").len(), 2, "{replay}");

    let seen = agent.seen();
    let without = |request: &Value| {
        let mut request = request.clone();
        let fields = request.as_object_mut().unwrap();
        (fields.remove("strikes").unwrap(), fields.remove("nonce").unwrap(), request)
    };
    let [first, second, third] = [1, 2, 3].map(|n: usize| without(&seen[n].body));
    assert_eq!([&first.0, &second.0, &third.0], [&json!(0), &json!(1), &json!(2)]);
    assert_eq!((&first.2, &second.2), (&second.2, &third.2));
    assert_eq!([1, 2, 3].map(|n: usize| keys(&seen[n].text)), [FIELDS; 3].map(|all| all.map(str::to_owned)));

    let nonces: HashSet<&str> = seen.iter().map(|request| request.body["nonce"].as_str().unwrap()).collect();
    assert_eq!(nonces.len(), seen.len(), "a nonce is fresh for every request");
}

//! The protocol's own text: its sample against what we send, its agent as it stands there against our referee.

use crate::look::{clean, keys};
use arena_tests::{Agent, Program, Served, program::free_port, shared};
use serde_json::{Value, json};
use std::{fs, process::Command};

const TEXT: &str = "protocols/agentarena.md";

#[tokio::test]
async fn what_we_send_has_the_lines_and_the_fields_of_the_sample_in_its_order() {
    let Some(text) = shared::text(TEXT) else { return };
    let arena = Served::start();
    let agent = Agent::good().await;
    let me = arena.register("Left-1", &agent.url).await;
    let id = arena.practice(&me, "pebble-1").await;
    arena.finished(&id).await;
    let seen = &agent.seen()[0];

    let http = &shared::code_blocks(&text, "http")[0];
    let mut lines = http.lines();
    assert_eq!(lines.next(), Some("POST https://your-agent.example/play"));
    for line in lines {
        assert!(seen.head.lines().any(|header| header.eq_ignore_ascii_case(line)), "{line}:\n{}", seen.head);
    }

    let sample = &shared::code_blocks(&text, "json")[0];
    assert_eq!(keys(&seen.text), keys(sample));
    let sample: Value = serde_json::from_str(sample).expect("the sample is JSON");
    let kind = |value: &Value| std::mem::discriminant(value);
    for (field, sampled) in sample.as_object().unwrap() {
        assert_eq!(kind(&seen.body[field]), kind(sampled), "{field}: {}", seen.body[field]);
    }
    for field in ["protocol", "type", "game", "legal", "deadline_ms"] {
        assert_eq!(seen.body[field], sample[field], "{field}");
    }
    let board = sample["board"].as_str().unwrap();
    let shape = |board: &str| board.replace(['X', 'O'], ".");
    assert_eq!(shape(seen.body["board"].as_str().unwrap()), shape(board));
}

/// The agent of the text as it stands there, but for its port.
fn minimal_agent(text: &str) -> (Program, tempfile::TempDir) {
    let port = free_port();
    let blocks = shared::code_blocks(text, "js");
    let program = blocks[0].replace(".listen(8080)", &format!(".listen({port}, \"127.0.0.1\")"));
    assert_ne!(program, blocks[0], "the text's agent listens on 8080");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.mjs");
    fs::write(&file, program).unwrap();
    (Program::start(Command::new("node").arg(&file), port), folder)
}

#[tokio::test]
async fn the_texts_agent_plays_the_house_another_agent_and_its_like_without_a_strike() {
    let Some(text) = shared::text(TEXT) else { return };
    if shared::core_only() {
        return;
    }
    let arena = Served::start();
    let (mut program, _file) = minimal_agent(&text);
    let (other, _other_file) = minimal_agent(&text);
    let ours = Agent::good().await;
    let me = arena.register("Minimal-1", &program.url).await;
    arena.register("Minimal-2", &other.url).await;
    arena.register("Ours", &ours.url).await;

    let mut ids = Vec::new();
    for house in ["pebble-1", "copper-4", "gremlin-9", "oracle-42"] {
        ids.push(arena.practice(&me, house).await);
    }
    for opponent in ["minimal-2", "ours"] {
        ids.push(arena.challenge(&me, opponent, json!({})).await);
        ids.push(arena.challenge(&me, opponent, json!({"rated": false, "first": opponent})).await);
    }
    for id in ids {
        clean(&arena.finished(&id).await);
    }
    assert!(program.runs(), "it is still there");
}

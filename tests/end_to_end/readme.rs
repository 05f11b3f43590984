//! The agents that README.md shows, as printed, and the example of its own language.

use crate::look::clean;
use arena_tests::{Program, Served, program::free_port, served::binary, shared};
use std::{fs, path::PathBuf, process::Command};

/// The one agent that the README shows in a language, on another port.
fn printed(language: &str) -> (String, u16) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../README.md");
    let text = fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    let blocks = shared::code_blocks(&text, language);
    let agents: Vec<&String> = blocks.iter().filter(|block| block.contains("8080")).collect();
    assert_eq!(agents.len(), 1, "README.md shows one agent in a ```{language} block, which listens on 8080");
    let port = free_port();
    let lines = agents[0].lines().count();
    assert!(lines <= 30, "about 20 lines, and not {lines}");
    (agents[0].replace("8080", &port.to_string()), port)
}

async fn plays_without_a_strike(mut program: Program) {
    let arena = Served::start();
    let me = arena.register("Printed-1", &program.url).await;
    let mut ids = Vec::new();
    for house in ["pebble-1", "copper-4", "gremlin-9", "pebble-1", "copper-4"] {
        ids.push(arena.practice(&me, house).await);
    }
    for id in ids {
        clean(&arena.finished(&id).await);
    }
    assert!(program.runs(), "it is still there");
}

async fn runs(language: &str, interpreter: &str, file: &str) {
    let (program, port) = printed(language);
    if shared::core_only() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(file);
    fs::write(&file, program).unwrap();
    plays_without_a_strike(Program::start(Command::new(interpreter).arg(&file), port)).await;
}

#[tokio::test]
async fn the_python_agent_plays_as_printed() {
    runs("python", "python3", "agent.py").await;
}

#[tokio::test]
async fn the_javascript_agent_plays_as_printed() {
    runs("js", "node", "agent.mjs").await;
}

#[tokio::test]
async fn the_rust_example_plays_as_built() {
    let example = binary().with_file_name("examples").join("connect4-agent");
    assert!(example.is_file(), "{} is missing: cargo build --workspace --all-targets", example.display());
    let port = free_port();
    let mut command = Command::new(example);
    plays_without_a_strike(Program::start(command.arg(format!("127.0.0.1:{port}")), port)).await;
}

//! Many matches at once.

use crate::look::clean;
use arena_tests::{Agent, Registered, Reply, Served};
use serde_json::json;

const AGENTS: usize = 40;
const MATCHES_EACH: usize = 8;

#[tokio::test]
async fn hundreds_of_matches_at_once_come_to_their_end_without_a_strike() {
    let arena = Served::start();
    let mut agents: Vec<(Agent, Registered)> = Vec::new();
    for n in 0..AGENTS {
        // Each prefers another column, so that the matches differ.
        let agent = Agent::start(move |_, request| {
            let legal = request["legal"].as_array().unwrap();
            Reply::mv(request, legal[n % legal.len()].as_str().unwrap())
        })
        .await;
        let registered = arena.register(&format!("agent-{n}"), &agent.url).await;
        agents.push((agent, registered));
    }
    let mut ids = Vec::new();
    for further in 1..=MATCHES_EACH {
        for n in 0..AGENTS {
            let opponent = &agents[(n + further) % AGENTS].1.slug;
            ids.push(arena.challenge(&agents[n].1, opponent, json!({"deadline_ms": 60_000})).await);
        }
    }
    for id in &ids {
        clean(&arena.finished(id).await);
    }
    assert_eq!(ids.len(), 320);
    for (agent, _) in &agents {
        assert_eq!(agent.most_open(), 1);
        assert!(agent.seen().len() >= 2 * MATCHES_EACH * 3, "nobody loses before a third move");
    }
    let audit = arena.stop().audit();
    assert_eq!(audit["holds"], true, "{audit}");
}

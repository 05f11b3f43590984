//! A data folder with a story: agents, rated and unrated matches, texts, an orderly end. What is shown of it, to compare.

use crate::{dice::Dice, player::Player};
use arena_tests::{Registered, Served, served::Stopped};
use serde_json::{Value, json};

pub(crate) struct Played {
    pub(crate) stopped: Stopped,
    agents: [Registered; 2],
    matches: Vec<String>,
    /// What was shown before the end.
    shown: Vec<Value>,
    _players: [Player; 2],
}

impl Played {
    pub(crate) async fn new() -> Self {
        let mut dice = Dice::new();
        let arena = Served::start();
        let players = [Player::start(dice.split(), 2).await, Player::start(dice.split(), 2).await];
        let one = arena.register("Left-Agent", &players[0].url).await;
        let other = arena.register("Right-Agent", &players[1].url).await;
        let mut matches = Vec::new();
        for _ in 0..3 {
            matches.push(arena.challenge(&one, &other.slug, json!({})).await);
            matches.push(arena.practice(&other, "pebble-1").await);
        }
        for id in &matches {
            arena.finished(id).await;
        }
        let agents = [one, other];
        let shown = look(&arena, &agents, &matches).await;
        Self { stopped: arena.stop(), agents, matches, shown, _players: players }
    }

    /// That an arena over the folder shows the same as before.
    pub(crate) async fn assert_shown(&self, arena: &Served) {
        assert_eq!(look(arena, &self.agents, &self.matches).await, self.shown);
    }

    /// That an arena over the folder starts, shows the same as before, and plays on.
    pub(crate) async fn assert_whole(&self) {
        let arena = self.stopped.start();
        self.assert_shown(&arena).await;
        let id = arena.practice(&self.agents[0], "pebble-1").await;
        let replay = arena.finished(&id).await;
        assert!(
            replay["events"].as_array().unwrap().iter().all(|event| event["kind"] != "strike"),
            "{replay}"
        );
        let audit = arena.stop().audit();
        assert_eq!(audit["holds"], true, "{audit}");
    }
}

/// Replays with their texts, profiles with ratings, the list of agents.
async fn look(arena: &Served, agents: &[Registered], matches: &[String]) -> Vec<Value> {
    let mut shown = Vec::new();
    for id in matches {
        shown.push(arena.replay(id, None).await);
    }
    for agent in agents {
        let path = format!("/api/v1/agents/{}", agent.slug);
        shown.push(arena.get(&path, Some(&agent.api_key)).await.1);
    }
    shown.push(arena.get("/api/v1/agents", None).await.1);
    shown
}

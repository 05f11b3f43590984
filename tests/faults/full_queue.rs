//! More requests at once than there is room for: answered, refused or told to come again, never left hanging.

use crate::{garbage::resident_bytes, records};
use arena_schema::Event;
use arena_tests::{Agent, Registered, Served};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::task::JoinSet;

const CLIENTS: usize = 400;
const REQUESTS: usize = 8;
const GROWTH_BYTES_MAX: u64 = 300 << 20;
/// No answer needs as long; a client that waits longer hangs.
const HANGS: Duration = Duration::from_secs(30);

/// How many of each status, and the matches that were opened.
type Answers = (BTreeMap<u16, usize>, Vec<String>);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_practice_is_answered_to_the_last_request() {
    let arena = Served::start();
    // They answer nothing, so that no match makes room by its end.
    let agent = Agent::start(|_, _| arena_tests::Reply::Silence).await;
    let mut agents: Vec<Registered> = Vec::new();
    for n in 0..CLIENTS / 4 {
        agents.push(arena.register(&format!("Agent-{n}"), &agent.url).await);
    }
    let before = resident_bytes(arena.id());
    let answers = Arc::new(Mutex::new(Answers::default()));
    let mut clients = JoinSet::new();
    for client in 0..CLIENTS {
        let (agent, url) = (agents[client % agents.len()].clone(), arena.url.clone());
        let answers = Arc::clone(&answers);
        // A connection of its own.
        let http = arena_tests::served::client();
        clients.spawn(async move {
            for _ in 0..REQUESTS {
                let request = http.post(format!("{url}/practice")).bearer_auth(&agent.api_key).timeout(HANGS);
                let response = request.send().await.expect("every request is answered");
                let status = response.status().as_u16();
                let again = response.headers().contains_key("retry-after");
                let value: serde_json::Value =
                    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
                match status {
                    201 => answers.lock().unwrap().1.push(value["match_id"].as_str().unwrap().to_owned()),
                    409 => assert_eq!(value["code"], "agent_limit", "{value}"),
                    503 => assert!(again, "it says when to come again: {value}"),
                    _ => panic!("{status} {value}"),
                }
                *answers.lock().unwrap().0.entry(status).or_default() += 1;
            }
        });
    }
    clients.join_all().await;
    let after = resident_bytes(arena.id());
    assert!(after < before + GROWTH_BYTES_MAX, "from {before} to {after} bytes");
    let (counts, opened) = answers.lock().unwrap().clone();
    println!("{counts:?}, from {before} to {after} bytes");
    assert_eq!(counts.values().sum::<usize>(), CLIENTS * REQUESTS);
    for id in &opened {
        arena.replay(id, None).await;
    }
    let stopped = arena.kill();
    let ids: BTreeSet<String> = records::all(&stopped.data)
        .into_iter()
        .flat_map(|record| record.events)
        .filter_map(|event| match event {
            Event::MatchOpened(event) => Some(event.id.to_uuid().to_string()),
            _ => None,
        })
        .collect();
    let told: BTreeSet<String> = opened.into_iter().collect();
    assert_eq!(ids, told, "all that was acknowledged is there, and nothing besides");
    assert_eq!(stopped.audit()["holds"], true);
}

//! Rows of a table of misbehaviour: each agent does the same thing to every request, and what came of it is held against the row.

use crate::look::{events, of_match};
use arena_tests::{Agent, Registered, Reply, Served};
use serde_json::{Value, json};

/// Long enough that no row meets it but the ones about it.
const LONG_MS: u32 = 60_000;
/// The least that a match may have.
const SHORT_MS: u32 = 500;

/// How an agent misbehaves, and the strike that it is.
pub(crate) struct Row {
    name: String,
    cause: &'static str,
    status: Option<u16>,
    deadline_ms: u32,
    place: Place,
}

enum Place {
    /// An agent over plain HTTP, whose requests are looked at.
    Agent(Agent),
    /// Somewhere else, where nobody looks.
    Url(String),
}

impl Row {
    /// An agent that answers every request so.
    pub(crate) async fn replying(
        name: impl Into<String>,
        (cause, status): (&'static str, Option<u16>),
        reply: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let place = Place::Agent(Agent::start(reply).await);
        Self { name: name.into(), cause, status, deadline_ms: LONG_MS, place }
    }

    /// Whatever is at this URL.
    pub(crate) fn at(
        name: impl Into<String>,
        (cause, status): (&'static str, Option<u16>),
        url: String,
    ) -> Self {
        Self { name: name.into(), cause, status, deadline_ms: LONG_MS, place: Place::Url(url) }
    }

    /// With the least deadline that there is.
    pub(crate) fn short(self) -> Self {
        Self { deadline_ms: SHORT_MS, ..self }
    }
}

/// Plays a match for every row against the house, all in one arena, and holds each against its row: three strikes of that
/// cause at the first move, one for each request, the same position each time, and then the forfeit.
#[track_caller]
pub(crate) fn strike(arena: &Served, rows: Vec<Row>) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let mut matches = Vec::new();
        for (n, row) in rows.iter().enumerate() {
            let url = match &row.place {
                Place::Agent(agent) => &agent.url,
                Place::Url(url) => url,
            };
            let agent = arena.register(&format!("row-{n}"), url).await;
            let further = json!({"first": agent.slug, "deadline_ms": row.deadline_ms});
            let id = arena.challenge(&agent, "pebble-1", further).await;
            matches.push((row, agent, id));
        }
        for (row, agent, id) in &matches {
            let replay = arena.finished(id).await;
            let wrong = differs(arena, row, agent, id, &replay).await;
            assert!(wrong.is_empty(), "{caller}: {}: {wrong:?}\n{replay}", row.name);
        }
    }
}

async fn differs(arena: &Served, row: &Row, agent: &Registered, id: &str, replay: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut expect = |what: &str, came: Value, expected: Value| {
        if came != expected {
            wrong.push(format!("{what}: expected {expected}, came {came}"));
        }
    };
    let shown = |event: &Value| {
        json!([
            event["n"],
            event["seat"],
            event["move_number"],
            event["cause"],
            event["strikes"],
            event["status"]
        ])
    };
    let strikes: Vec<Value> = events(replay, "strike").into_iter().map(shown).collect();
    let expected: Vec<Value> = (1..=3).map(|n| json!([n, "X", 1, row.cause, n, row.status])).collect();
    expect("strikes", json!(strikes), json!(expected));
    expect("events", json!(replay["events"].as_array().map(Vec::len)), json!(4));
    let end = &replay["events"][3];
    expect("end", json!([end["kind"], end["winner"], end["reason"]]), json!(["end", "O", "forfeit"]));
    expect("result", replay["result"].clone(), json!({"winner": "O", "reason": "forfeit", "line": []}));
    let excerpts = events(replay, "strike").iter().filter(|strike| strike.get("excerpt").is_some()).count();
    expect("excerpts in public", json!(excerpts), json!(0));
    let early = |event: &&&Value| event["latency_ms"].as_u64() < Some(u64::from(row.deadline_ms));
    let early = events(replay, "strike").iter().filter(early).count();
    expect("strikes before the deadline", json!(early), json!(if row.cause == "timeout" { 0 } else { 3 }));

    if let Place::Agent(played) = &row.place {
        let seen = of_match(played, id);
        let strikes: Vec<&Value> = seen.iter().map(|request| &request.body["strikes"]).collect();
        expect("strikes as asked", json!(strikes), json!([0, 1, 2]));
        let same = |request: &Value| json!([request["board"], request["legal"], request["move_number"]]);
        let positions: Vec<Value> = seen.iter().map(|request| same(&request.body)).collect();
        expect("positions", json!(positions), json!(vec![&positions[0]; 3]));
        let mut nonces: Vec<String> = seen.iter().map(|request| request.body["nonce"].to_string()).collect();
        nonces.sort_unstable();
        nonces.dedup();
        expect("nonces", json!(nonces.len()), json!(3));
    }

    let (_, profile) = arena.get(&format!("/api/v1/agents/{}", agent.slug), Some(&agent.api_key)).await;
    let failures = profile["failures"].as_array().cloned().unwrap_or_default();
    let shown = |failure: &Value| {
        json!([failure["match_id"], failure["seat"], failure["cause"], failure["strikes"], failure["status"]])
    };
    let expected: Vec<Value> = (1..=3).rev().map(|n| json!([id, "X", row.cause, n, row.status])).collect();
    expect("failures", json!(failures.iter().map(shown).collect::<Vec<_>>()), json!(expected));
    wrong
}

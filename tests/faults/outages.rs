//! Our outages: time that passes for the journal or the machine while no agent could be heard.

use crate::{dice::Dice, player::Player, records};
use arena_schema::Event;
use arena_tests::{Agent, ServeOptions, Served, served::poll_async};
use serde_json::{Value, json};
use std::time::Duration;

const HOUR_MS: u64 = 3_600_000;

fn test_clock() -> Served {
    Served::with(ServeOptions { flags: vec!["--test-clock".to_owned()], ..ServeOptions::default() })
}

async fn advance(arena: &Served, ms: u64) -> Value {
    let (status, shown) = arena.post("/dev/clock", None, &json!({"advance_ms": ms})).await;
    assert_eq!(status, 200, "{shown}");
    shown
}

fn strikes(replay: &Value) -> Vec<&Value> {
    replay["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "strike").collect()
}

async fn wait(holds: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed() < arena_tests::served::PATIENCE, "the condition does not come");
        poll_async().await;
    }
}

#[tokio::test]
async fn an_agent_that_thinks_while_the_clock_jumps_an_hour_keeps_its_turn_and_its_match() {
    let arena = test_clock();
    let (agent, free) = Player::held(Dice::new(), 1).await;
    let me = arena.register("Left-1", &agent.url).await;
    let id = arena.practice(&me, "pebble-1").await;
    wait(|| agent.asked_count() == 2).await;
    let before = arena.get("/dev/clock", None).await.1;
    for _ in 0..3 {
        advance(&arena, HOUR_MS).await;
    }
    let after = arena.get("/dev/clock", None).await.1;
    let hour = |shown: &Value| shown["now"].as_str().unwrap()[..13].to_owned();
    assert_ne!(hour(&before), hour(&after), "{before} {after}");
    assert_eq!(strikes(&arena.replay(&id, None).await), [&Value::Null; 0]);
    assert_eq!(agent.asked_count(), 2, "it is asked once");
    free.send(true).unwrap();
    let replay = arena.finished(&id).await;
    assert_eq!(replay["status"], "finished", "{replay}");
    assert_eq!(strikes(&replay), [&Value::Null; 0]);
    let stopped = arena.stop();
    assert_eq!(stopped.audit()["holds"], true);
    let events = records::all(&stopped.data).into_iter().flat_map(|record| record.events);
    let outages: Vec<u64> = events
        .filter_map(|event| match event {
            // Stamps are some microseconds ahead of a clock that stands.
            Event::SequencerAnnounced(event) => Some((event.outage_us / 1_000 + HOUR_MS / 2) / HOUR_MS),
            _ => None,
        })
        .collect();
    assert_eq!(outages, [0, 1, 1, 1], "an advance is an outage of ours, announced as one");
}

#[tokio::test]
async fn a_standing_clock_moves_only_when_it_is_moved_and_shows_in_the_replay() {
    let arena = test_clock();
    let agent = Agent::good().await;
    let me = arena.register("Left-1", &agent.url).await;
    let first = arena.finished(&arena.practice(&me, "pebble-1").await).await;
    let moved = advance(&arena, 2 * HOUR_MS).await;
    let second = arena.finished(&arena.practice(&me, "pebble-1").await).await;
    let times = |replay: &Value| -> Vec<String> {
        let events = replay["events"].as_array().unwrap();
        events.iter().map(|event| event["at"].as_str().unwrap().to_owned()).collect()
    };
    let now = arena.get("/dev/clock", None).await.1;
    assert_eq!(now["now"], moved["now"], "it stands still");
    assert!(times(&first).iter().all(|at| at.as_str() < moved["now"].as_str().unwrap()));
    // Stamps are a microsecond apart where the clock stands.
    let second = times(&second);
    assert!(second.iter().all(|at| at[..16] == now["now"].as_str().unwrap()[..16]), "{second:?} {now}");
    let stopped = arena.stop();
    assert_eq!(stopped.audit()["holds"], true);
}

#[tokio::test]
async fn the_clock_is_moved_with_the_test_clock_alone_and_shown_with_dev_alone() {
    let arena = Served::start();
    let (status, _) = arena.get("/dev/clock", None).await;
    assert_eq!(status, 200);
    let (status, problem) = arena.post("/dev/clock", None, &json!({"advance_ms": 1})).await;
    assert_eq!((status, &problem["code"]), (409, &json!("clock_runs")), "{problem}");
    arena.stop();
    let arena = Served::with(ServeOptions { no_dev: true, ..ServeOptions::default() });
    assert_eq!(arena.get("/dev/clock", None).await.0, 404);
    assert_eq!(arena.post("/dev/clock", None, &json!({"advance_ms": 1})).await.0, 404);
    arena.stop();
}

/// Long enough that a busy machine stops the process before it is over.
const DEADLINE_MS: u64 = 4_000;
/// Longer than the deadline: the thing tested is a pause.
const PAUSE: Duration = Duration::from_secs(6);

/// Stops the arena's process for a while in the middle of a request, and lets it go on.
async fn stand_still(answers: bool) -> Value {
    let arena = Served::start();
    let (agent, free) = Player::held(Dice::new(), 0).await;
    let me = arena.register("Left-1", &agent.url).await;
    let id = arena.challenge(&me, "pebble-1", json!({"deadline_ms": DEADLINE_MS})).await;
    wait(|| agent.asked_count() == 1).await;
    arena.signal("STOP");
    if answers {
        free.send(true).unwrap();
        wait(|| agent.answered() >= 1).await;
    }
    tokio::time::sleep(PAUSE).await;
    arena.signal("CONT");
    let replay = if answers {
        arena.finished(&id).await
    } else {
        arena.until(&id, "a strike", |replay| !strikes(replay).is_empty()).await
    };
    assert_eq!(arena.stop().audit()["holds"], true);
    replay
}

#[tokio::test]
async fn an_agent_that_answers_in_time_while_the_arena_stands_still_is_not_struck() {
    let replay = stand_still(true).await;
    assert_eq!(strikes(&replay), [&Value::Null; 0], "our outage is not the agent's");
}

#[tokio::test]
async fn an_agent_that_never_answers_is_struck_after_an_outage_too() {
    let replay = stand_still(false).await;
    let strikes = strikes(&replay);
    assert_eq!(strikes[0]["cause"], "timeout", "{replay}");
    assert!(
        strikes[0]["latency_ms"].as_u64().unwrap() < DEADLINE_MS + 1_000,
        "its own time alone is counted: {replay}"
    );
}

//! `/metrics` of processes that share a journal.

use super::{Site, leader::stop_all};
use arena_tests::{
    Served,
    nats::left_out,
    served::{PATIENCE, poll_async},
};
use serde_json::{Value, json};
use std::time::Instant;

/// A figure of a process, where it has it.
async fn figure(served: &Served, name: &str) -> Option<u64> {
    let page = served.client().get(format!("{}/metrics", served.url)).send().await.unwrap();
    let page = page.text().await.unwrap();
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix("{partition=\"0\"} "))?.parse().ok()
}

async fn until(served: &Served, name: &str, holds: impl Fn(Option<u64>) -> bool) {
    let begun = Instant::now();
    loop {
        let now = figure(served, name).await;
        if holds(now) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{name} stays {now:?}");
        poll_async().await;
    }
}

/// Sets how long a message of the public events may be.
fn set_longest(site: &Site, bytes: i64) {
    let mut config = site.ask("STREAM.INFO.ARENA_EVENTS_0", &Value::Null)["config"].clone();
    config["max_msg_size"] = json!(bytes);
    let answer = site.ask("STREAM.UPDATE.ARENA_EVENTS_0", &config);
    assert_eq!(answer["error"], Value::Null, "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_leader_tells_how_far_the_public_events_are_behind_and_others_tell_what_they_follow() {
    if left_out() {
        return;
    }
    let site = Site::one();
    let [engine, gateway] = site.serve_all([("e1", "engine"), ("g1", "gateway")]);
    let (records, events) = ("arena_public_events_lag_records", "arena_public_events_lag_events");
    until(&engine, "arena_leads", |leads| leads == Some(1)).await;
    until(&engine, records, |lag| lag == Some(0)).await;
    // Nothing can be stored there.
    set_longest(&site, 1);
    for n in 0..5 {
        gateway.register(&format!("told-{n}"), "http://127.0.0.1:9/play").await;
    }
    until(&engine, records, |lag| lag >= Some(5)).await;
    until(&engine, events, |lag| lag >= Some(1)).await;
    set_longest(&site, -1);
    for name in [records, events] {
        until(&engine, name, |lag| lag == Some(0)).await;
    }

    for (name, on_engine, on_gateway) in [
        ("arena_stopped", Some(0), Some(0)),
        ("arena_leads", Some(1), Some(0)),
        (records, Some(0), None),
        ("arena_unanswered_commands", None, Some(0)),
        ("arena_unanswered_commands_max", None, Some(4_096)),
        ("arena_live_gateways", Some(1), Some(1)),
        ("arena_agents", Some(9), Some(9)),
        ("arena_open_matches", Some(0), Some(0)),
        ("arena_era", Some(1), Some(1)),
        ("arena_short_of_space", Some(0), Some(0)),
    ] {
        until(&gateway, name, |now| now == on_gateway).await;
        assert_eq!(figure(&engine, name).await, on_engine, "{name}");
    }
    let record = figure(&engine, "arena_record").await;
    assert!(record > Some(5));
    until(&gateway, "arena_views_record", |views| views >= record).await;
    stop_all(gateway, vec![engine]);
}

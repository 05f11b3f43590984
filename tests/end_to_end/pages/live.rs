//! A match's events as they happen.

use crate::look::events;
use arena_tests::{Agent, Registered, Reply, Served};
use reqwest::Response;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What a stream has said so far.
struct Stream {
    response: Response,
    text: String,
}

impl Stream {
    async fn open(arena: &Served, id: &str, query: &str, last_event_id: Option<&str>) -> Self {
        let mut request = arena.client().get(format!("{}/m/{id}/events{query}", arena.url));
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    /// The next event: its id, its name and its data; none at the stream's end.
    async fn next(&mut self) -> Option<(u64, String, Value)> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| {
                    block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
                };
                if let Some(data) = field("data") {
                    let id = field("id").unwrap().parse().unwrap();
                    let name = field("event").unwrap().to_owned();
                    return Some((id, name, serde_json::from_str(data).unwrap()));
                }
                continue;
            }
            let part = self.response.chunk().await.unwrap()?;
            self.text.push_str(std::str::from_utf8(&part).unwrap());
        }
    }

    async fn rest(mut self) -> Vec<(u64, String, Value)> {
        let mut rest = Vec::new();
        while let Some(event) = self.next().await {
            rest.push(event);
        }
        rest
    }
}

/// An agent that answers as often as there are permits.
async fn held() -> (Agent, Arc<Semaphore>) {
    let permits = Arc::new(Semaphore::new(0));
    let given = Arc::clone(&permits);
    let agent = Agent::start(move |_, request| {
        let body = json!({"move": request["legal"][0], "nonce": request["nonce"]}).to_string();
        Reply::Held(Arc::clone(&given), body)
    })
    .await;
    (agent, permits)
}

async fn open(arena: &Served, me: &Registered) -> String {
    arena.challenge(me, "copper-4", json!({"first": me.slug, "deadline_ms": 60_000})).await
}

/// What a stream says of these events of a replay.
fn said(events: &[Value]) -> Vec<(u64, String, Value)> {
    let said = |event: &Value| {
        (event["n"].as_u64().unwrap(), event["kind"].as_str().unwrap().to_owned(), event.clone())
    };
    events.iter().map(said).collect()
}

#[tokio::test]
async fn a_finished_match_is_streamed_whole_and_the_stream_ends_behind_the_end() {
    let arena = Served::start();
    let agent = Agent::good().await;
    let me = arena.register("left", &agent.url).await;
    let id = arena.practice(&me, "copper-4").await;
    let replay = arena.finished(&id).await;
    let all = said(replay["events"].as_array().unwrap());
    assert_eq!(all.last().unwrap().1, "end");
    assert_eq!(Stream::open(&arena, &id, "", None).await.rest().await, all);

    for after in [0, 1, 3, all.len() - 1] {
        let text = after.to_string();
        let resumed = Stream::open(&arena, &id, "", Some(&text)).await.rest().await;
        assert_eq!(resumed, all[after..], "Last-Event-ID {after}");
        let asked = Stream::open(&arena, &id, &format!("?after={after}"), None).await.rest().await;
        assert_eq!(asked, all[after..], "after {after}");
    }
    let both = Stream::open(&arena, &id, "?after=1", Some("4")).await.rest().await;
    assert_eq!(both, all[4..], "where a stream broke counts, not where it began");
    // Nothing comes any more, and an `EventSource` that is told so with 204 does not ask again.
    for after in [all.len(), 1_000_000] {
        let url = format!("{}/m/{id}/events?after={after}", arena.url);
        assert_eq!(arena.client().get(url).send().await.unwrap().status(), 204, "after {after}");
    }
    assert_eq!(Stream::open(&arena, &id, "", Some("nonsense")).await.rest().await, all);
}

#[tokio::test]
async fn a_running_match_is_followed_event_by_event_and_a_broken_stream_goes_on_where_it_was() {
    let arena = Served::start();
    let (agent, permits) = held().await;
    let me = arena.register("left", &agent.url).await;
    let id = open(&arena, &me).await;
    let mut stream = Stream::open(&arena, &id, "", None).await;
    let mut seen = Vec::new();
    for round in 1..=2 {
        permits.add_permits(1);
        for _ in 0..2 {
            seen.push(stream.next().await.expect("it goes on"));
        }
        assert_eq!(seen.len(), 2 * round);
    }
    drop(stream);
    // Meanwhile something happens that nobody hears.
    permits.add_permits(1);
    arena.until(&id, "three moves each", |replay| events(replay, "move").len() == 6).await;
    let last = seen.last().unwrap().0.to_string();
    let mut resumed = Stream::open(&arena, &id, "?after=0", Some(&last)).await;
    seen.push(resumed.next().await.unwrap());
    permits.add_permits(100);
    seen.extend(resumed.rest().await);
    let replay = arena.finished(&id).await;
    assert_eq!(seen, said(replay["events"].as_array().unwrap()), "none is missing, none comes twice");
}

#[tokio::test]
async fn many_streams_of_many_matches_each_say_their_own() {
    let arena = Served::start();
    let (agent, permits) = held().await;
    let me = arena.register("left", &agent.url).await;
    let mut followed = tokio::task::JoinSet::new();
    let mut ids = Vec::new();
    for n in 0..8 {
        let id = open(&arena, &me).await;
        for _ in 0..3 {
            let stream = Stream::open(&arena, &id, "", None).await;
            followed.spawn(async move { (n, stream.rest().await) });
        }
        ids.push(id);
    }
    permits.add_permits(10_000);
    for (n, seen) in followed.join_all().await {
        let replay = arena.finished(&ids[n]).await;
        assert_eq!(seen, said(replay["events"].as_array().unwrap()));
    }
}

#[tokio::test]
async fn a_stop_ends_the_streams_and_waits_for_no_agent() {
    let arena = Served::start();
    let (agent, _permits) = held().await;
    let me = arena.register("left", &agent.url).await;
    let id = open(&arena, &me).await;
    let stream = Stream::open(&arena, &id, "", None).await;
    arena.signal("TERM");
    assert_eq!(stream.rest().await, []);
    let mut arena = arena;
    assert!(arena.wait().success(), "{}", arena.log());
}

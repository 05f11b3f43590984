//! `Idempotency-Key`: what is repeated under one is done once, and answered as it was the first time.

use crate::refusal::refused;
use arena_tests::{
    ServeOptions, Served,
    served::{PATIENCE, poll_async},
};
use reqwest::RequestBuilder;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::{
    path::Path,
    time::{Duration, Instant},
};
use tokio::{io::AsyncWriteExt, net::TcpStream};

const KEY: &str = "0123456789abcdef";
const AGENTS: &str = "/api/v1/agents";
const LEFT: &str = "/api/v1/agents/left/endpoint";

fn registering(name: &str) -> String {
    let body = json!({"name": name, "protocol": "agentarena/1", "endpoint_url": "http://127.0.0.1:9/play"});
    body.to_string()
}

fn request(arena: &Served, path: &str, api_key: Option<&str>, key: &str, body: &str) -> RequestBuilder {
    let request = arena.client().post(format!("{}{path}", arena.url)).body(body.to_owned());
    let request = match api_key {
        Some(api_key) => request.bearer_auth(api_key),
        None => request,
    };
    request.header("idempotency-key", key)
}

/// An answer, to the byte.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Answered {
    status: u16,
    headers: Vec<(String, String)>,
    text: String,
    replayed: bool,
}

impl Answered {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    fn of(&self, field: &str) -> String {
        self.json()[field].as_str().unwrap_or_else(|| panic!("{field} of {self:?}")).to_owned()
    }

    /// That this is the first answer again.
    #[track_caller]
    fn assert_repeats(&self, first: &Self) {
        assert!(self.replayed, "a repeat says that it is one: {self:?}");
        assert_eq!(Self { replayed: false, ..self.clone() }, *first);
    }
}

async fn answered(request: RequestBuilder) -> Answered {
    let response = request.send().await.unwrap();
    let replayed =
        response.headers().get("idempotent-replayed").map(|value| value.to_str().unwrap().to_owned());
    assert!(replayed.is_none() || replayed.as_deref() == Some("true"));
    let headers = response
        .headers()
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "date" | "idempotent-replayed"))
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    let status = response.status().as_u16();
    Answered { status, headers, text: response.text().await.unwrap(), replayed: replayed.is_some() }
}

async fn post(arena: &Served, path: &str, api_key: Option<&str>, key: &str, body: &str) -> Answered {
    answered(request(arena, path, api_key, key, body)).await
}

async fn agents(arena: &Served) -> usize {
    let (_, list) = arena.get(AGENTS, None).await;
    list["agents"].as_array().unwrap().iter().filter(|agent| agent["protocol"] != "house").count()
}

async fn matches_of(arena: &Served, slug: &str) -> usize {
    let (_, shown) = arena.get(&format!("{AGENTS}/{slug}"), None).await;
    shown["matches"].as_array().unwrap().len()
}

async fn opens(arena: &Served, slug: &str, api_key: &str) -> u16 {
    arena.get(&format!("{AGENTS}/{slug}"), Some(api_key)).await.0
}

#[tokio::test]
async fn a_repeated_registration_is_one_agent_and_the_same_answer_with_its_api_key() {
    let arena = Served::start();
    let first = post(&arena, AGENTS, None, KEY, &registering("left")).await;
    assert_eq!((first.status, first.replayed), (201, false), "{first:?}");
    for _ in 0..2 {
        post(&arena, AGENTS, None, KEY, &registering("left")).await.assert_repeats(&first);
    }
    assert_eq!(agents(&arena).await, 1);
    assert_eq!(opens(&arena, "left", &first.of("api_key")).await, 200);
    // The first answer, and not a later one.
    let changed = arena.post(LEFT, Some(&first.of("api_key")), &json!({"challenges": "none"})).await;
    assert_eq!((changed.0, &changed.1["challenges"]), (200, &json!("none")));
    post(&arena, AGENTS, None, KEY, &registering("left")).await.assert_repeats(&first);
    assert_eq!(first.of("challenges"), "open");
    let stopped = arena.stop();
    let arena = stopped.start();
    post(&arena, AGENTS, None, KEY, &registering("left")).await.assert_repeats(&first);
    let stopped = arena.kill();
    let arena = stopped.start();
    post(&arena, AGENTS, None, KEY, &registering("left")).await.assert_repeats(&first);
    assert_eq!(agents(&arena).await, 1);
    let audit = arena.stop().audit();
    assert_eq!(audit["holds"], true, "{audit}");
}

#[tokio::test]
async fn each_route_answers_a_repeat_as_it_did_and_does_nothing_more() {
    let arena = Served::start();
    let mut key = arena.register("left", "http://127.0.0.1:9/play").await.api_key;
    arena.register("right", "http://127.0.0.1:9/play").await;
    let rows = [
        ("/practice", "", 201),
        ("/api/v1/matches", "{\"game\":\"connect4\",\"opponent\":\"right\"}", 201),
        (LEFT, "{\"endpoint_url\":\"http://127.0.0.1:8/play\"}", 200),
        (LEFT, "{\"challenges\":\"none\"}", 200),
        (LEFT, "{}", 200),
        (LEFT, "{\"rotate_secret\":true,\"endpoint_url\":\"http://127.0.0.1:7/play\"}", 200),
    ];
    for (at, (path, body, status)) in rows.into_iter().enumerate() {
        let own = format!("{KEY}-{at}");
        let first = post(&arena, path, Some(&key), &own, body).await;
        assert_eq!((first.status, first.replayed), (status, false), "{path} {body}: {first:?}");
        let before = matches_of(&arena, "left").await;
        // With the key that it was asked with, which a rotation has ended.
        post(&arena, path, Some(&key), &own, body).await.assert_repeats(&first);
        if let Some(new) = first.json()["api_key"].as_str() {
            assert_eq!(opens(&arena, "left", &key).await, 401, "the old one is dead");
            assert_eq!(opens(&arena, "left", new).await, 200);
            new.clone_into(&mut key);
            post(&arena, path, Some(&key), &own, body).await.assert_repeats(&first);
        }
        assert_eq!(opens(&arena, "left", &key).await, 200, "it was rotated once");
        assert_eq!(matches_of(&arena, "left").await, before);
        refused(
            "another body",
            request(&arena, path, Some(&key), &own, "{\"x\":1}"),
            409,
            "second_key_conflict",
        )
        .await;
    }
    assert_eq!(matches_of(&arena, "left").await, 2);
    let (_, own) = arena.get("/api/v1/agents/left", Some(&key)).await;
    assert_eq!(
        (&own["endpoint_url"], &own["challenges"]),
        (&json!("http://127.0.0.1:7/play"), &json!("none"))
    );
    let audit = arena.stop().audit();
    assert_eq!(audit["holds"], true, "{audit}");
}

#[tokio::test]
async fn another_body_under_a_key_is_409_and_does_nothing() {
    let arena = Served::start();
    let first = post(&arena, AGENTS, None, KEY, &registering("left")).await;
    for body in [registering("right"), format!("{} ", registering("left")), String::new(), "{".to_owned()] {
        refused(&body, request(&arena, AGENTS, None, KEY, &body), 409, "second_key_conflict").await;
    }
    post(&arena, AGENTS, None, KEY, &registering("left")).await.assert_repeats(&first);
    assert_eq!(agents(&arena).await, 1);
}

#[tokio::test]
async fn a_key_of_another_length_or_two_keys_are_400_and_do_nothing() {
    let arena = Served::start();
    let me = arena.register("left", "http://127.0.0.1:9/play").await;
    let right = registering("right");
    for (path, body) in
        [(AGENTS, right.as_str()), (LEFT, "{}"), ("/practice", "{}"), ("/api/v1/matches", "{}")]
    {
        for key in ["", "short", &KEY[1..], &"x".repeat(129), &"x".repeat(1_000)] {
            let request = request(&arena, path, Some(&me.api_key), key, body);
            refused(&format!("{path} {key:?}"), request, 400, "invalid_idempotency_key").await;
        }
        let two = request(&arena, path, Some(&me.api_key), KEY, body).header("idempotency-key", KEY);
        refused(path, two, 400, "invalid_idempotency_key").await;
    }
    assert_eq!(agents(&arena).await, 1);
    for (at, key) in ["y".repeat(16), "y".repeat(128)].iter().enumerate() {
        let made = post(&arena, AGENTS, None, key, &registering(&format!("other-{at}"))).await;
        assert_eq!(made.status, 201, "{made:?}");
    }
}

#[tokio::test]
async fn keys_of_two_callers_and_of_two_routes_do_not_meet() {
    let arena = Served::start();
    let first = post(&arena, AGENTS, None, KEY, &registering("left")).await;
    let left = first.of("api_key");
    let right = arena.register("right", "http://127.0.0.1:9/play").await.api_key;
    let mut ids = Vec::new();
    for api_key in [&left, &right] {
        let body = "{\"game\":\"connect4\",\"opponent\":\"gremlin-9\"}";
        for path in ["/practice", "/api/v1/matches"] {
            let opened = post(&arena, path, Some(api_key), KEY, body).await;
            assert_eq!((opened.status, opened.replayed), (201, false), "{opened:?}");
            post(&arena, path, Some(api_key), KEY, body).await.assert_repeats(&opened);
            ids.push(opened.of("match_id"));
        }
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    // Whoever is known registers under its own keys, whoever is not under the key alone.
    let third = post(&arena, AGENTS, Some(&left), KEY, &registering("third")).await;
    let fourth = post(&arena, AGENTS, Some(&right), KEY, &registering("fourth")).await;
    assert_eq!((third.status, fourth.status), (201, 201), "{third:?} {fourth:?}");
    post(&arena, AGENTS, Some("nobody's"), KEY, &registering("left")).await.assert_repeats(&first);
    // To the letter.
    let other = post(&arena, AGENTS, None, &KEY.to_uppercase(), &registering("fifth")).await;
    assert_eq!(other.status, 201, "{other:?}");
    assert_eq!(agents(&arena).await, 5);
}

#[tokio::test]
async fn doubles_at_once_make_one_agent_and_one_match_and_are_answered_alike() {
    let arena = Served::start();
    for round in 0..6 {
        let (name, key) = (format!("left-{round}"), format!("{KEY}{round}"));
        let body = registering(&name);
        let doubles = (0..8).map(|_| tokio::spawn(answered(request(&arena, AGENTS, None, &key, &body))));
        let api_key = alike(doubles.collect()).await.of("api_key");
        assert_eq!(opens(&arena, &name, &api_key).await, 200);
        let doubles =
            (0..8).map(|_| tokio::spawn(answered(request(&arena, "/practice", Some(&api_key), &key, "{}"))));
        alike(doubles.collect()).await;
        assert_eq!(matches_of(&arena, &name).await, 1);
        let path = format!("{AGENTS}/{name}/endpoint");
        let doubles =
            (0..8).map(|_| tokio::spawn(answered(request(&arena, &path, Some(&api_key), &key, "{}"))));
        let new = alike(doubles.collect()).await.of("api_key");
        assert_eq!((opens(&arena, &name, &api_key).await, opens(&arena, &name, &new).await), (401, 200));
    }
    assert_eq!(agents(&arena).await, 6);
    let audit = arena.stop().audit();
    assert_eq!(audit["holds"], true, "{audit}");
}

/// That all of them got one answer, of which one is no repeat.
async fn alike(doubles: Vec<tokio::task::JoinHandle<Answered>>) -> Answered {
    let mut answers = Vec::new();
    for double in doubles {
        answers.push(double.await.unwrap());
    }
    let at = answers.iter().position(|answer| !answer.replayed).expect("one was the first");
    let first = answers.swap_remove(at);
    assert!(first.status < 300, "{first:?}");
    for answer in answers {
        answer.assert_repeats(&first);
    }
    first
}

#[tokio::test]
async fn who_hangs_up_and_asks_again_at_once_gets_the_one_answer() {
    let arena = Served::start();
    let address = arena.url.strip_prefix("http://").unwrap();
    for round in 0..30_u32 {
        let (name, key) = (format!("left-{round}"), format!("{KEY}{round}"));
        let body = registering(&name);
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head =
            format!("POST {AGENTS} HTTP/1.1\r\nhost: arena\r\nidempotency-key: {key}\r\ncontent-length: ");
        stream.write_all(format!("{head}{}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
        // Somewhere on its way.
        tokio::time::sleep(Duration::from_micros(u64::from(round) * 150)).await;
        drop(stream);
        let answer = post(&arena, AGENTS, None, &key, &body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        assert_eq!(opens(&arena, &name, &answer.of("api_key")).await, 200, "the key is good");
        let again = post(&arena, AGENTS, None, &key, &body).await;
        assert!(again.replayed && again.text == answer.text, "{again:?} {answer:?}");
    }
    assert_eq!(agents(&arena).await, 30);
    let audit = arena.stop().audit();
    assert_eq!(audit["holds"], true, "{audit}");
}

#[tokio::test]
async fn two_bodies_at_once_under_one_key_do_one_of_both_and_never_a_half() {
    let arena = Served::start();
    let mut key = arena.register("left", "http://127.0.0.1:9/play").await.api_key;
    for round in 0..12 {
        let own = format!("{KEY}{round}");
        let url = format!("http://127.0.0.1:{}/play", 10 + round);
        let before = arena.get("/api/v1/agents/left", Some(&key)).await.1;
        let both = json!({"endpoint_url": url, "rotate_secret": true}).to_string();
        let other = ["{}", "{\"challenges\":\"none\"}", "{\"challenges\":\"open\"}"][round % 3];
        let (one, two) = tokio::join!(
            answered(request(&arena, LEFT, Some(&key), &own, &both)),
            answered(request(&arena, LEFT, Some(&key), &own, other)),
        );
        // Who comes when a rotation is over has no good key any more.
        let refused = |answer: &Answered| matches!(answer.status, 401 | 409);
        assert!(one.status == 200 && refused(&two) || refused(&one) && two.status == 200, "{one:?} {two:?}");
        let done = if one.status == 200 { &one } else { &two };
        let rotated = done.json()["api_key"].as_str().map(str::to_owned);
        assert_eq!(rotated.is_some(), one.status == 200 || other == "{}");
        key = rotated.unwrap_or(key);
        let (status, after) = arena.get("/api/v1/agents/left", Some(&key)).await;
        assert_eq!(status, 200, "a refused request rotates nothing: {one:?} {two:?}");
        let moved = if one.status == 200 { json!(url) } else { before["endpoint_url"].clone() };
        assert_eq!(after["endpoint_url"], moved, "{one:?} {two:?}");
    }
}

#[tokio::test]
async fn a_refusal_by_the_engine_is_repeated_and_one_before_a_command_is_judged_anew() {
    let arena = Served::start();
    let left = arena.register("left", "http://127.0.0.1:9/play").await;
    let right = arena.register("right", "http://127.0.0.1:9/play").await;
    let taken = post(&arena, AGENTS, None, KEY, &registering("left")).await;
    assert_eq!((taken.status, taken.of("code").as_str(), taken.replayed), (409, "name_taken", false));
    post(&arena, AGENTS, None, KEY, &registering("left")).await.assert_repeats(&taken);
    // A refusal that would not come now.
    let close = json!({"challenges": "none"});
    assert_eq!(arena.post("/api/v1/agents/right/endpoint", Some(&right.api_key), &close).await.0, 200);
    let body = "{\"game\":\"connect4\",\"opponent\":\"right\"}";
    let closed = post(&arena, "/api/v1/matches", Some(&left.api_key), KEY, body).await;
    assert_eq!((closed.status, closed.of("code").as_str()), (409, "challenges_closed"));
    let open = json!({"challenges": "open"});
    assert_eq!(arena.post("/api/v1/agents/right/endpoint", Some(&right.api_key), &open).await.0, 200);
    post(&arena, "/api/v1/matches", Some(&left.api_key), KEY, body).await.assert_repeats(&closed);
    let stopped = arena.kill();
    let arena = stopped.start();
    post(&arena, "/api/v1/matches", Some(&left.api_key), KEY, body).await.assert_repeats(&closed);
    post(&arena, AGENTS, None, KEY, &registering("left")).await.assert_repeats(&taken);
    assert_eq!(matches_of(&arena, "left").await, 0);
    // What came to no command is kept nowhere, under no key.
    let other = format!("{KEY}-other");
    let bad = registering("third").replace("http://127.0.0.1:9/play", "nonsense");
    for _ in 0..2 {
        refused(&bad, request(&arena, AGENTS, None, &other, &bad), 422, "endpoint_refused").await;
    }
    let made = post(&arena, AGENTS, None, &other, &registering("third")).await;
    assert_eq!((made.status, made.replayed), (201, false), "{made:?}");
}

#[tokio::test]
async fn a_dead_api_key_gets_no_answer_but_that_of_its_own_rotation() {
    let arena = Served::start();
    let old = arena.register("left", "http://127.0.0.1:9/play").await.api_key;
    let played = post(&arena, "/practice", Some(&old), KEY, "{}").await;
    let challenged = post(&arena, LEFT, Some(&old), KEY, "{\"challenges\":\"none\"}").await;
    let rotated = post(&arena, LEFT, Some(&old), &format!("{KEY}-rotate"), "{}").await;
    assert_eq!((played.status, challenged.status, rotated.status), (201, 200, 200));
    refused("/practice", request(&arena, "/practice", Some(&old), KEY, "{}"), 401, "unauthorized").await;
    post(&arena, LEFT, Some(&old), &format!("{KEY}-rotate"), "{}").await.assert_repeats(&rotated);
    for (api_key, key, body) in [
        (old.as_str(), format!("{KEY}-rotate"), "{ }"),
        (&old, format!("{KEY}-rotatE"), "{}"),
        (&old[1..], format!("{KEY}-rotate"), "{}"),
    ] {
        let request = request(&arena, LEFT, Some(api_key), &key, body);
        refused(&format!("{key} {body}"), request, 401, "unauthorized").await;
    }
    let bare = arena
        .client()
        .post(format!("{}{LEFT}", arena.url))
        .header("idempotency-key", format!("{KEY}-rotate"));
    refused("no api_key", bare.body("{}"), 401, "unauthorized").await;
    // Another's path is another's, whatever was answered on one's own.
    arena.register("right", "http://127.0.0.1:9/play").await;
    let path = "/api/v1/agents/right/endpoint";
    let new = rotated.of("api_key");
    refused(path, request(&arena, path, Some(&new), &format!("{KEY}-rotate"), "{}"), 403, "not_allowed")
        .await;
}

#[tokio::test]
async fn after_24_hours_a_key_acts_anew_and_its_answer_is_in_the_vault_no_more() {
    let flags = vec!["--test-clock".to_owned()];
    let arena = Served::with(ServeOptions { flags, ..ServeOptions::default() });
    let first = post(&arena, AGENTS, None, KEY, &registering("left")).await;
    let api_key = first.of("api_key");
    let practised = post(&arena, "/practice", Some(&api_key), KEY, "{}").await;
    let day_ms = 24 * 3_600 * 1_000;
    let advance = async |ms: i64| {
        let (status, now) = arena.post("/dev/clock", None, &json!({"advance_ms": ms})).await;
        assert_eq!(status, 200, "{now}");
    };
    advance(day_ms - 60_000).await;
    post(&arena, AGENTS, None, KEY, &registering("left")).await.assert_repeats(&first);
    post(&arena, "/practice", Some(&api_key), KEY, "{}").await.assert_repeats(&practised);
    advance(60_001).await;
    let again = post(&arena, "/practice", Some(&api_key), KEY, "{}").await;
    assert_eq!((again.status, again.replayed), (201, false));
    assert_ne!(again.of("match_id"), practised.of("match_id"));
    post(&arena, "/practice", Some(&api_key), KEY, "{}").await.assert_repeats(&again);
    // Another body may come under the key now.
    let right = post(&arena, AGENTS, None, KEY, &registering("right")).await;
    assert_eq!((right.status, right.replayed), (201, false), "{right:?}");
    // The two of today remain.
    let begun = Instant::now();
    while kept(&arena.data) != 2 {
        assert!(begun.elapsed() < PATIENCE, "{} answers are kept", kept(&arena.data));
        poll_async().await;
    }
    let stopped = arena.kill();
    let arena = stopped.start();
    assert_eq!(kept(&arena.data), 2);
}

/// How many answers lie in the vault.
fn kept(data: &Path) -> usize {
    let vault = Connection::open_with_flags(data.join("vault.db"), OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let count = "SELECT count(*) FROM vault WHERE name LIKE 'answer/%'";
    vault.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap().try_into().unwrap()
}

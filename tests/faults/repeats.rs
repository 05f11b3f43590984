//! `kill -9` around requests with an `Idempotency-Key`: whatever the client was told or not, its repeat is answered once and for all.

use crate::dice::Dice;
use arena_journal::{Vault, VaultKey};
use arena_tests::{
    ServeOptions, Served,
    served::{PATIENCE, audit, poll_async},
};
use serde_json::{Value, json};
use std::{
    io::Write,
    net::TcpStream,
    path::Path,
    time::{Duration, Instant},
};

const ROUNDS: usize = 24;
const AGENTS: &str = "/api/v1/agents";

/// A request that its client repeats until it is answered.
struct Ask {
    path: String,
    api_key: Option<String>,
    key: String,
    body: String,
}

impl Ask {
    fn registering(name: &str) -> Self {
        let body =
            json!({"name": name, "protocol": "agentarena/1", "endpoint_url": "http://127.0.0.1:9/play"});
        Self {
            path: AGENTS.to_owned(),
            api_key: None,
            key: format!("register-{name:>16}"),
            body: body.to_string(),
        }
    }

    fn rotating(name: &str, api_key: &str, at: usize) -> Self {
        Self {
            path: format!("{AGENTS}/{name}/endpoint"),
            api_key: Some(api_key.to_owned()),
            key: format!("rotate-{at:020}"),
            body: json!({"rotate_secret": true, "challenges": "none"}).to_string(),
        }
    }

    fn practising(api_key: &str, at: usize) -> Self {
        Self {
            path: "/practice".to_owned(),
            api_key: Some(api_key.to_owned()),
            key: format!("practice-{at:020}"),
            body: String::new(),
        }
    }

    /// Its status and its answer's bytes; none where none came.
    async fn send(&self, arena: &Served) -> Option<(u16, String)> {
        let url = format!("{}{}", arena.url, self.path);
        let mut request = arena.client().post(url).header("idempotency-key", &self.key);
        if let Some(api_key) = &self.api_key {
            request = request.bearer_auth(api_key);
        }
        let response = request.body(self.body.clone()).send().await.ok()?;
        let status = response.status().as_u16();
        // What the arena could not tell is no answer.
        let text = response.text().await.ok()?;
        (status != 503).then_some((status, text))
    }

    /// Sends it and never looks for the answer.
    fn send_blindly(&self, arena: &Served) -> TcpStream {
        let Self { path, api_key, key, body } = self;
        let authorization =
            api_key.as_ref().map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
        let mut stream = TcpStream::connect(arena.url.strip_prefix("http://").unwrap()).unwrap();
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: arena\r\nidempotency-key: {key}\r\n{authorization}content-length: \
             {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }
}

fn serve(data: &Path) -> Served {
    Served::with(ServeOptions { data: Some(data.to_owned()), ..ServeOptions::default() })
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

async fn status(arena: &Served, slug: &str, api_key: Option<&str>) -> u16 {
    arena.get(&format!("{AGENTS}/{slug}"), api_key).await.0
}

async fn until<F: Future<Output = bool>>(what: &str, holds: impl Fn() -> F) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "{what} did not come");
        poll_async().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_done_and_never_answered_is_answered_after_the_kill_with_the_same_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let arena = serve(&data);
    let ask = Ask::registering("left");
    let blind = ask.send_blindly(&arena);
    until("the agent", async || status(&arena, "left", None).await == 200).await;
    arena.kill();
    drop(blind);
    let arena = serve(&data);
    let (came, text) = ask.send(&arena).await.unwrap();
    assert_eq!(came, 201, "{text}");
    let api_key = json_of(&text)["api_key"].as_str().unwrap().to_owned();
    assert_eq!(status(&arena, "left", Some(&api_key)).await, 200, "the key is the one that the record has");
    assert_eq!(ask.send(&arena).await, Some((201, text)));

    let rotate = Ask::rotating("left", &api_key, 1);
    let blind = rotate.send_blindly(&arena);
    until("the rotation", async || status(&arena, "left", Some(&api_key)).await == 401).await;
    arena.kill();
    drop(blind);
    let arena = serve(&data);
    let (came, text) = rotate.send(&arena).await.unwrap();
    assert_eq!(came, 200, "{text}");
    let new = json_of(&text)["api_key"].as_str().unwrap().to_owned();
    assert_eq!(
        (status(&arena, "left", Some(&new)).await, &json_of(&text)["challenges"]),
        (200, &json!("none"))
    );
    arena.stop();
    assert_eq!(audit(&data)["holds"], true);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_any_instant_leaves_nothing_done_or_the_whole_answer() {
    let mut dice = Dice::new();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut arena = serve(&data);
    let (_, text) = Ask::registering("left").send(&arena).await.unwrap();
    let mut api_key = json_of(&text)["api_key"].as_str().unwrap().to_owned();
    let (mut told, mut matches) = (0, 0);
    for round in 0..ROUNDS {
        let name = format!("agent-{round}");
        let ask = match round % 3 {
            0 => Ask::registering(&name),
            1 => Ask::rotating("left", &api_key, round),
            _ => Ask::practising(&api_key, round),
        };
        let wait = Duration::from_micros(dice.below(12_000) as u64);
        let (first, ()) = tokio::join!(ask.send(&arena), async {
            tokio::time::sleep(wait).await;
            arena.signal("KILL");
        });
        arena.kill();
        arena = serve(&data);
        let answer = ask.send(&arena).await.unwrap();
        assert!(answer.0 < 300, "round {round}: {answer:?}");
        if let Some(first) = first {
            assert_eq!(first, answer, "round {round}: what it was told holds");
            told += 1;
        }
        assert_eq!(ask.send(&arena).await.as_ref(), Some(&answer), "round {round}");
        let said = json_of(&answer.1);
        match round % 3 {
            0 => {
                let own = said["api_key"].as_str().unwrap();
                assert_eq!(status(&arena, &name, Some(own)).await, 200, "round {round}: its key is good");
            }
            1 => {
                said["api_key"].as_str().unwrap().clone_into(&mut api_key);
                assert_eq!(
                    status(&arena, "left", Some(&api_key)).await,
                    200,
                    "round {round}: the new key is good"
                );
            }
            _ => {
                matches += 1;
                let id = said["match_id"].as_str().unwrap();
                arena.replay(id, None).await;
                let (_, shown) = arena.get(&format!("{AGENTS}/left"), None).await;
                assert_eq!(shown["matches"].as_array().unwrap().len(), matches, "round {round}: {shown}");
            }
        }
    }
    arena.stop();
    assert_eq!(audit(&data)["holds"], true);
    println!("{told} of {ROUNDS} were answered before the kill");
}

fn vault(data: &Path) -> Vault {
    let key = VaultKey::load(&data.join("vault.key"), false).unwrap();
    Vault::open(&data.join("vault.db"), key).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_no_record_relies_on_is_swept_and_one_that_is_lost_does_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let arena = serve(&data);
    let ask = Ask::registering("left");
    let first = ask.send(&arena).await.unwrap();
    let refused = Ask { key: "another-key-of-theirs".to_owned(), ..Ask::registering("left") };
    assert_eq!(refused.send(&arena).await.unwrap().0, 409);
    arena.stop();
    let names = vault(&data).names("answer/").unwrap();
    let [name] = names.as_slice() else { panic!("a refusal has no answer to keep: {names:?}") };
    // What attempts leave that were killed before their command was durable: under the same key, and under another.
    let (begin, end) = name.split_at(name.len() - 1);
    let same = format!("{begin}{}", if end == "0" { "1" } else { "0" });
    let other = name.replace("answer/0001/", "answer/0004/");
    for attempt in [&same, &other, "answer/nonsense"] {
        vault(&data).put(attempt, &[7; 100]).unwrap();
    }
    let arena = serve(&data);
    assert_eq!(ask.send(&arena).await.as_ref(), Some(&first));
    arena.stop();
    assert_eq!(vault(&data).names("answer/").unwrap(), names);

    vault(&data).destroy(name).unwrap();
    let arena = serve(&data);
    let (came, text) = ask.send(&arena).await.unwrap();
    assert_eq!((came, &json_of(&text)["code"]), (409, &json!("answer_gone")), "{text}");
    arena.stop();
    assert_eq!(audit(&data)["holds"], true);
}

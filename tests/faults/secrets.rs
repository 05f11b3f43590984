//! No text that an agent wrote and no secret stands anywhere in clear: not in a record, a view, a log of SQLite's, the vault, the
//! process's own log. Handles do.

use crate::{dice::Dice, records};
use arena_journal::{SqliteJournal, Visit};
use arena_schema::id::RecordNumber;
use arena_tests::{Agent, Reply, ServeOptions, Served, served::Stopped};
use rusqlite::{Connection, types::ValueRef};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What an agent that misbehaves in every way writes, in places that the arena reads.
fn misbehaving(marker: &str) -> impl Fn(usize, &Value) -> Reply + Send + Sync + 'static {
    let marker = marker.to_owned();
    move |n, request| {
        let say = |what: &str| format!("{marker}{what}");
        // Two strikes of three in each match.
        match (request["strikes"].as_u64().unwrap_or_default(), n % 10) {
            (0 | 1, 0) => Reply::status("500 Oh", &json!({"error": say("status")}).to_string()),
            (0 | 1, 1) => Reply::Body(say("plain")),
            (0 | 1, 2) => Reply::Body(json!({"move": say("move"), "nonce": request["nonce"]}).to_string()),
            (0 | 1, 3) => Reply::Body(json!({"move": "d", "nonce": say("nonce")}).to_string()),
            (0 | 1, 4) => Reply::Raw(
                format!(
                    "HTTP/1.1 302 Found\r\nlocation: http://{}\r\ncontent-length: 0\r\n\r\n",
                    say("location")
                )
                .into_bytes(),
            ),
            (0 | 1, 5) => Reply::Raw(
                format!("HTTP/1.1 200 {}\r\nx-{}: 1\r\ncontent-length: 900\r\n\r\n", say("phrase"), say("h"))
                    .into_bytes(),
            ),
            (0 | 1, 6) => Reply::Raw(say("no-http").into_bytes()),
            (0 | 1, 7) => Reply::Body(say("large").repeat(4_000)),
            (0 | 1, 8) => Reply::Body(json!({ say("key"): say("value") }).to_string()),
            _ => {
                let legal = request["legal"].as_array().unwrap();
                let body = json!({
                    "move": legal[legal.len() / 2], "nonce": request["nonce"], "reason": say("reason"), "more": say("more"),
                });
                Reply::Body(body.to_string())
            }
        }
    }
}

struct Planted {
    stopped: Stopped,
    log: String,
    handle: String,
    secrets: Vec<String>,
}

async fn play(log_level: &str, marker: &str) -> Planted {
    let variables = vec![("RUST_LOG".to_owned(), log_level.to_owned())];
    let arena = Served::with(ServeOptions { variables, ..ServeOptions::default() });
    let agent = Agent::start(misbehaving(marker)).await;
    let good = Agent::good().await;
    // The slug is in lower case: the name as it was written is a text, and the slug a handle.
    let name = format!("Agent-{}", &marker[..8]);
    let endpoint = format!("{}/{marker}path?token={marker}query", agent.url);
    let me = arena.register(&name, &endpoint).await;
    let other = arena.register("Left-1", &good.url).await;
    let mut secrets = vec![me.api_key.clone(), other.api_key.clone()];
    for _ in 0..4 {
        let ids = [
            arena.practice(&me, "pebble-1").await,
            arena.challenge(&other, &me.slug, json!({})).await,
            arena.challenge(&me, &other.slug, json!({"deadline_ms": 2_000})).await,
        ];
        for id in ids {
            let replay = arena.finished(&id).await;
            assert!(replay["events"].as_array().unwrap().iter().any(|event| event["kind"] == "strike"));
            for path in ["", ".json", "/events"] {
                let page = arena.client().get(format!("{}/m/{id}{path}", arena.url)).send().await.unwrap();
                assert_eq!(page.status(), 200);
                page.bytes().await.unwrap();
            }
        }
    }
    let path = format!("/api/v1/agents/{}", me.slug);
    let (_, own) = arena.get(&path, Some(&me.api_key)).await;
    assert!(own.to_string().contains(marker), "its owner sees what it answered: {own}");
    let (_, public) = arena.get(&path, None).await;
    assert!(!public.to_string().contains(marker), "nobody else does: {public}");
    // Keys that are given in vain, new ones, and another address.
    let vain = format!("arena_{marker}vain");
    assert_eq!(arena.get(&path, Some(&vain)).await.0, 401);
    let (status, rotated) = arena.post(&format!("{path}/endpoint"), Some(&me.api_key), &json!({})).await;
    assert_eq!(status, 200, "{rotated}");
    let rotated = rotated["api_key"].as_str().unwrap().to_owned();
    let moved = json!({"endpoint_url": format!("{endpoint}&moved={marker}")});
    assert_eq!(arena.post(&format!("{path}/endpoint"), Some(&rotated), &moved).await.0, 200);
    let bad = json!({"name": format!("{marker} {marker}"), "protocol": marker, "endpoint_url": marker});
    assert!(arena.post(&format!("/api/v1/agents?x={marker}"), Some(&vain), &bad).await.0 >= 400);
    arena.get(&format!("/{marker}?{marker}"), Some(&rotated)).await;
    let open =
        arena.practice(&arena_tests::Registered { api_key: rotated.clone(), ..me.clone() }, "pebble-1").await;
    arena.until(&open, "a first event", |replay| replay["events"].as_array().unwrap().len() > 1).await;
    secrets.extend([vain, rotated]);
    secrets.extend(repeated(&arena, marker, &endpoint).await);
    // While it runs, the write-ahead logs are full.
    look_through(&arena.data, marker, &secrets);
    let log = {
        arena.signal("TERM");
        let mut arena = arena;
        assert!(arena.wait().success());
        // The end of the log comes through a pipe.
        arena_tests::served::poll();
        let log = arena.log();
        (log, arena.kill())
    };
    Planted { stopped: log.1, log: log.0, handle: me.slug, secrets }
}

/// What is registered and rotated under keys of the caller's own, each twice: the api_keys.
async fn repeated(arena: &Served, marker: &str, endpoint: &str) -> Vec<String> {
    let post = async |path: &str, api_key: &str, body: Value| {
        let mut given = Vec::new();
        for _ in 0..2 {
            let request = arena.client().post(format!("{}{path}", arena.url)).bearer_auth(api_key);
            let request = request.header("idempotency-key", format!("{marker}-again")).body(body.to_string());
            let answer: Value =
                serde_json::from_slice(&request.send().await.unwrap().bytes().await.unwrap()).unwrap();
            given.push(answer["api_key"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned());
        }
        assert_eq!(given[0], given[1], "its caller reads it again");
        given.swap_remove(0)
    };
    let body = json!({"name": "Again-1", "protocol": "agentarena/1", "endpoint_url": endpoint});
    let first = post("/api/v1/agents", "none", body).await;
    let second = post("/api/v1/agents/again-1/endpoint", &first, json!({"rotate_secret": true})).await;
    vec![first, second]
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part.eq_ignore_ascii_case(text.as_bytes()))
}

#[track_caller]
fn assert_clean(bytes: &[u8], marker: &str, secrets: &[String], place: &str) {
    assert!(!holds(bytes, marker), "a text stands in clear in {place}");
    for secret in secrets {
        let bare = secret.split_once('_').map_or(secret.as_str(), |(_, bare)| bare);
        assert!(!holds(bytes, bare), "a secret stands in clear in {place}");
    }
}

/// Every file's bytes; a file that SQLite takes away meanwhile is none.
#[track_caller]
pub(crate) fn look_through(data: &Path, marker: &str, secrets: &[String]) {
    for file in files(data) {
        if let Ok(bytes) = fs::read(&file) {
            assert_clean(&bytes, marker, secrets, &file.display().to_string());
        }
    }
}

/// Every value of every table, as long ones lie in pieces in a file.
#[track_caller]
pub(crate) fn look_into_tables(data: &Path, marker: &str, secrets: &[String]) {
    let mut tables_seen = 0;
    for file in files(data).iter().filter(|file| file.extension().is_some_and(|ending| ending == "db")) {
        let connection = Connection::open(file).unwrap();
        let mut names = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").unwrap();
        let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().flatten().collect();
        for name in names {
            tables_seen += 1;
            let mut select = connection.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
            let columns = select.column_count();
            let mut rows = select.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                for column in 0..columns {
                    if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = row.get_ref(column).unwrap() {
                        assert_clean(bytes, marker, secrets, &format!("{name} of {}", file.display()));
                    }
                }
            }
        }
    }
    assert!(tables_seen > 5, "{tables_seen} tables");
}

#[tokio::test]
async fn no_text_of_an_agent_and_no_secret_stands_in_any_file_or_log_and_handles_do() {
    let marker = format!("mark{:x}", Dice::new().next() | 1 << 63);
    let ours = "info,arena_gateways=trace,arena_journal=trace,arena_projectors=trace,arena_engine=trace";
    let Planted { stopped, log, handle, secrets } = play(ours, &marker).await;
    // The handle has a part of the marker: long enough to be found, too short to be the marker.
    assert!(handle.contains(&marker[..8]) && !handle.contains(&marker));
    look_through(&stopped.data, &marker, &secrets);
    look_into_tables(&stopped.data, &marker, &secrets);
    let (mut found, mut texts) = (false, 0);
    let mut reader = SqliteJournal::open_reader(&records::file(&stopped.data)).unwrap();
    let mut visit = |stored: arena_journal::StoredRecord<'_>| {
        assert_clean(stored.bytes, &marker, &secrets, &format!("record {}", stored.number));
        assert_clean(stored.texts, &marker, &secrets, &format!("the texts of record {}", stored.number));
        found |= holds(stored.bytes, &handle);
        texts += stored.texts.len();
        Visit::Next
    };
    reader.read(RecordNumber(1), &mut visit).unwrap();
    assert!(found, "handles are public for good");
    assert!(texts > 1_000, "the texts are there, sealed: {texts} bytes");
    let display = format!("Agent-{}", &marker[..8]);
    for file in files(&stopped.data) {
        let bytes = fs::read(&file).unwrap();
        let exact = bytes.windows(display.len()).any(|part| part == display.as_bytes());
        assert!(!exact, "the name as it was written is a text: {}", file.display());
    }
    assert!(log.contains("listening on"), "{log}");
    assert_clean(log.as_bytes(), &marker, &secrets, &format!("the log:\n{log}"));
    let key = fs::read(stopped.data.join("vault.key")).unwrap();
    for file in files(&stopped.data).iter().filter(|file| !file.ends_with("vault.key")) {
        let bytes = fs::read(file).unwrap();
        assert!(
            !bytes.windows(key.len()).any(|part| part == key),
            "the vault's key is in {}",
            file.display()
        );
    }
    // The texts are not lost: who may read them does.
    let arena = stopped.start();
    let (_, shown) = arena.get(&format!("/api/v1/agents/{handle}"), None).await;
    assert_eq!(shown["name"], display.as_str());
    arena.stop();
}

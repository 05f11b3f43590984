//! An analyst's own client, nats-py, with the account that the schema's README gives an analyst: what it reads, and that it
//! reaches nothing else.

use super::{Play, STREAM, arena, assert_same, folded, published_seen_by, wait_copied, wait_published};
use crate::{
    jetstream::NatsOptions,
    nats_servers::{NatsServers, NatsSetup, left_out, python},
    tests::jetstream::setup::{Bench, ask},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Lines, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};
use tempfile::TempDir;

/// The accounts as the README has them, with passwords, and a user in the arena's who may do anything.
pub(in crate::tests) fn accounts() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schema/README.md");
    let readme = fs::read_to_string(path).unwrap();
    let blocks: Vec<&str> = readme.split("```").skip(1).step_by(2).collect();
    let mut shown = blocks.iter().filter_map(|block| block.strip_prefix("text\naccounts {"));
    let (accounts, None) = (shown.next().unwrap(), shown.next()) else { panic!("accounts are shown twice") };
    let users = "    users: [\n";
    assert!(accounts.trim_start().starts_with("ARENA {") && accounts.contains(users));
    let operator = format!("{users}      {{ user: operator, password: o1 }}\n");
    let mut text = format!("accounts {{{}", accounts.replacen(users, &operator, 1));
    for (name, password) in [("ENGINE", "e1"), ("GATEWAY", "g1"), ("ANALYST", "a1"), ("AUDITOR", "u1")] {
        assert!(text.contains(&format!("$ARENA_{name}_PASSWORD")));
        text = format!("ARENA_{name}_PASSWORD: {password}\n{text}");
    }
    text
}

/// The analyst's program.
struct Analyst {
    child: Child,
    says: Lines<BufReader<ChildStdout>>,
    hears: ChildStdin,
}

impl Analyst {
    fn start(bench: &Bench) -> Self {
        let program = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/tests/publisher/analyst.py");
        let mut child = Command::new(python())
            .arg("-B")
            .arg(program)
            .args([&bench.servers.nodes[0].url(), "analyst", "a1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(child.stdout.take().unwrap()).lines();
        let hears = child.stdin.take().unwrap();
        Self { child, says, hears }
    }

    fn tell(&mut self, what: &Value) {
        writeln!(self.hears, "{what}").unwrap();
    }

    #[track_caller]
    fn next(&mut self) -> Value {
        let line = self.says.next().expect("it says something").unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// What it found under this name.
    #[track_caller]
    fn found(&mut self, name: &str) -> Value {
        let said = self.next();
        said.get(name).unwrap_or_else(|| panic!("{name} was to come: {said}")).clone()
    }
}

impl Drop for Analyst {
    fn drop(&mut self) {
        // It has ended by itself, where all is well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sequence, subject and JSON of each.
fn rows(found: &Value) -> Vec<(u64, String, String)> {
    serde_json::from_value(found.clone()).unwrap()
}

/// How many messages each of the arena's streams has had.
fn last_sequences(bench: &Bench, operator: &NatsOptions) -> Vec<(String, u64)> {
    let nats = bench.connect_with(operator);
    let names = ask(&nats, "STREAM.NAMES", &json!({}));
    let names = names["streams"].as_array().unwrap();
    let last = |name: &Value| {
        let name = name.as_str().unwrap();
        let info = ask(&nats, &format!("STREAM.INFO.{name}"), &json!({}));
        (name.to_owned(), info["state"]["last_seq"].as_u64().unwrap())
    };
    // Leases are renewed meanwhile.
    names.iter().map(last).filter(|(name, _)| name != "KV_ARENA_LEASES").collect()
}

const PRIVATE: [&str; 13] = [
    "arena.record.>",
    "arena.record.0.1",
    "arena.text.>",
    "arena.submit.>",
    "arena.submit.0",
    "arena.position.0",
    "$KV.ARENA_VAULT.>",
    "$KV.ARENA_LEASES.>",
    "$O.ARENA_PAYLOADS.>",
    "$O.ARENA_SNAPSHOTS.>",
    "$JS.API.>",
    "$SYS.>",
    ">",
];

const FORBIDDEN: [&str; 26] = [
    "arena.record.0.1",
    "arena.text.0",
    "arena.event.0.system.rules_activated.-",
    "arena.submit.0",
    "arena.anything",
    "$KV.ARENA_VAULT.key",
    "$KV.ARENA_LEASES.leader-0",
    "$O.ARENA_PAYLOADS.C.x",
    "$O.ARENA_SNAPSHOTS.C.x",
    "$JS.API.INFO",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.INFO.ARENA_EVENTS_0",
    "$JS.API.STREAM.INFO.ARENA_RECORDS_0_1",
    "$JS.API.STREAM.MSG.GET.ARENA_EVENTS_0",
    "$JS.API.STREAM.MSG.GET.ARENA_RECORDS_0_1",
    "$JS.API.DIRECT.GET.ARENA_RECORDS_0_1",
    "$JS.API.DIRECT.GET.ARENA_TEXTS_0",
    "$JS.API.DIRECT.GET.KV_ARENA_VAULT",
    "$JS.API.DIRECT.GET.OBJ_ARENA_SNAPSHOTS",
    "$JS.API.STREAM.MSG.GET.OBJ_ARENA_SNAPSHOTS",
    "$JS.API.CONSUMER.CREATE.OBJ_ARENA_SNAPSHOTS",
    "$JS.API.CONSUMER.CREATE.ARENA_EVENTS_0",
    "$JS.API.CONSUMER.CREATE.ARENA_RECORDS_0_1",
    "$JS.API.CONSUMER.CREATE.ARENA_TEXTS_0",
    "$JS.API.STREAM.DELETE.ARENA_EVENTS_0",
    "$JS.API.STREAM.PURGE.ARENA_EVENTS_0",
];

/// Where an answer would do harm.
const HARMED: [&str; 6] = [
    "arena.record.0.1",
    "arena.text.0",
    "arena.submit.0",
    "arena.event.0.system.rules_activated.-",
    "$KV.ARENA_VAULT.key",
    "$JS.API.STREAM.DELETE.ARENA_EVENTS_0",
];

#[test]
fn an_analyst_reads_the_public_events_with_its_own_client_and_nothing_else() {
    if left_out() {
        return;
    }
    let bench = Bench::on(NatsServers::one(&NatsSetup { extra: accounts(), ..NatsSetup::default() }));
    let credentials = Some(bench.servers.file("operator.txt", "operator:o1\n"));
    let operator = NatsOptions { credentials, ..bench.options() };
    let data = TempDir::new().unwrap();
    let credentials = Some(bench.servers.file("engine.txt", "engine:e1\n"));
    let engine = NatsOptions { credentials, ..bench.options() };
    let node = arena(bench.connect_with(&engine), data.path());
    let mut play = Play::begin(&bench, &node);
    play.play(&bench, 2);
    wait_published(&node);

    let mut analyst = Analyst::start(&bench);
    analyst.found("ready");
    play.play(&bench, 3);
    wait_published(&node);
    analyst.tell(&json!(3));

    wait_copied(&node, data.path());
    let told = folded(data.path());
    let ended = |from: usize| {
        told.iter()
            .filter(|(subject, _)| subject.contains("match_ended"))
            .skip(from)
            .cloned()
            .collect::<Vec<_>>()
    };
    let live: Vec<String> = serde_json::from_value(analyst.found("live")).unwrap();
    assert_eq!(live, ended(2).into_iter().map(|(_, json)| json).collect::<Vec<_>>());
    let everything = rows(&analyst.found("everything"));
    assert!(everything.iter().map(|row| row.0).eq(1..=told.len() as u64));
    assert!(everything.iter().zip(&told).all(|(row, (subject, json))| (&row.1, &row.2) == (subject, json)));
    let filtered = rows(&analyst.found("filtered"));
    assert_eq!(filtered.into_iter().map(|row| (row.1, row.2)).collect::<Vec<_>>(), ended(0));
    let resumed = analyst.next();
    let after = resumed["after"].as_str().unwrap();
    let at = told.iter().position(|(_, json)| json.starts_with(&format!(r#"{{"id":"{after}""#))).unwrap();
    assert_eq!(rows(&resumed["resumed"]), everything[at + 1..]);
    let position: u64 = analyst.found("position").as_str().unwrap().parse().unwrap();
    assert!(position >= node.handle().position().0.saturating_sub(1) && position > 40, "{position}");

    let before = last_sequences(&bench, &operator);
    analyst.tell(&json!(PRIVATE));
    analyst.tell(&json!(FORBIDDEN));
    analyst.tell(&json!(HARMED));
    // What a gateway asks on its own subject: to be announced, to be counted as gone, to move a clock.
    let words = ["0101".to_owned() + &"07".repeat(16) + "01000000", "0103".to_owned() + &"07".repeat(16)];
    analyst.tell(&json!(words));
    let violation = |tried: &Value, kind: &str, subject: &str| {
        assert_eq!(tried["heard"], json!([]), "{tried}");
        let errors = tried["errors"].to_string().to_lowercase();
        let named = format!("permissions violation for {kind} to \\\"{}\\\"", subject.to_lowercase());
        assert!(errors.contains(&named), "{subject}: {tried}");
    };
    for subject in PRIVATE {
        violation(&analyst.next(), "subscription", subject);
    }
    for subject in FORBIDDEN {
        violation(&analyst.next(), "publish", subject);
        violation(&analyst.next(), "publish", subject);
    }
    let consumed = analyst.next();
    assert!(consumed["errors"].to_string().to_lowercase().contains("permissions violation"), "{consumed}");
    for reply in HARMED {
        for how in ["answer", "answers"] {
            assert_eq!(analyst.next()["tried"], format!("{how} to {reply}"));
        }
    }
    for asked in &words {
        let answer = analyst.next();
        assert_eq!(answer["asked"], *asked);
        let refused = answer["answer"].as_str().map(|answer| hex::decode(answer).unwrap());
        assert!(
            refused.is_some_and(|answer| answer.ends_with(b"only the position is told here")),
            "{answer}"
        );
    }
    analyst.found("done");
    assert_eq!(node.handle().state().producers().live_count(), 1, "no gateway was announced");
    assert_eq!(last_sequences(&bench, &operator), before, "nothing was written by anybody");
    assert!(before.iter().any(|(name, last)| name == STREAM && *last == told.len() as u64), "{before:?}");
    play.play(&bench, 1);
    wait_published(&node);
    node.stop().unwrap();
    assert_same(&folded(data.path()), published_seen_by(&bench.connect_with(&operator), &bench));
}

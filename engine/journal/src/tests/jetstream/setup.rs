//! Servers, a runtime, and journals on them.

use crate::{
    JetStreamJournal, Journal, SealedText,
    jetstream::{Nats, NatsOptions, Tail},
    nats_servers::{NatsServers, NatsSetup},
    testing::Rows,
};
use arena_schema::{
    id::{Partition, RecordNumber},
    record::EncodedRecord,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Longer than anything here takes on a busy machine.
pub(in crate::tests) const PATIENCE: Duration = Duration::from_secs(60);

pub(in crate::tests) const FIRST: RecordNumber = RecordNumber(1);

/// Servers with a runtime for the connections to them.
pub(in crate::tests) struct Bench {
    // Dropped in this order: no connection outlives its servers for long.
    pub(in crate::tests) runtime: Runtime,
    pub(in crate::tests) servers: NatsServers,
}

impl Bench {
    pub(in crate::tests) fn one() -> Self {
        Self::on(NatsServers::one(&NatsSetup::default()))
    }

    pub(in crate::tests) fn three() -> Self {
        Self::on(NatsServers::three(&NatsSetup::default()))
    }

    pub(in crate::tests) fn on(servers: NatsServers) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { runtime, servers }
    }

    pub(in crate::tests) fn options(&self) -> NatsOptions {
        NatsOptions { replicas: self.servers.nodes.len(), ..NatsOptions::new(self.servers.url()) }
    }

    pub(in crate::tests) fn connect(&self) -> Nats {
        self.connect_with(&self.options())
    }

    pub(in crate::tests) fn connect_with(&self, options: &NatsOptions) -> Nats {
        self.runtime.block_on(Nats::connect(options)).unwrap()
    }

    /// The first era of a partition, over a connection of its own.
    pub(in crate::tests) fn journal(&self, partition: u16) -> JetStreamJournal {
        open(&self.connect(), partition)
    }
}

pub(in crate::tests) fn open(nats: &Nats, partition: u16) -> JetStreamJournal {
    nats.runtime().block_on(JetStreamJournal::open_newest(nats, Partition(partition))).unwrap()
}

/// Waits for a condition.
#[track_caller]
pub(in crate::tests) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a tail shows from where it is, until it has shown so many records.
#[track_caller]
pub(in crate::tests) fn rows_of_tail(tail: &mut Tail, count: usize) -> Rows {
    let begun = Instant::now();
    let mut rows = Rows::new();
    while rows.len() < count {
        assert!(begun.elapsed() < PATIENCE, "the tail stopped at {} of {count}", rows.len());
        if let Some(record) = tail.next(Duration::from_millis(100)).unwrap() {
            rows.push((record.number.0, record.bytes, record.texts));
        }
    }
    rows
}

/// What a new tail shows, and that it shows no more.
#[track_caller]
pub(in crate::tests) fn rows_once(journal: &JetStreamJournal, count: usize) -> Rows {
    let mut tail = journal.tail();
    let rows = rows_of_tail(&mut tail, count);
    assert!(tail.next(Duration::from_millis(50)).unwrap().is_none());
    rows
}

/// Appends all, each stored.
#[track_caller]
pub(in crate::tests) fn append_all(journal: &mut dyn Journal, records: &[(EncodedRecord, Vec<SealedText>)]) {
    for (record, texts) in records {
        journal.append(record, texts).unwrap();
    }
}

/// What JetStream's API answers, as an operator would ask it.
pub(in crate::tests) fn ask(nats: &Nats, operation: &str, body: &Value) -> Value {
    let asked = nats.client().request(format!("$JS.API.{operation}"), body.to_string().into());
    let answer = nats.runtime().block_on(asked).unwrap();
    serde_json::from_slice(&answer.payload).unwrap()
}

fn config(nats: &Nats, stream: &str) -> Value {
    ask(nats, &format!("STREAM.INFO.{stream}"), &json!({}))["config"].clone()
}

/// Sets one setting of a stream.
#[track_caller]
pub(in crate::tests) fn alter(nats: &Nats, stream: &str, name: &str, value: Value) {
    let mut config = config(nats, stream);
    config[name] = value;
    let answer = ask(nats, &format!("STREAM.UPDATE.{stream}"), &config);
    assert!(answer.get("error").is_none(), "{answer}");
}

/// Makes a stream anew, empty, with one setting changed.
pub(in crate::tests) fn remake(nats: &Nats, stream: &str, name: &str, value: Value) -> Result<(), String> {
    let mut config = config(nats, stream);
    ask(nats, &format!("STREAM.DELETE.{stream}"), &json!({}));
    config[name] = value;
    let begun = Instant::now();
    loop {
        let answer = ask(nats, &format!("STREAM.CREATE.{stream}"), &config);
        match answer.get("error") {
            None => return Ok(()),
            // The server is still at deleting the old one's files.
            Some(error) if error["err_code"] == 10_049 && begun.elapsed() < Duration::from_secs(5) => {}
            Some(_) => return Err(answer.to_string()),
        }
    }
}

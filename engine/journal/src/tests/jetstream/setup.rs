//! Servers, a runtime, and journals on them.

use crate::{
    JetStreamJournal, Journal,
    jetstream::{Nats, NatsOptions},
    journal::AppendError,
    nats_servers::{NatsServers, NatsSetup},
    testing::Rows,
};
use arena_schema::id::{Era, Partition, RecordNumber};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Longer than anything here takes on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) const FIRST: RecordNumber = RecordNumber(1);

/// Servers with a runtime for the connections to them.
pub(super) struct Bench {
    // Dropped in this order: no connection outlives its servers for long.
    pub(super) runtime: Runtime,
    pub(super) servers: NatsServers,
}

impl Bench {
    pub(super) fn one() -> Self {
        Self::on(NatsServers::one(&NatsSetup::default()))
    }

    pub(super) fn three() -> Self {
        Self::on(NatsServers::three(&NatsSetup::default()))
    }

    pub(super) fn on(servers: NatsServers) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { runtime, servers }
    }

    pub(super) fn options(&self) -> NatsOptions {
        NatsOptions { replicas: self.servers.nodes.len(), ..NatsOptions::new(self.servers.url()) }
    }

    pub(super) fn connect(&self) -> Nats {
        self.connect_with(&self.options())
    }

    pub(super) fn connect_with(&self, options: &NatsOptions) -> Nats {
        self.runtime.block_on(Nats::connect(options)).unwrap()
    }

    /// The first era of a partition, over a connection of its own.
    pub(super) fn journal(&self, partition: u16) -> JetStreamJournal {
        open(&self.connect(), partition)
    }
}

pub(super) fn open(nats: &Nats, partition: u16) -> JetStreamJournal {
    nats.runtime().block_on(JetStreamJournal::open(nats, Partition(partition), Era(1), FIRST)).unwrap()
}

/// Waits for a condition.
#[track_caller]
pub(super) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a tail shows until it has shown so many records.
#[track_caller]
pub(super) fn tail_rows(journal: &JetStreamJournal, count: usize) -> Rows {
    let mut tail = journal.tail();
    tail.begin(FIRST);
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

/// Appends all, each stored.
#[track_caller]
pub(super) fn append_all(
    journal: &mut dyn Journal,
    records: &[(arena_schema::record::EncodedRecord, Vec<crate::SealedText>)],
) {
    for (record, texts) in records {
        let appended: Result<(), AppendError> = journal.append(record, texts);
        appended.unwrap();
    }
}

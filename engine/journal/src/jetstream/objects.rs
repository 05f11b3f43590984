//! Snapshots as objects of the store that all processes of an arena share. What belongs here: that store's settings, its objects,
//! and what a process that died left in it. What never does: whether a snapshot is any good, or who makes one.
//!
//! They are laid out as NATS' object stores are, so that its own tools show them: an object is a row of chunks,
//! `$O.<store>.C.<unique>`, and one message behind them that names them, `$O.<store>.M.<name>`. So an object whose chunks were not
//! all stored has no name and is not listed, and one that lacks a chunk does not match the digest beside its name.

use super::{
    connection::{Failure, Nats},
    streams::{self, Required, Unfit, insist_for},
};
use crate::snapshot::{SnapshotStoreError, Snapshots, record_of_name, snapshot_name};
use arena_schema::{
    id::{Partition, RecordNumber},
    subject::SNAPSHOTS_STORE,
};
use async_nats::{
    datetime::parse_rfc3339,
    jetstream::object_store::{GetErrorKind, ObjectStore},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use tokio::io::AsyncReadExt;

/// How long one question is repeated before it is given up: longer than the election of a new leader.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long the next part of an object may be on its way.
const PART: Duration = Duration::from_secs(5);
/// How long an object of a few bytes may take to be written, and each MiB more of it.
const WRITE: Duration = Duration::from_secs(15);
const WRITE_MIB: Duration = Duration::from_secs(2);
/// Chunks without a name that nothing was added to for so long belong to nobody who lives.
const LEFT_BEHIND: Duration = Duration::from_secs(600);
/// For how long the server knows a message's id again, in nanoseconds: its own default, and no message here has one.
const DUPLICATE_WINDOW_NANOS: u64 = 120_000_000_000;

/// The store of snapshots on JetStream, of all partitions.
pub struct ObjectSnapshots {
    nats: Nats,
    store: ObjectStore,
}

impl std::fmt::Debug for ObjectSnapshots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ObjectSnapshots").field("nats", &self.nats).finish_non_exhaustive()
    }
}

/// The stream that the store is.
pub(super) fn stream_name() -> String {
    format!("OBJ_{SNAPSHOTS_STORE}")
}

fn chunks(unique: &str) -> String {
    format!("$O.{SNAPSHOTS_STORE}.C.{unique}")
}

fn names(name: &str) -> String {
    format!("$O.{SNAPSHOTS_STORE}.M.{name}")
}

/// What the stream must be.
pub(super) fn settings(replicas: usize) -> Vec<(&'static str, Value)> {
    settings_of(SNAPSHOTS_STORE, replicas)
}

/// What the stream of any store of objects must be. A limit in bytes is the operator's, as with the journal's streams.
pub(super) fn settings_of(store: &str, replicas: usize) -> Vec<(&'static str, Value)> {
    vec![
        ("subjects", json!([format!("$O.{store}.C.>"), format!("$O.{store}.M.>")])),
        ("storage", json!("file")),
        ("retention", json!("limits")),
        // What is full is refused: where eras were archived, the snapshots behind them must not give way unseen.
        ("discard", json!("new")),
        ("num_replicas", json!(replicas)),
        ("max_age", json!(0)),
        ("max_msgs_per_subject", json!(-1)),
        ("max_msg_size", json!(-1)),
        ("max_consumers", json!(-1)),
        ("duplicate_window", json!(DUPLICATE_WINDOW_NANOS)),
        ("deny_delete", json!(false)),
        ("deny_purge", json!(false)),
        // A name that is put again takes the place of what was there.
        ("allow_rollup_hdrs", json!(true)),
        // A name is asked of the stream's leader.
        ("allow_direct", json!(false)),
    ]
}

/// What must not be set at all: each would change, copy, drop or move messages, or acknowledge them unstored.
pub(super) const UNSET: [&str; 15] = [
    "allow_msg_counter",
    "allow_msg_schedules",
    "allow_msg_ttl",
    "discard_new_per_subject",
    "first_seq",
    "mirror",
    "mirror_direct",
    "no_ack",
    "persist_mode",
    "republish",
    "sealed",
    "sources",
    "subject_delete_marker_ttl",
    "subject_transform",
    "template_owner",
];

/// An object as its name's message tells.
struct Named {
    name: String,
    unique: String,
    /// The subject and the sequence of that message.
    subject: String,
    sequence: u64,
}

impl ObjectSnapshots {
    /// Opens the store for a process that writes there: makes it where there is none, and checks its settings where there is one.
    ///
    /// # Errors
    /// [`SnapshotStoreError`] names a setting that is not as it must be, or says why there is no answer.
    pub async fn open(nats: &Nats) -> Result<Self, SnapshotStoreError> {
        let name = stream_name();
        let required = Required { name: &name, settings: settings(nats.options().replicas), unset: &UNSET };
        required.open(nats).await.map_err(|unfit| match unfit {
            Unfit::Strange(why) => failed(nats, "used", &why),
            Unfit::Failed(why) => failed(nats, "opened", &why),
        })?;
        Self::get_store(nats).await
    }

    /// Opens the store for a process that only reads there; none where there is none yet.
    ///
    /// # Errors
    /// [`SnapshotStoreError`], where there is no answer.
    pub async fn find(nats: &Nats) -> Result<Option<Self>, SnapshotStoreError> {
        let name = stream_name();
        let looked = insist_for(PATIENCE, nats, || streams::look(nats, &name)).await;
        match looked.map_err(|why| failed(nats, "opened", &why))? {
            Some(_) => Self::get_store(nats).await.map(Some),
            None => Ok(None),
        }
    }

    async fn get_store(nats: &Nats) -> Result<Self, SnapshotStoreError> {
        let store = insist_for(PATIENCE, nats, || async {
            let got = nats.jetstream().get_object_store(SNAPSHOTS_STORE).await;
            got.map_err(|why| Failure::Lost(why.to_string()))
        });
        let store = store.await.map_err(|why| failed(nats, "opened", &why))?;
        Ok(Self { nats: nats.clone(), store })
    }

    fn failed(&self, action: &'static str, why: &impl ToString) -> SnapshotStoreError {
        failed(&self.nats, action, why)
    }

    async fn insist<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        action: &'static str,
        question: impl Fn() -> F,
    ) -> Result<T, SnapshotStoreError> {
        insist_for(PATIENCE, &self.nats, question).await.map_err(|why| self.failed(action, &why))
    }

    /// All objects that have a name.
    async fn named(&self, action: &'static str) -> Result<Vec<Named>, SnapshotStoreError> {
        let (stream, subjects) = (&stream_name(), &names(">"));
        let (mut named, mut from) = (Vec::new(), 1);
        while let Some(message) =
            self.insist(action, || self.nats.stored_next(stream, subjects, from)).await?
        {
            from = message.sequence + 1;
            let about: Value = serde_json::from_slice(&message.payload).unwrap_or_default();
            let text = |field: &str| about.get(field).and_then(Value::as_str).map(str::to_owned);
            let deleted = about.get("deleted").and_then(Value::as_bool) == Some(true);
            // What other tools leave where they deleted one, or is none of this layout, names nothing.
            if let (false, Some(name), Some(unique)) = (deleted, text("name"), text("nuid")) {
                let subject = message.subject.to_string();
                named.push(Named { name, unique, subject, sequence: message.sequence });
            }
        }
        Ok(named)
    }

    async fn numbers(&self, partition: Partition) -> Result<Vec<RecordNumber>, SnapshotStoreError> {
        let named = self.named("listed").await?;
        let mut numbers: Vec<RecordNumber> =
            named.iter().filter_map(|object| record_of_name(partition, &object.name)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }

    async fn read(&self, name: &str) -> Result<Option<Vec<u8>>, String> {
        let got = async { self.store.get(name).await };
        let mut object = match tokio::time::timeout(PART, got).await.map_err(|_| NO_ANSWER)? {
            Ok(object) => object,
            Err(why) if why.kind() == GetErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(why.to_string()),
        };
        let (size, mut bytes) = (object.info().size, Vec::new());
        loop {
            let part = object.read_buf(&mut bytes);
            match tokio::time::timeout(PART, part).await {
                Ok(Ok(0)) if bytes.len() == size => return Ok(Some(bytes)),
                Ok(Ok(0)) => return Err(format!("{} of its {size} bytes are there", bytes.len())),
                Ok(Ok(_)) => {}
                Ok(Err(why)) => return Err(format!("its parts are not what was written: {why}")),
                Err(_) => {
                    return Err(format!("{} of its {size} bytes came, and then nothing more", bytes.len()));
                }
            }
        }
    }

    async fn write(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        let mut rest = bytes;
        let put = self.store.put(name, &mut rest);
        let mib = u32::try_from(bytes.len() / (1024 * 1024)).unwrap_or(u32::MAX);
        match tokio::time::timeout(WRITE + WRITE_MIB.saturating_mul(mib), put).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(why)) => Err(super::connection::error_chain(&why)),
            Err(_) => Err(NO_ANSWER.to_owned()),
        }
    }

    /// Removes messages under a subject up to a sequence.
    async fn purge(
        &self,
        action: &'static str,
        subject: &str,
        last: Option<u64>,
    ) -> Result<(), SnapshotStoreError> {
        let mut body = json!({"filter": subject});
        if let Some(last) = last {
            body["seq"] = json!(last + 1);
        }
        let operation = format!("STREAM.PURGE.{}", stream_name());
        self.insist(action, || self.nats.api(&operation, &body)).await.map(|_| ())
    }

    /// Removes the chunks that whoever died while it wrote has left: nothing was added to them for so long.
    pub(crate) async fn sweep(&self, left_behind: Duration) -> Result<(), SnapshotStoreError> {
        let body = &json!({"subjects_filter": chunks(">")});
        let operation = &format!("STREAM.INFO.{}", stream_name());
        // The chunks first: what is given a name meanwhile has one when the names are looked at.
        let info = self.insist("swept", || self.nats.api(operation, body)).await?;
        let there = info.pointer("/state/subjects").and_then(Value::as_object);
        let there: Vec<&String> = there.into_iter().flat_map(|subjects| subjects.keys()).collect();
        let known: BTreeSet<String> =
            self.named("swept").await?.iter().map(|object| chunks(&object.unique)).collect();
        let now = info.get("ts").and_then(Value::as_str).and_then(|text| parse_rfc3339(text).ok());
        for subject in there.into_iter().filter(|subject| !known.contains(*subject)) {
            let stream = &stream_name();
            let last = self.insist("swept", || self.nats.stored_last(stream, subject)).await?;
            if last.zip(now).is_some_and(|(last, now)| now - last.time >= left_behind) {
                self.purge("swept", subject, None).await?;
            }
        }
        Ok(())
    }

    async fn throw_away(&self, name: &str) -> Result<(), SnapshotStoreError> {
        let action = "thrown away";
        for object in self.named(action).await?.iter().filter(|object| object.name == name) {
            // The name first: nobody finds one that has lost its chunks. What is put under it meanwhile stays.
            self.purge(action, &object.subject, Some(object.sequence)).await?;
            self.purge(action, &chunks(&object.unique), None).await?;
        }
        Ok(())
    }
}

const NO_ANSWER: &str = "no answer";

fn failed(nats: &Nats, action: &'static str, why: &impl ToString) -> SnapshotStoreError {
    SnapshotStoreError { store: describe(nats), action, why: why.to_string() }
}

fn describe(nats: &Nats) -> String {
    format!("{SNAPSHOTS_STORE} on {}", nats.address())
}

/// Its methods block, and are called from plain threads.
impl Snapshots for ObjectSnapshots {
    fn name(&self) -> String {
        describe(&self.nats)
    }

    fn list(&self, partition: Partition) -> Result<Vec<RecordNumber>, SnapshotStoreError> {
        self.nats.runtime().block_on(self.numbers(partition))
    }

    fn get(&self, partition: Partition, number: RecordNumber) -> Result<Option<Vec<u8>>, SnapshotStoreError> {
        let read = self.nats.runtime().block_on(self.read(&snapshot_name(partition, number)));
        read.map_err(|why| self.failed("read", &why))
    }

    fn put(
        &self,
        partition: Partition,
        number: RecordNumber,
        bytes: &[u8],
    ) -> Result<(), SnapshotStoreError> {
        self.nats.runtime().block_on(async {
            self.sweep(LEFT_BEHIND).await?;
            let written = self.write(&snapshot_name(partition, number), bytes).await;
            written.map_err(|why| self.failed("written", &why))
        })
    }

    fn remove(&self, partition: Partition, number: RecordNumber) -> Result<(), SnapshotStoreError> {
        self.nats.runtime().block_on(self.throw_away(&snapshot_name(partition, number)))
    }
}

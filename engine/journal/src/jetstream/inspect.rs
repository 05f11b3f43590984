//! A look at the server and at our streams on it, that changes nothing. What belongs here: what they say of themselves. What
//! never does: whether that is good enough.

use super::{
    JetStreamJournal,
    connection::{Failure, Nats},
    eras, objects,
    streams::{self, Required, State, Stream},
};
use crate::space::Limit;
use arena_schema::id::{Era, Partition};
use serde_json::{Value, json};

/// A stream of the journal, as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamReport {
    /// Its name.
    pub name: String,
    /// The sequence of its last message.
    pub last: u64,
    /// How many bytes it takes.
    pub bytes: u64,
    /// Whether it takes nothing any more: its era is closed.
    pub sealed: bool,
    /// The first setting that is not as it must be, in words.
    pub strange: Option<String>,
    /// How many servers keep it, and how many of them have all of it.
    pub replicas: (u64, u64),
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsReport {
    /// Our streams of this partition, era by era, the texts' last.
    pub streams: Vec<StreamReport>,
    /// The stream that the store of snapshots is, of all partitions; none where there is none.
    pub snapshots: Option<StreamReport>,
    /// The limits on where the next records and texts go, where there are streams.
    pub limits: Vec<Limit>,
    /// The server's wall clock, as RFC 3339; none where it was not told.
    pub time: Option<String>,
}

impl Nats {
    /// Looks at JetStream and at the streams of a partition's journal.
    ///
    /// # Errors
    /// JetStream is off, or does not answer, in words.
    pub async fn inspect(&self, partition: Partition) -> Result<NatsReport, String> {
        let said = |why: Failure| why.to_string();
        self.api("INFO", &Value::Null).await.map_err(said)?;
        let listed = eras::list(self, partition).await.map_err(said)?;
        let mut streams: Vec<Stream> =
            listed.into_iter().map(|era: Era| Stream::of_records(partition, era)).collect();
        streams.push(Stream::of_texts(partition));
        let replicas = self.options().replicas;
        let mut report = NatsReport { streams: Vec::new(), snapshots: None, limits: Vec::new(), time: None };
        for stream in streams {
            let Some(info) = stream.look(self).await.map_err(said)? else { continue };
            report.time = info.get("ts").and_then(Value::as_str).map(str::to_owned).or(report.time);
            let strange = stream.find_strange(replicas, config(&info));
            report.streams.push(stream_report(&stream.name, &info, strange).map_err(said)?);
        }
        let name = objects::stream_name();
        if let Some(info) = streams::look(self, &name).await.map_err(said)? {
            let required =
                Required { name: &name, settings: objects::settings(replicas), unset: &objects::UNSET };
            let strange = required.find_strange(config(&info));
            report.snapshots = Some(stream_report(&name, &info, strange).map_err(said)?);
        }
        let found = JetStreamJournal::find(self, partition).await.map_err(|why| why.to_string())?;
        if let Some(mut journal) = found {
            report.limits = journal.limits().await.map_err(|why| why.to_string())?;
        }
        Ok(report)
    }

    /// Whether as many servers as the settings' replicas would keep a stream: one is made in memory and deleted.
    ///
    /// # Errors
    /// Why not, in words.
    pub async fn try_replicas(&self) -> Result<(), String> {
        let name = "ARENA_DOCTOR";
        let config = json!({
            "name": name, "subjects": ["arena.doctor"], "storage": "memory", "max_bytes": 1_024,
            "num_replicas": self.options().replicas,
        });
        let made = self.api(&format!("STREAM.CREATE.{name}"), &config).await;
        // What was not made cannot be deleted.
        let _ = self.api(&format!("STREAM.DELETE.{name}"), &Value::Null).await;
        made.map(|_| ()).map_err(|why| why.to_string())
    }
}

fn config(info: &Value) -> &Value {
    info.get("config").unwrap_or(&Value::Null)
}

/// What the server says of one stream.
fn stream_report(name: &str, info: &Value, strange: Option<String>) -> Result<StreamReport, Failure> {
    let state = State::of(info)?;
    let peers = info.pointer("/cluster/replicas").and_then(Value::as_array).cloned().unwrap_or_default();
    let current = peers.iter().filter(|peer| peer["current"] == json!(true)).count() as u64;
    Ok(StreamReport {
        name: name.to_owned(),
        last: state.last,
        bytes: state.bytes,
        sealed: state.sealed,
        strange,
        replicas: (1 + peers.len() as u64, 1 + current),
    })
}

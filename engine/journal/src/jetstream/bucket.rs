//! A key-value bucket with history 1 that keeps no copy of what it had: a message leaves it only by being overwritten where it
//! lay. What belongs here: keys, versions, and the questions about them. What never does: what a value is, or who waits for it.
//!
//! Each version of a value has a subject of its own, `$KV.<bucket>.<key>.<number>`, and is taken only where the last of all
//! versions of the key is still the one that its writer saw. So two writers never lose each other's, and the server never drops
//! a message by itself, which would leave its bytes in the files. The former versions are overwritten once the new one is
//! stored. Whoever dies in between leaves two: the later counts, and who opens the bucket or writes the key next removes the
//! other.
//!
//! Everything is asked of the stream's leader, and nothing by a direct get.
//!
//! With one server a message is gone from its files when the server has answered. Of several, each also has it in the log that
//! they agree by, until that log is next compacted: with nats-server's own pace that is within three minutes or so.

use super::{
    append::publish_to,
    connection::{Failure, Nats, Pauses, Refusal},
    streams::{Required, Unfit, insist_for, may_pass},
};
use crate::vault::random;
use async_nats::{
    HeaderMap,
    datetime::{DateTime, parse_rfc3339},
    jetstream::message::StreamMessage,
};
use bytes::Bytes;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// How long one question is repeated before it is given up: longer than the election of a new leader.
const PATIENCE: Duration = Duration::from_secs(15);
/// For how long the server knows a message's id again, in nanoseconds: longer than anything here is repeated.
const DUPLICATE_WINDOW_NANOS: u64 = 120_000_000_000;

const EXPECTED_LAST: &str = "Nats-Expected-Last-Subject-Sequence";
const EXPECTED_LAST_OF: &str = "Nats-Expected-Last-Subject-Sequence-Subject";
const MESSAGE_ID: &str = "Nats-Msg-Id";

/// Another message is the last by now, or is about to be.
const WRONG_LAST: [u64; 2] = [10_071, 10_164];
/// The same message is on its way.
const DUPLICATE_ON_ITS_WAY: u64 = 10_158;
/// The message was deleted before.
const GONE: [u64; 2] = [10_057, 10_043];

/// Why a bucket does not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the bucket {bucket} cannot be {action}: {why}")]
pub(crate) struct BucketError {
    pub(crate) bucket: String,
    pub(crate) action: &'static str,
    pub(crate) why: String,
}

/// A version of a value.
#[derive(Debug)]
pub(crate) struct Version {
    sequence: u64,
    number: u64,
    stored_at: DateTime,
    pub(crate) value: Bytes,
}

/// How the stream is.
struct State {
    /// How many of its messages are gone, ever.
    removed: u64,
    /// The time of the server's clock.
    now: DateTime,
}

/// One bucket.
#[derive(Debug)]
pub(crate) struct Bucket {
    nats: Nats,
    name: &'static str,
    stream: String,
    /// What its subjects begin with.
    root: String,
    /// How many messages are gone as far as this process has seen, or has removed them. Locked while it removes one or looks, so
    /// that what others removed is told from its own.
    removed: Mutex<u64>,
}

impl Bucket {
    /// Opens a bucket, makes it where there is none, checks its settings where there is one, and removes what writers that
    /// died left.
    pub(crate) async fn open(nats: Nats, name: &'static str) -> Result<Self, BucketError> {
        let (stream, root) = (format!("KV_{name}"), format!("$KV.{name}."));
        let bucket = Self { nats, name, stream, root, removed: Mutex::new(0) };
        let required = bucket.required();
        required.open(&bucket.nats).await.map_err(|unfit| match unfit {
            Unfit::Strange(why) => bucket.error("used", &why),
            Unfit::Failed(why) => bucket.error("opened", &why),
        })?;
        for (key, versions) in bucket.keys(None).await? {
            if versions > 1 {
                bucket.remove_former(&key).await?;
            }
        }
        let state = bucket.insist("read", || bucket.state()).await?;
        *bucket.removed.lock().await = state.removed;
        Ok(bucket)
    }

    /// A limit in bytes or messages is the operator's, as with the journal's streams.
    fn required(&self) -> Required<'_> {
        let settings = vec![
            ("subjects", json!([format!("{}>", self.root)])),
            ("storage", json!("file")),
            ("retention", json!("limits")),
            ("discard", json!("new")),
            // What is full is refused, and nothing gives way to it unseen.
            ("discard_new_per_subject", json!(true)),
            ("num_replicas", json!(self.nats.options().replicas)),
            ("max_age", json!(0)),
            ("max_msgs_per_subject", json!(1)),
            ("max_msg_size", json!(-1)),
            ("max_consumers", json!(-1)),
            ("duplicate_window", json!(DUPLICATE_WINDOW_NANOS)),
            ("deny_delete", json!(false)),
            ("deny_purge", json!(true)),
            ("allow_direct", json!(false)),
            // What is compressed cannot be overwritten where it lies.
            ("compression", json!("none")),
        ];
        Required { name: &self.stream, settings, unset: &Self::UNSET }
    }

    /// What must not be set at all: each would change, copy, drop or move messages, or acknowledge them unstored.
    const UNSET: [&str; 15] = [
        "allow_msg_counter",
        "allow_msg_schedules",
        "allow_msg_ttl",
        "allow_rollup_hdrs",
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

    /// Its name and where it is.
    pub(crate) fn describe(&self) -> String {
        format!("{} on {}", self.name, self.nats.address())
    }

    fn error(&self, action: &'static str, why: &impl ToString) -> BucketError {
        BucketError { bucket: self.describe(), action, why: why.to_string() }
    }

    async fn insist<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        action: &'static str,
        question: impl Fn() -> F,
    ) -> Result<T, BucketError> {
        insist_for(PATIENCE, &self.nats, question).await.map_err(|why| self.error(action, &why))
    }

    /// The subject of all versions of a key.
    fn versions(&self, key: &str) -> String {
        format!("{}{key}.*", self.root)
    }

    fn read(&self, message: StreamMessage) -> Result<Version, Failure> {
        let number = message.subject.rsplit('.').next().and_then(|number| number.parse().ok());
        let number = number.ok_or_else(|| {
            Failure::Lost(format!("the subject {} of {} has no version", message.subject, self.stream))
        })?;
        let StreamMessage { sequence, payload: value, time: stored_at, .. } = message;
        Ok(Version { sequence, number, stored_at, value })
    }

    /// The version that counts.
    pub(crate) async fn get(&self, key: &str) -> Result<Option<Version>, BucketError> {
        let subject = &self.versions(key);
        self.insist("read", || async move {
            let last = self.nats.stored_last(&self.stream, subject).await?;
            last.map(|message| self.read(message)).transpose()
        })
        .await
    }

    async fn oldest(&self, key: &str) -> Result<Option<Version>, BucketError> {
        let subject = &self.versions(key);
        self.insist("read", || async move {
            let first = self.nats.stored_first(&self.stream, subject).await?;
            first.map(|message| self.read(message)).transpose()
        })
        .await
    }

    /// Keeps a value, and leaves no other of this key.
    ///
    /// # Errors
    /// [`BucketError`]; whether it is kept is unknown then, and done again it is.
    pub(crate) async fn put(&self, key: &str, value: Bytes) -> Result<(), BucketError> {
        let (begun, mut pauses) = (Instant::now(), Pauses::new());
        loop {
            let former = self.get(key).await?;
            let (number, expected) = former.map_or((0, 0), |former| (former.number + 1, former.sequence));
            if self.place(key, number, expected, &value).await? {
                return if expected == 0 { Ok(()) } else { self.remove_former(key).await };
            }
            if begun.elapsed() > PATIENCE {
                return Err(self.error("written", &format!("others write {key} without a pause")));
            }
            pauses.pause(&self.nats).await;
        }
    }

    /// Keeps a value where the key has none, and says whether it did.
    ///
    /// # Errors
    /// [`BucketError`]; whether it is kept is unknown then.
    pub(crate) async fn put_new(&self, key: &str, value: &Bytes) -> Result<bool, BucketError> {
        self.place(key, 0, 0, value).await
    }

    /// Stores a version where the last one is what its writer saw. It is sent until its outcome is known: the server knows it
    /// again by its id, and the leader is asked what the last one is.
    async fn place(&self, key: &str, number: u64, expected: u64, value: &Bytes) -> Result<bool, BucketError> {
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED_LAST, expected.to_string());
        headers.insert(EXPECTED_LAST_OF, self.versions(key));
        headers.insert(MESSAGE_ID, hex::encode(random::<16>()));
        let (begun, mut pauses) = (Instant::now(), Pauses::new());
        loop {
            let subject = format!("{}{key}.{number}", self.root);
            let sent = publish_to(&self.nats, &self.stream, subject, headers.clone(), value.clone()).await;
            let Err(why) = sent else {
                return Ok(true);
            };
            let last = self.get(key).await?;
            if last.as_ref().is_some_and(|last| last.number == number && last.value == *value) {
                return Ok(true);
            }
            let passes = match &why {
                Failure::Refused(Refusal { error, .. }) if WRONG_LAST.contains(error) => {
                    if last.map_or(0, |last| last.sequence) != expected {
                        return Ok(false);
                    }
                    true
                }
                Failure::Refused(refusal) => refusal.error == DUPLICATE_ON_ITS_WAY || may_pass(refusal),
                Failure::Nobody | Failure::Lost(_) => true,
            };
            if !passes || begun.elapsed() > PATIENCE {
                return Err(self.error("written", &why));
            }
            pauses.pause(&self.nats).await;
        }
    }

    /// Removes all versions of a key but the last.
    async fn remove_former(&self, key: &str) -> Result<(), BucketError> {
        let Some(last) = self.get(key).await? else {
            return Ok(());
        };
        while let Some(oldest) = self.oldest(key).await?.filter(|oldest| oldest.sequence < last.sequence) {
            self.overwrite(oldest.sequence).await?;
        }
        Ok(())
    }

    /// Removes a key: the oldest version first, so that none of them ever counts again.
    pub(crate) async fn destroy(&self, key: &str) -> Result<(), BucketError> {
        while let Some(oldest) = self.oldest(key).await? {
            self.overwrite(oldest.sequence).await?;
        }
        Ok(())
    }

    /// Deletes a message and overwrites its bytes where they lay.
    async fn overwrite(&self, sequence: u64) -> Result<(), BucketError> {
        let operation = &format!("STREAM.MSG.DELETE.{}", self.stream);
        let body = &json!({"seq": sequence, "no_erase": false});
        self.insist("overwritten", || async move {
            let mut removed = self.removed.lock().await;
            match self.nats.api(operation, body).await {
                Ok(_) => {
                    *removed += 1;
                    Ok(())
                }
                Err(Failure::Refused(refusal)) if GONE.contains(&refusal.error) => Ok(()),
                Err(why) => Err(why),
            }
        })
        .await
    }

    /// The keys under one that is the beginning of others, and how many versions each has. Without one, all keys.
    pub(crate) async fn keys(&self, under: Option<&str>) -> Result<BTreeMap<String, usize>, BucketError> {
        let filter = match under {
            Some(under) => format!("{}{under}.>", self.root),
            None => format!("{}>", self.root),
        };
        let (mut keys, mut offset) = (BTreeMap::new(), 0);
        loop {
            let body = &json!({"subjects_filter": filter, "offset": offset});
            let operation = &format!("STREAM.INFO.{}", self.stream);
            let info = self.insist("read", || self.nats.api(operation, body)).await?;
            let page = info.pointer("/state/subjects").and_then(Value::as_object);
            let page = page.filter(|page| !page.is_empty());
            for subject in page.into_iter().flat_map(|page| page.keys()) {
                let key = subject.strip_prefix(&self.root).and_then(|rest| rest.rsplit_once('.'));
                let (key, _) =
                    key.ok_or_else(|| self.error("read", &format!("the subject {subject} is none of it")))?;
                *keys.entry(key.to_owned()).or_insert(0) += 1;
            }
            offset += page.map_or(0, serde_json::Map::len);
            let total = info.get("total").and_then(Value::as_u64).unwrap_or_default();
            if page.is_none() || offset as u64 >= total {
                return Ok(keys);
            }
        }
    }

    /// Whether what counts under a key was stored so long ago, by the servers' clock; not where there is nothing.
    pub(crate) async fn is_older_than(&self, key: &str, age: Duration) -> Result<bool, BucketError> {
        let Some(version) = self.get(key).await? else {
            return Ok(false);
        };
        let state = self.insist("read", || self.state()).await?;
        Ok(state.now - version.stored_at >= age)
    }

    /// Whether others removed anything since the last look. Asked once.
    pub(crate) async fn look(&self) -> Result<bool, BucketError> {
        let mut known = self.removed.lock().await;
        let removed = self.state().await.map_err(|why| self.error("read", &why))?.removed;
        Ok(std::mem::replace(&mut *known, removed) != removed)
    }

    async fn state(&self) -> Result<State, Failure> {
        let info = self.nats.api(&format!("STREAM.INFO.{}", self.stream), &Value::Null).await?;
        let number = |at: &str| info.pointer(at).and_then(Value::as_u64);
        let now = info.get("ts").and_then(Value::as_str).and_then(|text| parse_rfc3339(text).ok());
        match (number("/state/last_seq"), number("/state/messages"), now) {
            // Every sequence was a message once.
            (Some(last), Some(messages), Some(now)) => {
                Ok(State { removed: last.saturating_sub(messages), now })
            }
            _ => Err(Failure::Lost("the answer has no state".to_owned())),
        }
    }
}

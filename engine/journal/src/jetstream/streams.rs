//! The streams that a journal lies in: their names, their settings, how they are made and checked. What belongs here: one
//! table of settings for both making and checking. What never does: a message.

use super::connection::{Failure, Nats, Pauses, Refusal};
use crate::journal::JournalError;
use arena_schema::{
    id::{Era, Partition},
    subject,
};
use async_nats::jetstream::message::StreamMessage;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// How long a journal waits for an answer before it says that there is none: longer than the election of a new leader.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// The same where nobody is there to ask: a server that has JetStream answers, with a leader or without.
const NOBODY_PATIENCE: Duration = Duration::from_secs(3);
/// The shortest window for message ids that a server takes, in nanoseconds: no message of ours has such an id.
const DUPLICATE_WINDOW_NANOS: u64 = 100_000_000;
/// The window for the ids of events: a first filter, two minutes long, and never what the order rests on.
const EVENTS_DUPLICATE_WINDOW_NANOS: u64 = 120_000_000_000;

const STREAM_NOT_FOUND: u64 = 10_059;
const STREAM_NAME_IN_USE: u64 = 10_058;
const NO_SUITABLE_PEERS: u64 = 10_005;
const UNAVAILABLE: u64 = 503;
const NOT_ENABLED_FOR_ACCOUNT: u64 = 10_039;
const NOT_ENABLED: u64 = 10_076;

/// One of the journal's streams.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    pub(super) name: String,
    pub(super) subject: String,
    holds: Holds,
}

/// What a stream holds decides its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    Records,
    Texts,
    Events,
}

/// How far a stream is.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    /// The first sequence that may be there.
    pub(super) first: u64,
    pub(super) last: u64,
    /// How many messages it holds.
    pub(super) messages: u64,
    pub(super) bytes: u64,
    /// The operator's limits on both, where there are any.
    pub(super) bytes_max: Option<u64>,
    pub(super) messages_max: Option<u64>,
    /// Whether it takes nothing any more.
    pub(super) sealed: bool,
}

impl State {
    pub(super) fn of(info: &Value) -> Result<Self, Failure> {
        let number = |name: &str| info.pointer(name).and_then(Value::as_u64);
        let (Some(last), Some(messages)) = (number("/state/last_seq"), number("/state/messages")) else {
            return Err(Failure::Lost("the answer has no state".to_owned()));
        };
        let sealed = info.pointer("/config/sealed").and_then(Value::as_bool).unwrap_or_default();
        let first = number("/state/first_seq").unwrap_or_default();
        let limit = |name: &str| {
            let limit = info.pointer(name).and_then(Value::as_i64);
            limit.and_then(|limit| u64::try_from(limit).ok()).filter(|limit| *limit > 0)
        };
        Ok(Self {
            first,
            last,
            messages,
            bytes: number("/state/bytes").unwrap_or_default(),
            bytes_max: limit("/config/max_bytes"),
            messages_max: limit("/config/max_msgs"),
            sealed,
        })
    }
}

impl Stream {
    pub(super) fn of_records(partition: Partition, era: Era) -> Self {
        Self {
            name: subject::records_stream(partition, era),
            subject: subject::record(partition, era),
            holds: Holds::Records,
        }
    }

    pub(super) fn of_texts(partition: Partition) -> Self {
        Self {
            name: subject::texts_stream(partition),
            subject: subject::text(partition),
            holds: Holds::Texts,
        }
    }

    pub(super) fn of_events(partition: Partition) -> Self {
        Self {
            name: subject::events_stream(partition),
            subject: subject::events(partition),
            holds: Holds::Events,
        }
    }

    /// What must be so. A limit in bytes or messages is the operator's, and a stream without one is made.
    ///
    /// Events are told from the records and can be told again, so at a limit the oldest go and the newest always come in; their
    /// age is limited by the operator too. Whoever reads them without a consumer needs direct gets.
    fn settings(&self, replicas: usize) -> Vec<(&'static str, Value)> {
        let events = self.holds == Holds::Events;
        let kept = self.holds != Holds::Texts;
        let window = if events { EVENTS_DUPLICATE_WINDOW_NANOS } else { DUPLICATE_WINDOW_NANOS };
        let mut settings = vec![
            ("subjects", json!([self.subject])),
            ("storage", json!("file")),
            ("retention", json!("limits")),
            ("discard", json!(if events { "old" } else { "new" })),
            ("num_replicas", json!(replicas)),
            ("max_msgs_per_subject", json!(-1)),
            ("max_msg_size", json!(-1)),
            ("max_consumers", json!(-1)),
            ("duplicate_window", json!(window)),
            ("deny_delete", json!(kept)),
            ("deny_purge", json!(kept)),
        ];
        settings.push(if events { ("allow_direct", json!(true)) } else { ("max_age", json!(0)) });
        settings
    }

    /// What must not be set at all: each would change, drop or move messages, or acknowledge them unstored.
    const UNSET: [&str; 14] = [
        "allow_rollup_hdrs",
        "allow_msg_ttl",
        "allow_msg_counter",
        "allow_msg_schedules",
        "discard_new_per_subject",
        "first_seq",
        "mirror",
        "no_ack",
        "persist_mode",
        "republish",
        "sources",
        "subject_delete_marker_ttl",
        "subject_transform",
        "template_owner",
    ];

    /// What is the operator's to set, and goes on from era to era.
    const OPERATORS: [&str; 4] = ["max_bytes", "max_msgs", "placement", "compression"];

    /// The first setting that is not as it must be, in words.
    pub(super) fn find_strange(&self, replicas: usize, config: &Value) -> Option<String> {
        self.required(replicas).find_strange(config)
    }

    fn required(&self, replicas: usize) -> Required<'_> {
        // Whether a sealed one may be so, its last record tells.
        Required { name: &self.name, settings: self.settings(replicas), unset: &Self::UNSET }
    }

    /// Makes it where there is none, and checks its settings where there is one.
    pub(super) async fn open(&self, nats: &Nats) -> Result<(), JournalError> {
        self.open_like(nats, &Value::Null).await
    }

    /// The same with the operator's own settings as another stream's configuration has them, where it is made.
    pub(super) async fn open_like(&self, nats: &Nats, other: &Value) -> Result<(), JournalError> {
        let operators =
            Self::OPERATORS.into_iter().filter_map(|name| Some((name.to_owned(), other.get(name)?.clone())));
        let required = self.required(nats.options().replicas);
        required.open_with(nats, &operators.collect()).await.map_err(|unfit| match unfit {
            Unfit::Strange(why) => JournalError::Format { journal: nats.address(), why },
            Unfit::Failed(why) => self.error(nats, "opened", &why),
        })
    }

    async fn info(&self, nats: &Nats) -> Result<Value, Failure> {
        info(nats, &self.name).await
    }

    /// How far the stream's leader says it is, asked once.
    pub(super) async fn state(&self, nats: &Nats) -> Result<State, Failure> {
        State::of(&self.info(nats).await?)
    }

    /// The same; none where there is no such stream.
    pub(super) async fn find(&self, nats: &Nats) -> Result<Option<State>, Failure> {
        self.look(nats).await?.map(|info| State::of(&info)).transpose()
    }

    /// All that the server says of it; none where there is no such stream.
    pub(super) async fn look(&self, nats: &Nats) -> Result<Option<Value>, Failure> {
        look(nats, &self.name).await
    }

    /// Lets it take nothing any more, for good.
    pub(super) async fn seal(&self, nats: &Nats) -> Result<(), JournalError> {
        let sealing = || async {
            let mut config = self.info(nats).await?.get("config").cloned().unwrap_or_default();
            if config.get("sealed").and_then(Value::as_bool) == Some(true) {
                return Ok(());
            }
            if let Some(config) = config.as_object_mut() {
                config.insert("sealed".to_owned(), json!(true));
            }
            nats.api(&format!("STREAM.UPDATE.{}", self.name), &config).await.map(|_| ())
        };
        insist(nats, sealing).await.map_err(|why| self.error(nats, "closed", &why))
    }

    /// The same, asked until it is answered or patience ends.
    pub(super) async fn wait_state(&self, nats: &Nats) -> Result<State, JournalError> {
        insist(nats, || self.state(nats)).await.map_err(|why| self.error(nats, "read", &why))
    }

    /// What the leader has at this sequence, asked until it is answered or patience ends.
    pub(super) async fn wait_stored(
        &self,
        nats: &Nats,
        sequence: u64,
    ) -> Result<Option<StreamMessage>, JournalError> {
        insist(nats, || nats.stored(&self.name, sequence)).await.map_err(|why| self.error(nats, "read", &why))
    }

    pub(super) fn error(&self, nats: &Nats, action: &'static str, why: &impl ToString) -> JournalError {
        let journal = format!("{} on {}", self.name, nats.address());
        JournalError::Store { journal, action, why: why.to_string() }
    }
}

/// What a stream must be.
pub(super) struct Required<'a> {
    pub(super) name: &'a str,
    /// What must be so.
    pub(super) settings: Vec<(&'static str, Value)>,
    /// What must not be set at all.
    pub(super) unset: &'a [&'static str],
}

/// Why a stream cannot be used.
pub(super) enum Unfit {
    /// It is set up otherwise; in words.
    Strange(String),
    /// It cannot be asked or made.
    Failed(Failure),
}

impl Required<'_> {
    /// The first setting that is not as it must be: its name, what is expected, what is there.
    pub(super) fn find_strange(&self, config: &Value) -> Option<String> {
        let says = |name: &str, expected: &str, found: &Value| {
            format!("the setting {name} of the stream {} is {found}, and must be {expected}", self.name)
        };
        for (name, expected) in &self.settings {
            let found = config.get(name).unwrap_or(&Value::Null);
            let same = found == expected || (is_nothing(found) && is_nothing(expected));
            if !same {
                return Some(says(name, &expected.to_string(), found));
            }
        }
        self.unset.iter().find_map(|name| {
            let found = config.get(name)?;
            (!is_nothing(found)).then(|| says(name, "unset", found))
        })
    }

    /// Makes it where there is none, and checks its settings where there is one.
    pub(super) async fn open(&self, nats: &Nats) -> Result<(), Unfit> {
        self.open_with(nats, &Map::new()).await
    }

    /// The same with more settings where it is made, which are not looked at where it is there.
    pub(super) async fn open_with(&self, nats: &Nats, more: &Map<String, Value>) -> Result<(), Unfit> {
        let create = || async {
            let mut config: Map<String, Value> =
                self.settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            config.insert("name".to_owned(), json!(self.name));
            config.extend(more.clone());
            nats.api(&format!("STREAM.CREATE.{}", self.name), &Value::Object(config)).await
        };
        let attempt = || async {
            match info(nats, self.name).await {
                Err(Failure::Refused(refusal)) if refusal.error == STREAM_NOT_FOUND => match create().await {
                    // Somebody made it in between.
                    Err(Failure::Refused(refusal)) if refusal.error == STREAM_NAME_IN_USE => {
                        info(nats, self.name).await
                    }
                    created => created,
                },
                found => found,
            }
        };
        let info = insist(nats, attempt).await.map_err(Unfit::Failed)?;
        match self.find_strange(info.get("config").unwrap_or(&Value::Null)) {
            None => Ok(()),
            Some(why) => Err(Unfit::Strange(why)),
        }
    }
}

/// All that the server says of a stream; none where there is no such stream.
pub(super) async fn look(nats: &Nats, stream: &str) -> Result<Option<Value>, Failure> {
    match info(nats, stream).await {
        Err(Failure::Refused(refusal)) if refusal.error == STREAM_NOT_FOUND => Ok(None),
        info => info.map(Some),
    }
}

async fn info(nats: &Nats, stream: &str) -> Result<Value, Failure> {
    nats.api(&format!("STREAM.INFO.{stream}"), &Value::Null).await
}

/// Whether a setting says what leaving it out says.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is) => !is,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty() || text == "default",
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}

/// Whether a refusal may pass by itself: servers that start or elect a leader.
pub(super) fn may_pass(refusal: &Refusal) -> bool {
    let enabled = ![NOT_ENABLED_FOR_ACCOUNT, NOT_ENABLED].contains(&refusal.error);
    (refusal.code == UNAVAILABLE && enabled) || refusal.error == NO_SUITABLE_PEERS
}

/// Repeats a question that changes nothing when repeated, until it is answered, refused for good, or patience ends.
pub(super) async fn insist<T, F: Future<Output = Result<T, Failure>>>(
    nats: &Nats,
    question: impl Fn() -> F,
) -> Result<T, Failure> {
    insist_for(PATIENCE, nats, question).await
}

/// The same with another patience.
pub(super) async fn insist_for<T, F: Future<Output = Result<T, Failure>>>(
    patience: Duration,
    nats: &Nats,
    question: impl Fn() -> F,
) -> Result<T, Failure> {
    let (begun, mut pauses) = (Instant::now(), Pauses::new());
    loop {
        match question().await {
            Err(Failure::Refused(refusal)) if !may_pass(&refusal) => return Err(Failure::Refused(refusal)),
            Err(Failure::Nobody) if begun.elapsed() > NOBODY_PATIENCE => return Err(Failure::Nobody),
            Err(why) if begun.elapsed() > patience => return Err(why),
            Err(_) => pauses.pause(nats).await,
            answered => return answered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaving_a_setting_out_is_the_same_as_its_nothing() {
        let stream = Stream::of_records(Partition(0), Era(1));
        let mut config: Map<String, Value> =
            stream.settings(1).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        config.remove("max_age");
        assert_eq!(stream.required(1).find_strange(&Value::Object(config.clone())), None);
        config.insert("persist_mode".to_owned(), json!("async"));
        let strange = stream.required(1).find_strange(&Value::Object(config)).unwrap();
        assert!(strange.contains("persist_mode") && strange.contains("async"), "{strange}");
    }
}

//! Objects that are written part by part and read part by part, by many at once. What belongs here: messages, and that each is
//! stored once. What never does: what a part is.
//!
//! They are laid out as NATS' object stores are, so that its own tools show them: an object is a row of messages under
//! `$O.<store>.C.<place>`, and one message behind them that names them, `$O.<store>.M.<name>` with the name in base64. Here the
//! place is chosen by who writes, may have several tokens, and is never written twice.
//!
//! Everything is asked of the stream's leader, and nothing by a direct get.

use super::{
    append::publish_to,
    connection::{Failure, Nats, Pauses, Refusal},
    objects::{UNSET, settings_of},
    streams::{Required, Unfit, insist_for, may_pass},
};
use async_nats::{HeaderMap, datetime::parse_rfc3339};
use base64::{Engine as _, engine::general_purpose::URL_SAFE};
use bytes::Bytes;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// How long one question is repeated before it is given up: longer than the election of a new leader, and far shorter than the
/// server knows a message's id again.
const PATIENCE: Duration = Duration::from_secs(15);

const MESSAGE_ID: &str = "Nats-Msg-Id";

/// The same message is on its way.
const DUPLICATE_ON_ITS_WAY: u64 = 10_158;
/// The message was deleted before.
const GONE: [u64; 2] = [10_057, 10_043];
/// The account, the server or the cluster has no room.
const NO_ROOM: [u64; 3] = [10_002, 10_023, 10_047];
/// The stream could not store it: it says why in words.
const NOT_STORED: u64 = 10_077;

/// Why objects are not as asked.
#[derive(Debug, Clone)]
pub(crate) struct PartsError {
    pub(crate) action: &'static str,
    pub(crate) why: String,
    /// There is no room.
    pub(crate) full: bool,
}

/// What an object's name's message tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) name: String,
    /// Where its parts are.
    pub(crate) place: String,
    /// How long all its parts are.
    pub(crate) size: u64,
    pub(crate) parts: u64,
    /// SHA-256 over all its parts, which tools compare.
    pub(crate) digest: [u8; 32],
}

/// A store of objects.
#[derive(Debug, Clone)]
pub(crate) struct ObjectParts {
    nats: Nats,
    store: &'static str,
}

/// Whether it says that there is no room.
fn is_full(why: &Failure) -> bool {
    let Failure::Refused(Refusal { error, description, .. }) = why else { return false };
    let in_words = ["maximum", "no space", "insufficient"];
    NO_ROOM.contains(error)
        || (*error == NOT_STORED && in_words.iter().any(|word| description.contains(word)))
}

fn failed(action: &'static str) -> impl FnOnce(Failure) -> PartsError {
    move |why| PartsError { action, full: is_full(&why), why: why.to_string() }
}

impl ObjectParts {
    /// Opens the store, makes it where there is none, and checks its settings where there is one.
    pub(crate) async fn open(nats: &Nats, store: &'static str) -> Result<Self, PartsError> {
        let this = Self { nats: nats.clone(), store };
        let mut settings = settings_of(store, nats.options().replicas);
        // What is compressed cannot be overwritten where it lies.
        settings.push(("compression", json!("none")));
        let required = Required { name: &this.stream(), settings, unset: &UNSET };
        required.open(nats).await.map_err(|unfit| match unfit {
            Unfit::Strange(why) => PartsError { action: "used", why, full: false },
            Unfit::Failed(why) => failed("opened")(why),
        })?;
        Ok(this)
    }

    /// Its name and where it is.
    pub(crate) fn describe(&self) -> String {
        format!("{} on {}", self.store, self.nats.address())
    }

    /// Does this beside whoever calls, who need not wait.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.nats.runtime().spawn(work);
    }

    fn stream(&self) -> String {
        format!("OBJ_{}", self.store)
    }

    fn chunks(&self, place: &str) -> String {
        format!("$O.{}.C.{place}", self.store)
    }

    fn named(&self, name: &str) -> String {
        format!("$O.{}.M.{}", self.store, URL_SAFE.encode(name))
    }

    async fn insist<T, F: Future<Output = Result<T, Failure>>>(
        &self,
        action: &'static str,
        question: impl Fn() -> F,
    ) -> Result<T, PartsError> {
        insist_for(PATIENCE, &self.nats, question).await.map_err(failed(action))
    }

    /// Stores a message once, however often it must be sent: the server knows it again by its id.
    async fn publish(&self, subject: String, id: String, payload: Bytes) -> Result<(), PartsError> {
        let mut headers = HeaderMap::new();
        headers.insert(MESSAGE_ID, id);
        let (begun, mut pauses, stream) = (Instant::now(), Pauses::new(), self.stream());
        loop {
            let sent =
                publish_to(&self.nats, &stream, subject.clone(), headers.clone(), payload.clone()).await;
            let Err(why) = sent else { return Ok(()) };
            let passes = match &why {
                Failure::Refused(refusal) => refusal.error == DUPLICATE_ON_ITS_WAY || may_pass(refusal),
                Failure::Nobody | Failure::Lost(_) => true,
            };
            if !passes || begun.elapsed() > PATIENCE {
                return Err(failed("written")(why));
            }
            pauses.pause(&self.nats).await;
        }
    }

    /// Adds a part, durable when this returns. The numbers count from 0, and each is added when the one before is.
    pub(crate) async fn append(&self, place: &str, number: u64, part: Bytes) -> Result<(), PartsError> {
        self.publish(self.chunks(place), format!("{place}.{number}"), part).await
    }

    /// Names an object whose parts are all there; where some were removed meanwhile, it is not named.
    pub(crate) async fn name(&self, about: &About) -> Result<(), PartsError> {
        let message = json!({
            "name": about.name,
            "bucket": self.store,
            "nuid": about.place,
            "size": about.size,
            "chunks": about.parts,
            "digest": format!("SHA-256={}", URL_SAFE.encode(about.digest)),
        });
        let id = format!("{}.name", about.place);
        self.publish(self.named(&about.name), id, message.to_string().into()).await?;
        let there = self.count(&about.place).await?;
        if there != about.parts {
            self.purge(&self.named(&about.name)).await?;
            let why = format!("{there} of its {} parts are there", about.parts);
            return Err(PartsError { action: "written", why, full: false });
        }
        Ok(())
    }

    /// How many parts are at a place.
    async fn count(&self, place: &str) -> Result<u64, PartsError> {
        let subject = self.chunks(place);
        let body = &json!({"subjects_filter": subject});
        let operation = &format!("STREAM.INFO.{}", self.stream());
        let info = self.insist("written", || self.nats.api(operation, body)).await?;
        let subjects = info.pointer("/state/subjects");
        Ok(subjects.and_then(|subjects| subjects.get(subject)).and_then(Value::as_u64).unwrap_or_default())
    }

    /// What is known of an object that has a name.
    pub(crate) async fn find(&self, name: &str) -> Result<Option<About>, PartsError> {
        let (stream, subject) = (&self.stream(), &self.named(name));
        let Some(message) = self.insist("read", || self.nats.stored_last(stream, subject)).await? else {
            return Ok(None);
        };
        let about: Value = serde_json::from_slice(&message.payload).unwrap_or_default();
        let text = |field: &str| about.get(field).and_then(Value::as_str);
        let number = |field: &str| about.get(field).and_then(Value::as_u64);
        if about.get("deleted").and_then(Value::as_bool) == Some(true) {
            return Ok(None);
        }
        let found = || {
            let digest = URL_SAFE.decode(text("digest")?.strip_prefix("SHA-256=")?).ok()?;
            Some(About {
                name: text("name")?.to_owned(),
                place: text("nuid")?.to_owned(),
                size: number("size")?,
                parts: number("chunks")?,
                digest: digest.try_into().ok()?,
            })
        };
        let unread = || PartsError {
            action: "read",
            why: format!("the message that names {name} cannot be read"),
            full: false,
        };
        found().map(Some).ok_or_else(unread)
    }

    /// The first part at a place from a sequence on, and its sequence.
    pub(crate) async fn next(&self, place: &str, from: u64) -> Result<Option<(u64, Bytes)>, PartsError> {
        let (stream, subject) = (&self.stream(), &self.chunks(place));
        let found = self.insist("read", || self.nats.stored_next(stream, subject, from)).await?;
        Ok(found.map(|message| (message.sequence, message.payload)))
    }

    /// The last part at a place, and its sequence.
    pub(crate) async fn last(&self, place: &str) -> Result<Option<(u64, Bytes)>, PartsError> {
        let (stream, subject) = (&self.stream(), &self.chunks(place));
        let found = self.insist("read", || self.nats.stored_last(stream, subject)).await?;
        Ok(found.map(|message| (message.sequence, message.payload)))
    }

    /// Each place under one that has parts; under none, all.
    pub(crate) async fn places(&self, under: Option<&str>) -> Result<BTreeSet<String>, PartsError> {
        let filter = under.map_or_else(|| ">".to_owned(), |under| format!("{under}.>"));
        let root = self.chunks("");
        let subjects = self.subjects(&self.chunks(&filter)).await?;
        Ok(subjects.iter().filter_map(|subject| subject.strip_prefix(&root)).map(str::to_owned).collect())
    }

    /// Each name that an object has.
    pub(crate) async fn names(&self) -> Result<BTreeSet<String>, PartsError> {
        let root = format!("$O.{}.M.", self.store);
        let subjects = self.subjects(&format!("{root}>")).await?;
        let name =
            |subject: &String| String::from_utf8(URL_SAFE.decode(subject.strip_prefix(&root)?).ok()?).ok();
        Ok(subjects.iter().filter_map(name).collect())
    }

    async fn subjects(&self, filter: &str) -> Result<BTreeSet<String>, PartsError> {
        let (mut subjects, mut offset) = (BTreeSet::new(), 0);
        let operation = &format!("STREAM.INFO.{}", self.stream());
        loop {
            let body = &json!({"subjects_filter": filter, "offset": offset});
            let info = self.insist("listed", || self.nats.api(operation, body)).await?;
            let page = info.pointer("/state/subjects").and_then(Value::as_object);
            let page = page.filter(|page| !page.is_empty());
            subjects.extend(page.into_iter().flat_map(|page| page.keys().cloned()));
            offset += page.map_or(0, serde_json::Map::len);
            let total = info.get("total").and_then(Value::as_u64).unwrap_or_default();
            if page.is_none() || offset as u64 >= total {
                return Ok(subjects);
            }
        }
    }

    /// For how long, by the servers' clock, nothing was added to an object; none where nothing of it is there.
    pub(crate) async fn age(&self, name: &str, place: &str) -> Result<Option<Duration>, PartsError> {
        let stream = &self.stream();
        let mut last = None;
        for subject in [&self.chunks(place), &self.named(name)] {
            let found = self.insist("swept", || self.nats.stored_last(stream, subject)).await?;
            last = last.max(found.map(|message| message.time));
        }
        let operation = &format!("STREAM.INFO.{stream}");
        let info = self.insist("swept", || self.nats.api(operation, &Value::Null)).await?;
        let now = info.get("ts").and_then(Value::as_str).and_then(|text| parse_rfc3339(text).ok());
        Ok(last.zip(now).map(|(last, now)| Duration::try_from(now - last).unwrap_or_default()))
    }

    /// Removes a name: nobody finds one that is about to lose its parts.
    pub(crate) async fn remove_name(&self, name: &str) -> Result<(), PartsError> {
        self.purge(&self.named(name)).await
    }

    /// Removes all parts at a place, or under it with `>`. Their bytes stay in the servers' files until those are written anew.
    pub(crate) async fn remove_parts(&self, place: &str) -> Result<(), PartsError> {
        self.purge(&self.chunks(place)).await
    }

    /// Removes all parts at a place and overwrites their bytes where they lay.
    pub(crate) async fn overwrite_parts(&self, place: &str) -> Result<(), PartsError> {
        let operation = &format!("STREAM.MSG.DELETE.{}", self.stream());
        while let Some((sequence, _)) = self.next(place, 1).await? {
            let body = &json!({"seq": sequence, "no_erase": false});
            self.insist("removed", || async move {
                match self.nats.api(operation, body).await {
                    Err(Failure::Refused(refusal)) if GONE.contains(&refusal.error) => Ok(()),
                    answer => answer.map(|_| ()),
                }
            })
            .await?;
        }
        Ok(())
    }

    async fn purge(&self, subject: &str) -> Result<(), PartsError> {
        let operation = &format!("STREAM.PURGE.{}", self.stream());
        let body = &json!({"filter": subject});
        self.insist("removed", || self.nats.api(operation, body)).await.map(|_| ())
    }
}

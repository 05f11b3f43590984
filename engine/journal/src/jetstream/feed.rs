//! Reads one stream in order through a consumer of its own. What belongs here: the consumer, its numbering, its watchdog.
//! What never does: what a message means.
//!
//! The consumer is the server's to forget: it is made anew from the next number whenever the connection broke, nothing was
//! heard for a while, numbers do not fit, or the stream is further than what was delivered.

use super::{
    connection::{Failure, Nats, Pauses},
    streams::Stream,
};
use crate::journal::JournalError;
use async_nats::{Message, Subscriber, jetstream};
use futures::StreamExt;
use serde_json::json;
use std::time::Duration;
use tokio::{task::JoinHandle, time::Instant};

/// After so long without a word, or without a message although there are some, a consumer is taken for dead.
const SILENCE: Duration = Duration::from_secs(3);
/// How often a consumer says that it is there.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// How long the server keeps a demand for messages.
const DEMAND: Duration = Duration::from_secs(30);
/// After so long without a demand the server forgets a consumer.
const FORGOTTEN: Duration = Duration::from_secs(60);
/// How many messages are demanded at a time, of how many bytes together.
const BATCH: u64 = 512;
const BATCH_BYTES: u64 = 8 * 1024 * 1024;

const HEARTBEAT_STATUS: u16 = 100;
const PENDING_MESSAGES: &str = "Nats-Pending-Messages";

/// Which numbers a stream may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gaps {
    /// None: a missing message is an error.
    Never,
    /// Any: what was deleted is passed over.
    Deleted,
}

/// A message in its place.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) sequence: u64,
    /// Whether it was the stream's last when it was sent.
    pub(super) newest: bool,
    pub(super) message: Message,
}

/// The row of a stream's messages, from a number on.
#[derive(Debug)]
pub(super) struct Feed {
    nats: Nats,
    stream: Stream,
    gaps: Gaps,
    headers_only: bool,
    next: u64,
    consumer: Option<Consumer>,
    /// A consumer that is being made, on a task of its own: whoever waits may go and come back.
    making: Option<JoinHandle<Result<Consumer, Failure>>>,
    pauses: Pauses,
    trouble: Option<String>,
}

#[derive(Debug)]
struct Consumer {
    nats: Nats,
    stream: String,
    name: String,
    inbox: String,
    messages: Subscriber,
    /// How many messages were demanded and have not come.
    demanded: u64,
    /// Broken connections before it was made.
    breaks: u64,
    heard: Instant,
    moved: Instant,
}

impl Feed {
    pub(super) fn new(nats: &Nats, stream: &Stream, gaps: Gaps) -> Self {
        Self {
            nats: nats.clone(),
            stream: stream.clone(),
            gaps,
            headers_only: false,
            next: 1,
            consumer: None,
            making: None,
            pauses: Pauses::new(),
            trouble: None,
        }
    }

    /// Messages come without their payload.
    pub(super) fn headers_only(mut self) -> Self {
        self.headers_only = true;
        self
    }

    /// Goes on from this sequence, forwards or backwards.
    pub(super) fn begin(&mut self, sequence: u64) {
        self.next = sequence.max(1);
        self.consumer = None;
        self.making = None;
    }

    /// The stream that it reads.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The sequence that comes next.
    pub(super) fn position(&self) -> u64 {
        self.next
    }

    /// Why nothing comes, as far as it is known.
    pub(super) fn trouble(&self) -> String {
        self.trouble.clone().unwrap_or_else(|| "nothing comes".to_owned())
    }

    /// The next message; none where it has not come until then.
    ///
    /// # Errors
    /// [`JournalError::Store`] where the stream lacks it for good.
    pub(super) async fn next(&mut self, until: Instant) -> Result<Option<Arrived>, JournalError> {
        loop {
            if !self.stands(until).await {
                return Ok(None);
            }
            let Some(consumer) = &mut self.consumer else {
                return Ok(None);
            };
            let watch = consumer.heard.min(consumer.moved) + SILENCE;
            let breaks = consumer.breaks;
            let message = async {
                tokio::select! {
                    biased;
                    message = consumer.messages.next() => Ok(message),
                    () = self.nats.broken(breaks) => Err(()),
                }
            };
            match tokio::time::timeout_at(until.min(watch), message).await {
                Ok(Ok(Some(message))) => {
                    consumer.heard = Instant::now();
                    if let Some(arrived) = self.take(message).await? {
                        return Ok(Some(arrived));
                    }
                }
                Ok(Ok(None)) => self.renew("its subscription ended"),
                Ok(Err(())) => self.renew("the connection broke"),
                Err(_) if Instant::now() >= watch => self.look_after().await,
                Err(_) => return Ok(None),
            }
        }
    }

    /// That there is a consumer of which enough is demanded. Not until then: no.
    async fn stands(&mut self, until: Instant) -> bool {
        loop {
            if self.consumer.as_ref().is_some_and(|consumer| consumer.breaks != self.nats.breaks()) {
                self.renew("the connection broke");
            }
            let ready = async {
                if let Some(consumer) = &mut self.consumer {
                    return consumer.demand().await;
                }
                let making = self.making.get_or_insert_with(|| {
                    let (nats, stream) = (self.nats.clone(), self.stream.name.clone());
                    let (next, headers_only) = (self.next, self.headers_only);
                    let make = async move { Consumer::make(&nats, &stream, next, headers_only).await };
                    self.nats.runtime().spawn(make)
                });
                let made = making.await;
                self.making = None;
                let made = made.unwrap_or_else(|why| Err(Failure::Lost(why.to_string())));
                self.consumer.insert(made?).demand().await
            };
            let why = match tokio::time::timeout_at(until, ready).await {
                Ok(Ok(())) => return true,
                Ok(Err(why)) => why.to_string(),
                Err(_) => return false,
            };
            self.renew(&why);
            if tokio::time::timeout_at(until, self.pauses.pause(&self.nats)).await.is_err() {
                return false;
            }
        }
    }

    fn renew(&mut self, why: &str) {
        tracing::debug!(stream = self.stream.name, next = self.next, "a new consumer: {why}");
        self.trouble = Some(why.to_owned());
        self.consumer = None;
    }

    /// Sorts out what a consumer sent: a message in its place, or a word about itself.
    async fn take(&mut self, message: Message) -> Result<Option<Arrived>, JournalError> {
        if let Some(status) = message.status {
            if status.as_u16() != HEARTBEAT_STATUS {
                self.hear(&message).await;
            }
            return Ok(None);
        }
        let context = self.nats.jetstream().clone();
        let message = jetstream::Message { message, context };
        let place = message.info().map(|info| (info.stream_sequence, info.pending));
        let Ok((sequence, pending)) = place else {
            self.renew("a message has no place");
            return Ok(None);
        };
        if let Some(consumer) = &mut self.consumer {
            consumer.demanded = consumer.demanded.saturating_sub(1);
            consumer.moved = consumer.heard;
        }
        if sequence < self.next {
            return Ok(None);
        }
        if sequence > self.next && self.gaps == Gaps::Never {
            self.check_gap(sequence).await?;
            return Ok(None);
        }
        self.next = sequence + 1;
        self.pauses = Pauses::new();
        self.trouble = None;
        Ok(Some(Arrived { sequence, newest: pending == 0, message: message.message }))
    }

    /// A demand ended, or the consumer did.
    async fn hear(&mut self, message: &Message) {
        let description = message.description.clone().unwrap_or_default();
        let word = description.to_ascii_lowercase();
        let ended = ["batch", "exceed", "timeout", "no messages"].iter().any(|known| word.contains(known));
        let left = message.headers.as_ref().and_then(|headers| headers.get(PENDING_MESSAGES));
        let left = left.and_then(|left| left.as_str().parse().ok());
        match (&mut self.consumer, ended) {
            (Some(consumer), true) => {
                consumer.demanded = left.map_or(0, |left: u64| consumer.demanded.saturating_sub(left));
            }
            _ => {
                self.renew(&format!("the server says {description:?}"));
                self.pauses.pause(&self.nats).await;
            }
        }
    }

    /// The consumer passed a message over: whether the stream lacks it, its leader knows.
    async fn check_gap(&mut self, sequence: u64) -> Result<(), JournalError> {
        let missing = self.next;
        let lacks = matches!(self.nats.stored(&self.stream.name, missing).await, Ok(None));
        // A leader that is behind lacks both, and proves nothing.
        if lacks && self.stream.state(&self.nats).await.is_ok_and(|state| state.last >= sequence) {
            self.consumer = None;
            let why = format!("message {missing} is missing, though the stream goes on with {sequence}");
            return Err(self.stream.error(&self.nats, "read", &why));
        }
        self.renew("it passed a message over");
        self.pauses.pause(&self.nats).await;
        Ok(())
    }

    /// Nothing came for a while: whether that may be.
    async fn look_after(&mut self) {
        let Some(consumer) = &mut self.consumer else {
            return;
        };
        let now = Instant::now();
        if now >= consumer.heard + SILENCE {
            self.renew("it fell silent");
            return;
        }
        consumer.moved = now;
        match self.stream.state(&self.nats).await {
            Ok(state) if state.last >= self.next => self.renew("the stream is further than what it sent"),
            _ => {}
        }
    }
}

impl Consumer {
    async fn make(nats: &Nats, stream: &str, from: u64, headers_only: bool) -> Result<Self, Failure> {
        let lost = |why: String| Failure::Lost(why);
        let breaks = nats.breaks();
        if !nats.is_connected() {
            return Err(lost("there is no connection".to_owned()));
        }
        let inbox = nats.client().new_inbox();
        let name = inbox.rsplit('.').next().unwrap_or(&inbox).to_owned();
        let messages = nats.client().subscribe(inbox.clone()).await.map_err(|why| lost(why.to_string()))?;
        let config = json!({
            "name": name,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": from,
            "ack_policy": "none",
            "replay_policy": "instant",
            "headers_only": headers_only,
            "inactive_threshold": FORGOTTEN.as_nanos() as u64,
            "mem_storage": true,
            "num_replicas": 1,
        });
        let body = json!({"stream_name": stream, "config": config});
        let now = Instant::now();
        let consumer = Self {
            nats: nats.clone(),
            stream: stream.to_owned(),
            name,
            inbox,
            messages,
            demanded: 0,
            breaks,
            heard: now,
            moved: now,
        };
        nats.api(&format!("CONSUMER.CREATE.{stream}.{}", consumer.name), &body).await?;
        Ok(consumer)
    }

    /// Demands more before what was demanded has come.
    async fn demand(&mut self) -> Result<(), Failure> {
        if self.demanded > BATCH / 2 {
            return Ok(());
        }
        let demand = json!({
            "batch": BATCH,
            "max_bytes": BATCH_BYTES,
            "expires": DEMAND.as_nanos() as u64,
            "idle_heartbeat": HEARTBEAT.as_nanos() as u64,
        });
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{}.{}", self.stream, self.name);
        let sent = self
            .nats
            .client()
            .publish_with_reply(subject, self.inbox.clone(), demand.to_string().into())
            .await;
        sent.map_err(|why| Failure::Lost(why.to_string()))?;
        self.demanded += BATCH;
        Ok(())
    }
}

impl Drop for Consumer {
    /// The server would forget it by itself, only later.
    fn drop(&mut self) {
        if self.breaks != self.nats.breaks() || !self.nats.is_connected() {
            return;
        }
        let client = self.nats.client().clone();
        let subject = format!("$JS.API.CONSUMER.DELETE.{}.{}", self.stream, self.name);
        self.nats.runtime().spawn(async move {
            // Nobody waits for the answer.
            let _ = client.publish(subject, "".into()).await;
        });
    }
}

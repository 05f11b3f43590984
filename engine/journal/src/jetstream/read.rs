//! Records as they come back: each from its message, its texts from theirs, in order and without a gap. What belongs here:
//! putting records together, the reader and the tail. What never does: how a consumer is kept alive.

use super::{
    TEXTS_HEADER,
    connection::{ANSWER, Nats, Pauses},
    feed::{Arrived, Feed, Gaps},
    streams::{PATIENCE, Stream},
};
use crate::journal::{JournalError, Reader, StoredRecord, Visit};
use arena_schema::{id::RecordNumber, record::record_number};
use async_nats::{HeaderMap, Message};
use bytes::Bytes;
use std::{collections::VecDeque, time::Duration};
use tokio::time::Instant;

/// Beyond so many messages a feed begins anew rather than passing over them.
const PASSED_OVER_MAX: u64 = 4_096;

/// No wait is longer, so that its end can be reckoned.
const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// A record and the texts beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedRecord {
    /// Its number, which its own header agrees with.
    pub number: RecordNumber,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The texts' bytes (see [`crate::texts::encode_texts`]); empty where there are none.
    pub texts: Vec<u8>,
}

/// The records of an era, in order.
#[derive(Debug)]
pub(super) struct Reading {
    nats: Nats,
    first: RecordNumber,
    records: Feed,
    texts: Feed,
    /// A record whose texts have not all come.
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    number: RecordNumber,
    newest: bool,
    message: Message,
    wanted: VecDeque<u64>,
    texts: Vec<u8>,
}

/// The sequences of a record's text messages, as its header names them.
pub(super) fn text_sequences(headers: Option<&HeaderMap>) -> Option<VecDeque<u64>> {
    let Some(named) = headers.and_then(|headers| headers.get(TEXTS_HEADER)) else {
        return Some(VecDeque::new());
    };
    named.as_str().split(',').map(|sequence| sequence.parse().ok()).collect()
}

impl Reading {
    pub(super) fn new(nats: &Nats, records: &Stream, texts: &Stream, first: RecordNumber) -> Self {
        Self {
            nats: nats.clone(),
            first,
            records: Feed::new(nats, records, Gaps::Never),
            texts: Feed::new(nats, texts, Gaps::Deleted),
            held: None,
        }
    }

    /// Goes on from this record, or from the era's first.
    pub(super) fn begin(&mut self, from: RecordNumber) {
        self.held = None;
        self.records.begin(from.0.max(self.first.0) - self.first.0 + 1);
    }

    /// Lets the server forget the consumers, until it goes on.
    fn rest(&mut self) {
        self.begin(self.first);
        self.texts.begin(1);
    }

    /// The next record; none where it has not come until then.
    pub(super) async fn next(&mut self, until: Instant) -> Result<Option<OwnedRecord>, JournalError> {
        if self.held.is_none() {
            let Some(arrived) = self.records.next(until).await? else {
                return Ok(None);
            };
            let held = self.check(arrived);
            self.held = Some(held.inspect_err(|_| self.records.begin(self.records.position() - 1))?);
        }
        let Some(mut held) = self.held.take() else {
            return Ok(None);
        };
        while let Some(&sequence) = held.wanted.front() {
            match self.text(&held, sequence, until).await {
                Ok(Some(text)) => held.texts.extend_from_slice(&text),
                Ok(None) => {
                    self.held = Some(held);
                    return Ok(None);
                }
                Err(why) => {
                    self.held = Some(held);
                    return Err(why);
                }
            }
            held.wanted.pop_front();
        }
        let Held { number, message, texts, .. } = held;
        Ok(Some(OwnedRecord { number, bytes: message.payload.into(), texts }))
    }

    /// That a message is the record that its place says.
    fn check(&self, arrived: Arrived) -> Result<Held, JournalError> {
        let Arrived { sequence, newest, message } = arrived;
        let number = RecordNumber(self.first.0 + sequence - 1);
        let strange = |why: String| {
            let journal = format!("{} on {}", self.records.stream().name, self.nats.address());
            JournalError::Format { journal, why: format!("message {sequence} {why}") }
        };
        match record_number(&message.payload) {
            Ok(says) if says == number => {}
            Ok(says) => return Err(strange(format!("must hold record {number} and holds record {says}"))),
            Err(why) => return Err(strange(format!("must hold record {number}: {why}"))),
        }
        let wanted = text_sequences(message.headers.as_ref())
            .ok_or_else(|| strange(format!("has a header {TEXTS_HEADER} that is no list of numbers")))?;
        Ok(Held { number, newest, message, wanted, texts: Vec::new() })
    }

    /// One text message: beside the newest record asked of the stream's leader, in a long row from a feed of its own.
    async fn text(
        &mut self,
        held: &Held,
        sequence: u64,
        until: Instant,
    ) -> Result<Option<Bytes>, JournalError> {
        if held.newest || sequence < self.texts.position() {
            return self.text_of_leader(held, sequence, until).await;
        }
        if sequence > self.texts.position() + PASSED_OVER_MAX {
            self.texts.begin(sequence);
        }
        loop {
            match self.texts.next(until).await? {
                None => return Ok(None),
                Some(arrived) if arrived.sequence == sequence => return Ok(Some(arrived.message.payload)),
                Some(arrived) if arrived.sequence > sequence => {
                    return self.text_of_leader(held, sequence, until).await;
                }
                // Nobody's, or of records before.
                Some(_) => {}
            }
        }
    }

    async fn text_of_leader(
        &self,
        held: &Held,
        sequence: u64,
        until: Instant,
    ) -> Result<Option<Bytes>, JournalError> {
        let ask = async {
            let mut pauses = Pauses::new();
            loop {
                match self.nats.stored(&self.texts.stream().name, sequence).await {
                    Ok(Some(message)) => return Ok(message.payload),
                    // A leader that is behind proves nothing.
                    Ok(None) => match self.texts.stream().state(&self.nats).await {
                        Ok(state) if state.last >= sequence => {
                            let why =
                                format!("message {sequence} of {} is missing", self.texts.stream().name);
                            return Err(JournalError::Texts { record: held.number, why });
                        }
                        _ => {}
                    },
                    Err(_) => {}
                }
                pauses.pause(&self.nats).await;
            }
        };
        // The record is here and only its text is not: one answer is waited for, however short the wait.
        tokio::time::timeout_at(until.max(Instant::now() + ANSWER), ask).await.ok().transpose()
    }
}

/// A live reader, for one thread: it goes on where servers restart, connections break or consumers fall silent. Its methods
/// block, and are called from plain threads.
#[derive(Debug)]
pub struct Tail {
    reading: Reading,
}

impl Tail {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading }
    }

    /// Goes on from this record; one before the era's first means the first.
    pub fn begin(&mut self, from: RecordNumber) {
        self.reading.begin(from);
    }

    /// The next record, or none where nothing came within `wait`. Until the first [`Tail::begin`] that is the era's first.
    ///
    /// # Errors
    /// [`JournalError`] where the stream lacks a record, or holds what is none; asked again, it says so again.
    pub fn next(&mut self, wait: Duration) -> Result<Option<OwnedRecord>, JournalError> {
        let runtime = self.reading.nats.runtime().clone();
        runtime.block_on(self.reading.next(Instant::now() + wait.min(WAIT_MAX)))
    }
}

/// Reads until the last record that was there when it began.
pub(super) struct JetStreamReader {
    reading: Reading,
}

impl JetStreamReader {
    pub(super) fn new(reading: Reading) -> Self {
        Self { reading }
    }
}

impl Reader for JetStreamReader {
    fn read(
        &mut self,
        from: RecordNumber,
        visit: &mut dyn FnMut(StoredRecord<'_>) -> Visit,
    ) -> Result<(), JournalError> {
        let reading = &mut self.reading;
        let nats = reading.nats.clone();
        let stream = reading.records.stream().clone();
        let state = nats.runtime().block_on(stream.wait_state(&nats))?;
        let last = RecordNumber(state.last + reading.first.0 - 1);
        let mut at = from.max(reading.first);
        reading.begin(at);
        while at <= last {
            let Some(record) = nats.runtime().block_on(reading.next(Instant::now() + PATIENCE))? else {
                let why = format!("record {at} does not come: {}", reading.records.trouble());
                return Err(stream.error(&nats, "read", &why));
            };
            let OwnedRecord { number, bytes, texts } = &record;
            if visit(StoredRecord { number: *number, bytes, texts }) == Visit::Enough {
                break;
            }
            at = number.next();
        }
        reading.rest();
        Ok(())
    }
}

//! Records as they come back: each from its message, its texts from theirs, in order and without a gap. What belongs here:
//! putting records together, the reader and the tail. What never does: how a consumer is kept alive.

use super::{
    TEXTS_HEADER,
    connection::{ANSWER, Nats, Pauses},
    eras::{self, Part},
    feed::{Arrived, Feed, Gaps},
    streams::{PATIENCE, Stream},
};
use crate::journal::{JournalError, Reader, StoredRecord, Visit};
use arena_schema::{
    id::{Era, Partition, RecordNumber},
    record::{closes_era, record_number},
};
use async_nats::{HeaderMap, Message};
use bytes::Bytes;
use std::{collections::VecDeque, time::Duration};
use tokio::time::Instant;

/// Beyond so many messages a feed begins anew rather than passing over them.
const PASSED_OVER_MAX: u64 = 4_096;

/// How often it is looked whether the next era has come.
const ERA_PAUSE: Duration = Duration::from_millis(50);

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
                            let name = &self.texts.stream().name;
                            let why = if sequence < state.first {
                                format!(
                                    "message {sequence} of {name} is missing: what came before message {} went with \
                                     eras that were archived, and lies beside their records there",
                                    state.first
                                )
                            } else {
                                format!("message {sequence} of {name} is missing")
                            };
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

/// Whether an era goes on behind a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    /// It does.
    No,
    /// It ended with the record before the next one.
    Yes,
    /// The record before the next one has to be asked for.
    Unknown,
}

/// A live reader, for one thread: it goes on where servers restart, connections break or consumers fall silent, and from an
/// era that was closed to the next. Its methods block, and are called from plain threads.
#[derive(Debug)]
pub struct Tail {
    partition: Partition,
    era: Era,
    reading: Reading,
    closing: Closing,
    /// Where it is to begin, where its era has yet to be found.
    begins: Option<RecordNumber>,
}

impl Tail {
    pub(super) fn new(partition: Partition, era: Era, reading: Reading) -> Self {
        Self { partition, era, reading, closing: Closing::No, begins: None }
    }

    /// Goes on from this record; one before the first means the first.
    pub fn begin(&mut self, from: RecordNumber) {
        self.begins = Some(from);
        self.reading.rest();
    }

    /// The next record, or none where nothing came within `wait`. Until the first [`Tail::begin`] that is the first of the
    /// era that was open when the tail was made.
    ///
    /// # Errors
    /// [`JournalError`] where the stream lacks a record, or holds what is none; asked again, it says so again.
    pub fn next(&mut self, wait: Duration) -> Result<Option<OwnedRecord>, JournalError> {
        let runtime = self.reading.nats.runtime().clone();
        runtime.block_on(self.next_until(Instant::now() + wait.min(WAIT_MAX)))
    }

    async fn next_until(&mut self, until: Instant) -> Result<Option<OwnedRecord>, JournalError> {
        if let Some(from) = self.begins {
            match self.locate(from, until).await {
                Some(located) => located?,
                None => return Ok(None),
            }
            self.begins = None;
        }
        let nats = self.reading.nats.clone();
        if self.closing == Closing::Unknown {
            let before = self.reading.records.position() - 1;
            self.closing = match nats.stored(&self.reading.records.stream().name, before).await {
                Ok(Some(message)) if closes_era(&message.payload) => Closing::Yes,
                Ok(_) => Closing::No,
                // Asked again the next time.
                Err(_) => Closing::Unknown,
            };
        }
        if self.closing == Closing::Yes && !self.next_era(until).await {
            return Ok(None);
        }
        let next = self.reading.next(until).await?;
        if let Some(record) = &next {
            self.closing = if closes_era(&record.bytes) { Closing::Yes } else { Closing::No };
        }
        Ok(next)
    }

    /// Finds the era of a record and begins there; none where nobody answers until then.
    async fn locate(&mut self, from: RecordNumber, until: Instant) -> Option<Result<(), JournalError>> {
        // What was begun is finished, however short the wait: it is begun anew otherwise, and never done.
        let patience = until.max(Instant::now() + ANSWER);
        let parts = eras::parts(&self.reading.nats, self.partition, from);
        let parts = match tokio::time::timeout_at(patience, parts).await {
            Ok(Ok(parts)) => parts,
            Ok(Err(why @ (JournalError::Archived { .. } | JournalError::Format { .. }))) => {
                return Some(Err(why));
            }
            // Nobody answers, or not yet.
            Err(_) | Ok(Err(_)) => return None,
        };
        if let Some(part) = parts.first()
            && part.era != self.era
        {
            let nats = self.reading.nats.clone();
            let texts = self.reading.texts.stream().clone();
            self.era = part.era;
            self.reading = Reading::new(&nats, &part.stream, &texts, part.first);
        }
        self.reading.begin(from);
        self.closing = if from > self.reading.first { Closing::Unknown } else { Closing::No };
        Some(Ok(()))
    }

    /// Goes on to the next era as soon as somebody has made it; whether it came until then.
    async fn next_era(&mut self, until: Instant) -> bool {
        let (nats, next) = (self.reading.nats.clone(), Era(self.era.0 + 1));
        let stream = Stream::of_records(self.partition, next);
        loop {
            if let Ok(Some(_)) = stream.find(&nats).await {
                let first = RecordNumber(self.reading.first.0 + self.reading.records.position() - 1);
                let texts = self.reading.texts.stream().clone();
                self.reading = Reading::new(&nats, &stream, &texts, first);
                self.era = next;
                self.closing = Closing::No;
                return true;
            }
            let now = Instant::now();
            if now >= until {
                return false;
            }
            tokio::time::sleep_until(until.min(now + ERA_PAUSE)).await;
        }
    }
}

/// Reads until the last record that was there when it began.
pub(super) struct JetStreamReader {
    nats: Nats,
    partition: Partition,
}

impl JetStreamReader {
    pub(super) fn new(nats: &Nats, partition: Partition) -> Self {
        Self { nats: nats.clone(), partition }
    }

    /// Reads one era to its end as it was; whether it was enough.
    fn read_part(
        &self,
        part: &Part,
        from: RecordNumber,
        visit: &mut dyn FnMut(StoredRecord<'_>) -> Visit,
    ) -> Result<Visit, JournalError> {
        let runtime = self.nats.runtime();
        let texts = Stream::of_texts(self.partition);
        let mut reading = Reading::new(&self.nats, &part.stream, &texts, part.first);
        let mut at = from.max(part.first);
        reading.begin(at);
        while at <= part.last {
            let Some(record) = runtime.block_on(reading.next(Instant::now() + PATIENCE))? else {
                let why = format!("record {at} does not come: {}", reading.records.trouble());
                return Err(part.stream.error(&self.nats, "read", &why));
            };
            let OwnedRecord { number, bytes, texts } = &record;
            if visit(StoredRecord { number: *number, bytes, texts }) == Visit::Enough {
                return Ok(Visit::Enough);
            }
            at = number.next();
        }
        Ok(Visit::Next)
    }

    fn parts(&self, from: RecordNumber) -> Result<Vec<Part>, JournalError> {
        self.nats.runtime().block_on(eras::parts(&self.nats, self.partition, from))
    }
}

impl Reader for JetStreamReader {
    fn read(
        &mut self,
        from: RecordNumber,
        visit: &mut dyn FnMut(StoredRecord<'_>) -> Visit,
    ) -> Result<(), JournalError> {
        for part in self.parts(from)? {
            if self.read_part(&part, from, visit)? == Visit::Enough {
                break;
            }
        }
        Ok(())
    }

    fn first(&mut self) -> Result<RecordNumber, JournalError> {
        let nats = &self.nats;
        nats.runtime().block_on(async {
            match eras::wait_list(nats, self.partition).await?.first() {
                Some(&era) if era != Era(1) => {
                    let part = eras::part(nats, self.partition, era).await?;
                    Ok(part.map_or(RecordNumber(1), |part| part.first))
                }
                _ => Ok(RecordNumber(1)),
            }
        })
    }

    fn last(&mut self) -> Result<Option<RecordNumber>, JournalError> {
        let parts = self.parts(RecordNumber(u64::MAX))?;
        Ok(Some(parts.last().map_or(RecordNumber(0), |part| part.last)))
    }
}

//! A journal on JetStream: one message a record, the same bytes as in a row of SQLite, its texts in messages of a stream beside.
//!
//! Invariants:
//! - A record's number is its message's sequence less one plus the number of the era's first, kept so by the sequence that
//!   every publish expects to be the last.
//! - A closed era's stream is sealed before the next one is made; a stream that is sealed ended with the record that closes it.
//! - Texts are durable before the record that names them; a text that none names is nobody's, and is swept.
//! - One record is in flight, and whether it is stored is asked of the stream's leader, never of a tail and never by a direct
//!   get.
//! - What is read is in order and without a gap, or it is an error.
//! - No word of leases or leaders here: a second writer is fenced by its place alone.

mod append;
mod bucket;
mod connection;
mod durability;
mod eras;
mod events;
mod feed;
mod inspect;
mod object_parts;
mod objects;
mod read;
mod removal;
mod servers;
mod space;
mod streams;
mod sweep;

pub use append::GiveUp;
pub(crate) use bucket::{Bucket, BucketError};
pub use connection::{Nats, NatsError, NatsOptions};
pub use durability::Durability;
pub(crate) use events::{EventStream, Stands};
pub use inspect::{NatsReport, StreamReport};
pub(crate) use object_parts::{About, ObjectParts, PartsError};
pub use objects::ObjectSnapshots;
pub use read::{OwnedRecord, Tail};
pub use servers::{ServerReport, ServerSeen};

use crate::{
    journal::{AppendError, ERA_BYTES, Journal, JournalError, Reader, check_next_era},
    texts::SealedText,
};
use arena_schema::{
    id::{Era, Partition, RecordNumber},
    record::{EncodedRecord, closes_era, record_number},
};
use eras::Asked;
use read::{JetStreamReader, Reading};
use streams::Stream;

/// Names the sequences of a record's text messages, with commas between.
const TEXTS_HEADER: &str = "Arena-Texts";

/// A partition's journal: a stream for each era, of which the newest is written, and one for the texts of all. Its methods block, and are called from plain threads.
#[derive(Debug)]
pub struct JetStreamJournal {
    nats: Nats,
    partition: Partition,
    /// The open era, and its first record.
    era: Era,
    first: RecordNumber,
    records: Stream,
    texts: Stream,
    /// The last record that is known to be durable.
    known: RecordNumber,
    /// About how large the open era's stream is.
    bytes: u64,
    era_bytes_max: u64,
    give_up: GiveUp,
}

impl JetStreamJournal {
    /// Opens an era whose first record has, or will have, the number `first`. Streams that are missing are made, those that
    /// are there are checked, setting by setting.
    ///
    /// # Errors
    /// [`JournalError::Format`] names a setting that is not as it must be, or what else stands in the first record's place;
    /// [`JournalError::Store`] says why there is no answer.
    pub async fn open(
        nats: &Nats,
        partition: Partition,
        era: Era,
        first: RecordNumber,
    ) -> Result<Self, JournalError> {
        let mut journal = Self::new(nats, partition, era, first);
        journal.records.open(nats).await?;
        journal.texts.open(nats).await?;
        let state = journal.records.wait_state(nats).await?;
        journal.know(state);
        if state.last > 0 {
            journal.check_first().await?;
        }
        if state.sealed {
            journal.check_closed(state.last).await?;
        }
        Ok(journal)
    }

    fn new(nats: &Nats, partition: Partition, era: Era, first: RecordNumber) -> Self {
        Self {
            nats: nats.clone(),
            partition,
            era,
            first: first.max(RecordNumber(1)),
            records: Stream::of_records(partition, era),
            texts: Stream::of_texts(partition),
            known: RecordNumber(0),
            bytes: 0,
            era_bytes_max: ERA_BYTES,
            give_up: GiveUp::new(),
        }
    }

    /// That a sealed era ended as eras do.
    async fn check_closed(&self, last: u64) -> Result<(), JournalError> {
        let message = if last == 0 { None } else { self.records.wait_stored(&self.nats, last).await? };
        if message.is_some_and(|message| closes_era(&message.payload)) {
            return Ok(());
        }
        let why = "it is sealed, and its last message does not close its era".to_owned();
        Err(JournalError::Format { journal: self.name(), why })
    }

    /// That the era's first record is there and has the number that its opener believes.
    async fn check_first(&self) -> Result<(), JournalError> {
        let why = match self.records.wait_stored(&self.nats, 1).await? {
            Some(message) => match record_number(&message.payload) {
                Ok(number) if number == self.first => return Ok(()),
                Ok(number) => {
                    format!("its first message must hold record {}, and holds record {number}", self.first)
                }
                Err(why) => format!("its first message must hold record {}: {why}", self.first),
            },
            None => "its first message is missing".to_owned(),
        };
        Err(JournalError::Format { journal: self.name(), why })
    }

    /// Another writer of the same era, which ends its own appends.
    #[must_use]
    pub fn another(&self) -> Self {
        Self {
            nats: self.nats.clone(),
            partition: self.partition,
            era: self.era,
            first: self.first,
            records: self.records.clone(),
            texts: self.texts.clone(),
            known: self.known,
            bytes: self.bytes,
            era_bytes_max: self.era_bytes_max,
            give_up: GiveUp::new(),
        }
    }

    /// With eras of so many bytes, for tests.
    #[must_use]
    pub fn with_era_bytes(mut self, era_bytes_max: u64) -> Self {
        self.era_bytes_max = era_bytes_max;
        self
    }

    /// The last record that the newest era's leader says it has, asked once. Who leads no more may say less for a moment.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub(crate) async fn end(&mut self) -> Result<RecordNumber, JournalError> {
        let state = self.go_on(Asked::Once).await?;
        Ok(self.number_at(state.last))
    }

    /// A live reader of its own.
    pub fn tail(&self) -> Tail {
        Tail::new(self.partition, self.era, self.reading())
    }

    /// What ends an append that hangs because nobody knows its outcome.
    pub fn give_up(&self) -> GiveUp {
        self.give_up.clone()
    }

    fn reading(&self) -> Reading {
        Reading::new(&self.nats, &self.records, &self.texts, self.first)
    }

    /// The number of the record at this sequence; that of the record before the era at 0.
    fn number_at(&self, sequence: u64) -> RecordNumber {
        RecordNumber(self.first.0 - 1 + sequence)
    }
}

impl Journal for JetStreamJournal {
    fn name(&self) -> String {
        format!("{} on {}", self.records.name, self.nats.address())
    }

    fn last(&mut self) -> Result<RecordNumber, JournalError> {
        let runtime = self.nats.runtime().clone();
        let state = runtime.block_on(self.go_on(Asked::Patiently))?;
        Ok(self.number_at(state.last))
    }

    fn append(&mut self, record: &EncodedRecord, texts: &[SealedText]) -> Result<(), AppendError> {
        let (runtime, give_up, number) = (self.nats.runtime().clone(), self.give_up(), record.number());
        runtime.block_on(async {
            tokio::select! {
                biased;
                () = give_up.said() => {
                    let why = "it was told to give up before an answer came".to_owned();
                    Err(AppendError::Unknown { number, why })
                }
                stored = self.store(record, texts) => stored,
            }
        })
    }

    fn reader(&self) -> Result<Box<dyn Reader>, JournalError> {
        Ok(Box::new(JetStreamReader::new(&self.nats, self.partition)))
    }

    fn era(&self) -> Era {
        self.era
    }

    fn next_era(&mut self, era: Era, first: RecordNumber) -> Result<(), JournalError> {
        let last = self.last()?;
        if !check_next_era(&self.name(), (self.era, last), (era, first))? {
            return Ok(());
        }
        let runtime = self.nats.runtime().clone();
        runtime.block_on(self.move_on(era, first))
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn era_bytes_max(&self) -> u64 {
        self.era_bytes_max
    }
}

//! A journal on JetStream: one message a record, the same bytes as in a row of SQLite, its texts in messages of a stream beside.
//!
//! Invariants:
//! - A record's number is its message's sequence less one plus the number of the era's first, kept so by the sequence that
//!   every publish expects to be the last.
//! - Texts are durable before the record that names them; a text that none names is nobody's, and is swept.
//! - One record is in flight, and whether it is stored is asked of the stream's leader, never of a tail and never by a direct
//!   get.
//! - What is read is in order and without a gap, or it is an error.
//! - No word of leases or leaders here: a second writer is fenced by its place alone.

mod append;
mod connection;
mod durability;
mod feed;
mod read;
mod streams;
mod sweep;

pub use append::GiveUp;
pub use connection::{Nats, NatsError, NatsOptions};
pub use durability::Durability;
pub use read::{OwnedRecord, Tail};

use crate::{
    journal::{AppendError, Journal, JournalError, Reader},
    texts::SealedText,
};
use arena_schema::{
    id::{Era, Partition, RecordNumber},
    record::{EncodedRecord, record_number},
};
use read::{JetStreamReader, Reading};
use streams::Stream;

/// Names the sequences of a record's text messages, with commas between.
const TEXTS_HEADER: &str = "Arena-Texts";

/// One era of a partition's journal, in two streams. Its methods block, and are called from plain threads.
#[derive(Debug)]
pub struct JetStreamJournal {
    nats: Nats,
    first: RecordNumber,
    records: Stream,
    texts: Stream,
    /// The last record that is known to be durable.
    known: RecordNumber,
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
        let records = Stream::of_records(partition, era);
        let texts = Stream::of_texts(partition);
        records.open(nats).await?;
        texts.open(nats).await?;
        let state = records.wait_state(nats).await?;
        let nats = nats.clone();
        let first = first.max(RecordNumber(1));
        let mut journal =
            Self { nats, first, records, texts, known: RecordNumber(0), give_up: GiveUp::new() };
        journal.known = journal.number_at(state.last);
        if state.last > 0 {
            journal.check_first().await?;
        }
        Ok(journal)
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
            first: self.first,
            records: self.records.clone(),
            texts: self.texts.clone(),
            known: self.known,
            give_up: GiveUp::new(),
        }
    }

    /// The last record that the stream's leader says it has, asked once. Who leads no more may say less for a moment.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub(crate) async fn end(&self) -> Result<RecordNumber, JournalError> {
        let state = self.records.state(&self.nats).await;
        let state = state.map_err(|why| self.records.error(&self.nats, "read", &why))?;
        Ok(self.number_at(state.last))
    }

    /// A live reader of its own.
    pub fn tail(&self) -> Tail {
        Tail::new(self.reading())
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
        let state = self.nats.runtime().block_on(self.records.wait_state(&self.nats))?;
        let last = self.number_at(state.last);
        self.known = self.known.max(last);
        Ok(last)
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
        Ok(Box::new(JetStreamReader::new(self.reading())))
    }
}

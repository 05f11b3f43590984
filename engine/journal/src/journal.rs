//! What any store of records must do. One contract suite runs against every implementation.

use arena_schema::{id::RecordNumber, record::EncodedRecord};

use crate::texts::SealedText;

/// Why a journal cannot be opened or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The store itself reports a fault.
    #[error("the journal {journal} cannot be {action}: {why}")]
    Store {
        /// Which journal.
        journal: String,
        /// What was tried.
        action: &'static str,
        /// What the store said.
        why: String,
    },
    /// What is there is no journal of this format.
    #[error("{journal} is not a journal that this build reads: {why}")]
    Format {
        /// Which journal.
        journal: String,
        /// What was found and what was expected.
        why: String,
    },
    /// The texts beside a record cannot be told apart.
    #[error("the texts beside record {record} are damaged: {why}")]
    Texts {
        /// The record.
        record: RecordNumber,
        /// What is wrong.
        why: String,
    },
}

/// Why a record was not appended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// Another record stands at that number, or it is not the next one: somebody else writes this journal.
    #[error("record {number} cannot be appended: the journal already goes to record {last}")]
    Fenced {
        /// The number that was to be written.
        number: RecordNumber,
        /// The journal's last record.
        last: RecordNumber,
    },
    /// The store failed while it made the record durable: whether it is there, only the next start can tell.
    #[error("whether record {number} was stored is unknown: {why}")]
    Unknown {
        /// The record.
        number: RecordNumber,
        /// What the store said.
        why: String,
    },
}

/// A record as it lies in the store: its bytes and the sealed texts beside it, still one run of bytes.
#[derive(Debug, Clone, Copy)]
pub struct StoredRecord<'a> {
    /// The number that the store files it under; the record's own header must agree.
    pub number: RecordNumber,
    /// The record's bytes.
    pub bytes: &'a [u8],
    /// The texts' bytes (see [`crate::texts::encode_texts`]); empty where there are none.
    pub texts: &'a [u8],
}

/// Whether to go on reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visit {
    /// On to the next record.
    Next,
    /// Enough.
    Enough,
}

/// A store of records. Its one writer is the sequencer's appender.
pub trait Journal: Send {
    /// What to call it in a message: a path or a URL.
    fn name(&self) -> String;

    /// The number of the last record; 0 where there is none.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    fn last(&mut self) -> Result<RecordNumber, JournalError>;

    /// Makes a record and its texts durable, both or neither, as the one after [`Journal::last`].
    ///
    /// # Errors
    /// [`AppendError`]: somebody else's record stands there, or nobody knows.
    fn append(&mut self, record: &EncodedRecord, texts: &[SealedText]) -> Result<(), AppendError>;

    /// A reader of its own, that sees what was durable when it reads.
    ///
    /// # Errors
    /// [`JournalError`].
    fn reader(&self) -> Result<Box<dyn Reader>, JournalError>;
}

/// Reads a journal, in order.
pub trait Reader: Send {
    /// Visits the records from `from` on in the order of their numbers until the last one that was durable when it began.
    /// The numbers may have gaps where the store was damaged; whoever reads checks them.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    fn read(
        &mut self,
        from: RecordNumber,
        visit: &mut dyn FnMut(StoredRecord<'_>) -> Visit,
    ) -> Result<(), JournalError>;

    /// What the store's own check of itself finds; nothing where it is sound or has no such check.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    fn self_check(&mut self) -> Result<Vec<String>, JournalError> {
        Ok(Vec::new())
    }
}

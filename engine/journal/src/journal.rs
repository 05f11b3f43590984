//! What any store of records must do. One contract suite runs against every implementation.

use arena_schema::{
    id::{Era, RecordNumber},
    record::EncodedRecord,
};

use crate::{space::Gauge, texts::SealedText};

/// After so many bytes an era is closed, and the next begins.
pub const ERA_BYTES: u64 = 8 * 1024 * 1024 * 1024;

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
    /// Eras that were archived are wanted.
    #[error(
        "{journal} does not have era {era}: it was archived, and what is here goes on with record {goes_on}; put the archive \
         of era {era} back, or name its folder with --archive where a command takes it"
    )]
    Archived {
        /// Which journal.
        journal: String,
        /// The first era that is wanted and missing.
        era: u32,
        /// The first record that can be read behind it.
        goes_on: RecordNumber,
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
    /// It is of an era that this journal does not write: a closed one is never written again. Nothing was stored.
    #[error("record {number} is of era {}, which this journal does not write now (it writes era {})", era.0, open.0)]
    Era {
        /// The record.
        number: RecordNumber,
        /// Its era.
        era: Era,
        /// The era that is open.
        open: Era,
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

    /// A reader of its own over all eras, that sees what was durable when it reads.
    ///
    /// # Errors
    /// [`JournalError`].
    fn reader(&self) -> Result<Box<dyn Reader>, JournalError>;

    /// The era that is written: appended is only what belongs to it.
    fn era(&self) -> Era;

    /// Closes the open era, whose last record is the one before `first`, for every writer and for good, and opens the next
    /// one. Where a crash came in between, the same call goes on; where it was done, it does nothing.
    ///
    /// # Errors
    /// [`JournalError`], also where `era` is not the next one or `first` not the next record.
    fn next_era(&mut self, era: Era, first: RecordNumber) -> Result<(), JournalError>;

    /// About how many bytes the open era takes.
    fn bytes(&self) -> u64;

    /// After how many bytes an era is to be closed: [`ERA_BYTES`], but in tests.
    fn era_bytes_max(&self) -> u64 {
        ERA_BYTES
    }

    /// What tells how much space is left where records go; none where nothing limits it, or where it is asked otherwise.
    fn gauge(&self) -> Option<Box<dyn Gauge>> {
        None
    }
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

    /// The first record that can be read: 1, unless eras before it were archived.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    fn first(&mut self) -> Result<RecordNumber, JournalError> {
        Ok(RecordNumber(1))
    }

    /// The last record that is durable, where the store can tell without reading all of them.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    fn last(&mut self) -> Result<Option<RecordNumber>, JournalError> {
        Ok(None)
    }

    /// What the store's own check of itself finds; nothing where it is sound or has no such check.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    fn self_check(&mut self) -> Result<Vec<String>, JournalError> {
        Ok(Vec::new())
    }
}

/// That `era` and `first` go on where a journal is; false where that was done before.
///
/// # Errors
/// [`JournalError::Store`].
pub(crate) fn check_next_era(
    journal: &str,
    (open, last): (Era, RecordNumber),
    (era, first): (Era, RecordNumber),
) -> Result<bool, JournalError> {
    let wrong = |why: String| {
        Err(JournalError::Store { journal: journal.to_owned(), action: "moved to its next era", why })
    };
    if first != last.next() {
        return wrong(format!(
            "era {} is to begin with record {first}, the journal goes to record {last}",
            era.0
        ));
    }
    if era == open {
        return Ok(false);
    }
    if Some(era.0) != open.0.checked_add(1) {
        return wrong(format!("era {} is asked for, era {} is open", era.0, open.0));
    }
    if last == RecordNumber(0) {
        return wrong("an era without a record cannot be closed".to_owned());
    }
    Ok(true)
}

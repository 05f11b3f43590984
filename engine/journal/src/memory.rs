//! A journal in memory, for a referee without a server and for tests. It is gone with its process, and says so by its name.

use crate::{
    journal::{AppendError, ERA_BYTES, Journal, JournalError, Reader, StoredRecord, Visit, check_next_era},
    texts::{SealedText, encode_texts},
};
use arena_schema::{
    id::{Era, RecordNumber},
    record::EncodedRecord,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
struct Row {
    bytes: Vec<u8>,
    texts: Vec<u8>,
}

#[derive(Debug)]
struct Stored {
    rows: Vec<Arc<Row>>,
    era: Era,
    /// The bytes of the open era.
    bytes: u64,
}

/// Records in memory. A clone is the same journal.
#[derive(Debug, Clone)]
pub struct MemoryJournal {
    rows: Arc<Mutex<Stored>>,
    era_bytes_max: u64,
}

impl Default for MemoryJournal {
    fn default() -> Self {
        let stored = Stored { rows: Vec::new(), era: Era(1), bytes: 0 };
        Self { rows: Arc::new(Mutex::new(stored)), era_bytes_max: ERA_BYTES }
    }
}

impl MemoryJournal {
    /// With eras of so many bytes, for tests.
    #[must_use]
    pub fn with_era_bytes(self, era_bytes_max: u64) -> Self {
        Self { era_bytes_max, ..self }
    }

    fn lock(&self) -> MutexGuard<'_, Stored> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for MemoryJournal {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn last(&mut self) -> Result<RecordNumber, JournalError> {
        Ok(RecordNumber(self.lock().rows.len() as u64))
    }

    fn append(&mut self, record: &EncodedRecord, texts: &[SealedText]) -> Result<(), AppendError> {
        let mut rows = self.lock();
        let (number, last) = (record.number(), RecordNumber(rows.rows.len() as u64));
        if number != last.next() {
            return Err(AppendError::Fenced { number, last });
        }
        if record.era() != rows.era {
            return Err(AppendError::Era { number, era: record.era(), open: rows.era });
        }
        let row = Row { bytes: record.as_bytes().to_vec(), texts: encode_texts(texts) };
        rows.bytes += (row.bytes.len() + row.texts.len()) as u64;
        rows.rows.push(Arc::new(row));
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn Reader>, JournalError> {
        Ok(Box::new(MemoryReader { journal: self.clone() }))
    }

    fn era(&self) -> Era {
        self.lock().era
    }

    fn next_era(&mut self, era: Era, first: RecordNumber) -> Result<(), JournalError> {
        let mut rows = self.lock();
        let last = RecordNumber(rows.rows.len() as u64);
        if check_next_era("memory", (rows.era, last), (era, first))? {
            (rows.era, rows.bytes) = (era, 0);
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    fn era_bytes_max(&self) -> u64 {
        self.era_bytes_max
    }
}

struct MemoryReader {
    journal: MemoryJournal,
}

impl Reader for MemoryReader {
    fn read(
        &mut self,
        from: RecordNumber,
        visit: &mut dyn FnMut(StoredRecord<'_>) -> Visit,
    ) -> Result<(), JournalError> {
        let skipped = from.0.saturating_sub(1) as usize;
        let rows = self.journal.lock().rows.clone();
        for (row, number) in rows.iter().zip(1..).skip(skipped) {
            let stored = StoredRecord { number: RecordNumber(number), bytes: &row.bytes, texts: &row.texts };
            if visit(stored) == Visit::Enough {
                break;
            }
        }
        Ok(())
    }

    fn last(&mut self) -> Result<Option<RecordNumber>, JournalError> {
        Ok(Some(RecordNumber(self.journal.lock().rows.len() as u64)))
    }
}

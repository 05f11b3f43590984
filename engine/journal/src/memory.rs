//! A journal in memory, for a referee without a server and for tests. It is gone with its process, and says so by its name.

use crate::{
    journal::{AppendError, Journal, JournalError, Reader, StoredRecord, Visit},
    texts::{SealedText, encode_texts},
};
use arena_schema::{id::RecordNumber, record::EncodedRecord};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug)]
struct Row {
    bytes: Vec<u8>,
    texts: Vec<u8>,
}

type Rows = Arc<Mutex<Vec<Arc<Row>>>>;

/// Records in memory. A clone is the same journal.
#[derive(Debug, Clone, Default)]
pub struct MemoryJournal {
    rows: Rows,
}

fn snapshot(rows: &Rows) -> Vec<Arc<Row>> {
    rows.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Journal for MemoryJournal {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn last(&mut self) -> Result<RecordNumber, JournalError> {
        Ok(RecordNumber(self.rows.lock().unwrap_or_else(PoisonError::into_inner).len() as u64))
    }

    fn append(&mut self, record: &EncodedRecord, texts: &[SealedText]) -> Result<(), AppendError> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let last = RecordNumber(rows.len() as u64);
        if record.number() != last.next() {
            return Err(AppendError::Fenced { number: record.number(), last });
        }
        rows.push(Arc::new(Row { bytes: record.as_bytes().to_vec(), texts: encode_texts(texts) }));
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn Reader>, JournalError> {
        Ok(Box::new(MemoryReader { rows: Arc::clone(&self.rows) }))
    }
}

struct MemoryReader {
    rows: Rows,
}

impl Reader for MemoryReader {
    fn read(
        &mut self,
        from: RecordNumber,
        visit: &mut dyn FnMut(StoredRecord<'_>) -> Visit,
    ) -> Result<(), JournalError> {
        let skipped = from.0.saturating_sub(1) as usize;
        for (row, number) in snapshot(&self.rows).iter().zip(1..).skip(skipped) {
            let stored = StoredRecord { number: RecordNumber(number), bytes: &row.bytes, texts: &row.texts };
            if visit(stored) == Visit::Enough {
                break;
            }
        }
        Ok(())
    }
}

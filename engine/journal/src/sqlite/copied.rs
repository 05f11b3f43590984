//! Keeps records that are durable elsewhere, many in one transaction. What belongs here: their rows. What never does: whether
//! they are what they should be, which whoever copies has checked.

use super::{SqliteJournal, store_error};
use crate::{
    journal::{Journal, JournalError},
    sequencer::Followed,
    texts::encode_texts,
};
use arena_schema::id::{Era, RecordNumber};
use rusqlite::params;
use std::sync::Arc;

/// A record as a row has it.
pub(crate) struct CopiedRow<'a> {
    pub(crate) era: Era,
    pub(crate) number: RecordNumber,
    pub(crate) bytes: &'a [u8],
    /// The texts' bytes; none where there are none.
    pub(crate) texts: Option<Vec<u8>>,
}

impl<'a> From<&'a Arc<Followed>> for CopiedRow<'a> {
    fn from(record: &'a Arc<Followed>) -> Self {
        let texts = (!record.texts.is_empty()).then(|| encode_texts(&record.texts));
        Self { era: record.header.era, number: record.header.number, bytes: &record.bytes, texts }
    }
}

impl SqliteJournal {
    /// Keeps rows, all in one transaction for each era, as the ones after the last.
    ///
    /// # Errors
    /// [`JournalError::Store`]; then none of the era's is kept.
    pub(crate) fn append_copied(&mut self, rows: &[CopiedRow<'_>]) -> Result<(), JournalError> {
        let mut rest = rows;
        while let Some(first) = rest.first() {
            let (era, number) = (first.era, first.number);
            if era != self.era {
                self.next_era(era, number)?;
            }
            let (together, later) = rest.split_at(rest.iter().take_while(|row| row.era == era).count());
            self.append_of_era(together)?;
            rest = later;
        }
        Ok(())
    }

    fn append_of_era(&mut self, rows: &[CopiedRow<'_>]) -> Result<(), JournalError> {
        let last = self.last()?;
        let path = &self.path;
        let fail = |why: rusqlite::Error| store_error(path, "written", &why);
        let kept = self.connection.transaction().map_err(fail)?;
        {
            let mut insert = kept
                .prepare_cached("INSERT INTO records (number, record, texts) VALUES (?1, ?2, ?3)")
                .map_err(fail)?;
            for (row, before) in rows.iter().zip(last.0..) {
                let number = row.number;
                if number.0 != before + 1 {
                    let journal = path.display().to_string();
                    let why = format!("record {number} came after record {before}");
                    return Err(JournalError::Store { journal, action: "written", why });
                }
                insert.execute(params![number.0.cast_signed(), row.bytes, row.texts]).map_err(fail)?;
            }
        }
        kept.commit().map_err(fail)?;
        self.bytes += rows.iter().map(|row| row.bytes.len() as u64).sum::<u64>();
        Ok(())
    }
}

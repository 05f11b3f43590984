//! Reads the eras of a journal in files, one after the other, beside the one who writes them.

use super::{check_format, eras::EraFiles, store_error};
use crate::journal::{JournalError, Reader, StoredRecord, Visit};
use arena_schema::id::{Era, RecordNumber};
use rusqlite::{Connection, OpenFlags, OptionalExtension, types::ValueRef};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// One era's file, open to be read.
struct Part {
    path: PathBuf,
    connection: Connection,
}

pub(super) struct SqliteReader {
    files: EraFiles,
    parts: BTreeMap<Era, Part>,
}

/// Opens a file to be read alone.
fn open_part(path: PathBuf) -> Result<Part, JournalError> {
    let fail = |why: rusqlite::Error| store_error(&path, "opened", &why);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags).map_err(fail)?;
    check_format(&path, &connection)?;
    Ok(Part { path, connection })
}

impl Part {
    fn number(&self, which: &str) -> Result<Option<RecordNumber>, JournalError> {
        let found: Option<i64> = self
            .connection
            .query_row(&format!("SELECT {which}(number) FROM records"), [], |row| row.get(0))
            .optional()
            .map(Option::flatten)
            .map_err(|why| store_error(&self.path, "read", &why))?;
        Ok(found.map(|number| RecordNumber(number.unsigned_abs())))
    }

    /// Visits from `from` to `last`; whether it was enough.
    fn visit_rows(
        &self,
        from: RecordNumber,
        last: RecordNumber,
        visit: &mut dyn FnMut(StoredRecord<'_>) -> Visit,
    ) -> rusqlite::Result<Visit> {
        let mut select = self.connection.prepare_cached(
            "SELECT number, record, texts FROM records WHERE number >= ?1 AND number <= ?2 ORDER BY number",
        )?;
        let bound = |number: RecordNumber| number.0.min(i64::MAX as u64).cast_signed();
        let mut rows = select.query([bound(from), bound(last)])?;
        while let Some(row) = rows.next()? {
            let number = RecordNumber(row.get::<_, i64>(0)?.unsigned_abs());
            let bytes = row.get_ref(1)?.as_blob()?;
            let texts = match row.get_ref(2)? {
                ValueRef::Null => &[],
                blob => blob.as_blob()?,
            };
            if visit(StoredRecord { number, bytes, texts }) == Visit::Enough {
                return Ok(Visit::Enough);
            }
        }
        Ok(Visit::Next)
    }
}

impl SqliteReader {
    /// One era's file alone.
    pub(super) fn open_one(path: &Path) -> Result<Self, JournalError> {
        let parts = BTreeMap::from([(Era(1), open_part(path.to_owned())?)]);
        Ok(Self { files: EraFiles::only(path), parts })
    }

    pub(super) fn open(path: &Path) -> Result<Self, JournalError> {
        let mut reader = Self { files: EraFiles::of(path), parts: BTreeMap::new() };
        if reader.find()?.is_empty() {
            // The system's own words about the file that is not there.
            let part = open_part(path.to_owned())?;
            reader.parts.insert(Era(1), part);
        }
        Ok(reader)
    }

    /// Opens what came to be since, closes what is gone; the eras that are there.
    fn find(&mut self) -> Result<Vec<Era>, JournalError> {
        let eras = self.files.list()?;
        self.parts.retain(|era, _| eras.contains(era));
        for era in &eras {
            if let (false, Some(path)) = (self.parts.contains_key(era), self.files.file(*era)) {
                self.parts.insert(*era, open_part(path)?);
            }
        }
        Ok(eras)
    }

    fn archived(&self, era: u32, goes_on: RecordNumber) -> JournalError {
        JournalError::Archived { journal: self.files.name(), era, goes_on }
    }
}

impl Reader for SqliteReader {
    fn read(
        &mut self,
        from: RecordNumber,
        visit: &mut dyn FnMut(StoredRecord<'_>) -> Visit,
    ) -> Result<(), JournalError> {
        self.find()?;
        // From the newest back to the one that has the first record wanted.
        let (mut wanted, mut last) = (Vec::new(), RecordNumber(0));
        for (era, part) in self.parts.iter().rev() {
            last = last.max(part.number("max")?.unwrap_or_default());
            let Some(first) = part.number("min")? else { continue };
            wanted.push((*era, first));
            if first <= from {
                break;
            }
        }
        // The era that must come next, where it is known.
        let mut next = None;
        for (era, first) in wanted.into_iter().rev() {
            let missing = next.unwrap_or(Era(1));
            let lacks = if next.is_some() { missing != era } else { first > from && era != Era(1) };
            if lacks {
                return Err(self.archived(missing.0, first));
            }
            let part = &self.parts[&era];
            let went =
                part.visit_rows(from, last, visit).map_err(|why| store_error(&part.path, "read", &why))?;
            if went == Visit::Enough {
                break;
            }
            next = Some(Era(era.0 + 1));
        }
        Ok(())
    }

    fn first(&mut self) -> Result<RecordNumber, JournalError> {
        self.find()?;
        match self.parts.first_key_value() {
            Some((era, part)) if *era != Era(1) => Ok(part.number("min")?.unwrap_or(RecordNumber(1))),
            _ => Ok(RecordNumber(1)),
        }
    }

    fn last(&mut self) -> Result<Option<RecordNumber>, JournalError> {
        self.find()?;
        for part in self.parts.values().rev() {
            if let Some(last) = part.number("max")? {
                return Ok(Some(last));
            }
        }
        Ok(Some(RecordNumber(0)))
    }

    fn self_check(&mut self) -> Result<Vec<String>, JournalError> {
        let check = |part: &Part| -> rusqlite::Result<Vec<String>> {
            let mut statement = part.connection.prepare("PRAGMA integrity_check(16)")?;
            let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
            lines.filter(|line| !matches!(line, Ok(text) if text == "ok")).collect()
        };
        let mut found = Vec::new();
        for part in self.parts.values() {
            found.extend(check(part).map_err(|why| store_error(&part.path, "checked", &why))?);
        }
        Ok(found)
    }
}

//! A journal in one SQLite file: a row a record, its sealed texts in the same row, durable at the commit.

mod bare;

pub use bare::bare_inserts;

use crate::{
    journal::{AppendError, Journal, JournalError, Reader, StoredRecord, Visit},
    sequencer::Followed,
    texts::{SealedText, encode_texts},
};
use arena_schema::{
    id::{Era, Partition, RecordNumber},
    record::EncodedRecord,
};
use rusqlite::{Connection, OpenFlags, OptionalExtension, params, types::ValueRef};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// `AREN`, in the file's header, so that another program's file is not taken for a journal.
const APPLICATION_ID: i64 = 0x4152_454e;
const FORMAT: i64 = 1;
/// How the one who writes opens the file.
const PRAGMAS: &str = "PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;";

/// A journal in a file.
#[derive(Debug)]
pub struct SqliteJournal {
    path: PathBuf,
    connection: Connection,
}

impl SqliteJournal {
    /// Where a partition's era lies in a data folder.
    pub fn path_in(data: &Path, partition: Partition, era: Era) -> PathBuf {
        data.join(format!("records-{}-{}.db", partition.0, era.0))
    }

    /// Opens the file for the one who writes it, and makes it where there is none. Whoever calls holds the folder's lock.
    ///
    /// # Errors
    /// [`JournalError`]: the store's own words, or that the file is something else.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let fail = |why: rusqlite::Error| store_error(path, "opened", &why);
        let connection = Connection::open(path).map_err(fail)?;
        connection.execute_batch(PRAGMAS).map_err(fail)?;
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0)).map_err(fail)?;
        if tables == 0 {
            connection
                .execute_batch(&format!(
                    "BEGIN IMMEDIATE;
                     PRAGMA application_id = {APPLICATION_ID};
                     PRAGMA user_version = {FORMAT};
                     CREATE TABLE records (number INTEGER PRIMARY KEY, record BLOB NOT NULL, texts BLOB) STRICT;
                     COMMIT;"
                ))
                .map_err(fail)?;
        }
        check_format(path, &connection)?;
        Ok(Self { path: path.to_owned(), connection })
    }

    /// Opens the file to be read alone; another process may be writing it.
    ///
    /// # Errors
    /// [`JournalError`], also where there is no such file.
    pub fn open_reader(path: &Path) -> Result<Box<dyn Reader>, JournalError> {
        let fail = |why: rusqlite::Error| store_error(path, "opened", &why);
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(fail)?;
        check_format(path, &connection)?;
        Ok(Box::new(SqliteReader { path: path.to_owned(), connection }))
    }
}

impl SqliteJournal {
    /// Keeps records that are durable elsewhere, all in one transaction, as the ones after the last.
    ///
    /// # Errors
    /// [`JournalError::Store`]; then none of them is kept.
    pub(crate) fn append_followed(&mut self, records: &[Arc<Followed>]) -> Result<(), JournalError> {
        let last = self.last()?;
        let path = &self.path;
        let fail = |why: rusqlite::Error| store_error(path, "written", &why);
        let kept = self.connection.transaction().map_err(fail)?;
        {
            let mut insert = kept
                .prepare_cached("INSERT INTO records (number, record, texts) VALUES (?1, ?2, ?3)")
                .map_err(fail)?;
            for (record, before) in records.iter().zip(last.0..) {
                let number = record.header.number;
                if number.0 != before + 1 {
                    let journal = path.display().to_string();
                    let why = format!("record {number} came after record {before}");
                    return Err(JournalError::Store { journal, action: "written", why });
                }
                let texts = (!record.texts.is_empty()).then(|| encode_texts(&record.texts));
                insert.execute(params![number.0.cast_signed(), record.bytes, texts]).map_err(fail)?;
            }
        }
        kept.commit().map_err(fail)
    }
}

fn store_error(path: &Path, action: &'static str, why: &rusqlite::Error) -> JournalError {
    JournalError::Store { journal: path.display().to_string(), action, why: why.to_string() }
}

fn check_format(path: &Path, connection: &Connection) -> Result<(), JournalError> {
    let pragma = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let fail = |why: rusqlite::Error| store_error(path, "read", &why);
    let (application, format) =
        (pragma("application_id").map_err(fail)?, pragma("user_version").map_err(fail)?);
    if application != APPLICATION_ID || format != FORMAT {
        return Err(JournalError::Format {
            journal: path.display().to_string(),
            why: format!(
                "expected application id {APPLICATION_ID:#x} and format {FORMAT}, found {application:#x} and {format}"
            ),
        });
    }
    Ok(())
}

impl Journal for SqliteJournal {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn last(&mut self) -> Result<RecordNumber, JournalError> {
        let last: Option<i64> = self
            .connection
            .query_row("SELECT max(number) FROM records", [], |row| row.get(0))
            .optional()
            .map(Option::flatten)
            .map_err(|why| store_error(&self.path, "read", &why))?;
        Ok(RecordNumber(last.unwrap_or_default().unsigned_abs()))
    }

    fn append(&mut self, record: &EncodedRecord, texts: &[SealedText]) -> Result<(), AppendError> {
        let number = record.number();
        let unknown = |why: rusqlite::Error| AppendError::Unknown { number, why: why.to_string() };
        // The condition fences: the row is written only as the one after the last.
        let mut insert = self
            .connection
            .prepare_cached(
                "INSERT INTO records (number, record, texts)
                 SELECT ?1, ?2, ?3 WHERE ?1 = (SELECT coalesce(max(number), 0) + 1 FROM records)",
            )
            .map_err(unknown)?;
        let texts = (!texts.is_empty()).then(|| encode_texts(texts));
        let stored =
            insert.execute(params![number.0.cast_signed(), record.as_bytes(), texts]).map_err(unknown)?;
        drop(insert);
        if stored == 1 {
            return Ok(());
        }
        let last = self.last().map_err(|why| AppendError::Unknown { number, why: why.to_string() })?;
        Err(AppendError::Fenced { number, last })
    }

    fn reader(&self) -> Result<Box<dyn Reader>, JournalError> {
        Self::open_reader(&self.path)
    }
}

struct SqliteReader {
    path: PathBuf,
    connection: Connection,
}

impl SqliteReader {
    fn visit_rows(
        &self,
        from: RecordNumber,
        visit: &mut dyn FnMut(StoredRecord<'_>) -> Visit,
    ) -> rusqlite::Result<()> {
        let mut select = self
            .connection
            .prepare_cached("SELECT number, record, texts FROM records WHERE number >= ?1 ORDER BY number")?;
        let mut rows = select.query([from.0.min(i64::MAX as u64).cast_signed()])?;
        while let Some(row) = rows.next()? {
            let number = RecordNumber(row.get::<_, i64>(0)?.unsigned_abs());
            let bytes = row.get_ref(1)?.as_blob()?;
            let texts = match row.get_ref(2)? {
                ValueRef::Null => &[],
                blob => blob.as_blob()?,
            };
            if visit(StoredRecord { number, bytes, texts }) == Visit::Enough {
                break;
            }
        }
        Ok(())
    }
}

impl Reader for SqliteReader {
    fn read(
        &mut self,
        from: RecordNumber,
        visit: &mut dyn FnMut(StoredRecord<'_>) -> Visit,
    ) -> Result<(), JournalError> {
        self.visit_rows(from, visit).map_err(|why| store_error(&self.path, "read", &why))
    }

    fn self_check(&mut self) -> Result<Vec<String>, JournalError> {
        let check = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.connection.prepare("PRAGMA integrity_check(16)")?;
            let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
            lines.filter(|line| !matches!(line, Ok(text) if text == "ok")).collect()
        };
        check().map_err(|why| store_error(&self.path, "checked", &why))
    }
}

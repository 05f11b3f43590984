//! A journal in SQLite files, one an era: a row a record, its sealed texts in the same row, durable at the commit. A closed
//! era's file refuses every row by itself.

mod archive;
mod bare;
mod copied;
mod eras;
mod read;
mod volume;

pub(crate) use archive::ArchiveFile;
pub use bare::bare_inserts;
pub(crate) use copied::CopiedRow;
pub use volume::Volume;

use crate::{
    journal::{AppendError, ERA_BYTES, Journal, JournalError, Reader, check_next_era},
    space::Gauge,
    texts::{SealedText, encode_texts},
};
use arena_schema::{
    id::{Era, Partition, RecordNumber},
    record::EncodedRecord,
};
use eras::EraFiles;
use read::SqliteReader;
use rusqlite::{Connection, OptionalExtension, ffi, params};
use std::{
    fs,
    path::{Path, PathBuf},
};
use volume::VolumeGauge;

/// `AREN`, in the file's header, so that another program's file is not taken for a journal.
const APPLICATION_ID: i64 = 0x4152_454e;
const FORMAT: i64 = 1;
/// How the one who writes opens the file.
const PRAGMAS: &str = "PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;";

/// Put into the file of an era that is closed.
const CLOSE: &str = "CREATE TRIGGER IF NOT EXISTS closed BEFORE INSERT ON records
                     BEGIN SELECT RAISE(ABORT, 'this era is closed'); END";

/// A journal in files.
#[derive(Debug)]
pub struct SqliteJournal {
    files: EraFiles,
    /// The open era, and its file.
    era: Era,
    path: PathBuf,
    connection: Connection,
    /// The last record of the eras before.
    before: RecordNumber,
    /// About how large the file is.
    bytes: u64,
    era_bytes_max: u64,
    /// How many bytes of the volume must be free; as fits the volume where none are said.
    free_bytes_min: Option<u64>,
}

impl SqliteJournal {
    /// Where a partition's era lies in a data folder.
    pub fn path_in(data: &Path, partition: Partition, era: Era) -> PathBuf {
        data.join(format!("records-{}-{}.db", partition.0, era.0))
    }

    /// Opens the journal whose first era lies in this file, for the one who writes it, and makes it where there is none: later
    /// eras lie beside it, and the newest is the open one. Whoever calls holds the folder's lock.
    ///
    /// # Errors
    /// [`JournalError`]: the store's own words, or that the file is something else.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let files = EraFiles::of(path);
        let era = files.list()?.last().copied().unwrap_or(Era(1));
        let path = files.file(era).unwrap_or_else(|| path.to_owned());
        let connection = open_file(&path)?;
        let bytes = file_bytes(&path, &connection)?;
        let (before, era_bytes_max, free_bytes_min) = (RecordNumber(0), ERA_BYTES, None);
        let mut journal = Self { files, era, path, connection, before, bytes, era_bytes_max, free_bytes_min };
        if journal.last()? == RecordNumber(0) && era > Era(1) {
            // A crash came before the era's first record: where it begins, the one before it tells.
            let before = SqliteReader::open(journal.files.first())?.last()?;
            journal.before = before.unwrap_or_default();
        }
        Ok(journal)
    }

    /// Begins an empty journal with a later era, whose first record is to be `first`: those before are in an archive. The files
    /// of the eras before go, which have no record. Whoever calls holds the folder's lock.
    ///
    /// # Errors
    /// [`JournalError`], also where a record is there.
    pub(crate) fn begin_at(path: &Path, era: Era, first: RecordNumber) -> Result<Self, JournalError> {
        let files = EraFiles::of(path);
        let refused = |why: &str| files.failed("begun with a later era", &why);
        let own = files.file(era).ok_or_else(|| refused("its file's name has no number"))?;
        for there in files.list()? {
            if SqliteReader::open(path)?.last()? > Some(RecordNumber(0)) {
                return Err(refused("it has records"));
            }
            if there != era {
                files.remove(there)?;
            }
        }
        let connection = open_file(&own)?;
        let bytes = file_bytes(&own, &connection)?;
        let before = RecordNumber(first.0.saturating_sub(1));
        let (path, era_bytes_max, free_bytes_min) = (own, ERA_BYTES, None);
        Ok(Self { files, era, path, connection, before, bytes, era_bytes_max, free_bytes_min })
    }

    /// Opens the same to be read alone; another process may be writing it.
    ///
    /// # Errors
    /// [`JournalError`], also where there is no such file.
    pub fn open_reader(path: &Path) -> Result<Box<dyn Reader>, JournalError> {
        Ok(Box::new(SqliteReader::open(path)?))
    }

    /// Opens one era's file alone.
    pub(crate) fn open_reader_of_one(path: &Path) -> Result<Box<dyn Reader>, JournalError> {
        Ok(Box::new(SqliteReader::open_one(path)?))
    }

    /// Deletes the file of an era that was archived, of the journal whose first era lies, or lay, in `path`. Whoever calls holds
    /// the folder's lock, and the era is not the open one.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn remove_era(path: &Path, era: Era) -> Result<(), JournalError> {
        let files = EraFiles::of(path);
        if files.list()?.last().is_none_or(|open| era >= *open) {
            return Err(files.failed("freed of an era", &"the era is not closed"));
        }
        files.remove(era)
    }

    /// Whether there is any era of the journal whose first lies, or lay, in this file.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub fn is_there(path: &Path) -> Result<bool, JournalError> {
        Ok(!EraFiles::of(path).list()?.is_empty())
    }

    /// With eras of so many bytes, for tests.
    #[must_use]
    pub fn with_era_bytes(self, era_bytes_max: u64) -> Self {
        Self { era_bytes_max, ..self }
    }

    /// With so many bytes of the volume that must be free, or else what adds something is refused.
    #[must_use]
    pub fn with_free_bytes_min(self, free_bytes_min: Option<u64>) -> Self {
        Self { free_bytes_min, ..self }
    }
}

impl SqliteJournal {
    /// Makes a new era's file: under another name first, so that no reader meets it half made.
    fn make_file(&self, path: &Path) -> Result<(), JournalError> {
        let failed = |why: std::io::Error| self.files.failed("moved to its next era", &why);
        let unfinished = path.with_extension("db.new");
        for beside in ["db.new", "db.new-wal", "db.new-shm"] {
            match fs::remove_file(path.with_extension(beside)) {
                Err(why) if why.kind() != std::io::ErrorKind::NotFound => return Err(failed(why)),
                _ => {}
            }
        }
        let made = open_file(&unfinished)?;
        made.close().map_err(|(_, why)| store_error(&unfinished, "made", &why))?;
        fs::File::open(&unfinished).and_then(|file| file.sync_all()).map_err(failed)?;
        fs::rename(&unfinished, path).map_err(failed)?;
        self.files.sync_folder()
    }
}

fn open_file(path: &Path) -> Result<Connection, JournalError> {
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
    Ok(connection)
}

fn file_bytes(path: &Path, connection: &Connection) -> Result<u64, JournalError> {
    let pragma = |name: &str| connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let bytes = || Ok(pragma("page_count")?.unsigned_abs() * pragma("page_size")?.unsigned_abs());
    bytes().map_err(|why| store_error(path, "read", &why))
}

/// Whether a row was refused because its era is closed.
fn is_closed(why: &rusqlite::Error) -> bool {
    why.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_CONSTRAINT_TRIGGER)
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
        self.files.name()
    }

    fn last(&mut self) -> Result<RecordNumber, JournalError> {
        let last: Option<i64> = self
            .connection
            .query_row("SELECT max(number) FROM records", [], |row| row.get(0))
            .optional()
            .map(Option::flatten)
            .map_err(|why| store_error(&self.path, "read", &why))?;
        Ok(last.map_or(self.before, |last| RecordNumber(last.unsigned_abs())))
    }

    fn append(&mut self, record: &EncodedRecord, texts: &[SealedText]) -> Result<(), AppendError> {
        let number = record.number();
        let unknown = |why: rusqlite::Error| AppendError::Unknown { number, why: why.to_string() };
        if record.era() != self.era {
            let last = self.last().map_err(|why| AppendError::Unknown { number, why: why.to_string() })?;
            return Err(if number == last.next() {
                AppendError::Era { number, era: record.era(), open: self.era }
            } else {
                AppendError::Fenced { number, last }
            });
        }
        // The condition fences: the row is written only as the one after the last.
        let mut insert = self
            .connection
            .prepare_cached(
                "INSERT INTO records (number, record, texts)
                 SELECT ?1, ?2, ?3 WHERE ?1 = (SELECT coalesce(max(number), ?4) + 1 FROM records)",
            )
            .map_err(unknown)?;
        let texts = (!texts.is_empty()).then(|| encode_texts(texts));
        let bytes = record.as_bytes().len() + texts.as_ref().map_or(0, Vec::len);
        let before = self.before.0.cast_signed();
        let stored = match insert.execute(params![number.0.cast_signed(), record.as_bytes(), texts, before]) {
            Err(why) if is_closed(&why) => {
                return Err(AppendError::Era { number, era: self.era, open: Era(self.era.0 + 1) });
            }
            stored => stored.map_err(unknown)?,
        };
        drop(insert);
        if stored == 1 {
            self.bytes += bytes as u64;
            return Ok(());
        }
        let last = self.last().map_err(|why| AppendError::Unknown { number, why: why.to_string() })?;
        Err(AppendError::Fenced { number, last })
    }

    fn reader(&self) -> Result<Box<dyn Reader>, JournalError> {
        Ok(Box::new(SqliteReader::open(self.files.first())?))
    }

    fn era(&self) -> Era {
        self.era
    }

    fn next_era(&mut self, era: Era, first: RecordNumber) -> Result<(), JournalError> {
        let last = self.last()?;
        if !check_next_era(&self.name(), (self.era, last), (era, first))? {
            return Ok(());
        }
        let Some(path) = self.files.file(era) else {
            let why = "its file's name has no number to go on with";
            return Err(self.files.failed("moved to its next era", &why));
        };
        self.connection.execute_batch(CLOSE).map_err(|why| store_error(&self.path, "closed", &why))?;
        if !path.exists() {
            self.make_file(&path)?;
        }
        let connection = open_file(&path)?;
        let bytes = file_bytes(&path, &connection)?;
        (self.era, self.path, self.connection) = (era, path, connection);
        (self.before, self.bytes) = (last, bytes);
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn era_bytes_max(&self) -> u64 {
        self.era_bytes_max
    }

    fn gauge(&self) -> Option<Box<dyn Gauge>> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).to_owned();
        Some(Box::new(VolumeGauge { folder, free_bytes_min: self.free_bytes_min }))
    }
}

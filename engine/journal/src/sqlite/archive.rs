//! An era's file as an archive: the same rows, in one file that nothing lies beside and nobody writes again.

use super::{APPLICATION_ID, CLOSE, FORMAT, store_error};
use crate::journal::{JournalError, StoredRecord};
use rusqlite::{Connection, params};
use std::path::{Path, PathBuf};

/// An archive that is being written. Until [`ArchiveFile::finish`] it is nothing.
pub(crate) struct ArchiveFile {
    path: PathBuf,
    connection: Connection,
}

impl ArchiveFile {
    /// In a new file.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub(crate) fn create(path: &Path) -> Result<Self, JournalError> {
        let create = || {
            let connection = Connection::open(path)?;
            // A file that a crash leaves half written is written anew: nothing has to be taken back.
            connection.execute_batch(&format!(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
                 PRAGMA application_id = {APPLICATION_ID};
                 PRAGMA user_version = {FORMAT};
                 CREATE TABLE records (number INTEGER PRIMARY KEY, record BLOB NOT NULL, texts BLOB) STRICT;
                 BEGIN"
            ))?;
            Ok(connection)
        };
        let connection = create().map_err(|why| store_error(path, "made", &why))?;
        Ok(Self { path: path.to_owned(), connection })
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub(crate) fn take(&mut self, stored: StoredRecord<'_>) -> Result<(), JournalError> {
        let insert = || {
            let mut insert = self
                .connection
                .prepare_cached("INSERT INTO records (number, record, texts) VALUES (?1, ?2, ?3)")?;
            let texts = (!stored.texts.is_empty()).then_some(stored.texts);
            insert.execute(params![stored.number.0.cast_signed(), stored.bytes, texts])
        };
        insert().map(|_| ()).map_err(|why| store_error(&self.path, "written", &why))
    }

    /// Nothing more comes.
    ///
    /// # Errors
    /// [`JournalError::Store`].
    pub(crate) fn finish(self) -> Result<(), JournalError> {
        let finished = self.connection.execute_batch(&format!("{CLOSE}; COMMIT"));
        finished.map_err(|why| store_error(&self.path, "written", &why))?;
        self.connection.close().map_err(|(_, why)| store_error(&self.path, "written", &why))
    }
}

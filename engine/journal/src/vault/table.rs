//! A vault's values in a table of SQLite, which one process has to itself. What belongs here: sealed bytes by name. What never
//! does: a key.

use super::VaultError;
use rusqlite::{Connection, OptionalExtension, params};
use std::{
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The table.
pub(super) struct Table(Mutex<Connection>);

fn store(action: &'static str) -> impl FnOnce(rusqlite::Error) -> VaultError {
    move |why| VaultError::Store { action, why }
}

impl Table {
    pub(super) fn open(path: &Path) -> Result<Self, VaultError> {
        Self::over(Connection::open(path).map_err(store("opened"))?)
    }

    pub(super) fn in_memory() -> Result<Self, VaultError> {
        Self::over(Connection::open_in_memory().map_err(store("opened"))?)
    }

    fn over(connection: Connection) -> Result<Self, VaultError> {
        // What is destroyed is overwritten, and no log keeps a copy of the page.
        connection
            .execute_batch(
                "PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA secure_delete = ON;
                 CREATE TABLE IF NOT EXISTS vault (name TEXT PRIMARY KEY, sealed BLOB NOT NULL) STRICT, WITHOUT ROWID;",
            )
            .map_err(store("opened"))?;
        Ok(Self(Mutex::new(connection)))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, name: &str, sealed: &[u8]) -> Result<(), VaultError> {
        self.connection()
            .execute("INSERT OR REPLACE INTO vault (name, sealed) VALUES (?1, ?2)", params![name, sealed])
            .map(|_| ())
            .map_err(store("written"))
    }

    pub(super) fn put_new(&self, name: &str, sealed: &[u8]) -> Result<bool, VaultError> {
        self.connection()
            .execute("INSERT OR IGNORE INTO vault (name, sealed) VALUES (?1, ?2)", params![name, sealed])
            .map(|rows| rows == 1)
            .map_err(store("written"))
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<Vec<u8>>, VaultError> {
        self.connection()
            .query_row("SELECT sealed FROM vault WHERE name = ?1", [name], |row| row.get(0))
            .optional()
            .map_err(store("read"))
    }

    pub(super) fn destroy(&self, name: &str) -> Result<(), VaultError> {
        self.connection()
            .execute("DELETE FROM vault WHERE name = ?1", [name])
            .map(|_| ())
            .map_err(store("written"))
    }

    pub(super) fn names(&self, prefix: &str) -> Result<Vec<String>, VaultError> {
        let connection = self.connection();
        let mut select = connection
            .prepare("SELECT name FROM vault WHERE substr(name, 1, length(?1)) = ?1 ORDER BY name")
            .map_err(store("read"))?;
        let names = select
            .query_map(params![prefix], |row| row.get(0))
            .map_err(store("read"))?
            .collect::<Result<_, _>>()
            .map_err(store("read"))?;
        Ok(names)
    }
}

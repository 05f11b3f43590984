//! The read side of one view: a few read-only connections, or the one connection of a view in memory. What never belongs here: a
//! write.

use crate::error::{Fault, ViewError};
use rusqlite::{Connection, OpenFlags};
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError, RwLock},
};

/// How many connections of a view are kept open while nobody reads.
const IDLE_CONNECTIONS_MAX: usize = 8;

/// Reads a view; shared by all who read.
pub(crate) struct Readers {
    view: &'static str,
    place: Place,
}

enum Place {
    /// The writer's connection too.
    Memory(Mutex<Connection>),
    /// Held for reading by each read, for writing while the file is exchanged.
    File(RwLock<Pool>),
}

struct Pool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> rusqlite::Result<Connection> {
        if let Some(connection) = self.idle().pop() {
            return Ok(connection);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Connection::open_with_flags(&self.path, flags)
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < IDLE_CONNECTIONS_MAX {
            idle.push(connection);
        }
    }
}

impl Readers {
    pub(crate) fn memory(view: &'static str, connection: Connection) -> Self {
        Self { view, place: Place::Memory(Mutex::new(connection)) }
    }

    pub(crate) fn file(view: &'static str, path: &Path) -> Self {
        let pool = Pool { path: path.to_owned(), idle: Mutex::default() };
        Self { view, place: Place::File(RwLock::new(pool)) }
    }

    /// Reads one state of the view, however many statements it takes.
    ///
    /// # Errors
    /// [`ViewError::View`].
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, Fault>) -> Result<T, ViewError> {
        let within = |connection: &Connection| {
            let one_state = connection.unchecked_transaction()?;
            read(&one_state)
        };
        let result = match &self.place {
            Place::Memory(connection) => within(&connection.lock().unwrap_or_else(PoisonError::into_inner)),
            Place::File(pool) => {
                let pool = pool.read().unwrap_or_else(PoisonError::into_inner);
                pool.take().map_err(Fault::from).and_then(|connection| {
                    let result = within(&connection);
                    // One that failed may be of a file that is damaged or gone.
                    if result.is_ok() {
                        pool.give_back(connection);
                    }
                    result
                })
            }
        };
        result.map_err(|why| ViewError::View { view: self.view, action: "read", why })
    }

    /// The connection of a view in memory, for its writer; none for one in a file.
    pub(crate) fn shared(&self) -> Option<MutexGuard<'_, Connection>> {
        match &self.place {
            Place::Memory(connection) => Some(connection.lock().unwrap_or_else(PoisonError::into_inner)),
            Place::File(_) => None,
        }
    }

    /// Waits until nobody reads, closes every connection, and lets `exchange` put another file in the place that it then names.
    pub(crate) fn exchange<T>(
        &self,
        exchange: impl FnOnce() -> Result<(PathBuf, T), ViewError>,
    ) -> Result<Option<T>, ViewError> {
        let Place::File(pool) = &self.place else { return Ok(None) };
        let mut pool = pool.write().unwrap_or_else(PoisonError::into_inner);
        pool.idle().clear();
        let (path, result) = exchange()?;
        pool.path = path;
        Ok(Some(result))
    }

    /// Closes the connections that nobody uses.
    pub(crate) fn close_idle(&self) {
        if let Place::File(pool) = &self.place {
            pool.read().unwrap_or_else(PoisonError::into_inner).idle().clear();
        }
    }
}

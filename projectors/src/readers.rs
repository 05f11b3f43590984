//! The read side of one view: a few read-only connections, or the one connection of a view in memory. What never belongs here: a
//! write.

use crate::{
    error::{Fault, ViewError},
    name::ViewName,
};
use rusqlite::{Connection, OpenFlags};
use std::{
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock},
};

/// How many connections of a view are kept open while nobody reads.
const IDLE_CONNECTIONS_MAX: usize = 8;

/// Reads a view; shared by all who read.
pub(crate) struct Readers {
    view: ViewName,
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
    kept: Mutex<Kept>,
    given_back: Condvar,
}

#[derive(Default)]
struct Kept {
    idle: Vec<Connection>,
    lent: usize,
}

/// A connection on loan; it counts as lent until it is dropped.
struct Lent<'a> {
    pool: &'a Pool,
    connection: Option<Connection>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut kept = self.pool.kept();
        kept.lent -= 1;
        if kept.idle.len() < IDLE_CONNECTIONS_MAX {
            kept.idle.extend(self.connection.take());
        }
        self.pool.given_back.notify_one();
    }
}

impl Pool {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that is idle, or a new one, or where the system gives no more, the next that is given back.
    fn lend(&self) -> rusqlite::Result<Lent<'_>> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut kept = self.kept();
        loop {
            if let Some(connection) = kept.idle.pop() {
                kept.lent += 1;
                return Ok(Lent { pool: self, connection: Some(connection) });
            }
            drop(kept);
            let opened = Connection::open_with_flags(&self.path, flags).and_then(|connection| {
                // Its files are opened by the first read.
                connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
                Ok(connection)
            });
            kept = self.kept();
            match opened {
                Ok(connection) => {
                    kept.lent += 1;
                    return Ok(Lent { pool: self, connection: Some(connection) });
                }
                Err(why) if kept.idle.is_empty() && kept.lent == 0 => return Err(why),
                Err(_) if kept.idle.is_empty() => {
                    kept = self.given_back.wait(kept).unwrap_or_else(PoisonError::into_inner);
                }
                Err(_) => {}
            }
        }
    }
}

impl Readers {
    pub(crate) fn memory(view: ViewName, connection: Connection) -> Self {
        Self { view, place: Place::Memory(Mutex::new(connection)) }
    }

    pub(crate) fn file(view: ViewName, path: &Path) -> Self {
        let pool = Pool { path: path.to_owned(), kept: Mutex::default(), given_back: Condvar::new() };
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
                pool.lend().map_err(Fault::from).and_then(|mut lent| {
                    let result = lent.connection.as_ref().map(within);
                    // One that failed may be of a file that is damaged or gone.
                    if matches!(result, Some(Err(_))) {
                        lent.connection = None;
                    }
                    result.expect("what was lent is there until it is dropped")
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
        pool.kept().idle.clear();
        let (path, result) = exchange()?;
        pool.path = path;
        Ok(Some(result))
    }

    /// Closes the connections that nobody uses.
    pub(crate) fn close_idle(&self) {
        if let Place::File(pool) = &self.place {
            pool.read().unwrap_or_else(PoisonError::into_inner).kept().idle.clear();
        }
    }
}

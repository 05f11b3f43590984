//! The yardstick for durable appends: a bare loop of inserts, with the journal's own settings and nothing else.

use super::{PRAGMAS, store_error};
use crate::journal::JournalError;
use rusqlite::Connection;
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// Inserts one blob of each of these sizes into a new file, each durable before the next, and says how long the loop took.
///
/// # Errors
/// [`JournalError::Store`].
pub fn bare_inserts(path: &Path, sizes: &[usize]) -> Result<Duration, JournalError> {
    let fail = |why: rusqlite::Error| store_error(path, "measured", &why);
    let connection = Connection::open(path).map_err(fail)?;
    connection.execute_batch(PRAGMAS).map_err(fail)?;
    connection.execute_batch("CREATE TABLE blobs (number INTEGER PRIMARY KEY, blob BLOB)").map_err(fail)?;
    let mut insert = connection.prepare("INSERT INTO blobs (blob) VALUES (?1)").map_err(fail)?;
    let blob: Vec<u8> = (0..sizes.iter().copied().max().unwrap_or_default()).map(|at| at as u8).collect();
    let begin = Instant::now();
    for &size in sizes {
        insert.execute([blob.get(..size)]).map_err(fail)?;
    }
    Ok(begin.elapsed())
}

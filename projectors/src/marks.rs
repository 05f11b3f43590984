//! What the views of a data folder remember of its journals, read without opening any of them for use: for an audit, which runs
//! beside the arena or without it.

use crate::{name::OfPartition, partition};
use arena_journal::Mark;
use arena_schema::{
    Hash,
    id::{Partition, RecordNumber},
};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::{fs, path::Path};

/// The mark of every view of this partition in the data folder that can be read. One that cannot be, or has another partition's
/// records, is none: a view can always be thrown away.
pub fn marks(data: &Path, partition: Partition) -> Vec<Mark> {
    let Ok(files) = fs::read_dir(partition::folder(data, partition)) else {
        return Vec::new();
    };
    let mut marks: Vec<Mark> = files
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "db"))
        .filter_map(|path| mark(&path, partition).ok().flatten())
        .collect();
    marks.sort_by(|one, other| one.who.cmp(&other.who));
    marks
}

fn mark(path: &Path, partition: Partition) -> rusqlite::Result<Option<Mark>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    let of: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if of != i64::from(partition.0) {
        return Ok(None);
    }
    connection
        .query_row("SELECT projector, record, hash FROM checkpoint WHERE record > 0", [], |row| {
            let (projector, record): (String, i64) = (row.get(0)?, row.get(1)?);
            let hash = Hash(row.get(2)?);
            Ok(Mark {
                who: format!("the view {projector}{}", OfPartition(partition)),
                number: RecordNumber(record.unsigned_abs()),
                hash,
            })
        })
        .optional()
}

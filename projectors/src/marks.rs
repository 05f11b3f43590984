//! What the views of a data folder remember of its journal, read without opening any of them for use: for an audit, which runs
//! beside the arena or without it.

use arena_journal::Mark;
use arena_schema::{Hash, id::RecordNumber};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use std::{fs, path::Path};

/// The mark of every view in `<data>/views` that can be read. One that cannot be is none: a view can always be thrown away.
pub fn marks(data: &Path) -> Vec<Mark> {
    let Ok(files) = fs::read_dir(data.join("views")) else {
        return Vec::new();
    };
    let mut marks: Vec<Mark> = files
        .flatten()
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "db"))
        .filter_map(|path| mark(&path).ok().flatten())
        .collect();
    marks.sort_by(|one, other| one.who.cmp(&other.who));
    marks
}

fn mark(path: &Path) -> rusqlite::Result<Option<Mark>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection
        .query_row("SELECT projector, record, hash FROM checkpoint WHERE record > 0", [], |row| {
            let (projector, record): (String, i64) = (row.get(0)?, row.get(1)?);
            let hash = Hash(row.get(2)?);
            Ok(Mark {
                who: format!("the view {projector}"),
                number: RecordNumber(record.unsigned_abs()),
                hash,
            })
        })
        .optional()
}

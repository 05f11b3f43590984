//! Where one view's rows lie, with their checkpoint in the same transaction: a SQLite file of its own, or memory. What never
//! belongs here: what the rows mean.
//!
//! A file of another schema version, or one that is damaged, is built again beside it (`<name>.db.new`, with a checkpoint of its
//! own, so that an interrupted build goes on) and exchanged by a rename when the journal's first live record is in it. So is one
//! that has another partition's records: the file's header says whose it has (`user_version`; 0 for partition 0, as in every file
//! from before there were others).

use crate::{
    error::{Fault, ViewError},
    name::ViewName,
    projector::{Changes, Projector, Record},
    readers::Readers,
};
use arena_journal::{Followed, Mark};
use arena_schema::{
    Hash,
    id::{Partition, RecordNumber},
};
use rusqlite::{Connection, TransactionBehavior, params};
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// `ARVW`, in the file's header, so that another program's file is not taken for a view.
const APPLICATION_ID: i64 = 0x4152_5657;
/// How many prepared statements the writer keeps.
const STATEMENTS_MAX: usize = 64;

const CHECKPOINT_SCHEMA: &str = "CREATE TABLE checkpoint (
    projector TEXT NOT NULL, version INTEGER NOT NULL, record INTEGER NOT NULL, hash BLOB NOT NULL) STRICT;";

/// The last record that a view has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    pub(crate) number: RecordNumber,
    pub(crate) hash: Hash,
}

impl Checkpoint {
    const START: Self = Self { number: RecordNumber(0), hash: Hash::ZERO };
}

/// A projection of one partition's records.
pub(crate) struct Projection {
    pub(crate) partition: Partition,
    pub(crate) projector: Box<dyn Projector>,
}

impl Projection {
    pub(crate) fn name(&self) -> ViewName {
        ViewName { name: self.projector.name(), partition: self.partition }
    }
}

/// The write side of one view.
pub(crate) struct Store {
    projection: Projection,
    /// None where the view is in memory: its one connection is the readers'.
    connection: Option<Connection>,
    readers: Arc<Readers>,
    checkpoint: Checkpoint,
    /// What the view's file remembers of the journal, also one that is about to be replaced.
    remembered: Checkpoint,
    file: PathBuf,
    rebuilding: bool,
}

/// What stands in a view's place.
enum Found {
    Nothing,
    Fits(Connection, Checkpoint),
    OtherVersion(u32, Checkpoint),
    Unreadable(String),
}

impl Store {
    pub(crate) fn in_memory(projection: Projection) -> Result<Self, ViewError> {
        let view = projection.name();
        let connection = Connection::open_in_memory()
            .and_then(|mut connection| create(&mut connection, &projection).map(|()| connection))
            .map_err(|why| ViewError::View { view, action: "made", why: why.into() })?;
        Ok(Self {
            projection,
            connection: None,
            readers: Arc::new(Readers::memory(view, connection)),
            checkpoint: Checkpoint::START,
            remembered: Checkpoint::START,
            file: PathBuf::new(),
            rebuilding: false,
        })
    }

    pub(crate) fn in_folder(folder: &Path, projection: Projection) -> Result<Self, ViewError> {
        let view = projection.name();
        let file = folder.join(format!("{}.db", view.name));
        let fresh = beside(&file, ".new");
        let mut remembered = Checkpoint::START;
        let mut rebuilding = false;
        let (connection, checkpoint) = match find(&file, &projection) {
            Found::Fits(connection, checkpoint) => {
                remove_with_log(&fresh)?;
                (connection, checkpoint)
            }
            Found::Nothing => {
                // Where an exchange was cut short after the old file was gone, the new one takes its place now.
                if let Found::Fits(connection, _) = find(&fresh, &projection) {
                    put_in_place(connection, &fresh, &file, view)?;
                } else {
                    remove_with_log(&fresh)?;
                }
                remove_log(&file)?;
                open_or_make(&file, &projection)?
            }
            found => {
                match found {
                    Found::OtherVersion(version, checkpoint) => {
                        remembered = checkpoint;
                        tracing::info!(
                            %view,
                            found = version,
                            wanted = projection.projector.version(),
                            "the view is of another version: building it again"
                        );
                    }
                    Found::Unreadable(why) => {
                        tracing::warn!(%view, file = %file.display(), why, "the view cannot be read: building it again");
                    }
                    Found::Nothing | Found::Fits(..) => {}
                }
                rebuilding = true;
                match find(&fresh, &projection) {
                    Found::Fits(connection, checkpoint) => (connection, checkpoint),
                    _ => {
                        remove_with_log(&fresh)?;
                        open_or_make(&fresh, &projection)?
                    }
                }
            }
        };
        if checkpoint.number >= remembered.number {
            remembered = checkpoint;
        }
        let at = if rebuilding { &fresh } else { &file };
        let readers = Arc::new(Readers::file(view, at));
        Ok(Self {
            projection,
            connection: Some(connection),
            readers,
            checkpoint,
            remembered,
            file,
            rebuilding,
        })
    }

    pub(crate) fn view(&self) -> ViewName {
        self.projection.name()
    }

    pub(crate) fn readers(&self) -> Arc<Readers> {
        Arc::clone(&self.readers)
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        self.checkpoint
    }

    /// What the journal must still have.
    pub(crate) fn mark(&self) -> Option<Mark> {
        (self.remembered.number > RecordNumber(0)).then(|| Mark {
            who: format!("the view {}", self.file.display()),
            number: self.remembered.number,
            hash: self.remembered.hash,
        })
    }

    /// Takes records in, all of them or none, and puts a view that was built again in its place once it has caught up.
    ///
    /// # Errors
    /// [`ViewError`]; the rows are as they were before.
    pub(crate) fn take_in(
        &mut self,
        group: &[Arc<Followed>],
        changes: &mut Changes,
    ) -> Result<(), ViewError> {
        let readers = Arc::clone(&self.readers);
        let (projection, from) = (&mut self.projection, self.checkpoint);
        self.checkpoint = match (&mut self.connection, readers.shared()) {
            (Some(connection), _) => write(connection, projection, from, group, changes),
            (None, Some(mut connection)) => write(&mut connection, projection, from, group, changes),
            (None, None) => Err(ViewError::Stopped("its file was not opened again".to_owned())),
        }?;
        if self.rebuilding && group.iter().any(|record| record.live) {
            self.exchange()?;
        }
        Ok(())
    }

    fn exchange(&mut self) -> Result<(), ViewError> {
        let Some(connection) = self.connection.take() else { return Ok(()) };
        let (view, file) = (self.view(), self.file.clone());
        let fresh = beside(&file, ".new");
        let projection = &self.projection;
        let opened = self.readers.exchange(|| {
            put_in_place(connection, &fresh, &file, view)?;
            let (connection, _) = open_or_make(&file, projection)?;
            Ok((file.clone(), connection))
        })?;
        self.connection = opened;
        self.rebuilding = false;
        tracing::info!(%view, record = self.checkpoint.number.0, "the view was built again");
        Ok(())
    }
}

fn write(
    connection: &mut Connection,
    projection: &mut Projection,
    from: Checkpoint,
    group: &[Arc<Followed>],
    changes: &mut Changes,
) -> Result<Checkpoint, ViewError> {
    let view = projection.name();
    let fail = |why: Fault| ViewError::View { view, action: "written", why };
    let rows = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|why| fail(why.into()))?;
    let mut at = from;
    for followed in group {
        let header = &followed.header;
        if header.partition != projection.partition {
            let (record, found) = (header.number, header.partition);
            return Err(ViewError::Foreign { view, record, found });
        }
        if header.number <= at.number {
            continue;
        }
        if header.number != at.number.next() {
            return Err(ViewError::Gap { view, expected: at.number.next(), found: header.number });
        }
        if header.previous != at.hash {
            let (expected, found) = (at.hash, header.previous);
            return Err(ViewError::Chain { view, record: header.number, expected, found });
        }
        projection.projector.project(&rows, &Record::new(followed), changes).map_err(fail)?;
        at = Checkpoint { number: header.number, hash: followed.hash };
    }
    rows.prepare_cached("UPDATE checkpoint SET record = ?1, hash = ?2")
        .and_then(|mut update| update.execute(params![at.number.0.cast_signed(), at.hash.0]))
        .and_then(|_| rows.commit())
        .map_err(|why| fail(why.into()))?;
    Ok(at)
}

/// Looks at a file without changing what it holds.
fn find(file: &Path, projection: &Projection) -> Found {
    match fs::exists(file) {
        Ok(true) => {}
        Ok(false) => return Found::Nothing,
        Err(why) => return Found::Unreadable(why.to_string()),
    }
    let look = || -> Result<Found, Fault> {
        let connection = connect(file)?;
        let application: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
        if application != APPLICATION_ID {
            return Err(Fault::Damaged("it is no view".to_owned()));
        }
        let partition: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if partition != i64::from(projection.partition.0) {
            return Err(Fault::Damaged(format!("it is a view of partition {partition}")));
        }
        let verdict: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        if verdict != "ok" {
            return Err(Fault::Damaged(verdict));
        }
        let (name, version, record, hash): (String, u32, i64, [u8; 32]) =
            connection.query_row("SELECT projector, version, record, hash FROM checkpoint", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?;
        let projector = projection.projector.as_ref();
        if name != projector.name() {
            return Err(Fault::Damaged(format!("it is the view {name}")));
        }
        let checkpoint = Checkpoint { number: RecordNumber(record.cast_unsigned()), hash: Hash(hash) };
        Ok(if version == projector.version() {
            Found::Fits(connection, checkpoint)
        } else {
            Found::OtherVersion(version, checkpoint)
        })
    };
    look().unwrap_or_else(|why| Found::Unreadable(why.to_string()))
}

fn open_or_make(file: &Path, projection: &Projection) -> Result<(Connection, Checkpoint), ViewError> {
    let fail = |why| ViewError::View { view: projection.name(), action: "made", why };
    match find(file, projection) {
        Found::Fits(connection, checkpoint) => Ok((connection, checkpoint)),
        Found::Nothing => {
            let make = || -> rusqlite::Result<Connection> {
                let mut connection = connect(file)?;
                create(&mut connection, projection)?;
                Ok(connection)
            };
            make().map(|connection| (connection, Checkpoint::START)).map_err(|why| fail(why.into()))
        }
        Found::OtherVersion(version, _) => {
            Err(fail(Fault::Damaged(format!("it turned into version {version} meanwhile"))))
        }
        Found::Unreadable(why) => Err(fail(Fault::Damaged(why))),
    }
}

/// A view has its journal behind it: what a loss of power takes from it, the next start gives back.
fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(file)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
    Ok(connection)
}

fn create(connection: &mut Connection, projection: &Projection) -> rusqlite::Result<()> {
    let rows = connection.transaction()?;
    let Projection { partition: Partition(partition), projector } = projection;
    rows.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {partition}; {CHECKPOINT_SCHEMA}"
    ))?;
    rows.execute_batch(projector.schema())?;
    rows.execute(
        "INSERT INTO checkpoint (projector, version, record, hash) VALUES (?1, ?2, 0, ?3)",
        params![projector.name(), projector.version(), Hash::ZERO.0],
    )?;
    rows.commit()
}

/// Closes a view that is whole in its own file, and gives it the place of another.
fn put_in_place(connection: Connection, from: &Path, to: &Path, view: ViewName) -> Result<(), ViewError> {
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .and_then(|()| connection.close().map_err(|(_, why)| why))
        .map_err(|why| ViewError::View { view, action: "closed", why: why.into() })?;
    // A log that is left over would be read as the new file's.
    remove_log(to)?;
    remove_log(from)?;
    let fail = |why| ViewError::File { path: to.to_owned(), action: "replaced", why };
    fs::rename(from, to).map_err(fail)?;
    if let Some(folder) = to.parent() {
        fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(fail)?;
    }
    Ok(())
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(file.as_os_str());
    name.push(suffix);
    PathBuf::from(name)
}

fn remove(file: &Path) -> Result<(), ViewError> {
    match fs::remove_file(file) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => {
            Err(ViewError::File { path: file.to_owned(), action: "removed", why })
        }
        _ => Ok(()),
    }
}

fn remove_log(file: &Path) -> Result<(), ViewError> {
    remove(&beside(file, "-wal"))?;
    remove(&beside(file, "-shm"))
}

fn remove_with_log(file: &Path) -> Result<(), ViewError> {
    remove(file)?;
    remove_log(file)
}

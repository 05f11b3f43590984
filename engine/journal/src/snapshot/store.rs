//! Where snapshots are kept: [`Snapshots`], and a folder of files. What belongs here: that a snapshot is there whole or not at
//! all. What never does: whether it is any good.

use arena_schema::id::{Partition, RecordNumber};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// How many snapshots of a partition are kept: the newest, and the one before it in case the newest is passed over.
pub const SNAPSHOTS_KEPT: usize = 2;

/// A store of snapshots does not do what it should.
#[derive(Debug, thiserror::Error)]
#[error("the snapshots in {store} cannot be {action}: {why}")]
pub struct SnapshotStoreError {
    /// Which store.
    pub store: String,
    /// What was tried.
    pub action: &'static str,
    /// What the store said.
    pub why: String,
}

/// A store of snapshots, of any partitions. Whoever reads checks what it gets.
pub trait Snapshots: Send + Sync {
    /// What to call it in a message.
    fn name(&self) -> String;

    /// The records that there are snapshots of, in their order.
    ///
    /// # Errors
    /// [`SnapshotStoreError`].
    fn list(&self, partition: Partition) -> Result<Vec<RecordNumber>, SnapshotStoreError>;

    /// The bytes of one; none where there is none.
    ///
    /// # Errors
    /// [`SnapshotStoreError`].
    fn get(&self, partition: Partition, number: RecordNumber) -> Result<Option<Vec<u8>>, SnapshotStoreError>;

    /// Keeps one, in place of what was there of this record. Whatever happens meanwhile, it is there whole or not at all.
    ///
    /// # Errors
    /// [`SnapshotStoreError`].
    fn put(&self, partition: Partition, number: RecordNumber, bytes: &[u8])
    -> Result<(), SnapshotStoreError>;

    /// Throws one away; where there is none, nothing happens.
    ///
    /// # Errors
    /// [`SnapshotStoreError`].
    fn remove(&self, partition: Partition, number: RecordNumber) -> Result<(), SnapshotStoreError>;
}

/// What is behind the name of a file that is still being written.
const UNFINISHED: &str = ".new";

/// Snapshots as files `<partition>-<record>.snap`. Whoever writes holds the data folder's lock.
#[derive(Debug, Clone)]
pub struct FolderSnapshots {
    folder: PathBuf,
}

impl FolderSnapshots {
    /// In the folder `snapshots` of a data folder, which is made with the first of them.
    pub fn in_data(data: &Path) -> Self {
        Self { folder: data.join("snapshots") }
    }

    fn file(&self, partition: Partition, number: RecordNumber) -> PathBuf {
        self.folder.join(snapshot_name(partition, number))
    }

    fn failed(&self, action: &'static str) -> impl Fn(io::Error) -> SnapshotStoreError {
        let store = self.name();
        move |why| SnapshotStoreError { store: store.clone(), action, why: why.to_string() }
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    /// Writes under another name first, so that a crash leaves the old file or the new one, and what it left is swept here.
    fn write(&self, partition: Partition, number: RecordNumber, bytes: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        for left in self.names()?.iter().filter(|name| name.ends_with(UNFINISHED)) {
            fs::remove_file(self.folder.join(left))?;
        }
        let unfinished = self.folder.join(snapshot_name(partition, number) + UNFINISHED);
        let mut file = File::create(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, self.file(partition, number))?;
        File::open(&self.folder)?.sync_all()
    }
}

/// What a snapshot is kept under, as a file and as an object.
pub(crate) fn snapshot_name(partition: Partition, number: RecordNumber) -> String {
    format!("{}-{number}.snap", partition.0)
}

/// Which record a name is of; none where it is no name of a snapshot of this partition.
pub(crate) fn record_of_name(partition: Partition, name: &str) -> Option<RecordNumber> {
    let number = name.strip_suffix(".snap")?.split_once('-')?.1.parse().ok().map(RecordNumber)?;
    (name == snapshot_name(partition, number)).then_some(number)
}

impl Snapshots for FolderSnapshots {
    fn name(&self) -> String {
        self.folder.display().to_string()
    }

    fn list(&self, partition: Partition) -> Result<Vec<RecordNumber>, SnapshotStoreError> {
        let names = self.names().map_err(self.failed("listed"))?;
        let mut numbers: Vec<RecordNumber> =
            names.iter().filter_map(|name| record_of_name(partition, name)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn get(&self, partition: Partition, number: RecordNumber) -> Result<Option<Vec<u8>>, SnapshotStoreError> {
        match fs::read(self.file(partition, number)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(self.failed("read")(why)),
        }
    }

    fn put(
        &self,
        partition: Partition,
        number: RecordNumber,
        bytes: &[u8],
    ) -> Result<(), SnapshotStoreError> {
        self.write(partition, number, bytes).map_err(self.failed("written"))
    }

    fn remove(&self, partition: Partition, number: RecordNumber) -> Result<(), SnapshotStoreError> {
        match fs::remove_file(self.file(partition, number)) {
            Err(why) if why.kind() != io::ErrorKind::NotFound => Err(self.failed("thrown away")(why)),
            _ => Ok(()),
        }
    }
}

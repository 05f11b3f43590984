//! Snapshots: kept whole, made by a replay of their own, begun from where they fit, passed over where they do not, and a memory
//! of the journal that they were made of. Here: stores, journals and states to try them with.

mod accounts;
mod empty_folder;
mod figure;
mod format;
mod making;
mod objects;
mod sharing;
mod starts;

use crate::{
    Clock, FolderSnapshots, Followed, Follower, Journal, JournalError, Mark, MemoryJournal, Reader,
    SNAPSHOTS_KEPT, SealedText, Sequencer, Snapshot, SnapshotFault, SnapshotMaker, SnapshotMakerOptions,
    SnapshotPace, SnapshotStoreError, Snapshots, StartError, StartOptions, StillClock, Submission,
    restore_newest,
    sequencer::Source,
    snapshot::{Beginning, beginning},
    testing::{BEGINNING, Folder, PARTITION, agent_key, open_match, played, register, rows, run},
};
use arena_engine::{Reduction, SNAPSHOT_LAYOUT, SnapshotError, State, reduce};
use arena_schema::{
    Hash, LogTime,
    id::{Incarnation, Partition, RecordNumber, RulesVersion},
    record::{EncodedRecord, RecordView},
};
use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex},
    time::Instant,
};
use tempfile::TempDir;

/// A second kind of store, as an object store would be one.
#[derive(Default)]
struct Objects(Mutex<BTreeMap<(Partition, RecordNumber), Vec<u8>>>);

impl Snapshots for Objects {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn list(&self, partition: Partition) -> Result<Vec<RecordNumber>, SnapshotStoreError> {
        let objects = self.0.lock().unwrap();
        Ok(objects.keys().filter(|(of, _)| *of == partition).map(|(_, number)| *number).collect())
    }

    fn get(&self, partition: Partition, number: RecordNumber) -> Result<Option<Vec<u8>>, SnapshotStoreError> {
        Ok(self.0.lock().unwrap().get(&(partition, number)).cloned())
    }

    fn put(
        &self,
        partition: Partition,
        number: RecordNumber,
        bytes: &[u8],
    ) -> Result<(), SnapshotStoreError> {
        self.0.lock().unwrap().insert((partition, number), bytes.to_vec());
        Ok(())
    }

    fn remove(&self, partition: Partition, number: RecordNumber) -> Result<(), SnapshotStoreError> {
        self.0.lock().unwrap().remove(&(partition, number));
        Ok(())
    }
}

/// A store that does not do what it is asked.
struct Broken(&'static str);

impl Broken {
    fn fail<T>(&self, action: &'static str, otherwise: T) -> Result<T, SnapshotStoreError> {
        let why = "the disk is gone".to_owned();
        if self.0 == action {
            Err(SnapshotStoreError { store: self.name(), action, why })
        } else {
            Ok(otherwise)
        }
    }
}

impl Snapshots for Broken {
    fn name(&self) -> String {
        "a broken disk".to_owned()
    }

    fn list(&self, _: Partition) -> Result<Vec<RecordNumber>, SnapshotStoreError> {
        self.fail("listed", vec![RecordNumber(3)])
    }

    fn get(&self, _: Partition, _: RecordNumber) -> Result<Option<Vec<u8>>, SnapshotStoreError> {
        self.fail("read", Some(b"other bytes".to_vec()))
    }

    fn put(&self, _: Partition, _: RecordNumber, _: &[u8]) -> Result<(), SnapshotStoreError> {
        self.fail("written", ())
    }

    fn remove(&self, _: Partition, _: RecordNumber) -> Result<(), SnapshotStoreError> {
        Ok(())
    }
}

/// A follower that has all records up to one.
struct After {
    has: u64,
    mark: Option<Mark>,
    seen: Arc<Mutex<Vec<u64>>>,
}

impl After {
    fn boxed(after: u64, mark: Option<Mark>) -> Vec<Box<dyn Follower>> {
        vec![Box::new(Self { has: after, mark, seen: Arc::default() })]
    }
}

impl Follower for After {
    fn mark(&self) -> Option<Mark> {
        self.mark.clone()
    }

    fn resumes_after(&self) -> RecordNumber {
        RecordNumber(self.has)
    }

    fn wants(&self, number: RecordNumber, _: bool) -> bool {
        number.0 > self.has
    }

    fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String> {
        self.seen.lock().unwrap().push(record.header.number.0);
        Ok(())
    }
}

type Records = Vec<(EncodedRecord, Vec<SealedText>)>;

fn begin(
    journal: &MemoryJournal,
    store: Option<&dyn Snapshots>,
    partition: Partition,
    followers: &[Box<dyn Follower>],
) -> Beginning {
    let readers = || journal.reader();
    beginning(&Source { name: journal.name(), readers: &readers }, store, partition, followers)
}

fn journal_of(records: &[(EncodedRecord, Vec<SealedText>)]) -> MemoryJournal {
    let mut journal = MemoryJournal::default();
    for (record, texts) in records {
        journal.append(record, texts).unwrap();
    }
    journal
}

/// The state after each record that is asked for, never encoded.
fn state_after(records: &Records, number: usize) -> State {
    let (mut state, mut reduction) = (State::new(PARTITION), Reduction::default());
    for (record, _) in &records[..number] {
        reduce(&mut state, &RecordView::parse(record.as_bytes()).unwrap(), &mut reduction).unwrap();
    }
    state
}

fn bytes_of(state: &State) -> Vec<u8> {
    let mut bytes = Vec::new();
    state.encode_snapshot(&mut bytes);
    bytes
}

/// Snapshots of these records in a store of objects.
fn kept(records: &Records, numbers: &[usize]) -> Objects {
    let store = Objects::default();
    for &number in numbers {
        let snapshot = Snapshot::of(&state_after(records, number)).to_bytes();
        store.put(PARTITION, RecordNumber(number as u64), &snapshot).unwrap();
    }
    store
}

/// Where a replay with one follower begins, whose state is always that of a replay from the first record.
#[track_caller]
fn begins(records: &Records, store: &dyn Snapshots, after: u64) -> Option<u64> {
    let Beginning { state, from, .. } =
        begin(&journal_of(records), Some(store), PARTITION, &After::boxed(after, None));
    let number = state.head().number.0;
    assert!(number <= after && number <= records.len() as u64);
    assert!(
        from.is_none() || number == after.min(records.len() as u64),
        "no record is left out or reduced twice"
    );
    assert!(bytes_of(&state) == bytes_of(&state_after(records, number as usize)));
    from.map(|from| from.0)
}

fn change(store: &Objects, number: u64, change: impl FnOnce(&mut Snapshot)) {
    let bytes = store.get(PARTITION, RecordNumber(number)).unwrap().unwrap();
    let mut snapshot = Snapshot::parse(&bytes).unwrap();
    change(&mut snapshot);
    store.put(PARTITION, RecordNumber(number), &snapshot.to_bytes()).unwrap();
}

fn numbers(store: &dyn Snapshots) -> Vec<u64> {
    store.list(PARTITION).unwrap().into_iter().map(|number| number.0).collect()
}

//! What a data folder's journal says, read while nobody serves it.

use arena_engine::{Reduction, State, reduce};
use arena_journal::{Reader, SqliteJournal, Visit};
use arena_schema::{
    Event, Hash,
    id::{Era, Partition, RecordNumber},
    record::{Header, RecordView},
};
use std::path::{Path, PathBuf};

/// A record with what came of it.
pub(crate) struct Reduced {
    pub(crate) header: Header,
    pub(crate) bytes: Vec<u8>,
    pub(crate) commands: usize,
    pub(crate) events: Vec<Event>,
    /// The running digest after it.
    pub(crate) digest: Hash,
}

/// The file of the records.
pub(crate) fn file(data: &Path) -> PathBuf {
    SqliteJournal::path_in(data, Partition(0), Era(1))
}

/// All records, reduced again.
pub(crate) fn all(data: &Path) -> Vec<Reduced> {
    all_of(SqliteJournal::open_reader(&file(data)).unwrap().as_mut(), Partition(0))
}

/// The same of a journal that lies elsewhere.
pub(crate) fn all_of(reader: &mut dyn Reader, partition: Partition) -> Vec<Reduced> {
    let mut state = State::new(partition);
    let mut reduction = Reduction::default();
    let mut records = Vec::new();
    reader
        .read(RecordNumber(1), &mut |stored| {
            let view = RecordView::parse(stored.bytes).unwrap();
            reduce(&mut state, &view, &mut reduction).unwrap();
            records.push(Reduced {
                commands: view.commands().count(),
                header: view.header,
                bytes: stored.bytes.to_vec(),
                events: reduction.events.iter().map(|emitted| emitted.event.clone()).collect(),
                digest: state.head().digest,
            });
            Visit::Next
        })
        .unwrap();
    records
}

/// That a journal was closed in an orderly way: an empty record, whose header covers all before it.
#[track_caller]
pub(crate) fn assert_closed(data: &Path) {
    let records = all(data);
    let [.., before, last] = records.as_slice() else { panic!("{} records", records.len()) };
    assert_eq!(last.commands, 0, "the last record of an orderly stop has no command");
    assert!(last.events.is_empty(), "nothing falls due in it");
    assert_eq!(last.header.digest_reaches, before.header.number);
    assert_eq!(last.header.digest, before.digest, "its header covers the tail");
}

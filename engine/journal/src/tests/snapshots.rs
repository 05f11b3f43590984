//! Snapshots: kept whole, made by a replay of their own, begun from where they fit, passed over where they do not, and a memory
//! of the journal that they were made of.

use crate::{
    Clock, FolderSnapshots, Followed, Follower, Journal, JournalError, Mark, MemoryJournal, Reader,
    SNAPSHOTS_KEPT, SealedText, Sequencer, Snapshot, SnapshotFault, SnapshotMaker, SnapshotMakerOptions,
    SnapshotPace, SnapshotStoreError, Snapshots, StartError, StartOptions, StillClock, Submission,
    restore_newest,
    snapshot::{Beginning, beginning},
    testing::{Folder, PARTITION, agent_key, open_match, played, register, rows, run},
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
        beginning(&journal_of(records), Some(store), PARTITION, &After::boxed(after, None));
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

#[test]
fn every_store_keeps_the_last_that_was_put_under_a_number_and_a_partition() {
    let data = TempDir::new().unwrap();
    let stores: [Box<dyn Snapshots>; 2] =
        [Box::new(FolderSnapshots::in_data(data.path())), Box::<Objects>::default()];
    for store in stores {
        let (one, other) = (Partition(0), Partition(10));
        let numbers = |partition| -> Vec<u64> {
            store.list(partition).unwrap().into_iter().map(|number| number.0).collect()
        };
        assert_eq!((numbers(one), store.get(one, RecordNumber(1)).unwrap()), (vec![], None));
        store.remove(one, RecordNumber(1)).unwrap();
        for (partition, number, bytes) in
            [(one, 100, b"a"), (one, 9, b"b"), (other, 9, b"c"), (one, 9, b"d"), (one, u64::MAX, b"e")]
        {
            store.put(partition, RecordNumber(number), bytes).unwrap();
        }
        assert_eq!((numbers(one), numbers(other)), (vec![9, 100, u64::MAX], vec![9]));
        assert_eq!(numbers(Partition(1)), Vec::<u64>::new());
        assert_eq!(store.get(one, RecordNumber(9)).unwrap().unwrap(), b"d");
        store.remove(one, RecordNumber(9)).unwrap();
        assert_eq!((numbers(one), numbers(other)), (vec![100, u64::MAX], vec![9]));
        assert_eq!(store.get(one, RecordNumber(9)).unwrap(), None);
    }
}

#[test]
fn what_a_crash_left_half_written_is_not_listed_and_goes_with_the_next() {
    let data = TempDir::new().unwrap();
    let store = FolderSnapshots::in_data(data.path());
    store.put(PARTITION, RecordNumber(4), b"whole").unwrap();
    let folder = data.path().join("snapshots");
    for name in ["0-5.snap.new", "0-4.snap.new", "00-6.snap", "0-+7.snap", "notes.txt", "0-.snap", "-8.snap"]
    {
        fs::write(folder.join(name), b"half").unwrap();
    }
    assert_eq!(store.list(PARTITION).unwrap(), [RecordNumber(4)]);
    assert_eq!(store.get(PARTITION, RecordNumber(4)).unwrap().unwrap(), b"whole");
    store.put(PARTITION, RecordNumber(6), b"next").unwrap();
    assert_eq!(store.list(PARTITION).unwrap(), [RecordNumber(4), RecordNumber(6)]);
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".new")), "{left:?}");
}

#[test]
fn a_folder_that_cannot_be_is_an_error_in_words() {
    let data = TempDir::new().unwrap();
    fs::write(data.path().join("snapshots"), b"a file").unwrap();
    let store = FolderSnapshots::in_data(data.path());
    let why = store.put(PARTITION, RecordNumber(1), b"").unwrap_err().to_string();
    assert!(why.contains("snapshots") && why.contains("cannot be written"), "{why}");
    store.list(PARTITION).unwrap_err();
}

#[test]
fn a_snapshot_comes_back_from_its_bytes_and_no_changed_bit_does() {
    let records = played(30, 1);
    let state = state_after(&records, 20);
    let snapshot = Snapshot::of(&state);
    let bytes = snapshot.to_bytes();
    assert_eq!(Snapshot::parse(&bytes).unwrap(), snapshot);
    assert!(bytes_of(&snapshot.restore().unwrap()) == bytes_of(&state));
    assert_eq!(snapshot.mark().hash, records[19].0.hash());

    for length in 0..bytes.len() {
        assert!(Snapshot::parse(&bytes[..length]).is_err(), "{length} bytes");
    }
    let mut changed = bytes.clone();
    for bit in 0..bytes.len() * 8 {
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(Snapshot::parse(&changed).is_err(), "bit {bit}");
        changed[bit / 8] ^= 1 << (bit % 8);
    }
    changed.push(0);
    assert_eq!(Snapshot::parse(&changed), Err(SnapshotFault::Format));
}

#[test]
fn a_snapshot_that_says_another_thing_than_its_state_is_refused() {
    let snapshot = Snapshot::of(&state_after(&played(30, 1), 20));
    let check = |what: &str, spoil: &dyn Fn(&mut Snapshot)| {
        let mut other = snapshot.clone();
        spoil(&mut other);
        let why = Snapshot::parse(&other.to_bytes()).unwrap().restore().map(drop).unwrap_err();
        assert!(why.to_string().contains(what), "{what}: {why}");
    };
    check("another number", &|other| other.number = RecordNumber(19));
    check("another hash", &|other| other.hash = Hash::ZERO);
    check("another digest", &|other| other.digest = Hash::ZERO);
    check("another partition", &|other| other.partition = Partition(1));
    check("other rules", &|other| other.rules = RulesVersion(2));
    check("other rules", &|other| other.era.0 += 1);
    check("layout", &|other| other.layout += 1);
    check("no state", &|other| other.state.clear());
    check("hash at their end", &|other| other.state[40] ^= 1);
    let layout = SnapshotError::Layout { found: SNAPSHOT_LAYOUT + 1 };
    let later = Snapshot { layout: SNAPSHOT_LAYOUT + 1, ..snapshot };
    assert_eq!(later.restore().map(drop), Err(SnapshotFault::State(layout)));
}

#[test]
fn a_replay_begins_behind_the_newest_snapshot_that_nobody_wants_older_records_than() {
    let records = played(60, 2);
    let store = kept(&records, &[20, 40]);
    for (after, from) in [
        (u64::MAX, Some(40)),
        (60, Some(40)),
        (50, Some(40)),
        (40, Some(40)),
        (39, Some(20)),
        (20, Some(20)),
        (19, None),
        (0, None),
    ] {
        assert_eq!(begins(&records, &store, after), from, "records after {after} are wanted");
    }
    assert_eq!(begins(&records, &Objects::default(), 50), None);
    let newest = restore_newest(&store, PARTITION, RecordNumber(u64::MAX)).unwrap();
    assert!(bytes_of(&newest) == bytes_of(&state_after(&records, 40)));
    assert_eq!(restore_newest(&store, PARTITION, RecordNumber(39)).unwrap().head().number.0, 20);
    assert!(restore_newest(&store, Partition(1), RecordNumber(u64::MAX)).is_none());
    // Without anybody who follows, all of it is reduced at once.
    let Beginning { state, from, marks } = beginning(&journal_of(&records), Some(&store), PARTITION, &[]);
    assert_eq!((state.head().number.0, from.unwrap().0, marks.len()), (60, 40, 2));
}

#[test]
fn a_snapshot_that_is_damaged_too_new_or_anothers_is_passed_over_for_the_one_before() {
    let records = played(60, 2);
    let check = |spoil: &dyn Fn(&Objects)| {
        let store = kept(&records, &[20, 40]);
        spoil(&store);
        assert_eq!(begins(&records, &store, 50), Some(20));
        assert_eq!(restore_newest(&store, PARTITION, RecordNumber(50)).unwrap().head().number.0, 20);
        store.remove(PARTITION, RecordNumber(20)).unwrap();
        assert_eq!(begins(&records, &store, 50), None);
        assert!(restore_newest(&store, PARTITION, RecordNumber(50)).is_none());
    };
    let number = RecordNumber(40);
    check(&|store| store.put(PARTITION, number, b"").unwrap());
    check(&|store| store.put(PARTITION, number, &[7; 5_000]).unwrap());
    check(&|store| {
        let mut bytes = store.get(PARTITION, number).unwrap().unwrap();
        bytes[300] ^= 0x40;
        store.put(PARTITION, number, &bytes).unwrap();
    });
    check(&|store| {
        let bytes = store.get(PARTITION, number).unwrap().unwrap();
        store.put(PARTITION, number, &bytes[..bytes.len() / 2]).unwrap();
    });
    check(&|store| change(store, 40, |snapshot| snapshot.layout += 1));
    check(&|store| change(store, 40, |snapshot| snapshot.state[8] += 1));
    check(&|store| change(store, 40, |snapshot| snapshot.rules.0 += 1));
    check(&|store| change(store, 40, |snapshot| snapshot.partition.0 += 1));
    check(&|store| change(store, 40, |snapshot| snapshot.number.0 -= 1));
    check(&|store| change(store, 40, |snapshot| snapshot.digest = Hash::ZERO));
}

#[test]
fn a_state_that_the_records_behind_it_do_not_bear_out_is_passed_over_before_anyone_is_handed_what_came_of_it()
{
    let (records, others) = (played(60, 2), played(60, 3));
    // Another history's state, put behind this journal's record and sealed as it should be.
    let mut snapshot = Snapshot::of(&state_after(&others, 40));
    let (own, foreign) = (records[39].0.hash(), others[39].0.hash());
    let at = snapshot.state.windows(32).position(|part| part == foreign.0).unwrap();
    snapshot.state[at..at + 32].copy_from_slice(&own.0);
    let content = snapshot.state.len() - 32;
    let checksum = Hash::of(&snapshot.state[..content]);
    snapshot.state[content..].copy_from_slice(&checksum.0);
    snapshot.hash = own;
    snapshot.restore().unwrap();

    let store = kept(&records, &[20, 40]);
    store.put(PARTITION, RecordNumber(40), &snapshot.to_bytes()).unwrap();
    assert_eq!(begins(&records, &store, 40), Some(20));
    assert_eq!(begins(&records, &store, 60), Some(20));
}

#[test]
fn no_fault_of_a_store_stops_a_start() {
    let records = played(30, 2);
    for action in ["listed", "read", "none"] {
        assert_eq!(begins(&records, &Broken(action), 20), None);
    }
}

/// Starts a sequencer from these snapshots on a copy of the records.
fn start_from(records: &Records, store: &dyn Snapshots, after: u64) -> Result<(u64, Vec<u64>), StartError> {
    let seen: Arc<Mutex<Vec<u64>>> = Arc::default();
    let follower = After { has: after, mark: None, seen: Arc::clone(&seen) };
    let options = StartOptions {
        partition: PARTITION,
        clock: Clock::System,
        incarnation: Incarnation([9; 16]),
        followers: vec![Box::new(follower)],
    };
    let sequencer = Sequencer::start_from(Box::new(journal_of(records)), store, options)?;
    let position = sequencer.handle().position().0;
    sequencer.stop().unwrap();
    let seen = seen.lock().unwrap().clone();
    Ok((position, seen))
}

#[test]
fn a_start_from_a_snapshot_hands_each_follower_exactly_what_it_lacks() {
    let records = played(60, 2);
    let store = kept(&records, &[20, 40]);
    for after in [0, 19, 20, 30, 45, 60] {
        let (position, seen) = start_from(&records, &store, after).unwrap();
        assert_eq!(position, 62, "one record announces the leader, one the gateway");
        assert_eq!(seen, (after + 1..=63).collect::<Vec<u64>>(), "after {after}, up to the orderly stop");
    }
}

#[test]
fn a_journal_that_is_shorter_than_a_snapshot_or_another_one_is_refused_by_its_name() {
    let records = played(60, 2);
    let others = played(60, 3);
    let refused = |records: &Records, store: &Objects, words: &[&str]| {
        for after in [u64::MAX, 0] {
            let refused = start_from(records, store, after).map(drop).unwrap_err();
            assert!(matches!(refused, StartError::Forgotten { .. }), "{refused}");
            for word in words {
                assert!(refused.to_string().contains(word), "{word}: {refused}");
            }
        }
    };
    let store = kept(&records, &[20, 40]);
    let cut = ["the snapshot 0-40 remembers record 40 ", "ends at record 30", "cut short"];
    refused(&records[..30].to_vec(), &store, &cut);
    refused(&Vec::new(), &store, &["the snapshot 0-", "ends at record 0"]);
    refused(&others, &store, &["the snapshot 0-20 remembers record 20 "]);
    // A snapshot whose state cannot be read here remembers what it does.
    change(&store, 40, |snapshot| snapshot.layout += 1);
    refused(&records[..30].to_vec(), &store, &cut);
    // Also the older one, where the newer one fits.
    let mixed = kept(&records, &[40]);
    let older = Snapshot::of(&state_after(&others, 20)).to_bytes();
    mixed.put(PARTITION, RecordNumber(20), &older).unwrap();
    refused(&records, &mixed, &["the snapshot 0-20 remembers record 20 "]);
}

#[test]
fn a_followers_mark_is_checked_also_where_the_replay_begins_behind_it() {
    let records = played(60, 2);
    let store = kept(&records, &[20, 40]);
    let mark =
        |number: u64, hash| Mark { who: "the view replays".to_owned(), number: RecordNumber(number), hash };
    for number in [30, 40, 50] {
        let good = mark(number, records[number as usize - 1].0.hash());
        let bad = mark(number, Hash([1; 32]));
        let from = |mark| {
            let followers = After::boxed(number.max(45), Some(mark));
            beginning(&journal_of(&records), Some(&store), PARTITION, &followers).from.map(|from| from.0)
        };
        assert_eq!(from(good), Some(40));
        assert_eq!(from(bad), None);
    }
}

/// A journal that a maker reads, and the maker.
fn maker(
    journal: impl Journal + Clone + Sync + 'static,
    store: &Arc<Objects>,
    records: u64,
    bytes: u64,
) -> SnapshotMaker {
    let options = SnapshotMakerOptions {
        partition: PARTITION,
        store: Arc::clone(store) as Arc<dyn Snapshots>,
        readers: Box::new(move || journal.reader()),
        pace: SnapshotPace { records, bytes },
    };
    SnapshotMaker::start(options).unwrap()
}

fn numbers(store: &dyn Snapshots) -> Vec<u64> {
    store.list(PARTITION).unwrap().into_iter().map(|number| number.0).collect()
}

#[test]
fn a_maker_writes_each_so_many_records_keeps_two_and_goes_on_from_its_last() {
    let records = played(100, 4);
    let store = Arc::new(Objects::default());
    let mut journal = journal_of(&records[..45]);
    let making = maker(journal.clone(), &store, 10, u64::MAX);
    assert_eq!(numbers(store.as_ref()), Vec::<u64>::new(), "nothing is read before the first notice");
    making.notify(RecordNumber(45));
    making.wait_until_proved(RecordNumber(45));
    assert_eq!((numbers(store.as_ref()), making.ended()), (vec![30, 40], None));
    for (record, texts) in &records[45..70] {
        journal.append(record, texts).unwrap();
        making.notify(record.number());
    }
    making.wait_until_proved(RecordNumber(60));
    assert_eq!(numbers(store.as_ref()).len(), SNAPSHOTS_KEPT);
    assert!(numbers(store.as_ref()).contains(&60));
    drop(making);

    let making = maker(journal_of(&records), &store, 10, u64::MAX);
    making.notify(RecordNumber(100));
    making.wait_until_proved(RecordNumber(100));
    assert_eq!(numbers(store.as_ref()), [90, 100]);
    for number in [90, 100] {
        let bytes = store.get(PARTITION, RecordNumber(number)).unwrap().unwrap();
        let own = Snapshot::of(&state_after(&records, number as usize));
        assert!(Snapshot::parse(&bytes).unwrap() == own, "the same bytes, whoever made them and from where");
    }
}

#[test]
fn a_maker_writes_each_so_many_bytes() {
    let records = played(40, 4);
    let store = Arc::new(Objects::default());
    let bytes: usize = records[..12].iter().map(|(record, _)| record.as_bytes().len()).sum();
    let making = maker(journal_of(&records), &store, u64::MAX, bytes as u64);
    making.notify(RecordNumber(20));
    making.wait_until_proved(RecordNumber(20));
    assert_eq!(numbers(store.as_ref()), [12]);
}

#[test]
fn a_maker_passes_over_what_is_damaged_and_leaves_what_the_journal_does_not_have_yet() {
    let records = played(60, 4);
    let store = Arc::new(kept(&records, &[10, 20, 30, 60]));
    store.put(PARTITION, RecordNumber(30), b"damaged").unwrap();
    let making = maker(journal_of(&records[..50]), &store, 20, u64::MAX);
    making.notify(RecordNumber(50));
    making.wait_until_proved(RecordNumber(50));
    assert_eq!((numbers(store.as_ref()), making.ended()), (vec![20, 40, 60], None));
}

#[test]
fn where_the_journal_does_not_hold_or_the_store_fails_the_maker_ends_alone_and_says_why() {
    let (mut records, others) = (played(60, 4), played(60, 5));
    records[33] = others[33].clone();
    let store = Arc::new(Objects::default());
    let making = maker(journal_of(&records), &store, 20, u64::MAX);
    making.notify(RecordNumber(60));
    making.wait_until_proved(RecordNumber(60));
    let why = making.ended().unwrap();
    assert!(why.contains("record 34") && why.contains("chain"), "{why}");
    assert_eq!((making.proved().0, numbers(store.as_ref())), (20, vec![20]));
    making.notify(RecordNumber(61));

    for (action, word) in
        [("written", "the disk is gone"), ("read", "the disk is gone"), ("none", "as it was written")]
    {
        let records = played(60, 4);
        let journal = journal_of(&records);
        let options = SnapshotMakerOptions {
            partition: PARTITION,
            store: Arc::new(Broken(action)),
            readers: Box::new(move || journal.reader()),
            pace: SnapshotPace { records: 20, bytes: u64::MAX },
        };
        let making = SnapshotMaker::start(options).unwrap();
        making.notify(RecordNumber(60));
        making.wait_until_proved(RecordNumber(60));
        let why = making.ended().unwrap();
        assert!(why.contains(word), "{action}: {why}");
    }

    let gone = || -> Result<Box<dyn Reader>, JournalError> { panic!("the reader panics") };
    let options = SnapshotMakerOptions {
        partition: PARTITION,
        store: Arc::new(Objects::default()),
        readers: Box::new(gone),
        pace: SnapshotPace::default(),
    };
    let making = SnapshotMaker::start(options).unwrap();
    making.notify(RecordNumber(1));
    making.wait_until_proved(RecordNumber(1));
    assert_eq!(making.ended().unwrap(), "its thread panicked");
}

#[test]
fn a_maker_that_is_dropped_ends_whatever_it_is_at() {
    let records = played(60, 4);
    let store = Arc::new(Objects::default());
    drop(maker(journal_of(&records), &store, 1, 1));
    let making = maker(journal_of(&records), &store, 1, 1);
    making.notify(RecordNumber(60));
    drop(making);
    assert!(numbers(store.as_ref()).len() <= SNAPSHOTS_KEPT);
}

/// Two agents, a match between them whose first turn is open, and some more agents; snapshots are made beside it.
fn lived(folder: &Folder) {
    let store = FolderSnapshots::in_data(folder.path());
    let records = folder.file();
    let options = SnapshotMakerOptions {
        partition: PARTITION,
        store: Arc::new(store.clone()),
        readers: Box::new(move || crate::SqliteJournal::open_reader(&records)),
        pace: SnapshotPace { records: 4, bytes: u64::MAX },
    };
    let making = SnapshotMaker::start(options).unwrap();
    let options = StartOptions {
        partition: PARTITION,
        clock: Clock::Still(StillClock::at(LogTime(1_700_000_000_000_000))),
        incarnation: Incarnation([1; 16]),
        followers: vec![Box::new(making.follower())],
    };
    let sequencer = Sequencer::start_from(Box::new(folder.journal()), &store, options).unwrap();
    let submit = |submission| {
        let producer = sequencer.producer();
        run(async { producer.submit(vec![submission]).await.unwrap().outcome().await.unwrap() })
            .result
            .unwrap()
    };
    for at in 0..8 {
        submit(Submission::new(register(at)));
    }
    submit(Submission::new(open_match(1, [agent_key(0), agent_key(1)])));
    making.wait_until_proved(RecordNumber(8));
    sequencer.stop().unwrap();
    drop(making);
    assert!(!numbers(&store).is_empty());
}

#[test]
fn a_start_from_a_file_comes_to_the_state_and_the_digest_of_a_start_from_the_first_record() {
    let folder = Folder::new();
    lived(&folder);
    let before = rows(&folder.journal()).len() as u64;
    let plain = Folder::new();
    fs::copy(folder.file(), plain.file()).unwrap();
    let started = |folder: &Folder, snapshots: bool| {
        let options = StartOptions {
            partition: PARTITION,
            clock: Clock::Still(StillClock::at(LogTime(1_700_000_900_000_000))),
            incarnation: Incarnation([2; 16]),
            followers: Vec::new(),
        };
        let journal = Box::new(folder.journal());
        let store = FolderSnapshots::in_data(folder.path());
        let sequencer = if snapshots {
            Sequencer::start_from(journal, &store, options)
        } else {
            Sequencer::start(journal, options)
        };
        let sequencer = sequencer.unwrap();
        let state = sequencer.handle().state().clone();
        sequencer.stop().unwrap();
        (state.head().number.0, state.head().digest, state.next_due(), bytes_of(&state).len())
    };
    let (from, from_first) = (started(&folder, true), started(&plain, false));
    assert_eq!(from, from_first);
    assert_eq!(from.0, before + 2);
}

#[test]
fn a_data_folder_whose_journal_was_put_back_from_before_a_snapshot_is_refused() {
    let folder = Folder::new();
    lived(&folder);
    let store = FolderSnapshots::in_data(folder.path());
    let newest = numbers(&store).pop().unwrap();
    folder.sql().execute("DELETE FROM records WHERE number >= ?1", [newest.cast_signed()]).unwrap();
    let options = |run| StartOptions {
        partition: PARTITION,
        clock: Clock::System,
        incarnation: Incarnation([run; 16]),
        followers: Vec::new(),
    };
    let refused =
        Sequencer::start_from(Box::new(folder.journal()), &store, options(2)).map(drop).unwrap_err();
    assert!(
        refused.to_string().contains(&format!("the snapshot 0-{newest} remembers record {newest} ")),
        "{refused}"
    );
    // Who throws the snapshots away has said that it is meant.
    fs::remove_dir_all(folder.path().join("snapshots")).unwrap();
    Sequencer::start_from(Box::new(folder.journal()), &store, options(2)).unwrap().stop().unwrap();
}

/// `cargo test --release -p arena-journal -- --ignored --nocapture how_long`
#[test]
#[ignore = "a figure, for a quiet machine"]
fn how_long_a_start_takes_with_and_without_a_snapshot() {
    const COMMANDS: u64 = 1_000_000;
    let records = played(250_000, 6);
    let folder = Folder::new();
    drop(folder.journal());
    let (mut sql, mut commands, mut size) = (folder.sql(), 0, 0);
    let rows = sql.transaction().unwrap();
    let mut last = 0;
    for (record, _) in &records {
        if commands >= COMMANDS {
            break;
        }
        commands += RecordView::parse(record.as_bytes()).unwrap().commands().count() as u64;
        (last, size) = (record.number().0, size + record.as_bytes().len());
        let row = (last.cast_signed(), record.as_bytes());
        rows.execute("INSERT INTO records (number, record) VALUES (?1, ?2)", row).unwrap();
    }
    rows.commit().unwrap();
    drop(records);

    let store = FolderSnapshots::in_data(folder.path());
    let options = |run| StartOptions {
        partition: PARTITION,
        clock: Clock::System,
        incarnation: Incarnation([run; 16]),
        followers: Vec::new(),
    };
    let quickest = |runs: std::ops::Range<u8>, snapshots: &dyn Snapshots| {
        let took = runs.map(|run| {
            let begin = Instant::now();
            let sequencer =
                Sequencer::start_from(Box::new(folder.journal()), snapshots, options(run)).unwrap();
            let took = begin.elapsed();
            sequencer.stop().unwrap();
            took
        });
        took.min().unwrap()
    };
    let without = quickest(2..5, &Objects::default());
    let file = folder.file();
    let begin = Instant::now();
    let making = SnapshotMaker::start(SnapshotMakerOptions {
        partition: PARTITION,
        store: Arc::new(store.clone()),
        readers: Box::new(move || crate::SqliteJournal::open_reader(&file)),
        pace: SnapshotPace::default(),
    });
    let making = making.unwrap();
    making.notify(RecordNumber(last));
    making.wait_until_proved(RecordNumber(last));
    let made = begin.elapsed();
    assert_eq!(making.ended(), None);
    drop(making);
    let with = quickest(5..8, &store);
    let kept = numbers(&store);
    let bytes = store.get(PARTITION, RecordNumber(kept[kept.len() - 1])).unwrap().unwrap().len();
    println!(
        "{commands} commands in {last} records of {size} bytes: a start takes {without:?} from the first record, {with:?} from \
         a snapshot ({bytes} bytes, of {kept:?}); the maker took {made:?}"
    );
}

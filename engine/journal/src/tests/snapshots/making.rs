//! The maker: what it writes, what it throws away, how it ends.

use super::*;

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
        sharing: None,
    };
    SnapshotMaker::start(options).unwrap()
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
            sharing: None,
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
        sharing: None,
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

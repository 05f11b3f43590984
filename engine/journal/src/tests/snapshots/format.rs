//! What is kept comes back as it was, or not at all.

use super::*;

/// What any store does.
pub(super) fn keeps_the_last_that_was_put(store: &dyn Snapshots) {
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
    let long: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 251) as u8).collect();
    store.put(other, RecordNumber(9), &long).unwrap();
    assert!(store.get(other, RecordNumber(9)).unwrap().unwrap() == long);
}

#[test]
fn every_store_keeps_the_last_that_was_put_under_a_number_and_a_partition() {
    let data = TempDir::new().unwrap();
    keeps_the_last_that_was_put(&FolderSnapshots::in_data(data.path()));
    keeps_the_last_that_was_put(&Objects::default());
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

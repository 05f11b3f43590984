//! Where a start begins, and which journals it refuses.

use super::*;

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
    let Beginning { state, from, marks } = begin(&journal_of(&records), Some(&store), PARTITION, &[]);
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
        assert_eq!(position, 60 + BEGINNING, "the leader, the gateway, and the rules behind the first");
        let all = after + 1..=60 + BEGINNING + 1;
        assert_eq!(seen, all.collect::<Vec<u64>>(), "after {after}, up to the orderly stop");
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
            begin(&journal_of(&records), Some(&store), PARTITION, &followers).from.map(|from| from.0)
        };
        assert_eq!(from(good), Some(40));
        assert_eq!(from(bad), None);
    }
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
        sharing: None,
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

//! Makers of several processes with one store: one of them writes, the others go on from what it wrote, and a store that is away
//! for a while ends none of them.

use super::*;
use crate::Sharing;
use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

const AT_ONCE: Sharing = Sharing { turn: Duration::ZERO, again: Duration::ZERO };

/// Counts what is put, and takes nothing while it is away.
#[derive(Default)]
struct Counted {
    objects: Objects,
    puts: AtomicUsize,
    refused: AtomicUsize,
    away: AtomicBool,
}

impl Snapshots for Counted {
    fn name(&self) -> String {
        self.objects.name()
    }

    fn list(&self, partition: Partition) -> Result<Vec<RecordNumber>, SnapshotStoreError> {
        self.objects.list(partition)
    }

    fn get(&self, partition: Partition, number: RecordNumber) -> Result<Option<Vec<u8>>, SnapshotStoreError> {
        self.objects.get(partition, number)
    }

    fn put(
        &self,
        partition: Partition,
        number: RecordNumber,
        bytes: &[u8],
    ) -> Result<(), SnapshotStoreError> {
        if self.away.load(Ordering::SeqCst) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Err(SnapshotStoreError { store: self.name(), action: "written", why: "away".to_owned() });
        }
        self.puts.fetch_add(1, Ordering::SeqCst);
        self.objects.put(partition, number, bytes)
    }

    fn remove(&self, partition: Partition, number: RecordNumber) -> Result<(), SnapshotStoreError> {
        self.objects.remove(partition, number)
    }
}

fn maker(journal: &MemoryJournal, store: &Arc<Counted>, sharing: Sharing) -> SnapshotMaker {
    let journal = journal.clone();
    SnapshotMaker::start(SnapshotMakerOptions {
        partition: PARTITION,
        store: Arc::clone(store) as Arc<dyn Snapshots>,
        readers: Box::new(move || journal.reader()),
        pace: SnapshotPace { records: 10, bytes: u64::MAX },
        sharing: Some(sharing),
    })
    .unwrap()
}

fn up_to(making: &SnapshotMaker, number: u64) {
    making.notify(RecordNumber(number));
    making.wait_until_proved(RecordNumber(number));
    assert_eq!(making.ended(), None);
}

fn puts(store: &Counted) -> usize {
    store.puts.load(Ordering::SeqCst)
}

#[test]
fn whoever_is_due_second_goes_on_from_what_the_first_wrote() {
    let records = played(60, 4);
    let (journal, store) = (journal_of(&records), Arc::new(Counted::default()));
    let (one, other) = (maker(&journal, &store, AT_ONCE), maker(&journal, &store, AT_ONCE));
    up_to(&one, 25);
    assert_eq!((numbers(store.as_ref()), puts(&store)), (vec![10, 20], 2));
    up_to(&other, 25);
    assert_eq!((numbers(store.as_ref()), puts(&store)), (vec![10, 20], 2), "one of them is enough");
    up_to(&other, 35);
    up_to(&one, 35);
    assert_eq!((numbers(store.as_ref()), puts(&store)), (vec![20, 30], 3));
    // The first writes again, and keeps what the other wrote.
    up_to(&one, 45);
    up_to(&other, 45);
    assert_eq!((numbers(store.as_ref()), puts(&store)), (vec![30, 40], 4));
    // Who begins later goes on from the newest.
    let late = maker(&journal, &store, AT_ONCE);
    up_to(&late, 60);
    up_to(&one, 60);
    assert_eq!((numbers(store.as_ref()), puts(&store)), (vec![50, 60], 6));
    for number in [50, 60] {
        let bytes = store.get(PARTITION, RecordNumber(number)).unwrap().unwrap();
        assert!(Snapshot::parse(&bytes).unwrap() == Snapshot::of(&state_after(&records, number as usize)));
    }
}

#[test]
fn what_another_wrote_is_not_counted_on_where_it_does_not_fit() {
    let (records, others) = (played(60, 4), played(60, 5));
    let journal = journal_of(&records);
    let check = |what: &str, number: u64, bytes: &[u8]| {
        let store = Arc::new(Counted::default());
        let making = maker(&journal, &store, AT_ONCE);
        store.objects.put(PARTITION, RecordNumber(number), bytes).unwrap();
        up_to(&making, 15);
        let own = store.get(PARTITION, RecordNumber(10)).unwrap().unwrap();
        assert!(own == Snapshot::of(&state_after(&records, 10)).to_bytes(), "{what}");
        assert_eq!(puts(&store), 1, "{what}");
    };
    let snapshot = |records: &Records, number| Snapshot::of(&state_after(records, number)).to_bytes();
    check("damaged", 10, b"damaged");
    check("damaged, of a record before", 7, b"damaged");
    check("another's", 10, &snapshot(&records, 9));
    check("of another journal", 10, &snapshot(&others, 10));
    check("of another journal, of a record before", 8, &snapshot(&others, 8));
    check("of a record that is not here yet", 1_000, &snapshot(&records, 50));
}

#[test]
fn a_shared_store_that_is_away_ends_no_maker_and_is_tried_again() {
    let records = played(60, 4);
    let (journal, store) = (journal_of(&records), Arc::new(Counted::default()));
    let making = maker(&journal, &store, AT_ONCE);
    store.away.store(true, Ordering::SeqCst);
    up_to(&making, 15);
    assert_eq!(numbers(store.as_ref()), Vec::<u64>::new());
    assert!(store.refused.load(Ordering::SeqCst) > 0);
    store.away.store(false, Ordering::SeqCst);
    up_to(&making, 25);
    let kept = numbers(store.as_ref());
    assert!(!kept.is_empty() && puts(&store) == kept.len(), "{kept:?}");
    assert!(begins(&records, store.as_ref(), 60).is_some());

    // It is left alone for a while before that.
    let store = Arc::new(Counted::default());
    let making = maker(&journal, &store, Sharing { again: Duration::from_secs(3_600), ..AT_ONCE });
    store.away.store(true, Ordering::SeqCst);
    for number in [15, 25, 35, 45, 55] {
        up_to(&making, number);
    }
    assert_eq!(store.refused.load(Ordering::SeqCst), 1);
}

#[test]
fn a_maker_that_waits_for_its_turn_ends_at_once_and_writes_nothing() {
    let records = played(60, 4);
    let (journal, store) = (journal_of(&records), Arc::new(Counted::default()));
    let begun = Instant::now();
    for _ in 0..5 {
        let making = maker(&journal, &store, Sharing { turn: Duration::from_secs(1 << 20), ..AT_ONCE });
        making.notify(RecordNumber(60));
        drop(making);
    }
    assert_eq!(puts(&store), 0);
    assert!(begun.elapsed() < Duration::from_secs(60));
}

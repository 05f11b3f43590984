//! The suite that every journal passes. A [`Store`] makes a store of its own for each case and opens it as often as asked;
//! [`contract!`] makes a test of each case for one implementation.

use crate::{
    journal::{AppendError, Journal, Visit},
    testing::{Dice, Rows, agent_id, rows, sealed_text},
    texts::{SealedText, encode_texts},
};
use arena_schema::{
    Hash, LogTime,
    id::{Epoch, Era, Lineage, Partition, RecordNumber, RulesVersion},
    record::{EncodedRecord, HEADER_BYTES, Header, RECORD_BYTES_MAX, TRAILER_BYTES},
};

/// One store, opened as often as a case needs it; each opening sees what the ones before made durable.
pub(crate) struct Store {
    open: Box<dyn Fn() -> Box<dyn Journal>>,
}

impl Store {
    pub(crate) fn new<J: Journal + 'static>(open: impl Fn() -> J + 'static) -> Self {
        Self { open: Box::new(move || Box::new(open())) }
    }

    fn open(&self) -> Box<dyn Journal> {
        (self.open)()
    }
}

/// A record of this number whose commands are so many bytes; a store never looks at them.
fn record(number: u64, command_bytes: usize) -> EncodedRecord {
    let mut dice = Dice(number);
    let header = Header {
        lineage: Lineage([1; 16]),
        partition: Partition(0),
        era: Era(1),
        number: RecordNumber(number),
        previous: Hash(dice.bytes()),
        digest: Hash(dice.bytes()),
        digest_reaches: RecordNumber(number.saturating_sub(1)),
        epoch: Epoch(1),
        time: LogTime(number),
        rules: RulesVersion(1),
        salt: dice.bytes(),
    };
    let commands: Vec<u8> = (0..command_bytes).map(|_| dice.next() as u8).collect();
    EncodedRecord::seal(&header, &commands)
}

fn texts(count: usize, size: usize) -> Vec<SealedText> {
    let mut dice = Dice(count as u64);
    (0..count).map(|at| sealed_text(agent_id(at as u64), size, &mut dice).1).collect()
}

fn fill(journal: &mut dyn Journal, count: u64) -> Rows {
    (1..=count)
        .map(|number| {
            let (record, texts) = (record(number, 40), texts(number as usize % 3, 10));
            journal.append(&record, &texts).unwrap();
            (number, record.as_bytes().to_vec(), encode_texts(&texts))
        })
        .collect()
}

#[track_caller]
fn check_fenced(journal: &mut dyn Journal, number: u64, last: u64) {
    match journal.append(&record(number, 3), &texts(1, 1)) {
        Err(AppendError::Fenced { number: fenced, last: known }) => {
            assert_eq!((fenced.0, known.0), (number, last));
        }
        other => panic!("record {number} after {last} came to {other:?}"),
    }
}

pub(crate) fn a_new_journal_is_empty(store: &Store) {
    let mut journal = store.open();
    assert_eq!(journal.last().unwrap(), RecordNumber(0));
    assert_eq!(rows(journal.as_ref()), []);
    assert!(!journal.name().is_empty());
}

pub(crate) fn records_and_texts_come_back_in_order_byte_for_byte(store: &Store) {
    let mut journal = store.open();
    let written = fill(journal.as_mut(), 20);
    assert_eq!(rows(journal.as_ref()), written);
    assert_eq!(journal.last().unwrap(), RecordNumber(20));
}

pub(crate) fn any_number_but_the_next_is_fenced_and_stores_nothing(store: &Store) {
    let mut journal = store.open();
    check_fenced(journal.as_mut(), 0, 0);
    check_fenced(journal.as_mut(), 2, 0);
    let written = fill(journal.as_mut(), 3);
    for number in [0, 1, 3, 5, u64::from(u32::MAX), i64::MAX as u64] {
        check_fenced(journal.as_mut(), number, 3);
    }
    assert_eq!(rows(journal.as_ref()), written);
    journal.append(&record(4, 3), &[]).unwrap();
}

pub(crate) fn the_slower_of_two_writers_is_fenced(store: &Store) {
    let (mut one, mut other) = (store.open(), store.open());
    let mut written = fill(one.as_mut(), 2);
    let theirs = record(3, 9);
    other.append(&theirs, &[]).unwrap();
    check_fenced(one.as_mut(), 3, 3);
    written.push((3, theirs.as_bytes().to_vec(), Vec::new()));
    assert_eq!(rows(one.as_ref()), written);
}

pub(crate) fn a_read_begins_where_it_is_asked_and_ends_when_told(store: &Store) {
    let mut journal = store.open();
    let written = fill(journal.as_mut(), 9);
    let mut reader = journal.reader().unwrap();
    let mut read = |from: u64, most: usize| {
        let mut numbers = Vec::new();
        reader
            .read(RecordNumber(from), &mut |stored| {
                assert_eq!(stored.bytes, written[stored.number.0 as usize - 1].1);
                numbers.push(stored.number.0);
                if numbers.len() == most { Visit::Enough } else { Visit::Next }
            })
            .unwrap();
        numbers
    };
    assert_eq!(read(7, 99), [7, 8, 9]);
    assert_eq!(read(4, 2), [4, 5]);
    assert_eq!(read(0, 1), [1]);
    assert!(read(10, 99).is_empty());
    assert!(read(u64::MAX, 99).is_empty());
    assert_eq!(read(1, 99).len(), 9, "a reader may be used again");
}

pub(crate) fn a_reader_sees_what_was_durable_when_it_began_and_holds_nobody_up(store: &Store) {
    let mut journal = store.open();
    let mut reader = journal.reader().unwrap();
    let count = |reader: &mut dyn crate::Reader| {
        let mut count = 0;
        reader
            .read(RecordNumber(1), &mut |_| {
                count += 1;
                Visit::Next
            })
            .unwrap();
        count
    };
    assert_eq!(count(reader.as_mut()), 0);
    fill(journal.as_mut(), 5);
    assert_eq!(count(reader.as_mut()), 5, "a reader from before sees what came after");
    let mut numbers = Vec::new();
    reader
        .read(RecordNumber(1), &mut |stored| {
            numbers.push(stored.number.0);
            journal.append(&record(5 + numbers.len() as u64, 3), &[]).unwrap();
            Visit::Next
        })
        .unwrap();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert_eq!(count(reader.as_mut()), 10);
}

pub(crate) fn readers_on_other_threads_see_a_growing_row_without_gaps(store: &Store) {
    let mut journal = store.open();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut reader = journal.reader().unwrap();
            let done = &done;
            scope.spawn(move || {
                let mut last = 0;
                loop {
                    let finished = done.load(std::sync::atomic::Ordering::SeqCst);
                    let mut at = 0;
                    reader
                        .read(RecordNumber(1), &mut |stored| {
                            at += 1;
                            assert_eq!(stored.number.0, at);
                            assert_eq!(stored.bytes, record(at, 40).as_bytes());
                            Visit::Next
                        })
                        .unwrap();
                    assert!(at >= last, "what was read once stays");
                    last = at;
                    if finished {
                        break assert_eq!(at, 60);
                    }
                }
            });
        }
        fill(journal.as_mut(), 60);
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    });
}

pub(crate) fn an_empty_record_and_the_largest_with_many_texts_are_stored_whole(store: &Store) {
    let mut journal = store.open();
    let empty = record(1, 0);
    let largest = record(2, RECORD_BYTES_MAX - HEADER_BYTES - TRAILER_BYTES);
    assert_eq!(largest.as_bytes().len(), RECORD_BYTES_MAX);
    let many = texts(2_000, 500);
    journal.append(&empty, &[]).unwrap();
    journal.append(&largest, &many).unwrap();
    journal.append(&record(3, 0), &texts(1, 65_536)).unwrap();
    let read = rows(journal.as_ref());
    assert_eq!(read[0], (1, empty.as_bytes().to_vec(), Vec::new()));
    assert!(read[1] == (2, largest.as_bytes().to_vec(), encode_texts(&many)));
    assert!(read[2].2 == encode_texts(&texts(1, 65_536)));
    assert_eq!(crate::texts::decode_texts(RecordNumber(2), &read[1].2).unwrap(), many);
}

pub(crate) fn a_journal_that_is_opened_again_has_all_and_goes_on(store: &Store) {
    let mut journal = store.open();
    let mut written = fill(journal.as_mut(), 7);
    drop(journal);
    let mut journal = store.open();
    assert_eq!(journal.last().unwrap(), RecordNumber(7));
    assert_eq!(rows(journal.as_ref()), written);
    check_fenced(journal.as_mut(), 7, 7);
    let next = record(8, 1);
    journal.append(&next, &[]).unwrap();
    written.push((8, next.as_bytes().to_vec(), Vec::new()));
    drop(journal);
    assert_eq!(rows(store.open().as_ref()), written);
}

pub(crate) fn a_sound_store_finds_nothing_wrong_with_itself(store: &Store) {
    let mut journal = store.open();
    fill(journal.as_mut(), 5);
    assert_eq!(journal.reader().unwrap().self_check().unwrap(), Vec::<String>::new());
}

/// A test of each case, in a module named after the implementation.
macro_rules! contract {
    ($implementation:ident, $store:expr; $($case:ident)+) => {
        mod $implementation {
            $(#[test]
            fn $case() {
                super::$case(&$store);
            })+
        }
    };
    ($implementation:ident, $store:expr) => {
        contract! { $implementation, $store;
            a_new_journal_is_empty
            records_and_texts_come_back_in_order_byte_for_byte
            any_number_but_the_next_is_fenced_and_stores_nothing
            the_slower_of_two_writers_is_fenced
            a_read_begins_where_it_is_asked_and_ends_when_told
            a_reader_sees_what_was_durable_when_it_began_and_holds_nobody_up
            readers_on_other_threads_see_a_growing_row_without_gaps
            an_empty_record_and_the_largest_with_many_texts_are_stored_whole
            a_journal_that_is_opened_again_has_all_and_goes_on
            a_sound_store_finds_nothing_wrong_with_itself
        }
    };
}

contract!(memory, {
    let journal = crate::MemoryJournal::default();
    super::Store::new(move || journal.clone())
});

contract!(sqlite, {
    let folder = crate::testing::Folder::new();
    super::Store::new(move || folder.journal())
});

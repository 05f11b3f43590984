//! The suite that every journal passes. A [`Store`] makes a store of its own for each case and opens it as often as asked;
//! [`contract!`] makes a test of each case for one implementation, [`CASES`] lists them.

use crate::{
    journal::{AppendError, Journal, Visit},
    testing::{Dice, Rows, agent_id, rows, sealed_text},
    texts::{SealedText, encode_texts},
};
use arena_schema::{
    Hash, LogTime,
    command::system::CloseEra,
    id::{Epoch, Era, Lineage, Partition, RecordNumber, RulesVersion},
    record::{
        CommandHead, EncodedRecord, HEADER_BYTES, Header, RECORD_BYTES_MAX, TRAILER_BYTES, encode_command,
    },
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
    let commands: Vec<u8> = (0..command_bytes).map(|_| dice.next() as u8).collect();
    record_of(1, number, &commands)
}

/// The record that ends an era.
fn closing(era: u32, number: u64) -> EncodedRecord {
    let mut command = Vec::new();
    encode_command(&CommandHead::SEQUENCER, &CloseEra {}.into(), &mut command);
    record_of(era, number, &command)
}

fn record_of(era: u32, number: u64, commands: &[u8]) -> EncodedRecord {
    let mut dice = Dice(number);
    let header = Header {
        lineage: Lineage([1; 16]),
        partition: Partition(0),
        era: Era(era),
        number: RecordNumber(number),
        previous: Hash(dice.bytes()),
        digest: Hash(dice.bytes()),
        digest_reaches: RecordNumber(number.saturating_sub(1)),
        epoch: Epoch(1),
        time: LogTime(number),
        rules: RulesVersion(1),
        salt: dice.bytes(),
    };
    EncodedRecord::seal(&header, commands)
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

/// Fills an era with so many records, of which the last ends it, and opens the next.
fn fill_era(journal: &mut dyn Journal, era: u32, first: u64, count: u64) -> Rows {
    let mut written = Rows::new();
    for number in first..first + count {
        let last = number + 1 == first + count;
        let record = if last { closing(era, number) } else { record_of(era, number, &[7; 40]) };
        let texts = texts(number as usize % 3, 10);
        journal.append(&record, &texts).unwrap();
        written.push((number, record.as_bytes().to_vec(), encode_texts(&texts)));
    }
    journal.next_era(Era(era + 1), RecordNumber(first + count)).unwrap();
    written
}

pub(crate) fn eras_follow_each_other_and_are_read_as_one_row(store: &Store) {
    let mut journal = store.open();
    let mut reader = journal.reader().unwrap();
    let mut written = fill_era(journal.as_mut(), 1, 1, 4);
    assert_eq!((journal.era(), journal.last().unwrap()), (Era(2), RecordNumber(4)));
    assert_eq!(rows(journal.as_ref()), written);
    written.extend(fill_era(journal.as_mut(), 2, 5, 3));
    let open = record_of(3, 8, &[1]);
    journal.append(&open, &[]).unwrap();
    written.push((8, open.as_bytes().to_vec(), Vec::new()));
    assert_eq!(rows(journal.as_ref()), written);
    assert_eq!((journal.era(), journal.last().unwrap()), (Era(3), RecordNumber(8)));
    for from in [1, 4, 5, 6, 8, 9] {
        let mut numbers = Vec::new();
        reader
            .read(RecordNumber(from), &mut |stored| {
                numbers.push(stored.number.0);
                Visit::Next
            })
            .unwrap();
        assert_eq!(numbers, (from..9).collect::<Vec<_>>(), "a reader from before reads on");
    }
    assert_eq!(reader.last().unwrap().unwrap_or(RecordNumber(8)), RecordNumber(8));
    assert_eq!(reader.first().unwrap(), RecordNumber(1));
}

pub(crate) fn a_closed_era_is_never_written_again_by_whomever(store: &Store) {
    let (mut one, mut other) = (store.open(), store.open());
    let written = fill_era(one.as_mut(), 1, 1, 3);
    for journal in [&mut one, &mut other] {
        let refused = journal.append(&record_of(1, 4, &[2; 9]), &[]);
        assert!(matches!(refused, Err(AppendError::Era { era: Era(1), open: Era(2), .. })), "{refused:?}");
    }
    assert_eq!(rows(one.as_ref()), written);
    let refused = one.append(&record_of(3, 4, &[2; 9]), &[]);
    assert!(matches!(refused, Err(AppendError::Era { era: Era(3), open: Era(2), .. })), "{refused:?}");
    one.append(&record_of(2, 4, &[2; 9]), &[]).unwrap();
}

pub(crate) fn an_era_begins_only_where_the_one_before_ended(store: &Store) {
    let mut journal = store.open();
    assert!(journal.next_era(Era(2), RecordNumber(1)).is_err(), "an era has a record");
    journal.append(&record_of(1, 1, &[7; 40]), &[]).unwrap();
    journal.append(&closing(1, 2), &[]).unwrap();
    assert!(journal.next_era(Era(2), RecordNumber(2)).is_err());
    assert!(journal.next_era(Era(3), RecordNumber(3)).is_err());
    assert_eq!(journal.era(), Era(1));
    journal.next_era(Era(2), RecordNumber(3)).unwrap();
    assert!(journal.bytes() < 100_000);
    journal.next_era(Era(2), RecordNumber(3)).unwrap();
    journal.append(&record_of(2, 3, &[1]), &[]).unwrap();
}

pub(crate) fn a_journal_that_is_opened_in_a_later_era_has_all_and_goes_on(store: &Store) {
    let mut journal = store.open();
    let mut written = fill_era(journal.as_mut(), 1, 1, 3);
    drop(journal);
    let mut journal = store.open();
    assert_eq!((journal.era(), journal.last().unwrap()), (Era(2), RecordNumber(3)));
    check_fenced(journal.as_mut(), 3, 3);
    check_fenced(journal.as_mut(), 5, 3);
    written.extend(fill_era(journal.as_mut(), 2, 4, 2));
    drop(journal);
    let mut journal = store.open();
    assert_eq!((journal.era(), journal.last().unwrap()), (Era(3), RecordNumber(5)));
    assert_eq!(rows(journal.as_ref()), written);
}

/// Hands the names of all cases to another macro, behind what it is given.
macro_rules! with_cases {
    ($then:ident! $($given:tt)*) => {
        $then! { [$($given)*]
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
            eras_follow_each_other_and_are_read_as_one_row
            a_closed_era_is_never_written_again_by_whomever
            an_era_begins_only_where_the_one_before_ended
            a_journal_that_is_opened_in_a_later_era_has_all_and_goes_on
        }
    };
}

/// A test of each case, in a module named after the implementation.
macro_rules! contract {
    ([$implementation:ident, $store:expr] $($case:ident)+) => {
        mod $implementation {
            $(#[test]
            fn $case() {
                super::$case(&$store);
            })+
        }
    };
}

macro_rules! list {
    ([] $($case:ident)+) => {
        &[$((stringify!($case), $case)),+]
    };
}

/// A case's name, and the case.
pub(crate) type Case = (&'static str, fn(&Store));

/// All cases, for a store that is too dear to start for each of them.
pub(crate) const CASES: &[Case] = with_cases!(list!);

with_cases!(contract! memory, {
    let journal = crate::MemoryJournal::default();
    super::Store::new(move || journal.clone())
});

with_cases!(contract! sqlite, {
    let folder = crate::testing::Folder::new();
    super::Store::new(move || folder.journal())
});

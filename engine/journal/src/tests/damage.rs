//! A journal that does not hold is refused at the start, with the record's number.

use crate::{
    Clock, Journal, JournalError, SqliteJournal, StartError,
    testing::{Folder, Witness, played, rows, start},
};

const RECORDS: u64 = 12;
const K: i64 = 7;

/// A sound journal of [`RECORDS`] records.
fn sound() -> Folder {
    let folder = Folder::new();
    let mut journal = folder.journal();
    for (record, texts) in played(RECORDS as usize, 1) {
        journal.append(&record, &texts).unwrap();
    }
    folder
}

/// What a start says of a journal that was changed through SQL.
#[track_caller]
fn check(change: &str, record: u64, words: &str) {
    let folder = sound();
    folder.sql().execute_batch(change).unwrap();
    let before = rows(&folder.journal());
    let refused = start(folder.journal(), 9, Clock::System, &Witness::default()).map(drop).unwrap_err();
    match &refused {
        StartError::Broken { record: at, why, .. } => {
            assert_eq!(at.0, record, "{refused}");
            assert!(why.contains(words), "{refused}");
        }
        other => panic!("{other}"),
    }
    let said = refused.to_string();
    assert!(said.contains(&format!("record {record}")) && said.contains("records-0-1.db"), "{said}");
    assert_eq!(rows(&folder.journal()), before, "a refused journal is left as it is");
}

#[test]
fn a_sound_journal_starts() {
    let sequencer = start(sound().journal(), 9, Clock::System, &Witness::default()).unwrap();
    sequencer.stop().unwrap();
}

#[test]
fn a_changed_byte_is_refused() {
    let flip = |at: &str| {
        format!(
            "UPDATE records SET record = CAST(substr(record, 1, {at}) || x'ff' || substr(record, {at} + 2) AS BLOB)
             WHERE number = {K}"
        )
    };
    check(&flip("length(record) / 2"), K as u64, "hash");
    check(&flip("length(record) - 1"), K as u64, "hash");
    check(&flip("3"), K as u64, "magic");
}

#[test]
fn a_missing_row_is_refused() {
    check(&format!("DELETE FROM records WHERE number = {K}"), K as u64, "the next one stored is record 8");
    check("DELETE FROM records WHERE number = 1", 1, "missing");
}

#[test]
fn swapped_rows_are_refused() {
    let swap = format!(
        "UPDATE records SET number = -1 WHERE number = {K};
         UPDATE records SET number = {K} WHERE number = {K} + 1;
         UPDATE records SET number = {K} + 1 WHERE number = -1;"
    );
    check(&swap, K as u64, "record 7 was expected, record 8 came");
}

#[test]
fn a_row_under_another_number_is_refused() {
    check(&format!("UPDATE records SET number = {RECORDS} + 5 WHERE number = {RECORDS}"), RECORDS, "missing");
    check(
        &format!("INSERT INTO records SELECT {RECORDS} + 1, record, texts FROM records WHERE number = {K}"),
        RECORDS + 1,
        "was expected, record 7 came",
    );
    check("UPDATE records SET number = -3 WHERE number = 1", 1, "missing");
}

#[test]
fn a_row_that_was_cut_or_emptied_is_refused() {
    check(
        &format!("UPDATE records SET record = substr(record, 1, length(record) - 1) WHERE number = {K}"),
        K as u64,
        "hash",
    );
    check(&format!("UPDATE records SET record = x'' WHERE number = {K}"), K as u64, "bytes");
}

#[test]
fn another_programs_file_is_no_journal() {
    let folder = Folder::new();
    folder
        .sql()
        .execute_batch("CREATE TABLE records (number INTEGER PRIMARY KEY, record BLOB, texts BLOB)")
        .unwrap();
    assert!(matches!(SqliteJournal::open(&folder.file()), Err(JournalError::Format { .. })));
    std::fs::write(folder.file(), vec![7; 8_192]).unwrap();
    assert!(matches!(SqliteJournal::open(&folder.file()), Err(JournalError::Store { .. })));
    assert!(SqliteJournal::open_reader(&folder.path().join("nothing.db")).is_err());
    assert!(!folder.path().join("nothing.db").exists(), "who reads makes nothing");
}

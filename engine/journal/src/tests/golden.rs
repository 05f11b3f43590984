//! A journal that is kept: its bytes, its last record's hash and its digest are the same on every run and in every build
//! profile. `cargo test -p arena-journal golden` runs it as it is debugged, `cargo test --release -p arena-journal golden` as it
//! is released. A change of rules comes with a journal of its own; this one stays.

mod sessions;

use crate::{
    AuditReport, Journal, MemoryJournal, audit,
    testing::{PARTITION, played, rows_of},
    texts::{SealedText, decode_texts},
};
use arena_schema::{
    id::RecordNumber,
    record::{EncodedRecord, RecordView},
};

/// Records of connect4 as lines of hex: the record, and after a space the texts beside it.
const CONNECT4_1: &str = include_str!("../../../../tests/golden/journals/connect4-1.hex");
const HEAD: &str = "9f86efef5a69624bf28bbfd232d4bfc13a31fcf4e18d650bb2231ab83844f006";
const DIGEST: &str = "b6144c81611eede553953a33c1f575e33dd35e274688108c1d79ae017d258396";

/// As it was written. It is written anew by nobody.
fn kept() -> Vec<(Vec<u8>, Vec<u8>)> {
    kept_in(CONNECT4_1)
}

fn kept_in(journal: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    journal
        .lines()
        .map(|line| {
            let (record, texts) = line.split_once(' ').unwrap_or((line, ""));
            (hex::decode(record).unwrap(), hex::decode(texts).unwrap())
        })
        .collect()
}

fn audited() -> AuditReport {
    audit_of(CONNECT4_1)
}

fn audit_of(kept: &str) -> AuditReport {
    let mut journal = MemoryJournal::default();
    for (bytes, texts) in kept_in(kept) {
        let view = RecordView::parse(&bytes).unwrap();
        let commands = &bytes[arena_schema::record::HEADER_BYTES..bytes.len() - 32];
        let record = EncodedRecord::seal(&view.header, commands);
        assert_eq!(record.as_bytes(), bytes, "a record sealed again is the same record");
        let texts: Vec<SealedText> = decode_texts(RecordNumber(record.number().0), &texts).unwrap();
        journal.append(&record, &texts).unwrap();
    }
    audit(journal.reader().unwrap().as_mut(), PARTITION, &[]).unwrap()
}

#[test]
fn the_golden_journal_comes_to_the_digest_that_it_always_came_to() {
    let report = audited();
    assert_eq!(report.head.to_string(), HEAD);
    assert_eq!(report.digest.to_string(), DIGEST);
    assert_eq!(audited(), report, "and again");
    assert_eq!(report.records, 40);
}

/// With `ARENA_TESTS_GOLDEN_PRINT` set the lines are printed, for the journal of rules to come.
#[test]
fn the_same_play_is_written_as_the_same_bytes() {
    let written = rows_of(&played(40, 1));
    if std::env::var_os("ARENA_TESTS_GOLDEN_PRINT").is_some() {
        for (_, record, texts) in &written {
            println!("GOLDEN {} {}", hex::encode(record), hex::encode(texts));
        }
    }
    assert!(written.into_iter().map(|(_, record, texts)| (record, texts)).eq(kept()));
}

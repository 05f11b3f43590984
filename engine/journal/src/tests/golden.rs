//! A journal that is kept: its bytes, its last record's hash and its digest are the same on every run and in every build
//! profile. `cargo test -p arena-journal golden` runs it as it is debugged, `cargo test --release -p arena-journal golden` as it
//! is released. A change of rules comes with a journal of its own; this one stays.

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
const HEAD: &str = "27577f7ecdd1dc37a3731d0f4eaaee53f2d8377bfd43a5c230b19c1b0744d03d";
const DIGEST: &str = "0a9850adb900f5dad2384369139b391dffbe543cd49704b61b21c1f679913a12";

/// As it was written. It is written anew by nobody.
fn kept() -> Vec<(Vec<u8>, Vec<u8>)> {
    CONNECT4_1
        .lines()
        .map(|line| {
            let (record, texts) = line.split_once(' ').unwrap_or((line, ""));
            (hex::decode(record).unwrap(), hex::decode(texts).unwrap())
        })
        .collect()
}

fn audited() -> AuditReport {
    let mut journal = MemoryJournal::default();
    for (bytes, texts) in kept() {
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

#[test]
fn the_same_play_is_written_as_the_same_bytes() {
    let written = rows_of(&played(40, 1));
    assert!(written.into_iter().map(|(_, record, texts)| (record, texts)).eq(kept()));
}

/// Prints the journal as it is kept, for a journal to come.
#[test]
#[ignore = "writes no expectation; it prints what a new golden journal would be"]
fn print_a_golden_journal() {
    for (_, record, texts) in rows_of(&played(40, 1)) {
        println!("GOLDEN {} {}", hex::encode(record), hex::encode(texts));
    }
}

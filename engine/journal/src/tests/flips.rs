//! Ten thousand flipped bits of a journal's file: each is named, reported by SQLite, or changes nothing that can be read.

use crate::{
    Finding, Journal, JournalError, Mark, SealedText, SqliteJournal, Visit, audit,
    testing::{Dice, Folder, PARTITION, Rows, played, played_with_texts, rows, rows_of},
};
use arena_schema::{
    id::RecordNumber,
    record::{EncodedRecord, RecordView},
};
use std::{
    fs::{self, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::Path,
};

/// What became of a flipped bit.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// The audit names this record.
    Record(u64),
    /// The audit names a text beside this record.
    Text(u64),
    /// SQLite cannot open or read the file, or finds it damaged.
    Reported,
    /// The audit passes.
    Passed,
}

fn judge(file: &Path, marks: &[Mark]) -> Verdict {
    let found = SqliteJournal::open_reader(file)
        .map_err(Finding::from)
        .and_then(|mut reader| audit(reader.as_mut(), PARTITION, marks));
    match found {
        Ok(_) => Verdict::Passed,
        Err(Finding::Record { record, .. }) => Verdict::Record(record.0),
        Err(Finding::Journal(JournalError::Texts { record, .. })) => Verdict::Text(record.0),
        Err(Finding::Journal(_) | Finding::Store(_)) => Verdict::Reported,
        Err(finding) => panic!("{finding}"),
    }
}

/// All that can be read, until SQLite says that it can read no more.
fn readable(file: &Path) -> Rows {
    let mut rows = Vec::new();
    if let Ok(mut reader) = SqliteJournal::open_reader(file) {
        let _ = reader.read(RecordNumber(1), &mut |stored| {
            rows.push((stored.number.0, stored.bytes.to_vec(), stored.texts.to_vec()));
            Visit::Next
        });
    }
    rows
}

fn write_byte(file: &Path, at: u64, byte: u8) {
    let mut file = OpenOptions::new().write(true).open(file).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[byte]).unwrap();
}

/// How many flips came to what.
#[derive(Debug, Default)]
struct Sorted {
    records: u32,
    texts: u32,
    reported: u32,
    harmless: u32,
}

/// Flips these bits of a cleanly closed journal's file, one at a time, and sorts what comes of it.
fn sort(records: &[(EncodedRecord, Vec<SealedText>)], bits: impl Fn(u64) -> Vec<u64>) -> Sorted {
    let folder = Folder::new();
    let mut journal = folder.journal();
    for (record, texts) in records {
        journal.append(record, texts).unwrap();
    }
    drop(journal);
    let file = folder.file();
    let sound = fs::read(&file).unwrap();
    let original = rows_of(records);
    assert_eq!(judge(&file, &[]), Verdict::Passed);

    let mut sorted = Sorted::default();
    for bit in bits(sound.len() as u64 * 8) {
        let (at, changed) = (bit / 8, sound[bit as usize / 8] ^ 1 << (bit % 8));
        write_byte(&file, at, changed);
        let verdict = judge(&file, &[]);
        let read = readable(&file);
        let other = original.iter().zip(&read).position(|(was, is)| was != is).unwrap_or(read.len());
        match verdict {
            Verdict::Record(record) | Verdict::Text(record) => {
                assert_eq!(other as u64 + 1, record, "bit {bit}: another record is named");
                let count =
                    if verdict == Verdict::Record(record) { &mut sorted.records } else { &mut sorted.texts };
                *count += 1;
            }
            Verdict::Reported => sorted.reported += 1,
            Verdict::Passed => {
                assert!(read == original, "bit {bit} (byte {at}) changes what is read, and nobody says so");
                sorted.harmless += 1;
            }
        }
        write_byte(&file, at, sound[at as usize]);
    }
    assert_eq!(fs::read(&file).unwrap(), sound, "each bit was put back");
    println!("a file of {} bytes: {sorted:?}", sound.len());
    sorted
}

#[test]
fn each_of_ten_thousand_flipped_bits_is_named_reported_or_harmless() {
    let mut dice = Dice(6);
    let flips: Vec<u64> = (0..10_000).map(|_| dice.next()).collect();
    // Few commands and long texts: what takes long in a debug build is to check the play.
    let sorted = sort(&played_with_texts(44, 5, 4_000), |bits| {
        assert!((100_000..300_000).contains(&(bits / 8)), "{bits}");
        flips.iter().map(|flip| flip % bits).collect()
    });
    assert!(sorted.records > 800 && sorted.texts > 2_000, "{sorted:?}");
    assert!(sorted.reported > 10 && sorted.harmless > 10, "{sorted:?}");
}

/// Every 65th bit, so that each bit of a byte has its turn; all of them (which takes minutes) with `ARENA_TESTS_EVERY_BIT` set.
#[test]
fn bits_of_every_part_of_a_small_file_are_named_reported_or_harmless() {
    let step = if std::env::var_os("ARENA_TESTS_EVERY_BIT").is_some() { 1 } else { 65 };
    sort(&played(12, 9), |bits| (0..bits).step_by(step).collect());
}

#[test]
fn a_flipped_bit_in_the_log_of_an_unclean_end_drops_the_tail_and_a_mark_names_it() {
    let folder = Folder::new();
    let records = played(60, 7);
    let mut journal = folder.journal();
    for (record, texts) in &records {
        journal.append(record, texts).unwrap();
    }
    // What the disk holds when the process is killed now.
    let (database, log) = (folder.file(), folder.path().join("records-0-1.db-wal"));
    let (database, log) = (fs::read(database).unwrap(), fs::read(log).unwrap());
    let original = rows(&journal);
    let last = RecordView::parse(&original.last().unwrap().1).unwrap();
    let mark = Mark { who: "a view".to_owned(), number: last.header.number, hash: last.hash };

    let (mut dice, mut dropped, mut whole) = (Dice(8), 0, 0);
    for round in 0..200 {
        let crashed = Folder::new();
        let mut changed = log.clone();
        if round > 0 {
            let bit = dice.below(log.len() as u64 * 8) as usize;
            changed[bit / 8] ^= 1 << (bit % 8);
        }
        fs::write(crashed.file(), &database).unwrap();
        fs::write(crashed.path().join("records-0-1.db-wal"), &changed).unwrap();
        // As the next start does: whoever writes recovers the log.
        let Ok(journal) = SqliteJournal::open(&crashed.file()) else {
            dropped += 1;
            continue;
        };
        let read = rows(&journal);
        assert_eq!(read[..], original[..read.len()], "what is left is a row of whole records from the first");
        let mut reader = journal.reader().unwrap();
        let found = audit(reader.as_mut(), PARTITION, std::slice::from_ref(&mark));
        if read.len() == original.len() {
            found.unwrap();
            whole += 1;
        } else {
            dropped += 1;
            let said = found.unwrap_err().to_string();
            assert!(said.contains("a view remembers record 60") && said.contains("cut short"), "{said}");
            audit(reader.as_mut(), PARTITION, &[]).unwrap();
        }
        assert!(round > 0 || whole == 1, "the log as it was brings everything back");
    }
    assert!(dropped > 100, "{dropped} dropped something, {whole} nothing");
}

//! Copies and archives: byte for byte, checked on the way, and again where they were interrupted.

use crate::{
    ArchiveError, Clock, CopyError, Journal, MemoryJournal, Submission, archive, audit, copy,
    testing::{Folder, PARTITION, Rows, Witness, played, register, rows, run, start},
    texts::decode_texts,
};
use arena_schema::{id::RecordNumber, record::EncodedRecord};
use std::fs;

/// A journal with texts beside its records.
fn source(records: usize) -> MemoryJournal {
    let mut journal = MemoryJournal::default();
    for (record, texts) in played(records, 5) {
        journal.append(&record, &texts).unwrap();
    }
    journal
}

/// A journal of several eras.
fn several_eras() -> MemoryJournal {
    let journal = MemoryJournal::default().with_era_bytes(3_000);
    let sequencer = start(journal.clone(), 1, Clock::System, &Witness::default()).unwrap();
    for at in 0..40 {
        run(sequencer.producer().try_submit(vec![Submission::new(register(at))]).unwrap().outcome()).unwrap();
    }
    sequencer.stop().unwrap();
    journal
}

fn copied(from: &dyn Journal, to: &mut dyn Journal) -> Result<(u64, u64), CopyError> {
    let mut told = 0;
    let report = copy(from.reader().unwrap().as_mut(), to, PARTITION, &mut |_| told += 1)?;
    assert_eq!(report.found + report.copied, told);
    Ok((report.found, report.copied))
}

/// The first so many rows as a journal.
fn put(journal: &mut dyn Journal, rows: &Rows) {
    for (number, bytes, texts) in rows {
        let texts = decode_texts(RecordNumber(*number), texts).unwrap();
        journal.append(&EncodedRecord::stored(bytes).unwrap(), &texts).unwrap();
    }
}

#[test]
fn a_copy_has_the_same_bytes_and_goes_on_where_it_was_interrupted() {
    let source = source(40);
    let all = rows(&source);
    let report = audit(source.reader().unwrap().as_mut(), PARTITION, &[]).unwrap();
    assert!(report.texts > 0);
    for there in [0, 1, 17, all.len()] {
        let folder = Folder::new();
        let mut target = folder.journal();
        put(&mut target, &all[..there].to_vec());
        let expected = (there as u64, (all.len() - there) as u64);
        assert_eq!(copied(&source, &mut target).unwrap(), expected);
        assert_eq!(rows(&target), all);
        assert_eq!(audit(target.reader().unwrap().as_mut(), PARTITION, &[]).unwrap(), report);
    }
}

#[test]
fn eras_are_copied_as_they_are() {
    let source = several_eras();
    let folder = Folder::new();
    let mut target = folder.journal();
    copied(&source, &mut target).unwrap();
    assert_eq!(rows(&target), rows(&source));
    assert_eq!(target.era(), source.era());
    let mut back = MemoryJournal::default();
    copied(&target, &mut back).unwrap();
    assert_eq!(rows(&back), rows(&source));
}

#[test]
fn a_target_with_anything_else_is_refused_and_not_written() {
    let source = source(20);
    let all = rows(&source);
    // One text beside one record is another.
    let with_text = all.iter().position(|(_, _, texts)| !texts.is_empty()).unwrap();
    let mut altered = all[..=with_text].to_vec();
    altered[with_text].2 = Vec::new();
    let mut target = MemoryJournal::default();
    put(&mut target, &altered);
    match copied(&source, &mut target) {
        Err(CopyError::Other { record, .. }) => assert_eq!(record.0, with_text as u64 + 1),
        other => panic!("{other:?}"),
    }
    assert_eq!(rows(&target), altered);
    // Further than the source.
    let mut shorter = MemoryJournal::default();
    put(&mut shorter, &all[..5].to_vec());
    let mut target = MemoryJournal::default();
    put(&mut target, &all);
    assert!(matches!(copied(&shorter, &mut target), Err(CopyError::Further { .. })));
    assert_eq!(rows(&target), all);
}

#[test]
fn a_source_that_does_not_hold_is_copied_up_to_there() {
    let folder = Folder::new();
    let source = source(20);
    put(&mut folder.journal(), &rows(&source));
    folder.sql().execute("UPDATE records SET record = zeroblob(300) WHERE number = 9", []).unwrap();
    let mut target = MemoryJournal::default();
    match copied(&folder.journal(), &mut target) {
        Err(CopyError::Source { record, .. }) => assert_eq!(record.0, 9),
        other => panic!("{other:?}"),
    }
    assert_eq!(rows(&target), rows(&source)[..8]);
    copied(&source, &mut target).unwrap();
    assert_eq!(rows(&target), rows(&source));
}

#[test]
fn an_archive_is_compared_with_the_journal_whenever_it_is_met_again() {
    let folder = Folder::new();
    let mut journal = folder.journal();
    copied(&several_eras(), &mut journal).unwrap();
    let away = folder.path().join("away");
    let archived = || archive(folder.journal().reader().unwrap().as_mut(), &away, &mut |_| {});
    let eras = archived().unwrap();
    assert_eq!(eras.len() as u32, journal.era().0 - 1);
    assert!(eras.iter().all(|era| era.written));
    for (era, next) in eras.iter().zip(&eras[1..]) {
        assert_eq!(era.last.next(), next.first);
    }
    let again = archived().unwrap();
    assert!(again.iter().all(|era| !era.written));
    assert_eq!(
        again.iter().map(|era| era.blake3).collect::<Vec<_>>(),
        eras.iter().map(|era| era.blake3).collect::<Vec<_>>()
    );

    // What is signed behind the text is no harm, another text is.
    let beside = eras[0].file.with_extension("txt");
    fs::write(&beside, eras[0].to_text() + "signed by somebody\n").unwrap();
    archived().unwrap();
    fs::write(&beside, eras[1].to_text()).unwrap();
    assert!(matches!(archived(), Err(ArchiveError::Archive { .. })));
    fs::write(&beside, eras[0].to_text()).unwrap();
    // A row that was altered.
    let sql = rusqlite::Connection::open(&eras[0].file).unwrap();
    sql.execute("UPDATE records SET record = zeroblob(300) WHERE number = 2", []).unwrap();
    drop(sql);
    assert!(matches!(archived(), Err(ArchiveError::Archive { .. })));
    // What a crash left half written is written anew.
    fs::remove_file(&eras[0].file).unwrap();
    fs::write(eras[0].file.with_extension("db.new"), b"half").unwrap();
    assert_eq!(archived().unwrap()[0].blake3, eras[0].blake3);
}

#[test]
fn archives_are_a_journal_that_a_copy_goes_on_with() {
    let folder = Folder::new();
    let whole = several_eras();
    copied(&whole, &mut folder.journal()).unwrap();
    let away = folder.path().join("away");
    let eras = archive(folder.journal().reader().unwrap().as_mut(), &away, &mut |_| {}).unwrap();
    let last = eras.last().unwrap().last;
    let mut from_archives = crate::SqliteJournal::open(&away.join("records-0-1.db")).unwrap();
    assert_eq!(from_archives.last().unwrap(), last);
    let (found, _) = copied(&whole, &mut from_archives).unwrap();
    assert_eq!(found, last.0);
    assert_eq!(rows(&from_archives), rows(&whole));
}

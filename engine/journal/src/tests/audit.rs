//! The audit names the record or the text that was changed, whatever byte it is.

use crate::{
    AuditReport, Finding, Journal, JournalError, Mark, MemoryJournal, Reader, StoredRecord, Texts, Vault,
    VaultKey, Visit, audit,
    testing::{Dice, Folder, PARTITION, Rows, Writer, agent_id, played, register, rows_of, sealed_text},
    texts::TextOwner,
};
use arena_schema::{
    Hash, SecretHash,
    command::{registry::RegisterAgent, sessions::CreateSession},
    id::{RecordNumber, SessionId},
    record::{EncodedRecord, HEADER_BYTES, RecordView, TRAILER_BYTES},
};
use std::sync::Arc;

/// Rows that were changed in memory.
struct Changed(Rows);

impl Reader for Changed {
    fn read(
        &mut self,
        from: RecordNumber,
        visit: &mut dyn FnMut(StoredRecord<'_>) -> Visit,
    ) -> Result<(), JournalError> {
        for (number, bytes, texts) in self.0.iter().filter(|(number, ..)| *number >= from.0) {
            if visit(StoredRecord { number: RecordNumber(*number), bytes, texts }) == Visit::Enough {
                break;
            }
        }
        Ok(())
    }
}

fn audit_rows(rows: &Rows) -> Result<AuditReport, Finding> {
    audit(&mut Changed(rows.clone()), PARTITION, &[])
}

/// The record that a finding names, and the text beside it if that is what it names.
fn named(finding: &Finding) -> (u64, Option<usize>) {
    let said = finding.to_string();
    match finding {
        Finding::Record { record, .. } => {
            assert!(said.contains(&format!("record {record} ")), "{said}");
            (record.0, None)
        }
        Finding::Journal(JournalError::Texts { record, why }) => {
            assert!(said.contains(&format!("record {record} ")), "{said}");
            let at = why.split_whitespace().nth(1).unwrap().parse().unwrap();
            (record.0, Some(at))
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_sound_journal_passes_and_is_counted() {
    let records = played(100, 1);
    let mut journal = MemoryJournal::default();
    for (record, texts) in &records {
        journal.append(record, texts).unwrap();
    }
    let last = RecordView::parse(records.last().unwrap().0.as_bytes()).unwrap();
    let mark = Mark { who: "a view".to_owned(), number: last.header.number, hash: last.hash };
    let report = audit(journal.reader().unwrap().as_mut(), PARTITION, &[mark]).unwrap();
    let again = audit(journal.reader().unwrap().as_mut(), PARTITION, &[]).unwrap();
    assert_eq!(report, again, "the same records twice, the same digest");
    assert_eq!((report.records, report.digests, report.head), (100, 100, last.hash));
    assert_eq!(report.texts, records.iter().map(|(_, texts)| texts.len() as u64).sum::<u64>());
    let commands: usize = records
        .iter()
        .map(|(record, _)| RecordView::parse(record.as_bytes()).unwrap().commands().count())
        .sum();
    assert_eq!(report.commands, commands as u64);
    assert!(report.events > report.commands && report.texts > 20);
}

#[test]
fn every_byte_of_a_record_when_changed_names_the_record() {
    let sound = rows_of(&played(12, 2));
    for at in [0, 2, 7, 11] {
        for byte in 0..sound[at].1.len() {
            let mut changed = sound.clone();
            changed[at].1[byte] ^= 1 << (byte % 8);
            assert_eq!(named(&audit_rows(&changed).unwrap_err()), (at as u64 + 1, None), "byte {byte}");
        }
    }
}

#[test]
fn every_byte_of_a_text_when_changed_names_the_record_and_the_text() {
    let sound = rows_of(&played(14, 2));
    let mut seen = 0;
    for at in 0..sound.len() {
        let texts = crate::texts::decode_texts(RecordNumber(at as u64 + 1), &sound[at].2).unwrap();
        let mut starts = vec![0];
        starts.extend(texts.iter().scan(0, |end, text| {
            *end += 86 + text.sealed.len();
            Some(*end)
        }));
        for byte in 0..sound[at].2.len() {
            let mut changed = sound.clone();
            changed[at].2[byte] ^= 1 << (byte % 8);
            let text = starts.iter().filter(|start| **start <= byte).count();
            let found =
                audit_rows(&changed).expect_err(&format!("record {}, byte {byte} of its texts", at + 1));
            assert_eq!(named(&found), (at as u64 + 1, Some(text)), "byte {byte}: {found}");
            seen += 1;
        }
    }
    assert!(seen > 1_000, "only {seen} bytes of texts");
}

#[test]
fn a_byte_changed_through_sql_names_the_record_or_the_text() {
    let folder = Folder::new();
    let records = played(300, 3);
    let mut journal = folder.journal();
    for (record, texts) in &records {
        journal.append(record, texts).unwrap();
    }
    let (sql, mut dice) = (folder.sql(), Dice(4));
    let mut texts_changed = 0;
    for _ in 0..60 {
        let at = dice.below(300);
        let sound = &rows_of(&records[at as usize..=at as usize])[0];
        let column = if sound.2.is_empty() || dice.below(2) == 0 { "record" } else { "texts" };
        let bytes = if column == "record" { &sound.1 } else { &sound.2 };
        let mut changed = bytes.clone();
        changed[dice.below(bytes.len() as u64) as usize] ^= 1 << dice.below(8);
        let number = at.cast_signed() + 1;
        let put = |bytes: &Vec<u8>| {
            let update = format!("UPDATE records SET {column} = ?1 WHERE number = ?2");
            sql.execute(&update, rusqlite::params![bytes, number]).unwrap();
        };
        put(&changed);
        let found = audit(journal.reader().unwrap().as_mut(), PARTITION, &[]).unwrap_err();
        let (record, text) = named(&found);
        assert_eq!((record, text.is_some()), (at + 1, column == "texts"), "{found}");
        texts_changed += u32::from(text.is_some());
        put(bytes);
    }
    assert!(texts_changed > 5);
    audit(journal.reader().unwrap().as_mut(), PARTITION, &[]).unwrap();
}

#[test]
fn what_is_beside_a_record_that_does_not_commit_to_it_is_found() {
    let mut records = played(14, 2);
    let stray = sealed_text(agent_id(0), 5, &mut Dice(9)).1;
    records[5].1.push(stray);
    let at = records[5].1.len();
    let found = audit_rows(&rows_of(&records)).unwrap_err();
    assert_eq!(named(&found), (6, Some(at)));
}

#[test]
fn a_text_of_a_session_that_no_record_opened_is_named() {
    let mut dice = Dice(5);
    let (reference, mut sealed) = sealed_text(agent_id(0), 12, &mut dice);
    let mut writer = Writer::new();
    let mut records: Vec<_> = writer.begin().into_iter().map(|record| (record, Vec::new())).collect();
    let opened = SessionId(agent_id(1).0);
    let opens = CreateSession { id: opened, address: SecretHash([1; 32]), owned: false };
    records.push((writer.record(vec![opens.into()]), Vec::new()));
    let registered = RegisterAgent { name: Some(reference), ..register(0) };
    records.push((writer.record(vec![registered.into()]), vec![sealed.clone()]));
    audit_rows(&rows_of(&records)).unwrap();
    sealed.owner = TextOwner::Session(opened);
    records.last_mut().unwrap().1 = vec![sealed.clone()];
    audit_rows(&rows_of(&records)).unwrap();
    sealed.owner = TextOwner::Session(SessionId(agent_id(0).0));
    records.last_mut().unwrap().1 = vec![sealed];
    let found = audit_rows(&rows_of(&records)).unwrap_err();
    assert_eq!(named(&found), (records.len() as u64, Some(1)));
    assert!(found.to_string().contains("a session that was never opened"), "{found}");
}

#[test]
fn an_audit_passes_before_and_after_an_owner_is_forgotten() {
    let texts = Texts::new(Arc::new(Vault::in_memory(VaultKey::draw()).unwrap()));
    let owner = TextOwner::Agent(agent_id(0));
    texts.create_owner(owner).unwrap();
    let (reference, sealed) = texts.seal(owner, "a name that somebody wrote").unwrap();
    let mut writer = Writer::new();
    let mut records: Vec<_> = writer.begin().into_iter().map(|record| (record, Vec::new())).collect();
    let named = RegisterAgent { name: Some(reference), ..register(0) };
    records.push((writer.record(vec![named.into()]), vec![sealed]));
    let rows = rows_of(&records);
    let before = audit_rows(&rows).unwrap();
    texts.forget_owner(owner).unwrap();
    assert_eq!(audit_rows(&rows).unwrap(), before);
    assert!(!rows.iter().any(|(_, record, texts)| {
        let shows = |bytes: &Vec<u8>| bytes.windows(8).any(|part| part == b"somebody");
        shows(record) || shows(texts)
    }));
}

#[test]
fn rows_that_are_missing_swapped_or_repeated_are_named() {
    let sound = rows_of(&played(12, 2));
    let mut missing = sound.clone();
    missing.remove(6);
    assert_eq!(named(&audit_rows(&missing).unwrap_err()), (7, None));
    let mut swapped = sound.clone();
    swapped.swap(6, 7);
    (swapped[6].0, swapped[7].0) = (7, 8);
    assert_eq!(named(&audit_rows(&swapped).unwrap_err()), (7, None));
    let mut repeated = sound.clone();
    repeated.insert(7, sound[6].clone());
    assert_eq!(named(&audit_rows(&repeated).unwrap_err()), (8, None));
}

#[test]
fn a_mark_of_another_hash_or_behind_the_end_is_named() {
    let sound = rows_of(&played(12, 2));
    let hash = |at: usize| RecordView::parse(&sound[at - 1].1).unwrap().hash;
    let mark =
        |number: u64, hash| Mark { who: "the signed head".to_owned(), number: RecordNumber(number), hash };
    let check = |rows: &Rows, mark: Mark| audit(&mut Changed(rows.clone()), PARTITION, &[mark]);
    check(&sound, mark(12, hash(12))).unwrap();
    for (rows, mark, words) in [
        (&sound, mark(5, Hash([1; 32])), "remembers record 5 with the hash"),
        (&sound[..11].to_vec(), mark(12, hash(12)), "the journal ends at record 11: it was cut short"),
        (&Vec::new(), mark(1, hash(1)), "the journal ends at record 0"),
    ] {
        let found = check(rows, mark).unwrap_err();
        assert!(matches!(found, Finding::Forgotten(_)), "{found}");
        assert!(
            found.to_string().contains(words) && found.to_string().contains("the signed head"),
            "{found}"
        );
    }
}

#[test]
fn a_record_that_was_changed_and_sealed_anew_breaks_the_chain_at_the_next_or_a_mark() {
    let sound = rows_of(&played(12, 2));
    let resealed = |at: usize| {
        let mut changed = sound.clone();
        let bytes = &changed[at - 1].1;
        let mut header = RecordView::parse(bytes).unwrap().header;
        header.salt[0] ^= 1;
        let commands = &bytes[HEADER_BYTES..bytes.len() - TRAILER_BYTES];
        changed[at - 1].1 = EncodedRecord::seal(&header, commands).into_bytes();
        changed
    };
    let found = audit_rows(&resealed(7)).unwrap_err();
    assert_eq!(named(&found), (8, None));
    assert!(found.to_string().contains("breaks the chain"), "{found}");
    audit_rows(&resealed(12)).unwrap();
    let hash = RecordView::parse(&sound[11].1).unwrap().hash;
    let mark = Mark { who: "the signed head".to_owned(), number: RecordNumber(12), hash };
    let found = audit(&mut Changed(resealed(12)), PARTITION, &[mark]).unwrap_err();
    assert!(matches!(found, Finding::Forgotten(_)), "{found}");
}

//! A journal that was changed or cut while nobody served it: refused, by name.

use crate::{
    played::Played,
    records,
    refusal::{audit_plainly, serve_refused},
};
use rusqlite::Connection;
use std::{fs, path::Path};

/// Changes the records through SQLite itself, so that nothing but our own checks can see it.
fn sql(data: &Path, change: &str) {
    let connection = Connection::open(records::file(data)).unwrap();
    assert_eq!(connection.execute(change, []).unwrap(), 1, "{change}");
}

fn last(data: &Path) -> u64 {
    records::all(data).last().unwrap().header.number.0
}

/// That both serve and audit fail and say these words.
#[track_caller]
fn assert_refused(data: &Path, words: &[&str]) {
    serve_refused(data).assert_says(words);
    let (code, said) = audit_plainly(data);
    assert_eq!(code, Some(1), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is missing in the audit's words:\n{said}");
    }
    let audit = arena_tests::served::audit(data);
    assert_eq!(audit["holds"], false, "{audit}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

#[tokio::test]
async fn a_journal_cut_short_behind_a_views_checkpoint_is_refused_by_name() {
    let played = Played::new().await;
    let data = &played.stopped.data;
    let end = last(data);
    let kept = tempfile::tempdir().unwrap();
    copy(data, kept.path());
    sql(data, &format!("DELETE FROM records WHERE number = {end}"));
    let (gone, cut) = (format!("record {end}"), format!("ends at record {}", end - 1));
    assert_refused(data, &["the view", &gone, &cut, "cut short"]);
    // What is left is chained and sound in itself: only who remembers can tell.
    fs::remove_dir_all(data.join("views")).unwrap();
    assert_eq!(arena_tests::served::audit(data)["holds"], true);
    copy(kept.path(), data);
    played.assert_whole().await;
}

#[tokio::test]
async fn a_journal_that_is_another_one_than_a_view_remembers_is_refused_by_name() {
    let (played, other) = (Played::new().await, Played::new().await);
    let data = &played.stopped.data;
    let kept = tempfile::tempdir().unwrap();
    copy(data, kept.path());
    fs::copy(records::file(&other.stopped.data), records::file(data)).unwrap();
    assert_refused(data, &["the view", "remembers record"]);
    copy(kept.path(), data);
    played.assert_whole().await;
}

#[tokio::test]
async fn a_flipped_byte_of_a_record_is_refused_with_the_records_number() {
    let played = Played::new().await;
    let data = &played.stopped.data;
    let records = records::all(data);
    let kept = tempfile::tempdir().unwrap();
    copy(data, kept.path());
    for at in [1, records.len() / 2, records.len() - 1] {
        let record = &records[at];
        let number = record.header.number.0;
        // In the header, in the commands, in the hash at the end.
        for byte in [12, record.bytes.len() / 2, record.bytes.len() - 1] {
            let flipped = format!("{:02X}", record.bytes[byte] ^ 0x10);
            let at = byte + 1;
            sql(
                data,
                &format!(
                    "UPDATE records SET record = CAST(substr(record, 1, {byte}) || x'{flipped}' || substr(record, {at} + 1) AS BLOB)
                     WHERE number = {number}"
                ),
            );
            assert_refused(data, &[&format!("record {number}")]);
            copy(kept.path(), data);
        }
    }
    played.assert_whole().await;
}

#[tokio::test]
async fn a_missing_record_and_a_file_that_is_none_are_refused() {
    let played = Played::new().await;
    let data = &played.stopped.data;
    let kept = tempfile::tempdir().unwrap();
    copy(data, kept.path());
    sql(data, "DELETE FROM records WHERE number = 7");
    assert_refused(data, &["record 7", "missing"]);
    copy(kept.path(), data);
    fs::write(records::file(data), vec![0x5a; 40_000]).unwrap();
    let file = records::file(data).display().to_string();
    serve_refused(data).assert_says(&[&file]);
    let (code, said) = audit_plainly(data);
    assert!(code == Some(1) && said.contains(&file), "{said}");
    copy(kept.path(), data);
    played.assert_whole().await;
}

#[tokio::test]
async fn a_flipped_byte_in_a_sealed_text_is_named_by_the_audit_and_hides_nothing_else() {
    let played = Played::new().await;
    let data = &played.stopped.data;
    let kept = tempfile::tempdir().unwrap();
    copy(data, kept.path());
    let change = "UPDATE records SET texts = CAST(substr(texts, 1, length(texts) - 1) || x'00' AS BLOB)
                  WHERE number = (SELECT max(number) FROM records WHERE texts IS NOT NULL)";
    sql(data, change);
    let (code, said) = audit_plainly(data);
    assert!(code == Some(1) && said.contains("text 1") && said.contains("record"), "{said}");
    copy(kept.path(), data);
    played.assert_whole().await;
}

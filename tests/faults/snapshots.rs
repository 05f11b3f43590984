//! Snapshots of a data folder: a start begins from one, passes over one that does not fit, and refuses a journal that lacks what
//! one remembers.

use crate::{played::Played, records, refusal::serve_refused};
use arena_engine::{Reduction, State, reduce};
use arena_journal::{FolderSnapshots, Snapshot, Snapshots};
use arena_schema::{id::Partition, record::RecordView};
use arena_tests::served::{ServeOptions, Served};
use rusqlite::Connection;
use std::{fs, path::Path};

const PARTITION: Partition = Partition(0);

/// A snapshot after each of the last so many records, as the arena would have made them; gives their numbers.
fn make(data: &Path, count: usize) -> Vec<u64> {
    let (mut state, mut reduction) = (State::new(PARTITION), Reduction::default());
    let store = FolderSnapshots::in_data(data);
    let records = records::all(data);
    for record in &records {
        reduce(&mut state, &RecordView::parse(&record.bytes).unwrap(), &mut reduction).unwrap();
        if record.header.number.0 > (records.len() - count) as u64 {
            store.put(PARTITION, record.header.number, &Snapshot::of(&state).to_bytes()).unwrap();
        }
    }
    store.list(PARTITION).unwrap().into_iter().map(|number| number.0).collect()
}

/// Serves the folder, telling more than it usually does.
fn serve(data: &Path) -> Served {
    let variables = vec![("RUST_LOG".into(), "info".into())];
    Served::with(ServeOptions { data: Some(data.to_owned()), variables, ..ServeOptions::default() })
}

#[tokio::test]
async fn a_start_from_a_snapshot_shows_all_that_was_there_and_plays_on() {
    let played = Played::new().await;
    let data = &played.stopped.data;
    let [before, newest] = make(data, 2)[..] else { panic!("two snapshots") };
    let arena = serve(data);
    assert!(arena.log().contains(&format!("begun from the snapshot 0-{newest}")), "{}", arena.log());
    played.assert_shown(&arena).await;
    arena.stop();

    // A damaged one is passed over for the one before it, and a view that is gone wants every record.
    let file = data.join("snapshots").join(format!("0-{newest}.snap"));
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();
    let arena = serve(data);
    for said in
        [format!("the snapshot 0-{newest} is passed over"), format!("begun from the snapshot 0-{before}")]
    {
        assert!(arena.log().contains(&said), "{said}: {}", arena.log());
    }
    played.assert_shown(&arena).await;
    arena.stop();
    fs::remove_dir_all(data.join("views")).unwrap();
    let arena = serve(data);
    assert!(!arena.log().contains("and handed on"), "{}", arena.log());
    played.assert_shown(&arena).await;
    arena.stop();
    played.assert_whole().await;
}

#[tokio::test]
async fn a_journal_cut_short_behind_a_snapshot_is_refused_by_name_though_no_view_remembers() {
    let played = Played::new().await;
    let data = &played.stopped.data;
    let [newest] = make(data, 1)[..] else { panic!("one snapshot") };
    fs::remove_dir_all(data.join("views")).unwrap();
    let sql = Connection::open(records::file(data)).unwrap();
    assert_eq!(sql.execute("DELETE FROM records WHERE number = ?1", [newest.cast_signed()]).unwrap(), 1);
    drop(sql);
    let (remembers, cut) = (
        format!("the snapshot 0-{newest} remembers record {newest} "),
        format!("ends at record {}", newest - 1),
    );
    serve_refused(data).assert_says(&[&remembers, &cut, "cut short"]);
}

//! Snapshots of a data folder: a start begins from one, passes over one that does not fit, and refuses a journal that lacks what
//! one remembers.

use crate::{played::Played, records, refusal::serve_refused};
use arena_engine::{Reduction, State, reduce};
use arena_journal::{FolderSnapshots, SNAPSHOT_BYTES, Snapshot, Snapshots};
use arena_schema::{
    id::Partition,
    record::{BODY_BYTES_MAX, EncodedRecord, Header, RECORD_BYTES_MAX, RecordView},
};
use arena_tests::served::{PATIENCE, ServeOptions, Served};
use rusqlite::{Connection, params};
use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

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

/// Appends records of commands that no build knows, as long as may be, until they have so many bytes.
pub(crate) fn fill(data: &Path, bytes_min: u64) {
    let mut command = vec![0; 36 + BODY_BYTES_MAX];
    command[..2].copy_from_slice(&u16::MAX.to_le_bytes());
    command[32..36].copy_from_slice(&(BODY_BYTES_MAX as u32).to_le_bytes());
    let commands = command.repeat(RECORD_BYTES_MAX / command.len());
    let (mut state, mut reduction) = (State::new(PARTITION), Reduction::default());
    for record in records::all(data) {
        reduce(&mut state, &RecordView::parse(&record.bytes).unwrap(), &mut reduction).unwrap();
    }
    let mut sql = Connection::open(records::file(data)).unwrap();
    let rows = sql.transaction().unwrap();
    let mut bytes = 0;
    while bytes < bytes_min {
        let head = *state.head();
        let header = Header {
            lineage: state.lineage().unwrap(),
            partition: PARTITION,
            era: state.era(),
            number: head.number.next(),
            previous: head.hash,
            digest: head.digest,
            digest_reaches: head.number,
            epoch: head.epoch,
            time: head.time.plus_us(1),
            rules: state.rules(),
            salt: [7; 32],
        };
        let record = EncodedRecord::seal(&header, &commands);
        let view = RecordView::parse(record.as_bytes()).unwrap();
        reduce(&mut state, &view, &mut reduction).unwrap();
        let row = params![header.number.0.cast_signed(), record.as_bytes()];
        rows.execute("INSERT INTO records (number, record) VALUES (?1, ?2)", row).unwrap();
        bytes += record.as_bytes().len() as u64;
    }
    rows.commit().unwrap();
}

#[tokio::test]
async fn an_arena_whose_journal_has_grown_makes_a_snapshot_and_its_next_start_begins_from_it() {
    let played = Played::new().await;
    let data = &played.stopped.data;
    fill(data, SNAPSHOT_BYTES);
    let store = FolderSnapshots::in_data(data);
    let arena = serve(data);
    let begun = Instant::now();
    while store.list(PARTITION).unwrap().is_empty() {
        assert!(begun.elapsed() < PATIENCE, "no snapshot was made:\n{}", arena.log());
        thread::sleep(Duration::from_millis(20));
    }
    assert!(!arena.log().contains("and handed on"), "{}", arena.log());
    arena.stop();
    let [number] = store.list(PARTITION).unwrap()[..] else { panic!("one snapshot") };
    let arena = serve(data);
    assert!(
        arena.log().contains(&format!("begun from the snapshot 0-{number}, and handed on")),
        "{}",
        arena.log()
    );
    played.assert_shown(&arena).await;
    arena.stop();
    played.assert_whole().await;
}

//! A stream that is far behind the records, or not there any more.

use super::{Play, STREAM, arena, assert_told, options, published, wait_published};
use crate::{
    Visit,
    journal::Journal,
    nats_servers::left_out,
    replicated::Node,
    snapshot::{FolderSnapshots, Snapshot, Snapshots},
    testing::{PARTITION, played},
    tests::jetstream::setup::{Bench, append_all, ask},
};
use arena_engine::{Reduction, State, reduce};
use arena_schema::{id::RecordNumber, record::RecordView};
use serde_json::json;
use tempfile::TempDir;

#[test]
fn a_new_stream_is_told_all_that_the_journal_has() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    append_all(&mut bench.journal(0), &played(1_000, 3));
    let data = TempDir::new().unwrap();
    let node = arena(bench.connect(), data.path());
    wait_published(&node);
    node.stop().unwrap();
    let told = assert_told(&bench, data.path());
    assert!(told.len() > 2_000, "{}", told.len());
}

#[test]
fn what_the_buffer_has_no_room_for_is_read_from_the_local_copy() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let data = TempDir::new().unwrap();
    let node = arena(bench.connect(), data.path());
    let mut play = Play::begin(&bench, &node);
    play.play(&bench, 1);
    wait_published(&node);
    for round in 0..4 {
        node.hold_events(true);
        let before = published(&bench).len();
        // More records than the buffer takes in a test.
        play.play(&bench, 5);
        assert!(published(&bench).len() <= before + 20, "it stands still");
        node.hold_events(false);
        if round % 2 == 0 {
            play.play(&bench, 1);
        }
        wait_published(&node);
    }
    node.stop().unwrap();
    assert_told(&bench, data.path());
}

#[test]
fn a_stream_that_was_deleted_is_made_and_told_anew() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let data = TempDir::new().unwrap();
    let node = arena(bench.connect(), data.path());
    let mut play = Play::begin(&bench, &node);
    play.play(&bench, 3);
    wait_published(&node);
    ask(&bench.connect(), &format!("STREAM.DELETE.{STREAM}"), &json!({}));
    play.play(&bench, 1);
    wait_published(&node);
    node.stop().unwrap();
    assert_told(&bench, data.path());
}

#[test]
fn a_start_goes_on_from_a_snapshot_before_the_last_event_and_passes_a_wrong_one_over() {
    if left_out() {
        return;
    }
    let bench = Bench::one();
    let records = played(400, 5);
    let mut journal = bench.journal(0);
    append_all(&mut journal, &records[..300]);
    let data = TempDir::new().unwrap();
    let node = arena(bench.connect(), data.path());
    wait_published(&node);
    node.stop().unwrap();
    // One of this journal's, and one of another history that has a record of a number behind it.
    let store = FolderSnapshots::in_data(data.path());
    let (mut state, mut reduction) = (State::new(PARTITION), Reduction::default());
    journal
        .reader()
        .unwrap()
        .read(RecordNumber(1), &mut |stored| {
            reduce(&mut state, &RecordView::parse(stored.bytes).unwrap(), &mut reduction).unwrap();
            if stored.number.0 == 250 { Visit::Enough } else { Visit::Next }
        })
        .unwrap();
    for wrong in [false, true] {
        if wrong {
            let mut other = State::new(PARTITION);
            for (record, _) in &played(290, 6) {
                reduce(&mut other, &RecordView::parse(record.as_bytes()).unwrap(), &mut reduction).unwrap();
            }
            store.put(PARTITION, other.head().number, &Snapshot::of(&other).to_bytes()).unwrap();
        } else {
            store.put(PARTITION, state.head().number, &Snapshot::of(&state).to_bytes()).unwrap();
        }
        let nats = bench.connect();
        let snapshots: Option<Box<dyn Snapshots>> = Some(Box::new(store.clone()));
        let started = Node::start(crate::replicated::NodeOptions { snapshots, ..options(nats, data.path()) });
        match started {
            Ok(node) => {
                wait_published(&node);
                node.stop().unwrap();
                assert_told(&bench, data.path());
            }
            Err(why) => assert!(wrong, "{why}"),
        }
    }
}

//! A stream that is far behind the records, or not there any more.

use super::{Play, STREAM, arena, assert_told, published, wait_published};
use crate::{
    SealedText,
    jetstream::EventStream,
    nats_servers::left_out,
    replicated::{LocalCopy, Publisher},
    snapshot::{FolderSnapshots, Snapshot, Snapshots},
    testing::{PARTITION, played},
    tests::jetstream::setup::{Bench, append_all, ask, wait_until},
};
use arena_engine::{Reduction, State, reduce};
use arena_schema::{
    id::RecordNumber,
    record::{EncodedRecord, RecordView},
};
use serde_json::json;
use std::sync::Arc;
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

/// A publisher over these records, with this state as a snapshot, where the stream has so many of the events.
#[track_caller]
fn check_with_snapshot(snapshot: &State, stored: usize, lacks_until: i64) {
    let bench = Bench::one();
    let data = TempDir::new().unwrap();
    let copy = super::copied(&data, 400);
    let expected = super::folded_file(&copy.mirror_at);
    let mut events = Vec::new();
    super::each_event(PARTITION, &copy.mirror_at, |event| events.push(event));
    let sql = rusqlite::Connection::open(&copy.mirror_at).unwrap();
    sql.execute("DELETE FROM records WHERE number <= ?1", [lacks_until]).unwrap();
    let nats = bench.connect();
    bench.runtime.block_on(async {
        let mut stream = EventStream::open(&nats, PARTITION).await.unwrap();
        assert_eq!(stream.publish(0, events[..stored].iter()).await, (stored, Ok(())));
    });
    let store = FolderSnapshots::in_data(data.path());
    store.put(PARTITION, snapshot.head().number, &Snapshot::of(snapshot).to_bytes()).unwrap();
    let copy = LocalCopy { snapshots: Some(Arc::new(store)), ..copy };
    let (feed, publisher) = Publisher::start(&nats, &State::new(PARTITION), copy).unwrap();
    feed.skip_to(RecordNumber(400));
    publisher.lead(RecordNumber(1));
    wait_until("all events", || publisher.lagging().lag().is_some_and(|lag| lag.is_none()));
    assert_eq!(published(&bench), expected);
}

fn state_after(records: &[(EncodedRecord, Vec<SealedText>)]) -> State {
    let (mut state, mut reduction) = (State::new(PARTITION), Reduction::default());
    for (record, _) in records {
        reduce(&mut state, &RecordView::parse(record.as_bytes()).unwrap(), &mut reduction).unwrap();
    }
    state
}

#[test]
fn a_snapshot_before_the_last_event_saves_the_records_before_it() {
    if left_out() {
        return;
    }
    // The local copy lacks what the snapshot knows.
    let records = played(400, 7);
    let state = state_after(&records[..100]);
    let stored = super::fold(&records).iter().filter(|event| event.id.record.0 <= 200).count();
    check_with_snapshot(&state, stored, 100);
}

#[test]
fn a_snapshot_of_another_journal_is_passed_over() {
    if left_out() {
        return;
    }
    let stored = super::fold(&played(400, 7)).iter().filter(|event| event.id.record.0 <= 200).count();
    check_with_snapshot(&state_after(&played(100, 8)), stored, 0);
}

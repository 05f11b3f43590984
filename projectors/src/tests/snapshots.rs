//! A start from a snapshot: the views get the records that they lack, and have the rows that they would have had.

use super::{Arena, World, sessions::door::Door, without_checkpoint};
use crate::{Views, ViewsAt};
use arena_engine::{Reduction, State, reduce};
use arena_journal::{
    Clock, FolderSnapshots, Journal, Sequencer, Snapshot, Snapshots, SqliteJournal, StartOptions, Visit,
    vault::random,
};
use arena_schema::{
    id::{Incarnation, Partition, Protocol, RecordNumber},
    record::RecordView,
};
use std::fs;

const VIEWS: [&str; 4] = ["agents", "replays", "leaderboard", "sessions"];

fn start_from(world: &World) -> Arena {
    let (views, mut followers) =
        Views::open(&ViewsAt::Data(world.data.path().to_owned()), world.texts.clone(), 1).unwrap();
    let options = StartOptions {
        partition: Partition(0),
        clock: Clock::Still(world.clock.clone()),
        incarnation: Incarnation(random()),
        followers: followers.remove(0),
    };
    let journal = SqliteJournal::open(&world.journal()).unwrap();
    let store = FolderSnapshots::in_data(world.data.path());
    let sequencer = Sequencer::start_from(Box::new(journal), &store, options).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let producer = sequencer.producer();
    Arena { sequencer, producer, views, texts: world.texts.clone(), runtime }
}

/// A snapshot of the journal as it stands, or of so many records of it.
fn snapshot(world: &World, records: u64) -> RecordNumber {
    let (mut state, mut reduction) = (State::new(Partition(0)), Reduction::default());
    let mut reader = SqliteJournal::open(&world.journal()).unwrap().reader().unwrap();
    reader
        .read(RecordNumber(1), &mut |stored| {
            reduce(&mut state, &RecordView::parse(stored.bytes).unwrap(), &mut reduction).unwrap();
            if stored.number.0 == records { Visit::Enough } else { Visit::Next }
        })
        .unwrap();
    let store = FolderSnapshots::in_data(world.data.path());
    store.put(Partition(0), state.head().number, &Snapshot::of(&state).to_bytes()).unwrap();
    state.head().number
}

fn all_rows(world: &World) -> Vec<Vec<String>> {
    VIEWS.iter().map(|view| without_checkpoint(world.rows(view))).collect()
}

#[test]
fn views_behind_a_start_from_a_snapshot_have_the_rows_of_those_that_saw_every_record() {
    let world = World::new();
    let mut arena = world.start();
    let players = ["left", "right"].map(|handle| arena.register(handle, Protocol::AgentArena));
    let (id, key) = arena.open(players, true);
    arena.play(key, "dad");
    let session = arena.create(0, false);
    let luis = arena.join(session, "luis", Some("luis"));
    arena.stop();
    let first = snapshot(&world, u64::MAX);

    let mut arena = start_from(&world);
    arena.play(key, "adad");
    arena.send(session, luis, "text/plain", b"Hello.", None);
    let (_, other) = arena.open(players, true);
    arena.play(other, "d");
    arena.forfeit(other);
    arena.settle();
    assert_eq!(super::lines(&arena.replay(&id)).last().unwrap(), "win X d1 d2 d3 d4");
    arena.stop();
    let second = snapshot(&world, u64::MAX);
    assert!(second > first);

    // One view is gone, and wants all records again; the newest snapshot is newer than what another has.
    let grown = all_rows(&world);
    fs::remove_file(world.view("leaderboard")).unwrap();
    start_from(&world).stop();
    assert_eq!(all_rows(&world), grown);
    fs::remove_dir_all(world.views()).unwrap();
    start_from(&world).stop();
    assert_eq!(all_rows(&world), grown, "the views that were built from the first record");
}

//! Waiting for a record, and being told of what changed.

use super::{PATIENCE, World};
use crate::{ViewError, ViewName, ViewsBehind, projectors};
use arena_schema::id::{Partition, Protocol, RecordNumber};
use std::time::Duration;

#[test]
fn who_waits_for_a_record_is_let_on_when_every_view_has_it() {
    let world = World::new();
    let arena = world.start();
    arena.register("left", Protocol::AgentArena);
    let position = arena.sequencer.handle().position();
    arena.runtime.block_on(arena.views.wait_for(Partition(0), position, PATIENCE)).unwrap();
    assert!(arena.views.checkpoint(Partition(0)) >= position);
    let far = RecordNumber(1_000_000);
    let late = arena
        .runtime
        .block_on(arena.views.wait_for(Partition(0), far, Duration::from_millis(1)))
        .unwrap_err();
    assert_eq!(late, ViewsBehind::Late { partition: Partition(0), wanted: far, reached: position });
    let views = arena.stop();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let stopped = runtime.block_on(views.wait_for(Partition(0), far, PATIENCE)).unwrap_err();
    assert!(matches!(stopped, ViewsBehind::Stopped { .. }), "{stopped}");
    runtime.block_on(views.wait_for(Partition(0), position, PATIENCE)).unwrap();
}

#[test]
fn a_change_is_told_once_it_can_be_read() {
    let world = World::new();
    let arena = world.start();
    let players = ["left", "right"].map(|handle| arena.register(handle, Protocol::AgentArena));
    let mut changes = arena.views.changes();
    let (id, key) = arena.open(players, false);
    let mut next = || loop {
        let changed = arena.runtime.block_on(changes.recv()).unwrap();
        if changed.contains(&id) {
            return arena.views.events_after(&id, 0, None).unwrap().unwrap().len();
        }
    };
    assert_eq!(next(), 0);
    arena.play(key, "d");
    assert_eq!(next(), 1);
    arena.forfeit(key);
    while next() < 5 {}
    arena.stop();
}

#[test]
fn closing_takes_in_what_is_queued_and_can_be_asked_for_twice() {
    let world = World::new();
    let arena = world.start();
    let players = ["left", "right"].map(|handle| arena.register(handle, Protocol::AgentArena));
    let (id, key) = arena.open(players, false);
    arena.play(key, "dadada");
    let views = arena.stop();
    let names: Vec<_> = std::fs::read_dir(world.views())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 4, "a log is left over: {names:?}");
    assert_eq!(views.replay(&id, None).unwrap().unwrap().events.len(), 6);
    views.close().unwrap();
}

#[test]
fn closing_the_views_under_a_running_sequencer_stops_it_with_that_reason() {
    let world = World::new();
    let arena = world.start();
    arena.views.close().unwrap();
    let mut stopped = arena.sequencer.handle().stopped();
    let why = arena.runtime.block_on(async {
        let tick = arena_journal::Submission::new(arena_schema::command::system::Tick {});
        let _ = arena.producer.submit(vec![tick]).await.unwrap().outcome().await;
        stopped.wait_for(Option::is_some).await.unwrap().clone()
    });
    assert!(why.unwrap().contains("closed"));
}

#[test]
fn a_read_of_a_view_that_is_not_there_says_so() {
    let world = World::new();
    let arena = world.try_start_with(projectors(Partition(0)).into_iter().take(1).collect()).unwrap();
    let view = ViewName { name: "replays", partition: Partition(0) };
    assert!(
        matches!(arena.views.recent_matches(1), Err(ViewError::Absent { view: absent }) if absent == view)
    );
    arena.stop();
}

//! A disk that has no more room: stood in for by a limit on the length of any file, which the write-ahead logs reach first.

use crate::{dice::Dice, load::Load, refusal::serve_refused};
use arena_tests::{
    ServeOptions, Served,
    served::{PATIENCE, Stopped, poll_async},
};
use rusqlite::Connection;
use std::{fs, path::Path, time::Instant};

/// Serves through a shell that lets no file grow beyond so many blocks of 512 bytes. The signal that would end the process at
/// the limit is ignored, so that a write fails as it does on a full disk.
fn with_room(data: &Path, blocks: usize) -> ServeOptions {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let through = ["/bin/sh", "-c", &script].map(str::to_owned).to_vec();
    ServeOptions { data: Some(data.to_owned()), through, ..ServeOptions::default() }
}

async fn assert_full(dice: &mut Dice, stopped: &Stopped, load: &Load, blocks: usize) {
    let mut arena = Served::with(with_room(&stopped.data, blocks));
    let clients = load.run(&arena, dice, usize::MAX);
    let begun = Instant::now();
    // The first failed append ends it: what the file holds then is the answer.
    let status = loop {
        if let Some(status) = arena.ended() {
            break status;
        }
        assert!(begun.elapsed() < PATIENCE, "it goes on with a full disk:\n{}", arena.log());
        poll_async().await;
    };
    clients.join_all().await;
    let log = arena.log();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("arena: the sequencer has stopped"), "{log}");
    assert!(log.contains("full") || log.contains("disk I/O error"), "it says why: {log}");
    assert!(!log.contains("panicked"), "{log}");
    let audit = stopped.audit();
    assert_eq!(audit["holds"], true, "{audit}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_ends_the_process_and_loses_nothing_that_was_acknowledged() {
    let mut dice = Dice::new();
    let arena = Served::start();
    let load = Load::start(&arena, &mut dice, 4).await;
    let stopped = arena.stop();
    let longest = fs::metadata(crate::records::file(&stopped.data)).unwrap().len() as usize / 512;
    for further in [200, 600, 1_200] {
        assert_full(&mut dice, &stopped, &load, longest + further).await;
    }
    // There is room again.
    let arena = stopped.start();
    load.assert_finished(&arena).await;
    let stopped = arena.stop();
    assert_eq!(stopped.audit()["holds"], true);
    load.assert_once(&stopped.data);
}

#[tokio::test]
async fn where_there_is_no_room_to_start_it_says_so_and_changes_nothing() {
    let arena = Served::start();
    let agent = arena_tests::Agent::good().await;
    let me = arena.register("Left-1", &agent.url).await;
    let id = arena.practice(&me, "pebble-1").await;
    arena.finished(&id).await;
    let stopped = arena.stop();
    for blocks in [0, 1, 16] {
        let said = Served::try_with(with_room(&stopped.data, blocks)).err().expect("there is no room");
        assert!(said.contains("arena: ") && !said.contains("panicked"), "{blocks}: {said}");
        assert_eq!(stopped.audit()["holds"], true);
    }
    let arena = stopped.start();
    arena.finished(&id).await;
    arena.register("Left-2", &agent.url).await;
    assert_eq!(arena.stop().audit()["holds"], true);
}

#[tokio::test]
async fn a_data_folder_that_cannot_be_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"a file").unwrap();
    for data in [file.clone(), file.join("beneath")] {
        serve_refused(&data).assert_says(&["the data folder", data.to_str().unwrap(), "cannot be used"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_that_fails_acknowledges_nothing_and_ends_the_process_with_its_reason() {
    let mut dice = Dice::new();
    let mut arena = Served::start();
    let load = Load::start(&arena, &mut dice, 4).await;
    let clients = load.run(&arena, &mut dice, usize::MAX);
    let enough = load.happened() + 40;
    while load.happened() < enough {
        poll_async().await;
    }
    // Another program writes in the journal's file and does not end: no append can be made durable any more.
    let lock = Connection::open(crate::records::file(&arena.data)).unwrap();
    lock.busy_timeout(PATIENCE).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let status = arena.wait();
    clients.join_all().await;
    lock.execute_batch("ROLLBACK").unwrap();
    drop(lock);
    let log = arena.log();
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("whether record") && log.contains("database is locked"), "{log}");
    let stopped = arena.kill();
    let audit = stopped.audit();
    assert_eq!(audit["holds"], true, "{audit}");
    let arena = stopped.start();
    load.assert_finished(&arena).await;
    let stopped = arena.stop();
    load.assert_once(&stopped.data);
}

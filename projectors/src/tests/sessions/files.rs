//! The view behind a real sequencer and over several partitions: starts, stops, what its files hold, and rows that contradict.

use super::{
    PLAIN,
    door::{Door, Session},
    log, people,
};
use crate::{
    ViewError, ViewsAt,
    tests::{
        World,
        partitions::{Run, network::Network},
        rows, without_checkpoint,
    },
};
use arena_journal::Followed;
use arena_schema::id::{ObjectId, Partition};
use rusqlite::Connection;
use std::{fs, sync::Arc};

#[test]
fn a_log_goes_on_over_a_restart_and_has_the_rows_of_one_that_is_built_in_one_go() {
    let world = World::new();
    let mut arena = world.start();
    let session = arena.create(0, false);
    let luis = arena.join(session, "luis", Some("luis"));
    arena.send(session, luis, PLAIN, b"before", None);
    let ended = arena.create(0, false);
    let only = arena.join(ended, "only", None);
    arena.stop();

    let mut arena = world.start();
    arena.send(session, luis, PLAIN, b"after", Some("after.txt"));
    arena.leave(ended, only);
    arena.settle();
    let whole = log(&arena.views, session);
    assert_eq!(
        whole,
        [
            "1 luis@1 [application/vnd.agentwire.join] 0 '' - luis".to_owned(),
            format!("2 luis@1 [{PLAIN}] 6 'before' - luis"),
            format!("3 luis@1 [{PLAIN}] 5 'after' after.txt luis"),
        ]
    );
    assert!(log(&arena.views, ended).is_empty());
    arena.stop();

    let grown = without_checkpoint(world.rows("sessions"));
    assert_eq!(grown.len(), 1 + 1 + 1 + 3);
    fs::remove_file(world.view("sessions")).unwrap();
    let arena = world.start();
    arena.settle();
    assert_eq!(log(&arena.views, session), whole);
    arena.stop();
    assert_eq!(without_checkpoint(world.rows("sessions")), grown);
}

#[test]
fn no_file_holds_anything_that_was_said_in_clear() {
    const MARKERS: [&str; 5] =
        ["markername", "MARKER-ACCOUNT", "x-marker/kind", "MARKER.txt", "MARKER PAYLOAD"];
    let world = World::new();
    let mut arena = world.start();
    let session = arena.create(0, false);
    let who = arena.join(session, MARKERS[0], Some(MARKERS[1]));
    arena.send(session, who, MARKERS[2], MARKERS[4].as_bytes(), Some(MARKERS[3]));
    arena.settle();
    // Read once, so that they are there to be found.
    let seen = log(&arena.views, session).join("\n");
    assert!(MARKERS.iter().all(|marker| seen.contains(marker)), "{seen}");
    let search = || {
        let files: Vec<_> = fs::read_dir(world.views()).unwrap().map(|entry| entry.unwrap().path()).collect();
        for path in files.iter().filter(|path| path.to_string_lossy().contains("sessions.db")) {
            let bytes = fs::read(path).unwrap();
            for marker in MARKERS {
                let found = bytes.windows(marker.len()).any(|part| part == marker.as_bytes());
                assert!(!found, "{marker:?} lies in {}", path.display());
            }
        }
        files.len()
    };
    assert!(search() >= 8, "while it runs, with the logs beside");
    arena.stop();
    assert_eq!(search(), 4);
}

/// The same session in three partitions, but for what is said in it.
fn three() -> (Network, [Session; 3]) {
    let mut network = Network::of(3);
    let sessions = [0, 1, 2].map(|partition| {
        let session = network.create(partition, false);
        let who = network.join(session, &format!("luis-{partition}"), None);
        network.send(session, who, PLAIN, format!("in {partition}").as_bytes(), None);
        network.send_object(session, who, ObjectId([partition as u8; 16]), 70_000);
        session
    });
    (network, sessions)
}

#[test]
fn each_partition_has_its_own_sessions() {
    let (network, sessions) = three();
    let [first, second, third] = sessions;
    assert!(first.key == second.key && second.key == third.key, "only the partition tells them apart");
    let run = Run::of(&network, 3);
    for (partition, session) in (0..).zip(sessions) {
        assert_eq!(
            log(&run.views, session)[1..],
            [
                format!("2 luis-{partition}@1 [{PLAIN}] 4 'in {partition}' - -"),
                format!("3 luis-{partition}@1 [image/png] 70000 '-' plot.png -"),
            ]
        );
        assert_eq!(people(&run.views, session), [format!("1 luis-{partition} -")]);
        let objects = |asked| run.views.session_objects(Partition(asked), session.id).unwrap();
        for asked in 0..3 {
            let expected =
                if asked == partition { vec![ObjectId([partition as u8; 16])] } else { Vec::new() };
            assert_eq!(objects(asked), expected);
        }
    }
    let absent = run.views.session_people(Partition(3), first.key, first.id);
    assert!(matches!(absent, Err(ViewError::Absent { view }) if view.partition == Partition(3)));
}

#[test]
fn each_partitions_file_is_built_again_by_itself() {
    let (network, sessions) = three();
    let data = tempfile::tempdir().unwrap();
    let at = ViewsAt::Data(data.path().to_owned());
    let files =
        ["sessions.db", "1/sessions.db", "2/sessions.db"].map(|name| data.path().join("views").join(name));
    let logs = || {
        let mut run = Run::open(&network, &at, 3);
        run.feed_all(&network);
        let logs = sessions.map(|session| log(&run.views, session));
        run.views.close().unwrap();
        (logs, files.each_ref().map(|file| rows(file)))
    };
    let grown = logs();
    assert!(grown.0.iter().all(|log| log.len() == 3));
    fs::write(&files[1], b"no database").unwrap();
    assert_eq!(logs(), grown);
    fs::copy(&files[1], &files[2]).unwrap();
    assert_eq!(logs(), grown, "another partition's file is none of this one's");
}

/// Rows are changed behind the view's back; the next event of the session must find that out, and change nothing more.
#[track_caller]
fn check_contradiction(meddling: &str, happens: impl FnOnce(&mut Network, Session, u32), expected: &str) {
    let mut network = Network::of(1);
    let session = network.create(0, false);
    let who = network.join(session, "luis", None);
    let data = tempfile::tempdir().unwrap();
    let mut run = Run::open(&network, &ViewsAt::Data(data.path().to_owned()), 1);
    run.feed_all(&network);
    let file = data.path().join("views/sessions.db");
    let meddler = Connection::open(&file).unwrap();
    assert_eq!(meddler.execute(meddling, []).unwrap(), 1);
    drop(meddler);
    let before = rows(&file);
    happens(&mut network, session, who);
    let follower = run.followers[0].last_mut().unwrap();
    follower.follow(&Arc::new(Followed::clone(network.head(0)))).unwrap();
    let why = run.views.close().unwrap_err().to_string();
    assert!(why.contains("the view sessions") && why.contains(expected), "{why}");
    assert_eq!(rows(&file), before);
}

#[test]
fn rows_that_contradict_the_records_stop_the_view() {
    let send = |network: &mut Network, session, who| network.send(session, who, PLAIN, b"x", None);
    check_contradiction("UPDATE sessions SET entries = 2", send, "does not follow its last one");
    check_contradiction("UPDATE sessions SET generation = 7", send, "does not follow its last one");
    check_contradiction(
        "DELETE FROM participants",
        |network, session, who| network.set_account(session, who, Some("a")),
        "for a participant who is not here",
    );
    check_contradiction(
        "UPDATE sessions SET generation = 7",
        |network, session, who| network.set_account(session, who, Some("a")),
        "for a participant who is not here",
    );
    check_contradiction(
        "UPDATE sessions SET session = 1",
        |network, _, _| {
            network.create(0, false);
        },
        "where another has not ended",
    );
    check_contradiction("UPDATE sessions SET id = zeroblob(16)", Door::leave, "ended, and is not here");
}

//! Views that were stopped, broken, thrown away or outgrown, and journals that are not the ones that were seen.

use super::{World, lines, rows, sessions::door::Door, without_checkpoint};
use crate::{Changes, Fault, Projector, Record, Replay, Views, ViewsAt, projectors};
use arena_engine::games::GameCode as Game;
use arena_journal::{Followed, Follower, StartError};
use arena_schema::{
    command::matches::StrikeCause,
    id::{MatchId, Partition, Protocol, RecordNumber},
};
use rusqlite::{Connection, Transaction, params};
use std::{fs, sync::Arc};

const VIEWS: [&str; 4] = ["agents", "replays", "leaderboard", "sessions"];

/// A world in which something happened, over two runs, and the match that it did in.
fn lived() -> (World, MatchId) {
    let world = World::new();
    let arena = world.start();
    let players = ["left", "right"].map(|handle| arena.register(handle, Protocol::AgentArena));
    let (id, key) = arena.open(players, true);
    arena.play_saying(key, "d", Some("centre"));
    arena.strike(key, StrikeCause::Status, Some(500), Some("oops"));
    arena.play(key, "a");
    arena.stop();
    let mut arena = world.start();
    arena.play(key, "dadad");
    for round in 0..8 {
        let (_, key) = arena.open(players, true);
        arena.play(key, "d");
        if round % 2 == 0 {
            arena.forfeit(key);
        } else {
            arena.abort(key);
        }
    }
    let session = arena.create(0, false);
    let luis = arena.join(session, "luis", Some("luis"));
    arena.send(session, luis, "text/plain", &[b'x'; 5_000], Some("long.txt"));
    arena.stop();
    (world, id)
}

fn last_of(world: &World) -> Replay {
    let arena = world.start();
    arena.settle();
    let [recent] = &arena.views.open_matches(1).unwrap()[..] else { panic!() };
    let replay = arena.replay(&recent.match_id);
    arena.stop();
    replay
}

fn all_rows(world: &World) -> Vec<Vec<String>> {
    VIEWS.iter().map(|view| without_checkpoint(world.rows(view))).collect()
}

#[test]
fn views_built_in_one_go_have_the_rows_of_those_that_grew() {
    let (world, id) = lived();
    let grown = all_rows(&world);
    fs::remove_dir_all(world.views()).unwrap();
    let arena = world.start();
    assert_eq!(lines(&arena.replay(&id)).last().unwrap(), "win X d1 d2 d3 d4");
    arena.stop();
    assert_eq!(all_rows(&world), grown);
}

#[test]
fn a_view_that_is_gone_cut_short_or_damaged_is_built_again() {
    let (world, _) = lived();
    let grown = all_rows(&world);
    for view in VIEWS {
        let file = world.view(view);
        let whole = fs::read(&file).unwrap();
        let mut broken: Vec<(String, Option<Vec<u8>>)> = vec![
            ("gone".to_owned(), None),
            ("empty".to_owned(), Some(Vec::new())),
            ("half".to_owned(), Some(whole[..whole.len() / 2].to_vec())),
            ("text".to_owned(), Some(b"no database".to_vec())),
        ];
        for page in 0..whole.len() / 4096 {
            let mut bytes = whole.clone();
            for byte in &mut bytes[page * 4096..page * 4096 + 64] {
                *byte ^= 0xff;
            }
            broken.push((format!("page {page}"), Some(bytes)));
        }
        for (what, bytes) in broken {
            match bytes {
                Some(bytes) => fs::write(&file, bytes).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            let arena = world.start();
            arena.settle();
            arena.stop();
            assert_eq!(all_rows(&world), grown, "{view}: {what}");
            let names: Vec<_> = fs::read_dir(world.views())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .filter(|name| name.contains(".new"))
                .collect();
            assert!(names.is_empty(), "{view}: {what}: {names:?} is left over");
        }
    }
}

#[test]
fn another_programs_file_is_no_view_and_another_views_file_neither() {
    let (world, _) = lived();
    let grown = all_rows(&world);
    fs::copy(world.view("agents"), world.view("replays")).unwrap();
    fs::remove_file(world.view("leaderboard")).unwrap();
    let other = Connection::open(world.view("leaderboard")).unwrap();
    other.execute_batch("CREATE TABLE shopping (item TEXT)").unwrap();
    drop(other);
    world.start().stop();
    assert_eq!(all_rows(&world), grown);
}

/// The same projection in its next version, whose tables differ.
struct Next(Box<dyn Projector>);

impl Projector for Next {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn version(&self) -> u32 {
        self.0.version() + 1
    }

    fn schema(&self) -> &'static str {
        match self.0.name() {
            "agents" => concat!(
                "CREATE TABLE agents (slot INTEGER NOT NULL, generation INTEGER NOT NULL, id BLOB, public_slug BLOB, ",
                "handle TEXT, name_commitment BLOB, name_sealed BLOB, protocol INTEGER, method INTEGER, ",
                "endpoint_commitment BLOB, endpoint_sealed BLOB, challenges INTEGER, registered_at INTEGER, ",
                "shoe_size INTEGER NOT NULL DEFAULT 42, PRIMARY KEY (slot, generation)) STRICT;"
            ),
            _ => self.0.schema(),
        }
    }

    fn project(
        &mut self,
        rows: &Transaction<'_>,
        record: &Record<'_>,
        changes: &mut Changes,
    ) -> Result<(), Fault> {
        self.0.project(rows, record, changes)
    }
}

fn next_version() -> Vec<Box<dyn Projector>> {
    projectors(Partition(0))
        .into_iter()
        .map(|projector| match projector.name() {
            "agents" => Box::new(Next(projector)) as Box<dyn Projector>,
            _ => projector,
        })
        .collect()
}

#[test]
fn another_version_is_built_beside_the_old_one_and_takes_its_place() {
    let (world, id) = lived();
    let before = world.rows("agents");
    let arena = world.try_start_with(next_version()).unwrap();
    // Readers that were there before the exchange read on after it.
    assert_eq!(arena.replay(&id).players[0].name, "NAME of left");
    let [left, _] = &arena.views.agents(None, 10).unwrap()[..] else { panic!() };
    assert_eq!(left.handle.as_str(), "left");
    arena.stop();
    let after = world.rows("agents");
    assert!(after.iter().any(|row| row.starts_with("agents") && row.ends_with("Integer(42)]")), "{after:?}");
    assert!(!world.views().join("agents.db.new").exists());
    // And back: the older build does the same.
    world.start().stop();
    assert_eq!(without_checkpoint(world.rows("agents")), without_checkpoint(before));
}

#[test]
fn a_rebuild_that_was_interrupted_goes_on_where_it_was() {
    let (world, _) = lived();
    let grown = all_rows(&world);
    // The build of a next version is stopped half way: its file has a checkpoint of its own.
    let half = RecordNumber(9);
    let records = followed(&world);
    let at = ViewsAt::Data(world.data.path().to_owned());
    let open = || {
        let (views, mut followers) =
            Views::open_with(&at, world.texts.clone(), vec![next_version()]).unwrap();
        (views, followers.remove(0))
    };
    let (views, mut followers) = open();
    for record in records.iter().filter(|record| record.header.number <= half) {
        for follower in &mut followers {
            if follower.wants(record.header.number, false) {
                follower.follow(record).unwrap();
            }
        }
    }
    views.close().unwrap();
    drop(followers);
    assert!(world.views().join("agents.db.new").exists());
    assert_eq!(all_rows(&world), grown, "the old view is in its place until the new one has caught up");
    let (views, followers) = open();
    assert!(!followers[0].wants(half, false) && followers[0].wants(half.next(), false));
    let mark = followers[0].mark().unwrap();
    assert_eq!(
        mark.number,
        records.last().unwrap().header.number,
        "what the old file saw is still remembered"
    );
    views.close().unwrap();
    drop(followers);
    world.try_start_with(next_version()).unwrap().stop();
    assert!(!world.views().join("agents.db.new").exists());
    world.start().stop();
    assert_eq!(all_rows(&world), grown);
}

/// All records of a journal, as a follower gets them.
fn followed(world: &World) -> Vec<Arc<Followed>> {
    struct Keep(Arc<std::sync::Mutex<Vec<Arc<Followed>>>>);
    impl Follower for Keep {
        fn wants(&self, _: RecordNumber, live: bool) -> bool {
            !live
        }
        fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String> {
            self.0.lock().unwrap().push(Arc::clone(record));
            Ok(())
        }
    }
    let kept: Arc<std::sync::Mutex<_>> = Arc::default();
    let copy = World::new();
    fs::copy(world.journal(), copy.journal()).unwrap();
    let journal = arena_journal::SqliteJournal::open(&copy.journal()).unwrap();
    let options = arena_journal::StartOptions {
        partition: Partition(0),
        clock: arena_journal::Clock::Still(world.clock.clone()),
        incarnation: arena_schema::id::Incarnation([5; 16]),
        followers: vec![Box::new(Keep(Arc::clone(&kept)))],
    };
    arena_journal::Sequencer::start(Box::new(journal), options).unwrap().stop().unwrap();
    kept.lock().unwrap().clone()
}

#[test]
fn a_record_that_is_not_the_next_one_is_refused_and_leaves_nothing() {
    let (world, _) = lived();
    let records = followed(&world);
    let in_memory = || {
        let (views, mut followers) = Views::open(&ViewsAt::Memory, world.texts.clone(), 1).unwrap();
        (views, followers.remove(0))
    };
    let (views, mut followers) = in_memory();
    followers[1].follow(&records[0]).unwrap();
    followers[1].follow(&records[2]).unwrap();
    // The thread has ended, or is about to.
    let why = loop {
        if let Some(why) = views.stopped() {
            break why;
        }
        std::thread::yield_now();
    };
    assert!(why.contains("replays") && why.contains("record 2") && why.contains("record 3"), "{why}");
    let refused = followers[0].follow(&records[0]).unwrap_err();
    assert!(refused.contains("record 3"), "{refused}");
    assert!(views.close().is_err());

    let (views, mut followers) = in_memory();
    let mut foreign = Followed::clone(&records[1]);
    foreign.header.previous = arena_schema::Hash([7; 32]);
    followers[0].follow(&records[0]).unwrap();
    followers[0].follow(&Arc::new(foreign)).unwrap();
    let why = views.close().unwrap_err().to_string();
    assert!(why.contains("agents") && why.contains("0707"), "{why}");
}

#[test]
fn a_journal_that_was_cut_short_behind_a_checkpoint_is_refused_by_name() {
    let (world, _) = lived();
    let journal = Connection::open(world.journal()).unwrap();
    journal.execute("DELETE FROM records WHERE number > 10", []).unwrap();
    drop(journal);
    let Err(StartError::Forgotten { why, .. }) = world.try_start() else { panic!("it started") };
    assert!(why.contains("the view") && why.contains("agents.db") && why.contains("record 10"), "{why}");
    // Each view remembers for itself.
    fs::remove_file(world.view("agents")).unwrap();
    fs::remove_file(world.view("replays")).unwrap();
    let Err(StartError::Forgotten { why, .. }) = world.try_start() else { panic!("it started") };
    assert!(why.contains("leaderboard.db"), "{why}");
    // One of another version too.
    let outdate = Connection::open(world.view("leaderboard")).unwrap();
    outdate.execute("UPDATE checkpoint SET version = version + 1", []).unwrap();
    drop(outdate);
    let Err(StartError::Forgotten { why, .. }) = world.try_start() else { panic!("it started") };
    assert!(why.contains("leaderboard.db"), "{why}");
    // Whoever throws the views away starts from what the journal has.
    fs::remove_dir_all(world.views()).unwrap();
    world.start().stop();
}

#[test]
fn another_journal_of_the_same_length_is_refused_by_name() {
    let (world, _) = lived();
    let (other, _) = lived();
    fs::copy(other.journal(), world.journal()).unwrap();
    let Err(StartError::Forgotten { why, .. }) = world.try_start() else { panic!("it started") };
    assert!(why.contains("agents.db") && why.contains("hash"), "{why}");
}

#[test]
fn a_view_that_is_behind_catches_up_from_its_own_checkpoint() {
    let (world, _) = lived();
    let stale: Vec<_> = VIEWS.iter().map(|view| fs::read(world.view(view)).unwrap()).collect();
    let arena = world.start();
    let players = arena.views.agents(None, 2).unwrap();
    let (_, key) = arena.open([players[0].key, players[1].key], true);
    arena.play(key, "dd");
    arena.stop();
    let grown = all_rows(&world);
    fs::write(world.view("replays"), &stale[1]).unwrap();
    assert_eq!(lines(&last_of(&world)).len(), 3);
    assert_eq!(all_rows(&world), grown);
}

#[test]
fn a_view_whose_rows_contradict_the_records_stops_the_sequencer_with_the_reason() {
    let (world, _) = lived();
    let arena = world.start();
    let players = arena.views.agents(None, 2).unwrap();
    let (id, key) = arena.open([players[0].key, players[1].key], true);
    arena.settle();
    let meddler = Connection::open(world.view("replays")).unwrap();
    meddler.execute("DELETE FROM matches WHERE id = ?1", params![id.0]).unwrap();
    arena.play(key, "d");
    let position = arena.sequencer.handle().position();
    let behind =
        arena.runtime.block_on(arena.views.wait_for(Partition(0), position, super::PATIENCE)).unwrap_err();
    assert!(behind.to_string().contains("replays"), "{behind}");
    // The next record finds the views gone.
    let mut stopped = arena.sequencer.handle().stopped();
    let submitted = arena.runtime.block_on(async {
        let command = arena_schema::command::matches::AbortMatch {
            key,
            reason: arena_schema::command::matches::VoidReason::Operator,
        };
        let pending = arena.producer.submit(vec![arena_journal::Submission::new(command)]).await;
        let _ = pending.unwrap().outcome().await;
        stopped.wait_for(Option::is_some).await.unwrap().clone()
    });
    assert!(submitted.unwrap().contains("replays"));
    assert!(arena.sequencer.stop().is_err());
    assert!(arena.views.close().is_err());
    assert_eq!(arena.views.leaderboard(Game::Connect4, 10).unwrap().len(), 2, "what is there is still read");
    // The meddler's row is beyond repair, and the view is thrown away.
    drop(meddler);
    fs::remove_file(world.view("replays")).unwrap();
    let arena = world.start();
    assert_eq!(lines(&arena.replay(&id))[2..], ["2 end void -", "void -"]);
    arena.stop();
    assert!(rows(&world.view("replays")).len() > 10);
}

//! Where the views of each partition lie, and what becomes of them over restarts, losses and mistakes.

use super::{Network, Run};
use crate::{
    ViewsAt, marks,
    tests::{rows, sessions::door::Door, without_checkpoint},
};
use arena_journal::Mark;
use arena_schema::{
    Seat,
    id::{MatchId, Partition, RecordNumber},
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

const FILES: [&str; 8] = [
    "agents.db",
    "replays.db",
    "leaderboard.db",
    "sessions.db",
    "1/replays.db",
    "1/sessions.db",
    "2/replays.db",
    "2/sessions.db",
];

/// Three partitions in which something happened, and their views in files, closed.
struct World {
    network: Network,
    data: TempDir,
    running: MatchId,
}

impl World {
    fn lived() -> Self {
        let mut network = Network::of(3);
        let players = ["left", "right"].map(|handle| network.register(handle));
        for partition in [0, 1, 2, 1] {
            let id = network.open(partition, players, true);
            network.lose(id, Seat::Second);
        }
        network.carry();
        let running = network.open(1, players, true);
        network.play(running, "da");
        for partition in 0..3 {
            let session = network.create(partition, false);
            network.join(session, "luis", None);
        }
        let world = Self { network, data: tempfile::tempdir().unwrap(), running };
        world.run();
        world
    }

    fn at(&self) -> ViewsAt {
        ViewsAt::Data(self.data.path().to_owned())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.data.path().join("views").join(name)
    }

    /// Starts the views, lets them catch up and closes them; which records each of partition p's resumed after stands at p.
    fn run(&self) -> Vec<Vec<RecordNumber>> {
        let mut run = Run::open(&self.network, &self.at(), 3);
        let resumed = (0..3).map(|partition| run.resumes_after(partition)).collect();
        run.feed_all(&self.network);
        run.views.close().unwrap();
        resumed
    }

    fn rows(&self) -> Vec<Vec<String>> {
        FILES.iter().map(|name| without_checkpoint(rows(&self.file(name)))).collect()
    }

    fn head(&self, partition: u16) -> RecordNumber {
        self.network.head(partition).header.number
    }

    fn heads(&self) -> Vec<Vec<RecordNumber>> {
        vec![vec![self.head(0); 4], vec![self.head(1); 2], vec![self.head(2); 2]]
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn each_partition_has_its_own_folder_and_only_the_first_has_all_views() {
    let world = World::lived();
    let views = world.file("");
    assert_eq!(
        names(&views),
        ["1", "2", "agents.db", "leaderboard.db", "replays.db", "sessions.db"].map(str::to_owned).into()
    );
    for partition in ["1", "2"] {
        assert_eq!(names(&views.join(partition)), ["replays.db", "sessions.db"].map(str::to_owned).into());
    }
}

#[test]
fn views_go_on_over_a_restart_each_from_its_own_checkpoint() {
    let mut world = World::lived();
    assert_eq!(world.run(), world.heads());
    let before = world.heads();
    world.network.play(world.running, "dadad");
    world.network.carry();
    let mut run = Run::open(&world.network, &world.at(), 3);
    for (partition, resumed) in before.iter().enumerate() {
        assert_eq!(&run.resumes_after(partition), resumed);
    }
    run.feed_all(&world.network);
    let replay = run.views.replay(&world.running, None).unwrap().unwrap();
    assert_eq!(crate::tests::lines(&replay).last().unwrap(), "win X d1 d2 d3 d4");
    let wins = run.views.ratings_of(replay.players[0].agent).unwrap()[0].wins;
    assert_eq!(wins, 5, "four were won before, this one is back too");
    run.views.close().unwrap();
    // What grew has the rows of what is built in one go.
    let grown = world.rows();
    fs::remove_dir_all(world.file("")).unwrap();
    world.run();
    assert_eq!(world.rows(), grown);
}

#[test]
fn one_partitions_file_is_built_again_and_no_other() {
    let world = World::lived();
    let grown = world.rows();
    for bytes in [None, Some(Vec::new()), Some(b"no database".to_vec())] {
        match bytes {
            Some(bytes) => fs::write(world.file("1/replays.db"), bytes).unwrap(),
            None => fs::remove_file(world.file("1/replays.db")).unwrap(),
        }
        let mut resumed = world.heads();
        resumed[1][0] = RecordNumber(0);
        assert_eq!(world.run(), resumed);
        assert_eq!(world.rows(), grown);
        assert_eq!(names(&world.file("1")), ["replays.db", "sessions.db"].map(str::to_owned).into());
    }
    assert_eq!(world.run(), world.heads());
}

#[test]
fn a_file_with_another_partitions_records_is_built_again_and_is_no_mark() {
    let world = World::lived();
    let grown = world.rows();
    for (from, to, partition) in [
        ("1/replays.db", "2/replays.db", 2),
        ("replays.db", "1/replays.db", 1),
        ("2/replays.db", "replays.db", 0),
    ] {
        fs::copy(world.file(from), world.file(to)).unwrap();
        let remembered = marks(world.data.path(), Partition(partition));
        assert!(!remembered.iter().any(|mark| mark.who.contains("replays")), "{remembered:?}");
        let mut resumed = world.heads();
        let view = usize::from(partition == 0);
        resumed[usize::from(partition)][view] = RecordNumber(0);
        assert_eq!(world.run(), resumed, "{from} in the place of {to}");
        assert_eq!(world.rows(), grown);
    }
}

#[test]
fn a_record_of_another_partition_is_refused_by_name() {
    let world = World::lived();
    let mut run = Run::open(&world.network, &ViewsAt::Memory, 3);
    run.followers[1][0].follow(&world.network.records(2)[0]).unwrap();
    let why = run.views.close().unwrap_err().to_string();
    assert!(why.contains("record 1 of partition 2") && why.contains("replays of partition 1"), "{why}");
    assert!(run.views.open_matches(1).unwrap().is_empty());
}

#[test]
fn an_audit_has_the_marks_of_its_own_partition() {
    let world = World::lived();
    let remembered = |partition| marks(world.data.path(), Partition(partition));
    let whose = |marks: &[Mark]| marks.iter().map(|mark| mark.who.clone()).collect::<Vec<_>>();
    assert_eq!(
        whose(&remembered(0)),
        ["the view agents", "the view leaderboard", "the view replays", "the view sessions"]
    );
    for partition in [1, 2] {
        let expected =
            ["replays", "sessions"].map(|view| format!("the view {view} of partition {partition}"));
        assert_eq!(whose(&remembered(partition)), expected);
    }
    assert_eq!(whose(&remembered(3)), Vec::<String>::new());
    for partition in 0..3 {
        let head = world.network.head(partition);
        for mark in remembered(partition) {
            assert_eq!((mark.number, mark.hash), (head.header.number, head.hash));
        }
    }
}

#[test]
fn a_follower_brings_its_own_partitions_mark() {
    let world = World::lived();
    let run = Run::open(&world.network, &world.at(), 3);
    for (partition, followers) in (0..).zip(&run.followers) {
        let head = world.network.head(partition);
        for follower in followers {
            let mark = follower.mark().unwrap();
            assert_eq!((mark.number, mark.hash), (head.header.number, head.hash));
            assert!(partition == 0 || mark.who.contains(&format!("views/{partition}/")), "{}", mark.who);
        }
    }
    run.views.close().unwrap();
}

//! Eras: an era ends by its size, the next goes on with numbers and hashes, and a crash in between is mended.

use crate::{
    AppendError, Clock, ERA_BYTES, Journal, MemoryJournal, Sequencer, SqliteJournal, Submission, audit,
    testing::{Dice, Folder, PARTITION, Witness, register, run, start},
};
use arena_schema::{
    Event,
    id::{Era, RecordNumber},
    record::{RecordView, closes_era},
};
use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

const SMALL: u64 = 4_096;

fn play(sequencer: &Sequencer, agents: std::ops::Range<u64>) {
    for at in agents {
        let pending = sequencer.producer().try_submit(vec![Submission::new(register(at))]).unwrap();
        assert!(run(pending.outcome()).unwrap().result.is_ok(), "agent {at}");
    }
}

/// Each record's era, and whether it closes it.
fn eras(journal: &dyn Journal) -> Vec<(u32, bool)> {
    crate::testing::rows(journal)
        .iter()
        .map(|(_, bytes, _)| (RecordView::parse(bytes).unwrap().header.era.0, closes_era(bytes)))
        .collect()
}

#[track_caller]
fn check_eras(journal: &dyn Journal, least: u32) {
    let eras = eras(journal);
    let mut open = 1;
    for (at, (era, closes)) in eras.iter().enumerate() {
        assert_eq!(*era, open, "record {}", at + 1);
        open += u32::from(*closes);
    }
    assert!(open >= least, "{open} eras");
    let report = audit(journal.reader().unwrap().as_mut(), PARTITION, &[]).unwrap();
    assert_eq!(report.records as usize, eras.len());
}

#[test]
fn an_era_ends_by_its_size_alone_in_its_record_and_the_next_goes_on() {
    let witness = Witness::default();
    let journal = MemoryJournal::default().with_era_bytes(SMALL);
    let sequencer = start(journal.clone(), 1, Clock::System, &witness).unwrap();
    play(&sequencer, 0..60);
    sequencer.stop().unwrap();
    check_eras(&journal, 4);
    let closed = witness.events().into_iter().filter(|event| matches!(event, Event::EraClosed(_))).count();
    assert_eq!(closed, eras(&journal).iter().filter(|(_, closes)| *closes).count());
    assert_eq!(MemoryJournal::default().era_bytes_max(), ERA_BYTES);
}

#[test]
fn on_sqlite_each_era_is_a_file_and_a_start_replays_over_all() {
    let folder = Folder::new();
    // A file has pages, and so an era is never smaller than some of them.
    let open = || folder.journal().with_era_bytes(40_000);
    for turn in 1..4_u8 {
        let sequencer = start(open(), turn, Clock::System, &Witness::default()).unwrap();
        play(&sequencer, u64::from(turn) * 100..u64::from(turn) * 100 + 80);
        sequencer.stop().unwrap();
    }
    check_eras(&open(), 3);
    assert!(SqliteJournal::path_in(folder.path(), PARTITION, Era(2)).is_file());
}

#[test]
fn a_crash_between_an_eras_last_record_and_the_next_file_is_mended_by_the_next_start() {
    let folder = Folder::new();
    let sequencer =
        start(folder.journal().with_era_bytes(40_000), 1, Clock::System, &Witness::default()).unwrap();
    let mut at = 0;
    let second = SqliteJournal::path_in(folder.path(), PARTITION, Era(2));
    while !second.is_file() {
        play(&sequencer, at..at + 1);
        at += 1;
    }
    drop(sequencer.stop());
    let closed = eras(&folder.journal()).iter().position(|(_, closes)| *closes).unwrap() as u64 + 1;

    // As it lay before the next file was made; then with the file made and empty; then before the era was closed for writers.
    for (what, empty, reopened) in [("no file", false, false), ("empty", true, false), ("open", false, true)]
    {
        for left in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(folder.path().join(format!("records-0-2.db{left}")));
        }
        if reopened {
            folder.sql().execute_batch("DROP TRIGGER closed").unwrap();
        }
        if empty {
            fs::File::create(&second).unwrap();
        }
        let mut journal = folder.journal();
        assert_eq!(journal.last().unwrap(), RecordNumber(closed), "{what}");
        assert_eq!(journal.era(), if empty { Era(2) } else { Era(1) }, "{what}");
        let sequencer = start(journal, 2, Clock::System, &Witness::default()).unwrap();
        play(&sequencer, 1_000..1_003);
        sequencer.stop().unwrap();
        check_eras(&folder.journal(), 2);
        assert_eq!(eras(&folder.journal())[closed as usize], (2, false), "{what}");
    }
}

#[test]
fn what_an_archived_era_had_is_said_to_be_archived() {
    let folder = Folder::new();
    let sequencer =
        start(folder.journal().with_era_bytes(40_000), 1, Clock::System, &Witness::default()).unwrap();
    play(&sequencer, 0..200);
    sequencer.stop().unwrap();
    let closed = eras(&folder.journal()).iter().position(|(_, closes)| *closes).unwrap() as u64 + 1;
    let away = folder.path().join("away");
    fs::create_dir(&away).unwrap();
    fs::rename(folder.file(), away.join("records-0-1.db")).unwrap();
    let mut reader = folder.journal().reader().unwrap();
    assert_eq!(reader.first().unwrap(), RecordNumber(closed + 1));
    let why = reader.read(RecordNumber(1), &mut |_| crate::Visit::Next).unwrap_err().to_string();
    let words = format!("goes on with record {}", closed + 1);
    assert!(why.contains("era 1") && why.contains(&words) && why.contains("archive"), "{why}");
    let refused = start(folder.journal(), 2, Clock::System, &Witness::default()).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains(&words), "{refused}");
    let unfit = crate::testing::played(1, 1).remove(0).0;
    assert!(matches!(folder.journal().append(&unfit, &[]), Err(AppendError::Fenced { .. })));
}

/// The folder of a journal that a process of its own is to write until it is killed.
const WRITES: &str = "ARENA_TESTS_ERAS_FOLDER";
const KILLS: u64 = 24;
/// Two or three records a file.
const TINY: u64 = 9_000;

#[test]
fn a_process_that_writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(WRITES) else { return };
    let path = SqliteJournal::path_in(folder.as_ref(), PARTITION, Era(1));
    let journal = SqliteJournal::open(&path).unwrap().with_era_bytes(TINY);
    let run = crate::vault::random::<1>()[0];
    let begin = u64::from(u32::from_le_bytes(crate::vault::random()));
    let sequencer = start(journal, run, Clock::System, &Witness::default()).unwrap();
    println!("begun");
    play(&sequencer, begin..u64::MAX);
}

#[test]
fn killed_at_any_instant_around_the_ends_of_eras_a_journal_holds_and_goes_on() {
    let folder = Folder::new();
    let mut dice = Dice(crate::vault::random::<1>()[0].into());
    let mut last = 0;
    for kill in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "tests::eras::a_process_that_writes_until_it_is_killed"])
            .env(WRITES, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let begun = lines.any(|line| line.is_ok_and(|line| line.contains("begun")));
        assert!(begun, "the process of kill {kill} does not begin");
        std::thread::sleep(Duration::from_micros(dice.below(60_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        let mut journal = folder.journal();
        check_eras(&journal, 1);
        let now = journal.last().unwrap().0;
        assert!(now > last, "kill {kill}: {now} after {last}");
        last = now;
    }
    let eras = eras(&folder.journal()).last().unwrap().0;
    assert!(u64::from(eras) > KILLS, "{eras} eras in {last} records");
}

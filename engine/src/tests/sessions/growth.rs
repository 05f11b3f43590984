//! Nothing in the state grows with what was: entries, names that were taken back, sessions that ended, questions that were answered.

use super::made_by;
use crate::{State, testing::encoded};

/// What numbers that have become greater take more.
const NUMBERS_BYTES: usize = 24;

/// The length of the state's bytes after `lines` came so many times, by the sequencer, who has no window of numbers.
#[track_caller]
fn length(begin: &str, times: usize, lines: impl Fn(usize) -> String) -> usize {
    let mut script = begin.to_owned();
    for at in 0..times {
        script += &lines(at);
    }
    encoded(&made_by(&script)).len()
}

#[track_caller]
fn check(begin: &str, times: usize, lines: impl Fn(usize) -> String) {
    let (few, many) = (length(begin, 3, &lines), length(begin, times, &lines));
    assert!(many <= few + NUMBERS_BYTES, "{few} bytes after 3, {many} after {times}");
}

/// A record for each, a second apart.
fn at(second: usize) -> String {
    let (day, second) = (second / 86_400, second % 86_400);
    format!("~{day}d{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

const BEGIN: &str = "
    ~10:00:00 @0 create s1 owned
    ~10:00:01 @0 join s1 luis account=luis
    ~10:00:02 @0 join s1 anna
    ~10:00:03 @0 touch s1
";

#[test]
fn entries_leave_but_their_count() {
    check(BEGIN, 300, |one| {
        let more = "& @0 send s1 luis size=9\n".repeat(20);
        format!("{} @0 send s1 anna size=70000 object file=9\n{more}", at(40_000 + one))
    });
}

#[test]
fn whoever_comes_and_goes_leaves_nothing_more() {
    check(BEGIN, 300, |one| {
        format!("{} @0 leave s1 anna\n& @0 rejoin s1 anna\n& @0 read s1 luis:9999999\n", at(40_000 + one))
    });
}

#[test]
fn names_that_are_taken_back_leave_nothing() {
    check(BEGIN, 300, |one| {
        format!("{} @0 join s1 luis secret=number{one} account=luis takes=silent\n", at(40_000 + one))
    });
}

#[test]
fn sessions_that_ended_leave_nothing() {
    check(BEGIN, 300, |one| {
        let time = at(40_000 + one);
        format!("{time} @0 create t{one}\n{time}.5 @0 join t{one} luis\n& @0 leave t{one} @1\n")
    });
}

/// What only a gateway says takes its numbers, as what is refused does.
#[track_caller]
fn check_numbered(begin: &str, times: usize, lines: impl Fn(usize) -> String) -> State {
    let refused = |one: usize| {
        let lines = lines(one);
        let times = lines.lines().filter_map(|line| line.split(' ').next());
        times.fold(String::new(), |script, time| script + time + " a leave s1 @77\n")
    };
    let (plain, many) = (length(begin, times, refused), length(begin, times, &lines));
    assert!(
        many <= plain + NUMBERS_BYTES,
        "{plain} bytes after {times} that are refused, {many} after these"
    );
    made_by(&(0..times).fold(begin.to_owned(), |script, one| script + &lines(one)))
}

#[test]
fn questions_and_answers_leave_nothing() {
    let begin = format!("{BEGIN}~10:00:04 @0 leave s1 luis\n~10:00:05 @0 leave s1 anna\n");
    let state = check_numbered(&begin, 300, |one| {
        format!("{} a answer s1 keep attempt={}\n", at(40_000 + one * 90_000), one + 1)
    });
    let held = state.sessions().open().iter().next().expect("it is kept").2;
    assert_eq!(held.attempts, 300, "it was asked about each day");
}

#[test]
fn receives_leave_nothing() {
    let state = check_numbered(BEGIN, 300, |one| {
        let (first, second) = (at(200_000 * one), at(200_000 * one + 1));
        format!("{first} a touch s1 waiting\n{second} a touch s1\n").replace("~0d00:00:0", "~0d11:00:0")
    });
    assert_eq!(state.sessions().open().len(), 1, "it was received in each other day");
}

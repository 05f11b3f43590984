//! Who is woken by what, with which presence (agentwire, *Receive* and *Presence*).

use super::*;
use crate::agentwire::{entry::Entry, params::Params};
use arena_schema::id::ProducerId;
use serde_json::Value;

const SECOND_US: u64 = 1_000_000;

/// A session with these people in it; each joined in the entry of its number.
struct Scene {
    room: Room,
    n: u64,
    now: LogTime,
}

impl Scene {
    fn with(names: &[&str]) -> Self {
        let place = (Partition(0), SessionKey { slot: 0, generation: 1 }, SessionId([1; 16]));
        let mut scene = Self { room: Room::new(place, false, Vec::new(), 0), n: 0, now: LogTime(SECOND_US) };
        for (name, number) in names.iter().zip(1..) {
            scene.joins(number, name);
        }
        scene
    }

    fn later(&mut self) -> LogTime {
        self.now = self.now.plus_us(SECOND_US);
        self.now
    }

    fn line(&mut self, who: u32, kind: &str) -> Arc<Line> {
        self.n += 1;
        let (n, time) = (self.n, self.now);
        let entry = Entry { n, time, from: "x", kind, size: 0, filename: None, payload: None, account: None };
        Arc::new(entry.line(who))
    }

    fn joins(&mut self, number: u32, name: &str) {
        let now = self.later();
        let person = Person::new(Some(name.into()), None, true, 0, now);
        let lines = vec![self.line(number, "join")];
        self.room.take_in(Operation { lines, joined: vec![(number, person)], ..Operation::default() }, now);
    }

    fn sends(&mut self, who: u32, kind: &str) {
        let now = self.later();
        let lines = vec![self.line(who, kind)];
        self.room.take_in(Operation { lines, ..Operation::default() }, now);
    }

    fn leaves(&mut self, who: u32) {
        let now = self.later();
        let lines = vec![self.line(who, "leave")];
        self.room.take_in(Operation { lines, moved: vec![(who, false)], ..Operation::default() }, now);
    }

    fn waits(&mut self, who: u32, query: &str) -> (Ticket, oneshot::Receiver<Woken>) {
        let now = self.later();
        let who = Who::Participant(who);
        let ticket = self.room.arrive(who, now);
        (ticket, self.room.wait(ticket, who, self.wants(query), now).unwrap())
    }

    /// What a query wants from here on.
    fn wants(&self, query: &str) -> Wants {
        let params = Params::parse(Some(query), &["own", "presence", "only", "skip"]).unwrap();
        Wants { after: self.n, own: params.own, presence: params.presence, filter: params.filter }
    }

    fn presence(&self) -> Value {
        presence(&self.room.presence_for(Who::Reader))
    }
}

fn presence(line: &Bytes) -> Value {
    serde_json::from_slice::<Value>(line).unwrap()["presence"].take()
}

/// The presence that a receive was woken with; none where it still waits.
fn woken(receive: &mut oneshot::Receiver<Woken>) -> Option<(u64, Bytes)> {
    match receive.try_recv() {
        Ok(Woken::Answer { upto, presence }) => Some((upto, presence)),
        Ok(other) => panic!("it ends otherwise: {other:?}"),
        Err(_) => None,
    }
}

#[test]
fn an_entry_wakes_those_that_want_it_with_one_presence_from_before_any_ended() {
    let mut scene = Scene::with(&["a", "b", "c"]);
    let (_, mut all) = scene.waits(1, "");
    let (_, mut some) = scene.waits(2, "only=text/");
    let (_, mut own) = scene.waits(3, "");
    scene.sends(3, "image/png");
    let first = woken(&mut all).unwrap();
    assert!(woken(&mut some).is_none() && woken(&mut own).is_none(), "not wanted, and one's own");
    let seen = presence(&first.1);
    assert!(["a", "b", "c"].iter().all(|name| seen[name]["receiving"] == true), "{seen}");
    let now = scene.presence();
    assert_eq!([&now["a"]["receiving"], &now["b"]["receiving"]], [false, true], "{now}");
    let (_, mut again) = scene.waits(1, "");
    scene.sends(3, "text/plain");
    let (one, other) = (woken(&mut again).unwrap(), woken(&mut some).unwrap());
    assert_eq!(one, other, "the very same line, and up to the same entry");
    assert_eq!(one.0, 5);
}

#[test]
fn a_newer_receive_replaces_the_one_before_and_is_the_one_that_shows() {
    let mut scene = Scene::with(&["a", "b"]);
    let (older, mut replaced) = scene.waits(1, "");
    let (newer, mut waits) = scene.waits(1, "");
    assert_eq!(replaced.try_recv(), Ok(Woken::Replaced));
    // The guard of the older one ends after the newer has begun.
    let now = scene.later();
    scene.room.depart(older, Who::Participant(1), now);
    assert_eq!(scene.presence()["a"]["receiving"], true);
    scene.sends(2, "text/plain");
    assert!(woken(&mut waits).is_some());
    let since = scene.presence()["a"]["since"].clone();
    let now = scene.later();
    scene.room.depart(newer, Who::Participant(1), now);
    assert_eq!(scene.presence()["a"]["since"], since, "it ended as it was woken");
}

#[test]
fn one_that_was_overtaken_before_it_waited_does_not_wait() {
    let mut scene = Scene::with(&["a"]);
    let now = scene.later();
    let who = Who::Participant(1);
    let older = scene.room.arrive(who, now);
    let _newer = scene.room.arrive(who, now);
    let outcome = scene.room.wait(older, who, scene.wants(""), now);
    assert_eq!(outcome.unwrap_err(), Some(Woken::Replaced));
}

#[test]
fn one_that_missed_an_entry_looks_again_before_it_waits() {
    let mut scene = Scene::with(&["a", "b"]);
    let now = scene.later();
    let who = Who::Participant(1);
    let ticket = scene.room.arrive(who, now);
    let wants = scene.wants("only=text/");
    scene.sends(2, "image/png");
    assert!(
        scene.room.wait(ticket, who, wants.clone(), now).is_ok(),
        "what it does not want it did not miss"
    );
    let ticket = scene.room.arrive(who, now);
    scene.sends(2, "text/plain");
    assert_eq!(scene.room.wait(ticket, who, wants, now).unwrap_err(), None);
}

#[test]
fn a_change_of_the_presence_wakes_those_that_watch_it() {
    let mut scene = Scene::with(&["a", "b"]);
    let (_, mut watches) = scene.waits(1, "presence=1");
    // A read position.
    let now = scene.later();
    scene.room.move_reads([(2, 1)], now);
    assert_eq!(presence(&woken(&mut watches).unwrap().1)["b"]["read"], 1);
    // A receive begins, and ends.
    let (_, mut watches) = scene.waits(1, "presence=1");
    let (ticket, _waits) = scene.waits(2, "");
    assert_eq!(presence(&woken(&mut watches).unwrap().1)["b"]["receiving"], true);
    let (_, mut watches) = scene.waits(1, "presence=1");
    let now = scene.later();
    scene.room.depart(ticket, Who::Participant(2), now);
    assert_eq!(presence(&woken(&mut watches).unwrap().1)["b"]["receiving"], false);
}

#[test]
fn two_that_watch_the_presence_do_not_wake_each_other() {
    let mut scene = Scene::with(&["a", "b"]);
    let (_, mut watches) = scene.waits(1, "presence=1");
    let (ticket, other) = scene.waits(2, "presence=1");
    assert!(woken(&mut watches).is_none());
    drop(other);
    let now = scene.later();
    scene.room.depart(ticket, Who::Participant(2), now);
    assert!(woken(&mut watches).is_none());
    assert_eq!(scene.presence()["b"]["receiving"], false, "though it shows");
}

#[test]
fn a_time_that_is_up_ends_it_once() {
    let mut scene = Scene::with(&["a", "b"]);
    let (ticket, _waits) = scene.waits(1, "");
    let now = scene.later();
    let (last, line) = scene.room.stop_waiting(ticket, now).unwrap();
    assert_eq!((last, &presence(&line)["a"]["receiving"]), (2, &true.into()));
    assert_eq!(scene.presence()["a"]["receiving"], false);
    let (ticket, mut waits) = scene.waits(1, "");
    scene.sends(2, "text/plain");
    assert!(scene.room.stop_waiting(ticket, now).is_none(), "it was woken meanwhile");
    assert!(woken(&mut waits).is_some());
}

#[test]
fn a_leavers_own_receive_returns_and_one_whose_name_is_taken_back_is_refused() {
    let mut scene = Scene::with(&["a", "b", "c"]);
    let (_, mut waits) = scene.waits(1, "");
    scene.leaves(1);
    assert!(presence(&woken(&mut waits).unwrap().1).get("a").is_none(), "it is out");
    let (_, mut waits) = scene.waits(2, "");
    let now = scene.later();
    let lines = vec![scene.line(2, "leave"), scene.line(4, "join")];
    let person = Person::new(Some("b".into()), None, true, 0, now);
    let (joined, moved, replaced) = (vec![(4, person)], vec![(2, false)], vec![2]);
    scene.room.take_in(Operation { lines, joined, moved, replaced, ..Operation::default() }, now);
    assert!(matches!(waits.try_recv(), Ok(Woken::Refused(_))));
    let ticket = scene.room.arrive(Who::Participant(2), now);
    let outcome = scene.room.wait(ticket, Who::Participant(2), scene.wants(""), now);
    assert!(matches!(outcome.unwrap_err(), Some(Woken::Refused(_))));
    assert_eq!(scene.presence()["b"]["read"], 0);
}

#[test]
fn the_end_of_the_session_answers_all_that_wait() {
    let mut scene = Scene::with(&["a"]);
    let now = scene.later();
    let reads = scene.room.arrive(Who::Reader, now);
    let mut reading = scene.room.wait(reads, Who::Reader, scene.wants("own=1"), now).unwrap();
    let (_, mut waits) = scene.waits(1, "");
    let now = scene.later();
    let lines = vec![scene.line(1, "leave")];
    scene.room.take_in(Operation { lines, moved: vec![(1, false)], ends: true, ..Operation::default() }, now);
    assert_eq!(woken(&mut waits), woken(&mut reading));
    let ticket = scene.room.arrive(Who::Reader, now);
    let outcome = scene.room.wait(ticket, Who::Reader, scene.wants(""), now);
    assert_eq!(outcome.unwrap_err(), Some(Woken::Ended));
}

#[test]
fn entries_at_hand_are_without_gaps_up_to_the_last() {
    let mut scene = Scene::with(&["a"]);
    for _ in 0..RECENT_MAX {
        scene.sends(1, "text/plain");
    }
    let (lines, last) = scene.room.recent(1).unwrap();
    assert_eq!((lines.len(), last), (RECENT_MAX, scene.n));
    assert!(scene.room.recent(0).is_none(), "the first is at hand no more");
    assert!(scene.room.recent(scene.n + 9).unwrap().0.is_empty());
    // One of which only the number is known: nothing before it and nothing of it is at hand.
    let now = scene.later();
    scene.n += 1;
    scene.room.take_in(Operation { last: Some(scene.n), ..Operation::default() }, now);
    assert!(scene.room.recent(scene.n - 1).is_none());
    scene.sends(1, "text/plain");
    assert_eq!(scene.room.recent(scene.n - 1).unwrap().0.len(), 1);
}

#[test]
fn the_journal_is_told_once_that_somebody_waits_and_once_that_nobody_does() {
    let mut scene = Scene::with(&["a", "b"]);
    let gateway = ProducerId(7);
    assert!(scene.room.tell_waiting(gateway) && !scene.room.tell_waiting(gateway));
    let (ticket, _waits) = scene.waits(1, "");
    assert_eq!(scene.room.touch(scene.now, 0), Touch::No, "it knows while one waits");
    assert!(!scene.room.tell_quiet(scene.now), "one waits");
    scene.room.depart(ticket, Who::Participant(1), scene.now);
    assert!(
        scene.room.is_told_in_vain() && scene.room.tell_quiet(scene.now) && !scene.room.tell_quiet(scene.now)
    );
    assert!(scene.room.tell_waiting(ProducerId(8)), "and as another gateway again");
    scene.leaves(1);
    scene.leaves(2);
    assert!(!scene.room.is_told_in_vain(), "with the last one out it forgets who waited");
}

#[test]
fn receives_that_return_at_once_are_told_of_now_and_then_and_the_last_of_them_always() {
    let scene = Scene::with(&["a"]);
    let (room, now) = (&scene.room, scene.now);
    let hour = 3_600 * SECOND_US;
    assert_eq!(room.touch(now, hour), Touch::Now);
    assert_eq!(room.touch(now.plus_us(hour / 2), hour), Touch::Later);
    assert_eq!(room.touch(now.plus_us(hour - 1), hour), Touch::No, "it is told of later anyway");
    assert!(room.touch_owed(now.plus_us(hour)) && !room.touch_owed(now.plus_us(hour)));
    assert_eq!(room.touch(now.plus_us(2 * hour), hour), Touch::Now);
}

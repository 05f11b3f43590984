//! What falls due in the journal's time. It is emptied before a record's first command, by due time and, where that is the
//! same, by the order of scheduling.
//!
//! Nearly everything is due a fixed span after it was scheduled, and time only grows, so things of one span are already in
//! order: each span is a lane, a list through the slab below, and only the lanes' fronts are kept sorted. Scheduling and
//! taking off cost the same however much waits.

mod snapshot;

use crate::matches;
use crate::second_keys;
use arena_schema::{LogTime, id::SessionKey};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) use snapshot::Claims;

/// What may fall due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// A turn that its door said nothing of.
    Turn(matches::TurnKey),
    /// A second key whose 24 hours are over.
    SecondKey(second_keys::Kept),
    /// A session that nobody joined or received in, or that its service is to be asked about again.
    Session(SessionKey),
}

/// Whether an outage of ours moves what is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Clock {
    /// Deadlines that are ours to keep move by it.
    Ours,
    /// Instants that a protocol has shown to its callers stand.
    Shown,
}

/// A place in the agenda, held by whoever may take the thing off before it is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry(u32);

#[derive(Debug, Clone)]
struct Item {
    due: LogTime,
    order: u64,
    what: Due,
    lane: u32,
    before: Option<u32>,
    after: Option<u32>,
}

#[derive(Debug, Clone)]
struct Lane {
    clock: Clock,
    front: Option<u32>,
    back: Option<u32>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Agenda {
    items: Vec<Option<Item>>,
    free: Vec<u32>,
    lanes: Vec<Lane>,
    lane_of: BTreeMap<(Clock, u64), u32>,
    fronts: BTreeSet<(LogTime, u64, u32)>,
    scheduled: u64,
}

impl Agenda {
    /// Puts `what` on the agenda for `due`, which is `span_us` after some instant that never goes back.
    pub(crate) fn schedule(&mut self, clock: Clock, span_us: u64, due: LogTime, what: Due) -> Entry {
        let lane = self.lane(clock, span_us);
        self.scheduled += 1;
        // A lane is in order by construction; should a caller's instant ever go back, the thing waits for those before it.
        let back = self.lanes[lane as usize].back;
        let due = back.and_then(|at| self.item(at)).map_or(due, |last| due.max(last.due));
        self.push(lane, due, self.scheduled, what)
    }

    /// The lane of this clock and span.
    fn lane(&mut self, clock: Clock, span_us: u64) -> u32 {
        *self.lane_of.entry((clock, span_us)).or_insert_with(|| {
            self.lanes.push(Lane { clock, front: None, back: None });
            self.lanes.len() as u32 - 1
        })
    }

    /// Puts a thing behind all others of its lane, than which it is due no sooner.
    fn push(&mut self, lane: u32, due: LogTime, order: u64, what: Due) -> Entry {
        let back = self.lanes[lane as usize].back;
        let item = Item { due, order, what, lane, before: back, after: None };
        let at = match self.free.pop() {
            Some(at) => {
                self.items[at as usize] = Some(item);
                at
            }
            None => {
                self.items.push(Some(item));
                self.items.len() as u32 - 1
            }
        };
        match back.and_then(|back| self.items[back as usize].as_mut()) {
            Some(last) => last.after = Some(at),
            None => {
                self.lanes[lane as usize].front = Some(at);
                self.fronts.insert((due, order, lane));
            }
        }
        self.lanes[lane as usize].back = Some(at);
        Entry(at)
    }

    /// Takes a thing off. Taking it off twice does nothing.
    pub(crate) fn cancel(&mut self, entry: Entry) {
        let Some(item) = self.items.get_mut(entry.0 as usize).and_then(Option::take) else {
            return;
        };
        self.free.push(entry.0);
        let lane = &mut self.lanes[item.lane as usize];
        if item.before.is_none() {
            lane.front = item.after;
        }
        if item.after.is_none() {
            lane.back = item.before;
        }
        if let Some(before) = item.before.and_then(|at| self.items[at as usize].as_mut()) {
            before.after = item.after;
        }
        if let Some(after) = item.after.and_then(|at| self.items[at as usize].as_mut()) {
            after.before = item.before;
        }
        if item.before.is_none() {
            self.fronts.remove(&(item.due, item.order, item.lane));
            if let Some(front) = item.after.and_then(|at| self.items[at as usize].as_ref()) {
                self.fronts.insert((front.due, front.order, item.lane));
            }
        }
    }

    /// What is due next, and when.
    pub(crate) fn first(&self) -> Option<(LogTime, Entry, Due)> {
        let &(_, _, lane) = self.fronts.first()?;
        let at = self.lanes[lane as usize].front?;
        self.item(at).map(|item| (item.due, Entry(at), item.what))
    }

    /// Moves what is ours to keep by an outage.
    pub(crate) fn shift_ours(&mut self, outage_us: u64) {
        for item in self.items.iter_mut().flatten() {
            if self.lanes[item.lane as usize].clock == Clock::Ours {
                item.due = item.due.plus_us(outage_us);
            }
        }
        self.fronts = (0..self.lanes.len() as u32)
            .filter_map(|lane| {
                let front = self.item(self.lanes[lane as usize].front?)?;
                Some((front.due, front.order, lane))
            })
            .collect();
    }

    /// How many things wait.
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    fn item(&self, at: u32) -> Option<&Item> {
        self.items.get(at as usize).and_then(Option::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matches::TurnKey;
    use arena_schema::{Seat, id::MatchKey};

    fn turn(slot: u32) -> Due {
        Due::Turn(TurnKey { key: MatchKey { slot, generation: 1 }, seat: Seat::First })
    }

    /// Empties the agenda up to `now` and gives the slots in the order they came.
    fn drain(agenda: &mut Agenda, now: u64) -> Vec<u32> {
        let mut order = Vec::new();
        while let Some((due, entry, Due::Turn(turn))) = agenda.first() {
            if due > LogTime(now) {
                break;
            }
            agenda.cancel(entry);
            order.push(turn.key.slot);
        }
        order
    }

    #[test]
    fn things_come_by_due_time_then_by_order_of_scheduling() {
        let mut agenda = Agenda::default();
        agenda.schedule(Clock::Ours, 30, LogTime(130), turn(0));
        agenda.schedule(Clock::Ours, 10, LogTime(110), turn(1));
        agenda.schedule(Clock::Shown, 30, LogTime(130), turn(2));
        agenda.schedule(Clock::Ours, 10, LogTime(130), turn(3));
        assert_eq!(drain(&mut agenda, 109), Vec::<u32>::new());
        assert_eq!(drain(&mut agenda, 110), [1]);
        assert_eq!(drain(&mut agenda, 129), Vec::<u32>::new());
        assert_eq!(drain(&mut agenda, 130), [0, 2, 3]);
        assert_eq!(agenda.len(), 0);
    }

    #[test]
    fn what_is_taken_off_never_comes_and_taking_off_twice_does_nothing() {
        let mut agenda = Agenda::default();
        let entries: Vec<Entry> = (0..5)
            .map(|slot| agenda.schedule(Clock::Ours, 10, LogTime(100 + u64::from(slot)), turn(slot)))
            .collect();
        for at in [0, 2, 4] {
            agenda.cancel(entries[at]);
            agenda.cancel(entries[at]);
        }
        assert_eq!(agenda.len(), 2);
        assert_eq!(drain(&mut agenda, 1_000), [1, 3]);
    }

    #[test]
    fn an_outage_moves_ours_and_leaves_what_was_shown() {
        let mut agenda = Agenda::default();
        agenda.schedule(Clock::Ours, 10, LogTime(100), turn(0));
        agenda.schedule(Clock::Shown, 10, LogTime(105), turn(1));
        agenda.shift_ours(50);
        assert_eq!(drain(&mut agenda, 149), [1]);
        assert_eq!(drain(&mut agenda, 150), [0]);
    }

    #[test]
    fn an_agenda_and_a_plain_sorted_list_agree_over_a_long_random_history() {
        let mut agenda = Agenda::default();
        let mut plain: Vec<(u64, u64, u32, Entry, bool)> = Vec::new();
        let (mut now, mut order, mut seed) = (0u64, 0u64, 7u64);
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for slot in 0..20_000u32 {
            now += random(3);
            match random(10) {
                0..6 => {
                    let (span, ours) = (1 + random(4) * 7, random(2) == 0);
                    let clock = if ours { Clock::Ours } else { Clock::Shown };
                    order += 1;
                    let entry =
                        agenda.schedule(clock, span + u64::from(ours) * 100, LogTime(now + span), turn(slot));
                    plain.push((now + span, order, slot, entry, ours));
                }
                6..8 if !plain.is_empty() => {
                    let at = random(plain.len() as u64) as usize;
                    agenda.cancel(plain.swap_remove(at).3);
                }
                _ => {
                    plain.sort_by_key(|item| (item.0, item.1));
                    let due: Vec<u32> =
                        plain.iter().filter(|item| item.0 <= now).map(|item| item.2).collect();
                    plain.retain(|item| item.0 > now);
                    assert_eq!(drain(&mut agenda, now), due, "at {now}");
                }
            }
            assert_eq!(agenda.len(), plain.len());
        }
    }
}

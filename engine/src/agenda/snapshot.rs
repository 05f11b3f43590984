//! The agenda in a snapshot: each lane that holds something, by its clock and span, and in it the things as they wait. Their
//! places in the slab mean nothing and are given anew; whoever holds one claims it.

use super::{Agenda, Clock, Due, Entry, Item, Lane};
use crate::{matches::TurnKey, second_keys::Kept, snapshot::Misfit};
use arena_schema::{
    LogTime, Seat,
    codec::{Values, encode},
    id::{MatchKey, SessionKey},
};
use std::collections::{BTreeMap, BTreeSet};

const LANE_BYTES_MIN: usize = 3;
const ITEM_BYTES_MIN: usize = 6;

impl Agenda {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let Self { items: _, free: _, lanes, lane_of, fronts: _, scheduled } = self;
        let waiting: Vec<_> = lane_of
            .iter()
            .filter_map(|(key, &lane)| {
                let Lane { clock: _, front, back: _ } = lanes.get(lane as usize)?;
                let waiting: Vec<&Item> = self.behind(*front).collect();
                (!waiting.is_empty()).then_some((key, waiting))
            })
            .collect();
        encode(&(scheduled, waiting.len() as u32), out);
        for ((clock, span_us), items) in waiting {
            encode(&(clock.code(), span_us, items.len() as u32), out);
            for Item { due, order, what, lane: _, before: _, after: _ } in items {
                encode(&(due, order), out);
                what.encode(out);
            }
        }
    }

    pub(crate) fn decode(values: &mut Values<'_>) -> Result<Self, Misfit> {
        let mut agenda = Self { scheduled: values.take()?, ..Self::default() };
        let mut orders = BTreeSet::new();
        for _ in 0..values.count(LANE_BYTES_MIN)? {
            let (clock, span_us) = values.take()?;
            let clock = Clock::from_code(clock).ok_or(Misfit("a lane has no such clock"))?;
            if agenda.lane_of.contains_key(&(clock, span_us)) {
                return Err(Misfit("a lane comes twice"));
            }
            let lane = agenda.lane(clock, span_us);
            let mut last = (LogTime::ZERO, 0);
            for _ in 0..values.count(ITEM_BYTES_MIN)? {
                let (due, order) = values.take()?;
                let what = Due::decode(values)?;
                if due < last.0 || order <= last.1 || order > agenda.scheduled || !orders.insert(order) {
                    return Err(Misfit("the things of a lane are not in their order"));
                }
                agenda.push(lane, due, order, what);
                last = (due, order);
            }
        }
        Ok(agenda)
    }

    fn behind(&self, front: Option<u32>) -> impl Iterator<Item = &Item> {
        std::iter::successors(front.and_then(|at| self.item(at)), |item| self.item(item.after?))
    }
}

impl Clock {
    const fn code(self) -> u8 {
        match self {
            Self::Ours => 1,
            Self::Shown => 2,
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Ours),
            2 => Some(Self::Shown),
            _ => None,
        }
    }
}

impl Due {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Turn(TurnKey { key, seat }) => encode(&(1u8, key, seat), out),
            Self::SecondKey(kept) => {
                encode(&2u8, out);
                kept.encode(out);
            }
            Self::Session(key) => encode(&(3u8, key), out),
        }
    }

    fn decode(values: &mut Values<'_>) -> Result<Self, Misfit> {
        match values.take::<u8>()? {
            1 => Ok(Self::Turn(TurnKey { key: values.take()?, seat: values.take()? })),
            2 => Kept::decode(values).map(Self::SecondKey),
            3 => Ok(Self::Session(values.take()?)),
            _ => Err(Misfit("nothing of such a kind falls due")),
        }
    }
}

/// The agenda's entries, for those who hold them.
pub(crate) struct Claims {
    turns: BTreeMap<(MatchKey, Seat), Entry>,
    second_keys: BTreeMap<Kept, Entry>,
    sessions: BTreeMap<SessionKey, Entry>,
}

impl Claims {
    pub(crate) fn of(agenda: &Agenda) -> Result<Self, Misfit> {
        let mut claims =
            Self { turns: BTreeMap::new(), second_keys: BTreeMap::new(), sessions: BTreeMap::new() };
        for (item, at) in agenda.items.iter().zip(0..) {
            let before = match item.as_ref().map(|item| item.what) {
                Some(Due::Turn(TurnKey { key, seat })) => claims.turns.insert((key, seat), Entry(at)),
                Some(Due::SecondKey(kept)) => claims.second_keys.insert(kept, Entry(at)),
                Some(Due::Session(key)) => claims.sessions.insert(key, Entry(at)),
                None => None,
            };
            if before.is_some() {
                return Err(Misfit("the same thing falls due twice"));
            }
        }
        Ok(claims)
    }

    /// The entry of a seat's turn.
    pub(crate) fn turn(&mut self, key: MatchKey, seat: Seat) -> Option<Entry> {
        self.turns.remove(&(key, seat))
    }

    /// The entry of a second key.
    pub(crate) fn second_key(&mut self, kept: &Kept) -> Option<Entry> {
        self.second_keys.remove(kept)
    }

    /// The entry of a session.
    pub(crate) fn session(&mut self, key: SessionKey) -> Option<Entry> {
        self.sessions.remove(&key)
    }

    /// Whether everything that falls due is somebody's.
    pub(crate) fn all_taken(&self) -> Result<(), Misfit> {
        if self.turns.is_empty() && self.second_keys.is_empty() && self.sessions.is_empty() {
            Ok(())
        } else {
            Err(Misfit("something falls due that nobody knows of"))
        }
    }
}

//! Who submits, and which of their numbers were used. Exactly once lives here: a number acts at most once, however often it
//! comes and in whatever order.

mod snapshot;

use arena_schema::{
    Rejection,
    event::system::{GatewayAnnounced, NumberSeen},
    hash::BodyDigest,
    id::{Incarnation, ProducerId, RulesVersion},
};
use std::collections::{BTreeMap, VecDeque};

/// How far above its low-water mark a producer's numbers may lie.
pub const WINDOW: u64 = 65_536;
/// How many producers may be live at once.
pub const PRODUCERS_LIVE_MAX: usize = 1_024;

/// The live producers.
#[derive(Debug, Clone, Default)]
pub struct Producers {
    live: BTreeMap<ProducerId, Producer>,
    announced: u64,
    /// Of the command whose number was seen last.
    last_seen: Option<BodyDigest>,
}

/// One run of one process.
#[derive(Debug, Clone)]
pub struct Producer {
    /// The process.
    pub incarnation: Incarnation,
    /// The newest rules that it knows.
    pub rules_known: RulesVersion,
    /// At or below it every number counts as used.
    mark: u64,
    /// The digests of the numbers above the mark, the lowest first; `None` where the number has not come.
    seen: VecDeque<Option<BodyDigest>>,
}

impl Producers {
    /// The live ones, by number.
    pub fn live(&self) -> impl Iterator<Item = (ProducerId, &Producer)> {
        self.live.iter().map(|(&id, producer)| (id, producer))
    }

    /// Whether this one is.
    pub(crate) fn is_live(&self, id: ProducerId) -> bool {
        self.live.contains_key(&id)
    }

    /// How many are live.
    pub fn live_count(&self) -> usize {
        self.live.len()
    }

    /// The number of a live process.
    pub fn of(&self, incarnation: &Incarnation) -> Option<ProducerId> {
        self.live().find(|(_, producer)| producer.incarnation == *incarnation).map(|(id, _)| id)
    }

    /// The process that has this number.
    pub(crate) fn incarnation(&self, id: ProducerId) -> Option<Incarnation> {
        self.live.get(&id).map(|producer| producer.incarnation)
    }

    /// The number that the next new process gets; nobody gets one twice.
    pub(crate) fn next_id(&self) -> ProducerId {
        ProducerId(self.announced + 1)
    }

    /// Whether this number may act now.
    pub(crate) fn admit(&self, id: ProducerId, number: u64, digest: &BodyDigest) -> Result<(), Rejection> {
        let producer = self.live.get(&id).ok_or(Rejection::Expired)?;
        if number <= producer.mark {
            return Err(Rejection::Expired);
        }
        match producer.seen.get((number - producer.mark - 1) as usize) {
            Some(Some(seen)) if seen == digest => Err(Rejection::Duplicate),
            Some(Some(_)) => Err(Rejection::NumberReused),
            _ => Ok(()),
        }
    }

    /// The digest of the command whose number was seen last: of the one that is being reduced, where it has a number.
    pub(crate) fn last_seen(&self) -> Option<BodyDigest> {
        self.last_seen
    }

    pub(crate) fn see(&mut self, event: &NumberSeen) {
        self.last_seen = Some(event.digest);
        let Some(producer) = self.live.get_mut(&event.producer) else {
            return;
        };
        if event.number <= producer.mark {
            return;
        }
        let above = event.number - producer.mark;
        if above > WINDOW {
            let raised = above - WINDOW;
            producer.seen.drain(..(raised as usize).min(producer.seen.len()));
            producer.mark += raised;
        }
        let at = (event.number - producer.mark - 1) as usize;
        if producer.seen.len() == at {
            // Nearly always: a producer's numbers come in their order.
            producer.seen.push_back(Some(event.digest));
            return;
        }
        if producer.seen.len() < at {
            producer.seen.resize(at + 1, None);
        }
        producer.seen[at] = Some(event.digest);
    }

    pub(crate) fn announce(&mut self, event: &GatewayAnnounced) {
        self.announced = self.announced.max(event.producer.0);
        self.live.entry(event.producer).or_insert_with(|| Producer {
            incarnation: event.incarnation,
            rules_known: event.rules_known,
            mark: 0,
            seen: VecDeque::new(),
        });
    }

    pub(crate) fn remove(&mut self, id: ProducerId) {
        self.live.remove(&id);
    }

    pub(crate) fn remove_all(&mut self) {
        self.live.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: ProducerId = ProducerId(1);

    fn producers() -> Producers {
        let mut producers = Producers::default();
        producers.announce(&GatewayAnnounced {
            producer: ID,
            incarnation: Incarnation([1; 16]),
            rules_known: RulesVersion(1),
        });
        producers
    }

    fn digest(byte: u8) -> BodyDigest {
        BodyDigest([byte; 16])
    }

    #[track_caller]
    fn check(producers: &mut Producers, number: u64, body: u8, expect: Result<(), Rejection>) {
        assert_eq!(producers.admit(ID, number, &digest(body)), expect, "number {number}");
        if expect.is_ok() {
            producers.see(&NumberSeen { producer: ID, number, digest: digest(body) });
        }
    }

    #[test]
    fn numbers_may_come_in_any_order_and_each_acts_once() {
        let p = &mut producers();
        check(p, 3, 1, Ok(()));
        check(p, 1, 2, Ok(()));
        check(p, 3, 1, Err(Rejection::Duplicate));
        check(p, 3, 9, Err(Rejection::NumberReused));
        check(p, 2, 3, Ok(()));
        check(p, 0, 3, Err(Rejection::Expired));
    }

    #[test]
    fn a_number_beyond_the_window_raises_the_mark_to_itself_less_the_window() {
        let p = &mut producers();
        check(p, 1, 1, Ok(()));
        check(p, 2, 1, Ok(()));
        check(p, WINDOW, 1, Ok(()));
        check(p, 1, 1, Err(Rejection::Duplicate));
        check(p, WINDOW + 1, 1, Ok(()));
        check(p, 1, 1, Err(Rejection::Expired));
        check(p, 2, 1, Err(Rejection::Duplicate));
        check(p, 3, 1, Ok(()));
        check(p, u64::MAX, 1, Ok(()));
        check(p, WINDOW + 1, 1, Err(Rejection::Expired));
        check(p, u64::MAX - WINDOW, 1, Err(Rejection::Expired));
        check(p, u64::MAX - WINDOW + 1, 1, Ok(()));
    }

    #[test]
    fn a_producer_that_is_gone_or_never_was_is_expired() {
        let mut p = producers();
        assert_eq!(p.admit(ProducerId(2), 1, &digest(1)), Err(Rejection::Expired));
        p.remove(ID);
        assert_eq!(p.admit(ID, 1, &digest(1)), Err(Rejection::Expired));
        assert_eq!(p.next_id(), ProducerId(2), "nobody gets a number twice");
    }
}

//! Who stops together with the leader. A gateway says at once when it is asked to stop, and goes only when all that it took in is
//! answered; a leader that is asked to stop at the same time leads on until such gateways are gone, so that they need not wait for
//! a leader that may never come.

use arena_engine::State;
use arena_schema::id::Incarnation;
use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How long a leader that is asked to stop listens for gateways that are asked to at the same time.
const HEARD: Duration = Duration::from_millis(250);
/// How long it leads on for those: longer than a gateway that has a leader takes to stop.
const LEFT: Duration = Duration::from_secs(4);

/// Gateways that said that they are about to stop.
#[derive(Debug, Default)]
pub(super) struct Leaving(Mutex<BTreeSet<Incarnation>>);

impl Leaving {
    /// This one is.
    pub(super) fn begins(&self, incarnation: Incarnation) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(incarnation);
    }

    /// Whether a leader that was asked to stop at that time may go.
    pub(super) fn lets_go(&self, asked: Instant, state: &State) -> bool {
        let live: BTreeSet<Incarnation> =
            state.producers().live().map(|(_, producer)| producer.incarnation).collect();
        self.lets_go_of(asked.elapsed(), &live)
    }

    fn lets_go_of(&self, since: Duration, live: &BTreeSet<Incarnation>) -> bool {
        let leaving = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        live.is_empty() || since >= LEFT || (since >= HEARD && leaving.is_disjoint(live))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_goes_when_those_that_leave_are_gone_and_does_not_wait_for_others_or_for_ever() {
        let leaving = Leaving::default();
        let (one, two) = (Incarnation([1; 16]), Incarnation([2; 16]));
        let (none, both) = (BTreeSet::new(), BTreeSet::from([one, two]));
        assert!(leaving.lets_go_of(Duration::ZERO, &none));
        assert!(!leaving.lets_go_of(Duration::ZERO, &both), "what they say may be on its way");
        assert!(leaving.lets_go_of(HEARD, &both), "they stay");
        leaving.begins(one);
        assert!(!leaving.lets_go_of(HEARD, &both));
        assert!(leaving.lets_go_of(HEARD, &BTreeSet::from([two])), "the one is gone");
        assert!(leaving.lets_go_of(LEFT, &both));
    }
}

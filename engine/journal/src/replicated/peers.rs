//! The partitions that one process follows, as each of them sees the others. What belongs here: how many there are, where the
//! others' states are, and whether the books of two of them agree. What never does: carrying anything (the carrier's).

use super::asker::Asker;
use crate::sequencer::{Followed, Follower};
use arena_engine::State;
use arena_schema::{
    Event,
    id::{Partition, RecordNumber},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard},
};
use tokio::sync::watch;

/// All partitions of a process. A clone is the same.
#[derive(Clone)]
pub struct Peers(Arc<Shared>);

struct Shared {
    count: u16,
    here: Mutex<BTreeMap<Partition, Peer>>,
}

/// One of them.
#[derive(Clone)]
pub(super) struct Peer {
    state: Arc<RwLock<State>>,
    pub(super) position: watch::Receiver<RecordNumber>,
    pub(super) asker: Asker,
}

impl Peer {
    pub(super) fn new(
        state: Arc<RwLock<State>>,
        position: watch::Receiver<RecordNumber>,
        asker: Asker,
    ) -> Self {
        Self { state, position, asker }
    }

    pub(super) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Peers {
    /// So many partitions, from the first on. Each node of the process is given the same.
    pub fn of(count: u16) -> Self {
        Self(Arc::new(Shared { count, here: Mutex::default() }))
    }

    /// Whether there is another partition than the first.
    pub(super) fn are_several(&self) -> bool {
        self.0.count > 1
    }

    /// All but this one.
    pub(super) fn others(&self, than: Partition) -> impl Iterator<Item = Partition> + use<> {
        (0..self.0.count).map(Partition).filter(move |other| *other != than)
    }

    fn here(&self) -> MutexGuard<'_, BTreeMap<Partition, Peer>> {
        self.0.here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn join(&self, partition: Partition, peer: Peer) {
        self.here().insert(partition, peer);
    }

    /// One of them; none where this process has not begun to follow it.
    pub(super) fn get(&self, partition: Partition) -> Option<Peer> {
        self.here().get(&partition).cloned()
    }

    /// Whether this journal has sent all that the other partitions have taken from it, as far as this process knows them. `own`
    /// stands at the journal's end.
    ///
    /// # Errors
    /// Which journal was cut short or restored, in words.
    pub(super) fn check_books(&self, own: &State) -> Result<(), String> {
        let here = self.here().clone();
        for (&other, peer) in here.iter().filter(|(other, _)| **other != own.partition()) {
            let taken = peer.state().outbox().taken(own.partition());
            let sent = own.outbox().sent(other);
            if taken > sent {
                return Err(cut_short(own.partition(), sent, other, taken));
            }
        }
        Ok(())
    }

    /// Whether this process follows all the partitions that the first has opened.
    ///
    /// # Errors
    /// Which not, and what to do about it, in words.
    pub(super) fn check_opened(&self, first: &State) -> Result<(), String> {
        let mut opened = first.outbox().partitions().filter(|_| first.partition() == Partition(0));
        opened.try_for_each(|partition| self.check(partition))
    }

    fn check(&self, opened: Partition) -> Result<(), String> {
        if opened.0 < self.0.count {
            return Ok(());
        }
        Err(format!(
            "partition {} was opened, and this process follows {} alone: start it again, it finds them all",
            opened.0, self.0.count
        ))
    }

    /// Ends the process where a partition is opened that it does not follow.
    pub(super) fn watch(&self) -> impl Follower + use<> {
        Opened(self.clone())
    }
}

pub(super) fn cut_short(from: Partition, sent: u64, to: Partition, taken: u64) -> String {
    format!(
        "the journal of partition {} is refused: it has sent {sent} entries to partition {}, which has taken {taken}: it was \
         cut short or restored, and the other was not",
        from.0, to.0
    )
}

/// Follows partition 0.
struct Opened(Peers);

impl Follower for Opened {
    fn resumes_after(&self) -> RecordNumber {
        RecordNumber(u64::MAX)
    }

    fn wants(&self, _: RecordNumber, live: bool) -> bool {
        live
    }

    fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String> {
        record.events.iter().try_for_each(|emitted| match &emitted.event {
            Event::PartitionOpened(event) => self.0.check(event.partition),
            _ => Ok(()),
        })
    }
}

//! A gateway's process as the partitions know it: one incarnation and one lease in all of them. Where it announces itself is
//! decided once; the others are told by an entry of that one.

use crate::vault::random;
use arena_schema::id::{Incarnation, Partition};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};
use tokio::sync::watch;

/// A gateway. A clone is the same.
#[derive(Clone)]
pub struct Gateway(Arc<Shared>);

struct Shared {
    announces_in: Partition,
    /// This run as the leaders know it; another one after a leader took it for gone.
    incarnation: Mutex<Incarnation>,
    /// Until when no leader takes it for gone.
    lease: watch::Sender<Option<Instant>>,
}

impl Gateway {
    /// A run of a process that announces itself in this partition.
    pub fn new(announces_in: Partition) -> Self {
        let incarnation = Mutex::new(Incarnation(random()));
        Self(Arc::new(Shared { announces_in, incarnation, lease: watch::Sender::new(None) }))
    }

    pub(super) fn announces_in(&self, partition: Partition) -> bool {
        self.0.announces_in == partition
    }

    pub(super) fn incarnation(&self) -> Incarnation {
        *self.0.incarnation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It was taken for gone, and begins anew.
    pub(super) fn begin_anew(&self) {
        *self.0.incarnation.lock().unwrap_or_else(PoisonError::into_inner) = Incarnation(random());
        self.holds_until(None);
    }

    pub(super) fn lease(&self) -> watch::Receiver<Option<Instant>> {
        self.0.lease.subscribe()
    }

    pub(super) fn holds_until(&self, until: Option<Instant>) {
        self.0.lease.send_replace(until);
    }
}

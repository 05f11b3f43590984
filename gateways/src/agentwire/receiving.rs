//! A receive that is under way. What belongs here: that it has ended is seen, and told to the journal, however it ended; a client
//! that goes away drops it (CHOICES-agentwire 8).

use super::{
    Relay,
    room::{Room, Ticket, Who},
};
use std::sync::Arc;

/// A receive that is under way, until it is dropped.
pub(super) struct Receiving {
    relay: Relay,
    pub(super) room: Arc<Room>,
    pub(super) who: Who,
    pub(super) ticket: Ticket,
}

impl Receiving {
    /// It begins; of a participant it replaces the one before.
    pub(super) fn begin(relay: &Relay, room: &Arc<Room>, who: Who) -> Self {
        let ticket = room.arrive(who, relay.now());
        Self { relay: relay.clone(), room: Arc::clone(room), who, ticket }
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.room.depart(self.ticket, self.who, self.relay.now());
        self.relay.later.quiet(&self.room);
    }
}

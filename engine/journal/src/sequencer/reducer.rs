//! The thread that owns the state: reduces each durable record, answers who submitted, hands it to the followers.

use super::{
    Followed, Follower,
    submit::{Answered, Inbox, Message, Reply},
};
use crate::texts::SealedText;
use arena_engine::{Reduction, State, reduce};
use arena_schema::{
    Hash, LogTime,
    id::{Era, Lineage, RecordNumber, RulesVersion},
    record::{EncodedRecord, RecordView},
};
use std::sync::{Arc, PoisonError, RwLock, mpsc};

/// A record that is durable, and whose commands wait for their outcomes.
pub(super) struct Durable {
    pub(super) record: EncodedRecord,
    pub(super) replies: Vec<Reply>,
    pub(super) room: usize,
    pub(super) texts: Vec<SealedText>,
}

/// What the appender must know of a reduced record to write the next ones.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reduced {
    pub(super) number: RecordNumber,
    pub(super) digest: Hash,
    pub(super) next_due: Option<LogTime>,
    pub(super) rules: RulesVersion,
    pub(super) era: Era,
    pub(super) lineage: Option<Lineage>,
}

impl Reduced {
    pub(super) fn of(state: &State) -> Self {
        Self {
            number: state.head().number,
            digest: state.head().digest,
            next_due: state.next_due(),
            rules: state.rules(),
            era: state.era(),
            lineage: state.lineage(),
        }
    }
}

pub(super) struct Reducer {
    pub(super) state: Arc<RwLock<State>>,
    pub(super) followers: Vec<Box<dyn Follower>>,
    pub(super) inbox: Inbox,
    /// How many events the last record had.
    pub(super) events_last: usize,
}

impl Reducer {
    /// Until the appender ends.
    ///
    /// # Errors
    /// Why it cannot go on.
    pub(super) fn run(mut self, durable: &mpsc::Receiver<Durable>) -> Result<(), String> {
        let mut reduction = Reduction::default();
        while let Ok(next) = durable.recv() {
            let reduced = self.take(next, &mut reduction)?;
            // The appender may have ended meanwhile; then the loop ends too.
            let _ = self.inbox.send(Message::Reduced(reduced));
        }
        Ok(())
    }

    fn take(&mut self, durable: Durable, reduction: &mut Reduction) -> Result<Reduced, String> {
        let Durable { record, replies, room, texts } = durable;
        let view = RecordView::parse(record.as_bytes())
            .map_err(|why| format!("record {} was sealed wrongly: {why}", record.number()))?;
        let reduced = {
            // About as many as the last record had, so that the list seldom moves.
            reduction.events.reserve(self.events_last);
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            reduce(&mut state, &view, reduction).map_err(|halt| halt.to_string())?;
            Reduced::of(&state)
        };
        let (header, hash) = (view.header, view.hash);
        let number = header.number;
        self.events_last = reduction.events.len();
        let events = Arc::new(std::mem::take(&mut reduction.events));
        if self.followers.iter().any(|follower| follower.wants(number, true)) {
            let (bytes, digest, events) = (record.into_bytes(), reduced.digest, Arc::clone(&events));
            let followed = Followed { header, hash, digest, events, bytes, texts, live: true };
            hand(&mut self.followers, followed)?;
        }
        self.inbox.make_room(room);
        let mut first = 1;
        for Reply { count, sender } in replies {
            // Who no longer waits finds the outcome in the records.
            let _ = sender.send(Answered { record: number, first, count, events: Arc::clone(&events) });
            first += count;
        }
        Ok(reduced)
    }
}

/// Hands a record to the followers that want it.
pub(super) fn hand(followers: &mut [Box<dyn Follower>], followed: Followed) -> Result<(), String> {
    let (number, live) = (followed.header.number, followed.live);
    let followed = Arc::new(followed);
    for follower in followers {
        if follower.wants(number, live) {
            follower.follow(&followed)?;
        }
    }
    Ok(())
}

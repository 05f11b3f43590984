//! The thread that owns the state: reduces each durable record, answers who submitted, hands it to the followers.

use super::{
    Followed, Follower, Outcome,
    submit::{Batch, Inbox, Message},
};
use crate::texts::SealedText;
use arena_engine::{Emitted, Reduction, State, reduce};
use arena_schema::{
    Event, Hash, LogTime,
    event::system::Place,
    id::{Era, Lineage, RecordNumber, RulesVersion},
    record::{EncodedRecord, RecordView},
};
use std::sync::{Arc, PoisonError, RwLock, mpsc};

/// A record that is durable, and whose commands wait for their outcomes.
pub(super) struct Durable {
    pub(super) record: EncodedRecord,
    pub(super) batches: Vec<Batch>,
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
        let Durable { record, batches, texts } = durable;
        let view = RecordView::parse(record.as_bytes())
            .map_err(|why| format!("record {} was sealed wrongly: {why}", record.number()))?;
        let reduced = {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            reduce(&mut state, &view, reduction).map_err(|halt| halt.to_string())?;
            Reduced::of(&state)
        };
        let (header, hash) = (view.header, view.hash);
        let answers = answers(header.number, batches, &reduction.events);
        if self.followers.iter().any(|follower| follower.wants(header.number, true)) {
            let events = std::mem::take(&mut reduction.events);
            let bytes = record.into_bytes();
            let followed =
                Followed { header, hash, digest: reduced.digest, events, bytes, texts, live: true };
            hand(&mut self.followers, followed)?;
        }
        for (reply, outcomes, room) in answers {
            drop(room);
            // Who no longer waits finds the outcome in the records.
            let _ = reply.send(outcomes);
        }
        Ok(reduced)
    }
}

type Answer =
    (tokio::sync::oneshot::Sender<Vec<Outcome>>, Vec<Outcome>, Option<tokio::sync::OwnedSemaphorePermit>);

fn answers(record: RecordNumber, batches: Vec<Batch>, events: &[Emitted]) -> Vec<Answer> {
    let mut answers = Vec::with_capacity(batches.len());
    let mut rest = events.iter().peekable();
    while rest.next_if(|emitted| emitted.command == 0).is_some() {}
    let mut command = 0;
    for batch in batches {
        let mut outcomes = Vec::with_capacity(batch.count as usize);
        for _ in 0..batch.count {
            command += 1;
            let mut result = Ok(Vec::new());
            while let Some(emitted) = rest.next_if(|emitted| emitted.command == command) {
                match (&emitted.event, &mut result) {
                    (Event::Rejected(rejection), _) => result = Err(*rejection),
                    (Event::NumberSeen(_) | Event::SecondKeyKept(_), _) | (_, Err(_)) => {}
                    (event, Ok(events)) => events.push(event.clone()),
                }
            }
            outcomes.push(Outcome { place: Place { record, command }, result });
        }
        answers.push((batch.reply, outcomes, batch.room));
    }
    answers
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

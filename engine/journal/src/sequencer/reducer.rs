//! The thread that owns the state: reduces each durable record, answers who submitted, hands it to the followers. Records come
//! from this process's own appender while it leads, and from the journal while it follows.

use super::{
    Followed, Follower, ORDERLY, Stopped,
    answer::{Answered, Waiter},
    caught, end,
    submit::{Inbox, Message},
};
use crate::{space::Space, texts::SealedText};
use arena_engine::{Reduction, State, reduce};
use arena_schema::{
    Hash, LogTime,
    id::{Era, Lineage, RecordNumber, RulesVersion},
    record::RecordView,
};
use std::{
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, mpsc},
    thread::{self, JoinHandle},
};
use tokio::sync::watch;

/// A record that is durable, and whose commands wait for their outcomes.
pub(crate) struct Durable {
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
    /// The sealed texts beside it.
    pub(crate) texts: Vec<SealedText>,
    /// Who waits in this process.
    pub(super) waiters: Vec<Waiter>,
    /// How much of the queue's room it took.
    pub(super) room: usize,
    /// The appender that made it durable, if it was this process's.
    pub(super) from: Option<Inbox>,
}

impl Durable {
    /// A record as the journal has it, whoever wrote it.
    pub(crate) fn stored(bytes: Vec<u8>, texts: Vec<SealedText>) -> Self {
        Self { bytes, texts, waiters: Vec::new(), room: 0, from: None }
    }
}

/// What the appender must know of a reduced record to write the next ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reduced {
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

/// This process's state and the thread that reduces records into it.
pub(crate) struct Replica {
    pub(crate) state: Arc<RwLock<State>>,
    /// Takes the next record; it waits while two are on their way.
    pub(crate) records: mpsc::SyncSender<Durable>,
    /// Becomes the reason where the thread, or whoever feeds it, cannot go on.
    pub(crate) stopped: Arc<watch::Sender<Option<String>>>,
    /// The last record that the state and the followers have.
    pub(crate) position: watch::Receiver<RecordNumber>,
    /// What is known of the space where records go.
    pub(crate) space: Space,
    thread: JoinHandle<()>,
}

impl Replica {
    /// Reduces from this state on.
    ///
    /// # Errors
    /// [`Stopped`], where the system has no thread.
    pub(crate) fn start(state: State, followers: Vec<Box<dyn Follower>>) -> Result<Self, Stopped> {
        let (records, incoming) = mpsc::sync_channel::<Durable>(1);
        let (moved, position) = watch::channel(state.head().number);
        let stopped = Arc::new(watch::Sender::new(None));
        let state = Arc::new(RwLock::new(state));
        let reducer = Reducer { state: Arc::clone(&state), followers, moved, from: None, events_last: 0 };
        let failed = Arc::clone(&stopped);
        let thread = thread::Builder::new()
            .name("arena-reducer".to_owned())
            .spawn(move || reducer.live(&incoming, &failed))
            .map_err(|why| Stopped(format!("a thread cannot be started: {why}")))?;
        Ok(Self { state, records, stopped, position, space: Space::default(), thread })
    }

    /// The same with what is known of the space.
    pub(crate) fn with_space(self, space: Space) -> Self {
        Self { space, ..self }
    }

    /// The state, locked for reading.
    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends after the records that are on their way; all that feed it have ended.
    ///
    /// # Errors
    /// [`Stopped`], where something had failed.
    pub(crate) fn stop(self) -> Result<(), Stopped> {
        drop(self.records);
        self.thread.join().map_err(|_| Stopped("a thread panicked".to_owned()))?;
        end(ORDERLY.to_owned(), &self.stopped);
        match self.stopped.borrow().clone() {
            Some(why) if why != ORDERLY => Err(Stopped(why)),
            _ => Ok(()),
        }
    }
}

struct Reducer {
    state: Arc<RwLock<State>>,
    followers: Vec<Box<dyn Follower>>,
    moved: watch::Sender<RecordNumber>,
    /// The appender that leads.
    from: Option<Inbox>,
    /// How many events the last record had.
    events_last: usize,
}

impl Reducer {
    fn live(mut self, records: &mpsc::Receiver<Durable>, stopped: &watch::Sender<Option<String>>) {
        if let Err(why) = caught(|| self.run(records)) {
            end(why, stopped);
            if let Some(inbox) = &self.from {
                // Where the appender ended first, nobody is left to tell.
                let _ = inbox.send(Message::Halted);
            }
        }
    }

    /// Until nobody feeds it any more.
    ///
    /// # Errors
    /// Why it cannot go on.
    fn run(&mut self, records: &mpsc::Receiver<Durable>) -> Result<(), String> {
        let mut reduction = Reduction::default();
        while let Ok(next) = records.recv() {
            self.from.clone_from(&next.from);
            let reduced = self.take(next, &mut reduction)?;
            if let Some(inbox) = &self.from {
                // The appender may have ended meanwhile.
                let _ = inbox.send(Message::Reduced(reduced));
            }
        }
        Ok(())
    }

    fn take(&mut self, durable: Durable, reduction: &mut Reduction) -> Result<Reduced, String> {
        let Durable { bytes, texts, waiters, room, from } = durable;
        let view = RecordView::parse(&bytes).map_err(|why| format!("a record does not hold: {why}"))?;
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
            let (digest, events) = (reduced.digest, Arc::clone(&events));
            let followed = Followed { header, hash, digest, events, bytes, texts, live: true };
            hand(&mut self.followers, followed)?;
        }
        self.moved.send_replace(number);
        if let Some(inbox) = from {
            inbox.make_room(room);
        }
        let mut first = 1;
        for waiter in waiters {
            let count = waiter.count();
            waiter.answer(Answered::new(number, first, count, Arc::clone(&events)));
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

//! Publishes what everybody may read of the records, from the partition's leader, to its stream of events: each event once, in
//! order, on the sequence that it must have.
//!
//! Invariants:
//! - Only what is durable and reduced is told, byte for byte what [`PublicEvents`](crate::PublicEvents) makes of the records.
//! - Where to go on is read from the stream itself, from its leader, and again on any doubt. Which event stands at which place
//!   follows from the records alone, and every publish names the place before its own: a second publisher, or a message that
//!   was long on its way, makes no gap and no double.
//! - The sequencer never waits for it: what it has no room for it reads from the local copy.
//! - A process that may lead keeps the fold going also while it follows.
//!
//! What belongs here: the thread, what it is told and what it says of itself. What never does: how an event looks, or how a
//! message is stored.

mod row;
mod source;

use crate::{
    JournalError, PublicError,
    jetstream::{EventStream, Nats},
    sequencer::caught,
};
use arena_engine::State;
use arena_schema::id::RecordNumber;
use row::Seek;
use source::{Reduced, Source, buffer};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::sync::watch;

pub(crate) use row::{Aligned, Row};
pub(crate) use source::{Feed, LocalCopy};

/// How long records are waited for before the other duties are looked at.
const STEP: Duration = Duration::from_millis(20);
/// How many events are on their way at once, and about how many bytes of theirs.
const TOGETHER_EVENTS: usize = 256;
const TOGETHER_BYTES: usize = 1024 * 1024;
/// How often in a row more records are followed before what came of them is sent.
const TOGETHER_STEPS: usize = 256;
/// Before records that cannot be read are read again.
const PAUSE: Duration = Duration::from_secs(1);
/// From here on the lag is large, and said aloud so often.
const LAG_LARGE: u64 = 10_000;
const LAG_SAID: Duration = Duration::from_secs(10);

/// How far the stream of public events is behind the records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lag {
    /// So many reduced records have events that are not known to be stored, or were not looked at yet.
    pub records: u64,
    /// So many events are known to wait. Records that were not looked at may have more.
    pub events: u64,
}

impl Lag {
    /// Whether everything is published.
    pub const fn is_none(&self) -> bool {
        self.records == 0 && self.events == 0
    }
}

/// Reads how far a process's publisher is behind.
#[derive(Debug, Clone)]
pub struct Lagging {
    reduced: Reduced,
    shown: Arc<Shown>,
}

impl Lagging {
    /// How far; none while this process does not lead, or does not yet know where the stream ends.
    pub fn lag(&self) -> Option<Lag> {
        let leads = self.shown.leads.load(Ordering::SeqCst);
        leads.then(|| Lag {
            // The record first: what is stored may only grow meanwhile.
            records: self.reduced.last().0.saturating_sub(self.shown.through.load(Ordering::SeqCst)),
            events: self.shown.events.load(Ordering::SeqCst),
        })
    }
}

/// What the thread says of itself.
#[derive(Debug, Default)]
struct Shown {
    leads: AtomicBool,
    /// The last record of which all events are stored.
    through: AtomicU64,
    /// How many events wait.
    events: AtomicU64,
}

/// Why nothing more is published for now.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
    /// The records cannot be had again; they may be later.
    #[error("the records cannot be read again: {0}")]
    Records(String),
    /// The stream holds what is none of this journal's.
    #[error("the stream is not this journal's: {0}")]
    Stream(String),
    /// The records make no sense.
    #[error(transparent)]
    Fold(#[from] PublicError),
}

/// What the thread is to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Told {
    /// This process leads; the record of its announcement.
    leads: Option<RecordNumber>,
    ends: bool,
    /// A test wants it to stand still.
    still: bool,
}

/// A process's publisher. It follows from the start, and publishes while it is told that the process leads.
#[derive(Debug)]
pub(crate) struct Publisher {
    told: Arc<watch::Sender<Told>>,
    lagging: Lagging,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    /// Follows behind this state, by what the reducer hands to the [`Feed`] and by the local copy. Opens the stream.
    ///
    /// # Errors
    /// [`JournalError`]: a setting of the stream is not as it must be, or there is no answer, or no thread.
    pub(crate) fn start(nats: &Nats, state: &State, copy: LocalCopy) -> Result<(Feed, Self), JournalError> {
        let stream = nats.runtime().block_on(EventStream::open(nats, state.partition()))?;
        let name = stream.name().to_owned();
        let (feed, source) = buffer(state, copy);
        let (told, telling) = watch::channel(Told::default());
        let shown = Arc::new(Shown::default());
        let lagging = Lagging { reduced: source.reduced(), shown: Arc::clone(&shown) };
        let publishing = Publishing {
            nats: nats.clone(),
            row: Row::after(state),
            source,
            stream,
            end: None,
            aligned: false,
            halted: false,
            broken: false,
            told: telling,
            lagging: lagging.clone(),
            loud: None,
        };
        let thread = thread::Builder::new()
            .name("arena-events".to_owned())
            .spawn(move || {
                if let Err(why) = caught::<String>(|| {
                    publishing.live();
                    Ok(())
                }) {
                    tracing::error!(why, "public events are published no more by this process");
                }
            })
            .map_err(|why| JournalError::Store { journal: name, action: "written", why: why.to_string() })?;
        Ok((feed, Self { told: Arc::new(told), lagging, thread: Some(thread) }))
    }

    /// This process leads, and its announcement is in the journal as this record.
    pub(crate) fn lead(&self, announced: RecordNumber) {
        self.told.send_modify(|told| told.leads = Some(announced));
    }

    /// It leads no more. What is reduced by now is published first, if that takes no longer than this.
    pub(crate) fn follow(&self, wait: Duration) {
        let until = Instant::now() + wait;
        let leads = self.told.borrow().leads.is_some();
        while leads && Instant::now() < until && self.lagging.lag().is_some_and(|lag| !lag.is_none()) {
            thread::sleep(Duration::from_millis(2));
        }
        self.told.send_modify(|told| told.leads = None);
    }

    pub(crate) fn lagging(&self) -> Lagging {
        self.lagging.clone()
    }

    /// Stands still, or goes on.
    #[cfg(test)]
    pub(crate) fn stiller(&self) -> impl Fn(bool) + Send + Sync + 'static {
        let told = Arc::clone(&self.told);
        move |still| {
            told.send_modify(|told| told.still = still);
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.told.send_modify(|told| told.ends = true);
        if let Some(thread) = self.thread.take() {
            // A panic there has said so.
            let _ = thread.join();
        }
    }
}

/// The thread.
struct Publishing {
    nats: Nats,
    row: Row,
    source: Source,
    stream: EventStream,
    /// The stream's last sequence, where it is known what stands there.
    end: Option<u64>,
    /// Whether that was known before in this lead, so that it is known how far behind the stream is.
    aligned: bool,
    /// Nothing is published for the rest of this lead.
    halted: bool,
    /// The row goes on no more, and was not begun anew yet.
    broken: bool,
    told: watch::Receiver<Told>,
    lagging: Lagging,
    /// Since when, and when last, it was said that the lag is large.
    loud: Option<Instant>,
}

impl Publishing {
    fn live(mut self) {
        let mut leads = None;
        loop {
            let told = *self.told.borrow_and_update();
            if told.ends {
                return;
            }
            if told.still {
                thread::sleep(STEP);
                continue;
            }
            if told.leads != leads {
                leads = told.leads;
                (self.end, self.aligned, self.halted) = (None, false, false);
                self.row.set_leads(leads.is_some());
            }
            let done = match leads {
                _ if self.broken => self.mend(),
                Some(announced) if !self.halted => self.publish(announced),
                _ => self.source.step(&mut self.row, STEP).map(drop),
            };
            if let Err(why) = done {
                self.fail(&why);
            }
            self.show(leads.is_some());
        }
    }

    fn fail(&mut self, why: &Trouble) {
        let stream = self.stream.name();
        if matches!(why, Trouble::Records(_)) {
            tracing::error!(stream, %why, "public events are not published: trying again");
        } else {
            tracing::error!(stream, %why, "public events are published no more while this process leads");
            self.halted = true;
        }
        self.broken = true;
        self.pause();
    }

    /// The row is followed anew.
    fn mend(&mut self) -> Result<(), Trouble> {
        self.again(Seek::All)?;
        if self.halted {
            self.row.set_leads(false);
        }
        self.broken = false;
        Ok(())
    }

    /// Waits a while, unless it is told something.
    fn pause(&self) {
        let mut told = self.told.clone();
        // Whoever told has ended, and ends this thread too.
        let _ = self.nats.runtime().block_on(async { tokio::time::timeout(PAUSE, told.changed()).await });
    }

    /// Follows the records from the first on, looking for this.
    fn again(&mut self, seek: Seek) -> Result<(), Trouble> {
        self.end = None;
        let state = self.source.begin_again(seek.record(), seek.lineage())?;
        self.row.again(state, seek);
        Ok(())
    }

    /// Follows for a moment and publishes what came of it.
    fn publish(&mut self, announced: RecordNumber) -> Result<(), Trouble> {
        if self.end.is_none() && !self.find_end()? {
            return Ok(());
        }
        let mut wait = if self.row.waiting().len() == 0 { STEP } else { Duration::ZERO };
        for _ in 0..TOGETHER_STEPS {
            if self.row.waiting().len() >= TOGETHER_EVENTS || !self.follow(announced, wait)? {
                break;
            }
            wait = Duration::ZERO;
        }
        self.send();
        Ok(())
    }

    /// Follows some records, where there are any. False where there are none now, or where they are followed anew.
    fn follow(&mut self, announced: RecordNumber, wait: Duration) -> Result<bool, Trouble> {
        let before = self.row.next();
        let mut aligned = self.source.step(&mut self.row, wait)?;
        if aligned == Aligned::Here && self.row.seeks() {
            let through = self.source.is_through(&self.row) && self.row.next() > announced;
            if through {
                aligned = self.row.at_end()?;
            }
        }
        if let Aligned::Again(seek) = aligned {
            // The end is where it was.
            let end = self.end;
            self.again(seek)?;
            self.end = end;
            return Ok(false);
        }
        Ok(self.row.next() != before || self.source.reads_again())
    }

    /// Reads where the stream ends, and finds out what comes there. False where that is not known yet.
    fn find_end(&mut self) -> Result<bool, Trouble> {
        let stream = &mut self.stream;
        let mut told = self.told.clone();
        let stands = self.nats.runtime().block_on(async {
            tokio::select! {
                stands = stream.stands() => Some(stands),
                _ = told.changed() => None,
            }
        });
        let stands = match stands {
            None => return Ok(false),
            Some(Ok(stands)) => stands,
            Some(Err(why)) => {
                tracing::warn!(%why, "where the stream of public events ends cannot be read: trying again");
                self.pause();
                return Ok(false);
            }
        };
        let last = stands.last;
        if let Aligned::Again(seek) = self.row.align(stands)? {
            tracing::info!(stream = self.stream.name(), last, "public events: following earlier records");
            self.again(seek)?;
        }
        (self.end, self.aligned) = (Some(last), true);
        Ok(true)
    }

    /// Sends some of what waits, and waits for the answers.
    fn send(&mut self) {
        let Some(end) = self.end else { return };
        let mut bytes = 0;
        let together = self.row.waiting().take(TOGETHER_EVENTS).take_while(|event| {
            let first = bytes == 0;
            bytes += event.json.len();
            first || bytes <= TOGETHER_BYTES
        });
        let stream = &mut self.stream;
        let mut told = self.told.clone();
        let sent = self.nats.runtime().block_on(async {
            tokio::select! {
                sent = stream.publish(end, together) => Some(sent),
                _ = told.changed() => None,
            }
        });
        // Whoever was told something in between asks where the stream ends before it goes on.
        let Some((stored, done)) = sent else {
            self.end = None;
            return;
        };
        self.row.set_stored(stored);
        self.end = Some(end + stored as u64);
        if let Err(why) = done {
            tracing::debug!(stream = self.stream.name(), why, "whether events are stored is unknown");
            self.end = None;
            self.nats.runtime().block_on(self.stream.pause());
        }
    }

    fn show(&mut self, leads: bool) {
        let shown = &self.lagging.shown;
        // Of a stream that is not this journal's, nothing counts.
        let through = if self.halted { RecordNumber(0) } else { self.row.through() };
        shown.through.store(through.0, Ordering::SeqCst);
        shown.events.store(self.row.waiting().len() as u64, Ordering::SeqCst);
        shown.leads.store(leads && (self.aligned || self.halted), Ordering::SeqCst);
        let Some(lag) = self.lagging.lag() else { return };
        let stream = self.stream.name();
        match self.loud {
            None if lag.records.max(lag.events) < LAG_LARGE => {}
            Some(said) if lag.is_none() => {
                tracing::info!(stream, seconds = said.elapsed().as_secs(), "public events have caught up");
                self.loud = None;
            }
            Some(said) if said.elapsed() < LAG_SAID => {}
            _ => {
                let Lag { records, events } = lag;
                tracing::warn!(stream, records, events, "public events are far behind the records");
                self.loud = Some(Instant::now());
            }
        }
    }
}

//! The journal's only writer: two threads, neither of which awaits. The *appender* owns the journal's connection and makes
//! records durable, whatever queued while the last one was being made durable; the *reducer* owns the state and reduces record
//! *n* while *n*+1 is being made durable, answers who submitted, and hands the record to the followers of the process.

mod answer;
mod appender;
mod reducer;
mod start;
mod submit;

use arena_engine::{Emitted, State};
use arena_schema::{
    Event, Hash, Rejection,
    event::system::Place,
    id::{Incarnation, Lineage, Partition, RecordNumber},
    record::Header,
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
    thread::JoinHandle,
};
use tokio::sync::watch;

pub use answer::{Answered, Pending, Unanswered};
pub use submit::{
    BATCH_BYTES_MAX, BATCH_TEXTS_BYTES_MAX, Busy, Producer, QUEUE_COMMANDS_MAX, Submission, SubmitError,
};

use crate::{
    audit::Mark,
    clock::Clock,
    journal::{Journal, JournalError},
    replicated::Asker,
    snapshot::Snapshots,
    space::{Space, SpaceWatch},
    texts::SealedText,
};
pub(crate) use answer::Waiter;
pub(crate) use appender::{End, Lead, LeadOptions};
pub(crate) use reducer::{Durable, Replica};
pub(crate) use start::{Source, replay};
pub(crate) use submit::{Inbox, Limits, Message};

/// What became of a command, and where that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The record and the command's index in it.
    pub place: Place,
    /// Its events, or why it may not happen.
    pub result: Result<Vec<Event>, Rejection>,
}

/// The sequencer ended before it answered; whether the commands were accepted, only the journal can tell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the sequencer has stopped: {0}")]
pub struct Stopped(pub String);

/// A reduced record, as the followers of the process see it.
#[derive(Debug, Clone)]
pub struct Followed {
    /// Its header.
    pub header: Header,
    /// Its hash.
    pub hash: Hash,
    /// The running digest after it.
    pub digest: Hash,
    /// Its events.
    pub events: Arc<Vec<Emitted>>,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The sealed texts beside it.
    pub texts: Vec<SealedText>,
    /// Whether it was written by this run, or is being replayed at its start.
    pub live: bool,
}

/// Someone in the process who follows the records. It is called on the reducer's thread, in order, and may wait for a place in
/// its own queue (which holds up the sequencer, so that memory has an end) but never for the sequencer.
pub trait Follower: Send {
    /// What it remembers of the journal from before: a journal that lacks it is refused.
    fn mark(&self) -> Option<Mark> {
        None
    }

    /// The last record that it does not want replayed, nor any before it: a start may begin behind it. Whoever wants only what
    /// this run writes says the greatest number.
    fn resumes_after(&self) -> RecordNumber {
        RecordNumber(0)
    }

    /// Whether it wants this record; asked in order, once each, from the one after [`Follower::resumes_after`] at the latest.
    fn wants(&self, number: RecordNumber, live: bool) -> bool;

    /// Takes a record.
    ///
    /// # Errors
    /// A reason to stop the sequencer: the follower can go on no more.
    fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String>;
}

/// How a sequencer starts.
pub struct StartOptions {
    /// Whose journal it is.
    pub partition: Partition,
    /// Which clock stamps its records.
    pub clock: Clock,
    /// This run of this process: the leader's and the embedded gateway's.
    pub incarnation: Incarnation,
    /// Who follows.
    pub followers: Vec<Box<dyn Follower>>,
}

/// Why a sequencer cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A record is not the next one of this journal.
    #[error("the journal {journal} is refused at record {record}: {why}")]
    Broken {
        /// Which journal.
        journal: String,
        /// The first record that does not hold.
        record: RecordNumber,
        /// What is wrong with it.
        why: String,
    },
    /// Someone remembers a record that the journal does not have.
    #[error("the journal {journal} is refused: {why}")]
    Forgotten {
        /// Which journal.
        journal: String,
        /// Who remembers which record, and what stands there.
        why: String,
    },
    /// Two runs under one incarnation would number their commands alike.
    #[error("the journal knows {0} as a run that has not ended: an incarnation is drawn anew for each run")]
    Incarnation(Incarnation),
    /// A follower cannot take the records.
    #[error("a follower cannot go on: {0}")]
    Follower(String),
    /// The first records of this run could not be written.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// A running sequencer.
pub struct Sequencer {
    handle: Handle,
    inbox: Inbox,
    producer: Producer,
    /// Waits for the appender.
    leading: JoinHandle<()>,
    replica: Replica,
    /// Looks at the journal's space.
    _space: Option<SpaceWatch>,
}

/// Reads the state and tells when the sequencer ends. A clone is the same.
#[derive(Clone)]
pub struct Handle {
    mover: Mover,
    state: Arc<RwLock<State>>,
    position: watch::Receiver<RecordNumber>,
    stopped: watch::Receiver<Option<String>>,
    space: Space,
}

/// Who moves a clock that stands still.
#[derive(Clone)]
pub(crate) enum Mover {
    /// This process's appender.
    Own(Inbox),
    /// Whoever leads.
    Asks(Box<Asker>),
}

impl Sequencer {
    /// Replays the journal (which checks all of it), tells the followers, announces this run, and begins.
    ///
    /// # Errors
    /// [`StartError`], naming the record where the journal does not hold.
    pub fn start(journal: Box<dyn Journal>, options: StartOptions) -> Result<Self, StartError> {
        start::start(journal, None, options)
    }

    /// The same from the newest snapshot that fits, so that only what follows it is read and checked: no error of theirs stops a
    /// start. But where the journal lacks a record that one of them was made of, it is refused as by any other who remembers it.
    ///
    /// # Errors
    /// As [`Sequencer::start`].
    pub fn start_from(
        journal: Box<dyn Journal>,
        snapshots: &dyn Snapshots,
        options: StartOptions,
    ) -> Result<Self, StartError> {
        start::start(journal, Some(snapshots), options)
    }

    /// To read the state.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// To submit as this process's gateway: whoever asks gets the same producer, which numbers on.
    pub fn producer(&self) -> Producer {
        self.producer.clone()
    }

    /// Accepts nothing more, finishes what was queued, closes with an empty record whose header covers the tail, and ends.
    ///
    /// # Errors
    /// [`Stopped`], where it had ended by itself before.
    pub fn stop(self) -> Result<(), Stopped> {
        self.inbox.stop();
        self.leading.join().map_err(|_| Stopped("a thread panicked".to_owned()))?;
        self.replica.stop()
    }
}

/// Says why, to whoever watches, unless something was said before.
pub(crate) fn end(why: String, stopped: &watch::Sender<Option<String>>) {
    stopped.send_if_modified(|known| {
        let first = known.is_none();
        known.get_or_insert(why);
        first
    });
}

/// A thread's work; a panic in it is a reason to end like any other.
pub(crate) fn caught<E: From<String>>(work: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("its thread panicked: {}", said.unwrap_or("no word of why")).into())
    })
}

/// What [`Handle::stopped`] says after an orderly stop.
pub const ORDERLY: &str = "it was asked to";

impl Handle {
    pub(crate) fn new(replica: &Replica, mover: Mover) -> Self {
        Self {
            mover,
            state: Arc::clone(&replica.state),
            position: replica.position.clone(),
            stopped: replica.stopped.subscribe(),
            space: replica.space.clone(),
        }
    }

    /// What is known of the space where records go.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The state, locked for reading. Never hold it across an await.
    pub fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last record that the state has.
    pub fn position(&self) -> RecordNumber {
        self.state().head().number
    }

    /// Follows the last record that the state and the followers of the process have.
    pub fn positions(&self) -> watch::Receiver<RecordNumber> {
        self.position.clone()
    }

    /// Becomes the reason when the sequencer ends.
    pub fn stopped(&self) -> watch::Receiver<Option<String>> {
        self.stopped.clone()
    }

    /// Moves a clock that stands still, as an outage of ours, and waits until all that came due is reduced. With the system's
    /// clock nothing happens.
    ///
    /// # Errors
    /// [`Stopped`].
    pub async fn advance(&self, micros: u64) -> Result<(), Stopped> {
        match &self.mover {
            Mover::Own(inbox) => inbox.advance(micros).await,
            Mover::Asks(asker) => asker.advance(micros).await,
        }
    }

    /// The journal's lineage.
    pub fn lineage(&self) -> Option<Lineage> {
        self.state().lineage()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryJournal, vault::random};
    use arena_schema::{
        command::registry::RegisterAgent,
        id::{AgentId, ChallengePolicy, ConnectionMethod, Handle, Protocol, PublicSlug},
    };

    #[test]
    fn whoever_asks_for_the_producer_numbers_on_where_the_others_are() {
        let options = StartOptions {
            partition: Partition(0),
            clock: Clock::System,
            incarnation: Incarnation(random()),
            followers: Vec::new(),
        };
        let sequencer = Sequencer::start(Box::new(MemoryJournal::default()), options).unwrap();
        for handle in ["one", "two"] {
            let command = RegisterAgent {
                id: AgentId::from_random(Partition(0), random()),
                public_slug: PublicSlug(random()),
                handle: Handle::parse(handle).unwrap(),
                name: None,
                protocol: Protocol::House,
                method: ConnectionMethod::House,
                endpoint: None,
                challenges: ChallengePolicy::Open,
                credentials: Vec::new(),
            };
            let pending = sequencer.producer().try_submit(vec![Submission::new(command)]).unwrap();
            assert!(pending.wait().unwrap()[0].result.is_ok(), "{handle}");
        }
        sequencer.stop().unwrap();
    }
}

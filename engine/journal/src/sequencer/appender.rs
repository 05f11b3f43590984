//! The thread that owns the journal: gathers what queued into one record, makes it durable, passes it on.

use super::{
    ORDERLY, Stopped, caught,
    reducer::{Durable, Reduced, Replica},
    submit::{Batch, Inbox, Message, Submission},
};
use crate::{
    clock::{Clock, Running},
    journal::{AppendError, Journal},
    vault::random,
};
use arena_schema::{
    Hash, LogTime,
    command::system::{AnnounceSequencer, CloseEra, Tick},
    id::{Epoch, Incarnation, Lineage, Partition, RecordNumber},
    record::{CommandHead, EncodedRecord, Header},
};
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};
use tokio::sync::oneshot;

/// How often the two clocks are compared where nothing happens.
const IDLE: Duration = Duration::from_secs(1);

/// Why an appender ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// It was asked to.
    Orderly,
    /// Another process leads, or may: what was on its way is in the records, or is not.
    Deposed(String),
    /// It cannot go on.
    Failed(String),
}

impl From<String> for End {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// Where an appender begins.
pub(crate) struct LeadOptions {
    pub(crate) partition: Partition,
    pub(crate) clock: Clock,
    /// The process that leads.
    pub(crate) incarnation: Incarnation,
    /// Whether other processes may lead this journal instead: who is fenced, or whose clocks part, gives up the lead.
    pub(crate) shared: bool,
}

/// An appender's thread; it leads until it ends.
pub(crate) struct Lead {
    pub(crate) inbox: Inbox,
    /// The last record that was sent to be stored, whatever becomes of it: no follower has seen one beyond it.
    pub(crate) sent: Arc<AtomicU64>,
    thread: JoinHandle<End>,
}

impl Lead {
    /// Announces this process and appends from then on. `first` comes right after the announcement.
    ///
    /// # Errors
    /// [`Stopped`], where the system has no thread.
    pub(crate) fn start(
        replica: &Replica,
        journal: Box<dyn Journal>,
        options: LeadOptions,
        first: Option<Batch>,
    ) -> Result<Self, Stopped> {
        let LeadOptions { partition, clock, incarnation, shared } = options;
        let (queue, messages) = mpsc::channel();
        let inbox = Inbox::new(queue).with_space(replica.space.clone());
        let (head, reduced) = {
            let state = replica.state();
            (*state.head(), Reduced::of(&state))
        };
        let sent = Arc::new(AtomicU64::new(head.number.0));
        let mut appender = Appender {
            journal,
            running: Running::start(clock.clone(), head.time),
            clock,
            partition,
            incarnation,
            shared,
            lineage: Lineage(random()),
            epoch: Epoch(head.epoch.0 + 1),
            last: head.number,
            last_hash: head.hash,
            last_time: head.time,
            sent: Arc::clone(&sent),
            reduced,
            messages,
            durable: replica.records.clone(),
            inbox: inbox.clone(),
            stopping: false,
            halted: false,
            advances: VecDeque::new(),
            advanced: Vec::new(),
        };
        let ending = inbox.clone();
        let thread = thread::Builder::new()
            .name("arena-appender".to_owned())
            .spawn(move || {
                let ended = caught(|| {
                    appender.announce()?;
                    if let Some(batch) = first {
                        appender.append_batch(batch)?;
                    }
                    appender.run()
                });
                ending.end();
                ended.err().unwrap_or(End::Orderly)
            })
            .map_err(|why| Stopped(format!("a thread cannot be started: {why}")))?;
        Ok(Self { inbox, sent, thread })
    }

    /// Whether it has ended.
    pub(crate) fn ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for its end.
    pub(crate) fn join(self) -> End {
        self.thread.join().unwrap_or_else(|_| End::Failed("a thread panicked".to_owned()))
    }
}

struct Appender {
    journal: Box<dyn Journal>,
    clock: Clock,
    running: Running,
    partition: Partition,
    incarnation: Incarnation,
    lineage: Lineage,
    epoch: Epoch,
    shared: bool,
    sent: Arc<AtomicU64>,
    last: RecordNumber,
    last_hash: Hash,
    last_time: LogTime,
    reduced: Reduced,
    messages: mpsc::Receiver<Message>,
    durable: mpsc::SyncSender<Durable>,
    inbox: Inbox,
    stopping: bool,
    halted: bool,
    advances: VecDeque<(u64, oneshot::Sender<()>)>,
    advanced: Vec<oneshot::Sender<()>>,
}

impl Appender {
    /// Until it is asked to stop.
    ///
    /// # Errors
    /// Why it cannot go on.
    fn run(&mut self) -> Result<(), End> {
        loop {
            self.take_messages()?;
            self.advance()?;
            if self.running.parted() {
                if self.shared {
                    let why = "the wall clock and the monotonic clock parted by more than a second";
                    return Err(End::Deposed(why.to_owned()));
                }
                tracing::warn!("the wall clock and the monotonic clock parted: announcing anew");
                self.announce()?;
            }
            if self.journal.bytes() >= self.journal.era_bytes_max() {
                self.close_era()?;
            }
            if let Some(batch) = self.inbox.next() {
                self.append_batch(batch)?;
            } else if self.is_reduced() && self.is_due() {
                self.append_own(Submission::new(Tick {}))?;
            } else if self.is_reduced() {
                for done in self.advanced.drain(..) {
                    // Who asked may have gone.
                    let _ = done.send(());
                }
                if self.stopping {
                    return self.close();
                }
            }
        }
    }

    /// Ends the era with a record of its own, and opens the next.
    fn close_era(&mut self) -> Result<(), End> {
        self.append_own(Submission::new(CloseEra {}))?;
        tracing::info!(record = self.last.0, "the era {} is closed", self.journal.era().0);
        self.open_era()
    }

    /// Opens the era that the next record belongs to, where it is not open: also after a crash that came between the record
    /// which ended the one before, and this.
    fn open_era(&mut self) -> Result<(), End> {
        let era = self.reduced.era;
        if era == self.journal.era() {
            return Ok(());
        }
        self.journal.next_era(era, self.last.next()).map_err(|why| {
            let why = why.to_string();
            if self.shared { End::Deposed(why) } else { End::Failed(why) }
        })
    }

    /// Whether everything appended is reduced.
    fn is_reduced(&self) -> bool {
        self.reduced.number == self.last
    }

    fn is_due(&self) -> bool {
        self.reduced.next_due.is_some_and(|due| due <= self.running.now())
    }

    /// Waits for one message where there is nothing to do, then takes all that are there.
    fn take_messages(&mut self) -> Result<(), End> {
        let gone = || End::Failed("its handle is gone".to_owned());
        let done = self.is_reduced() && (self.stopping || !self.advanced.is_empty());
        if !done && self.inbox.falls_asleep() {
            let due = self.reduced.next_due.filter(|_| self.is_reduced());
            let wait = due.and_then(|due| self.running.wait_for(due)).unwrap_or(IDLE).min(IDLE);
            match self.messages.recv_timeout(wait) {
                Ok(message) => self.take(message),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(gone()),
            }
        }
        while let Ok(message) = self.messages.try_recv() {
            self.take(message);
        }
        self.check_reducer()
    }

    /// What nobody reduces must not be appended.
    fn check_reducer(&self) -> Result<(), End> {
        if self.halted { Err(reducer_ended()) } else { Ok(()) }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Waiting => {}
            Message::Reduced(reduced) => self.reduced = reduced,
            Message::Stop => self.stopping = true,
            Message::Halted => self.halted = true,
            Message::Advance(micros, done) => self.advances.push_back((micros, done)),
        }
    }

    /// Moves a clock that stands still; each advance is an outage of ours.
    fn advance(&mut self) -> Result<(), End> {
        while let Some((micros, done)) = self.advances.pop_front() {
            if let Clock::Still(still) = &self.clock {
                still.advance(micros);
                self.announce()?;
            }
            self.advanced.push(done);
        }
        Ok(())
    }

    /// Waits until everything appended is reduced: what the next header says depends on it.
    fn wait_reduced(&mut self) -> Result<(), End> {
        while !self.is_reduced() {
            let message = self.messages.recv().map_err(|_| "its handle is gone".to_owned())?;
            self.take(message);
            self.check_reducer()?;
        }
        Ok(())
    }

    /// Says that this process leads, from a fresh reading of the clocks; deadlines that are ours move by the time since the
    /// last record.
    fn announce(&mut self) -> Result<(), End> {
        self.wait_reduced()?;
        self.running = Running::start(self.clock.clone(), self.last_time);
        let time = self.stamp();
        let outage_us = if self.last == RecordNumber(0) { 0 } else { time.us_since(self.last_time) };
        let incarnation = self.incarnation;
        let announce = Submission::new(AnnounceSequencer { incarnation, outage_us });
        self.append(time, Self::own_batch(vec![announce])?)?;
        self.wait_reduced()
    }

    fn own_batch(submissions: Vec<Submission>) -> Result<Batch, String> {
        let heads = std::iter::repeat_n(CommandHead::SEQUENCER, submissions.len());
        Batch::encode(heads, submissions).map(|(batch, _)| batch).map_err(|why| why.to_string())
    }

    fn append_own(&mut self, submission: Submission) -> Result<(), End> {
        let batch = Self::own_batch(vec![submission])?;
        self.append_batch(batch)
    }

    /// One record of one batch; after one that stands alone, nothing before it is reduced.
    fn append_batch(&mut self, batch: Batch) -> Result<(), End> {
        let (time, alone) = (self.stamp(), batch.alone);
        self.append(time, batch)?;
        if alone { self.wait_reduced() } else { Ok(()) }
    }

    /// The next record's time: the clock's, and later than the last record's.
    fn stamp(&self) -> LogTime {
        self.running.now().max(self.last_time.plus_us(1))
    }

    fn append(&mut self, time: LogTime, batch: Batch) -> Result<(), End> {
        self.open_era()?;
        let Batch { commands, texts, waiters, room, .. } = batch;
        let header = Header {
            lineage: self.reduced.lineage.unwrap_or(self.lineage),
            partition: self.partition,
            era: self.reduced.era,
            number: self.last.next(),
            previous: self.last_hash,
            digest: self.reduced.digest,
            digest_reaches: self.reduced.number,
            epoch: self.epoch,
            time,
            rules: self.reduced.rules,
            salt: random(),
        };
        let record = EncodedRecord::seal(&header, &commands);
        self.sent.store(header.number.0, Ordering::SeqCst);
        self.journal.append(&record, &texts).map_err(|why| match why {
            AppendError::Fenced { .. } | AppendError::Era { .. } | AppendError::Unknown { .. }
                if self.shared =>
            {
                End::Deposed(why.to_string())
            }
            _ => End::Failed(why.to_string()),
        })?;
        self.last = header.number;
        self.last_hash = record.hash();
        self.last_time = time;
        let bytes = record.into_bytes();
        let from = Some(self.inbox.clone());
        self.durable.send(Durable { bytes, texts, waiters, room, from }).map_err(|_| reducer_ended())
    }

    /// The last record of an orderly stop: no command, and a digest that covers the tail.
    fn close(&mut self) -> Result<(), End> {
        let time = self.stamp();
        self.append(time, Batch::default())?;
        self.wait_reduced()?;
        tracing::debug!(record = self.last.0, "{ORDERLY}");
        Ok(())
    }
}

fn reducer_ended() -> End {
    End::Failed("the reducer has ended".to_owned())
}

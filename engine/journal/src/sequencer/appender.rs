//! The thread that owns the journal: gathers what queued into one record, makes it durable, passes it on.

use super::{
    ORDERLY,
    reducer::{Durable, Reduced},
    submit::{Batch, Inbox, Message, Submission},
};
use crate::{
    clock::{Clock, Running},
    journal::Journal,
    vault::random,
};
use arena_schema::{
    Hash, LogTime,
    command::system::{AnnounceSequencer, Tick},
    id::{Epoch, Incarnation, Lineage, Partition, RecordNumber},
    record::{CommandHead, EncodedRecord, Header},
};
use std::{collections::VecDeque, sync::mpsc, time::Duration};
use tokio::sync::oneshot;

/// How often the two clocks are compared where nothing happens.
const IDLE: Duration = Duration::from_secs(1);

pub(super) struct Appender {
    pub(super) journal: Box<dyn Journal>,
    pub(super) clock: Clock,
    pub(super) running: Running,
    pub(super) partition: Partition,
    pub(super) incarnation: Incarnation,
    pub(super) lineage: Lineage,
    pub(super) epoch: Epoch,
    pub(super) last: RecordNumber,
    pub(super) last_hash: Hash,
    pub(super) last_time: LogTime,
    pub(super) reduced: Reduced,
    pub(super) messages: mpsc::Receiver<Message>,
    pub(super) durable: mpsc::SyncSender<Durable>,
    pub(super) inbox: Inbox,
    pub(super) stopping: bool,
    pub(super) halted: bool,
    pub(super) advances: VecDeque<(u64, oneshot::Sender<()>)>,
    pub(super) advanced: Vec<oneshot::Sender<()>>,
}

impl Appender {
    /// Until it is asked to stop.
    ///
    /// # Errors
    /// Why it cannot go on.
    pub(super) fn run(mut self) -> Result<(), String> {
        loop {
            self.take_messages()?;
            self.advance()?;
            if self.running.parted() {
                tracing::warn!("the wall clock and the monotonic clock parted: announcing anew");
                self.announce()?;
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

    /// Whether everything appended is reduced.
    fn is_reduced(&self) -> bool {
        self.reduced.number == self.last
    }

    fn is_due(&self) -> bool {
        self.reduced.next_due.is_some_and(|due| due <= self.running.now())
    }

    /// Waits for one message where there is nothing to do, then takes all that are there.
    fn take_messages(&mut self) -> Result<(), String> {
        let gone = || "its handle is gone".to_owned();
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
    fn check_reducer(&self) -> Result<(), String> {
        if self.halted { Err("the reducer has ended".to_owned()) } else { Ok(()) }
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
    fn advance(&mut self) -> Result<(), String> {
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
    fn wait_reduced(&mut self) -> Result<(), String> {
        while !self.is_reduced() {
            let message = self.messages.recv().map_err(|_| "its handle is gone".to_owned())?;
            self.take(message);
            self.check_reducer()?;
        }
        Ok(())
    }

    /// Says that this process leads, from a fresh reading of the clocks; deadlines that are ours move by the time since the
    /// last record.
    pub(super) fn announce(&mut self) -> Result<(), String> {
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

    fn append_own(&mut self, submission: Submission) -> Result<(), String> {
        let batch = Self::own_batch(vec![submission])?;
        self.append_batch(batch)
    }

    /// One record of one batch; after one that stands alone, nothing before it is reduced.
    pub(super) fn append_batch(&mut self, batch: Batch) -> Result<(), String> {
        let (time, alone) = (self.stamp(), batch.alone);
        self.append(time, batch)?;
        if alone { self.wait_reduced() } else { Ok(()) }
    }

    /// The next record's time: the clock's, and later than the last record's.
    fn stamp(&self) -> LogTime {
        self.running.now().max(self.last_time.plus_us(1))
    }

    fn append(&mut self, time: LogTime, batch: Batch) -> Result<(), String> {
        let Batch { commands, texts, replies, room, .. } = batch;
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
        self.journal.append(&record, &texts).map_err(|why| why.to_string())?;
        self.last = header.number;
        self.last_hash = record.hash();
        self.last_time = time;
        self.durable
            .send(Durable { record, replies, room, texts })
            .map_err(|_| "the reducer has ended".to_owned())
    }

    /// The last record of an orderly stop: no command, and a digest that covers the tail.
    fn close(mut self) -> Result<(), String> {
        let time = self.stamp();
        self.append(time, Batch::default())?;
        self.wait_reduced()?;
        tracing::debug!(record = self.last.0, "{ORDERLY}");
        Ok(())
    }
}

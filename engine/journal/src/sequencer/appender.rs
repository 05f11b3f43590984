//! The thread that owns the journal: gathers what queued into one record, makes it durable, passes it on.

use super::{
    ORDERLY,
    reducer::{Durable, Reduced},
    submit::{Batch, Message, Submission},
};
use crate::{
    clock::{Clock, Running},
    journal::Journal,
    texts::SealedText,
    vault::random,
};
use arena_schema::{
    Hash, LogTime,
    command::system::{AnnounceSequencer, Tick},
    id::{Epoch, Incarnation, Lineage, Partition, RecordNumber},
    record::{CommandHead, EncodedRecord, HEADER_BYTES, Header, RECORD_BYTES_MAX, TRAILER_BYTES},
};
use std::{collections::VecDeque, sync::mpsc, time::Duration};
use tokio::sync::oneshot;

/// How many bytes of commands fit into a record.
const COMMANDS_BYTES_MAX: usize = RECORD_BYTES_MAX - HEADER_BYTES - TRAILER_BYTES;
/// How many bytes of sealed texts ride beside one record.
const TEXTS_BYTES_MAX: usize = 4 * 1024 * 1024;
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
    pub(super) waiting: VecDeque<Batch>,
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
            if !self.waiting.is_empty() {
                self.append_waiting()?;
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
        let idle =
            self.waiting.is_empty() && !(self.is_reduced() && (self.stopping || !self.advanced.is_empty()));
        if idle {
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
            Message::Batch(batch) => self.waiting.push_back(batch),
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
        let batch = Self::own_batch(vec![announce])?;
        let commands = batch.commands.clone();
        self.append(time, &commands, vec![batch])?;
        self.wait_reduced()
    }

    fn own_batch(submissions: Vec<Submission>) -> Result<Batch, String> {
        let heads = std::iter::repeat_n(CommandHead::SEQUENCER, submissions.len());
        Batch::encode(heads, submissions).map(|(batch, _)| batch).map_err(|why| why.to_string())
    }

    fn append_own(&mut self, submission: Submission) -> Result<(), String> {
        let batch = Self::own_batch(vec![submission])?;
        self.waiting.push_front(batch);
        self.append_waiting()
    }

    /// One record of as many waiting batches as fit; one that stands alone is a record of its own.
    pub(super) fn append_waiting(&mut self) -> Result<(), String> {
        let mut commands = Vec::new();
        let mut batches = Vec::new();
        let mut texts_bytes = 0;
        let mut alone = false;
        while let Some(next) = self.waiting.front() {
            let fits = commands.len() + next.commands.len() <= COMMANDS_BYTES_MAX
                && texts_bytes + next.texts_bytes <= TEXTS_BYTES_MAX;
            if !batches.is_empty() && (alone || next.alone || !fits) {
                break;
            }
            let Some(batch) = self.waiting.pop_front() else { break };
            commands.extend_from_slice(&batch.commands);
            texts_bytes += batch.texts_bytes;
            alone |= batch.alone;
            batches.push(batch);
        }
        let time = self.stamp();
        self.append(time, &commands, batches)?;
        if alone {
            self.wait_reduced()?;
        }
        Ok(())
    }

    /// The next record's time: the clock's, and later than the last record's.
    fn stamp(&self) -> LogTime {
        self.running.now().max(self.last_time.plus_us(1))
    }

    fn append(&mut self, time: LogTime, commands: &[u8], mut batches: Vec<Batch>) -> Result<(), String> {
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
        let record = EncodedRecord::seal(&header, commands);
        let texts: Vec<SealedText> =
            batches.iter_mut().flat_map(|batch| std::mem::take(&mut batch.texts)).collect();
        self.journal.append(&record, &texts).map_err(|why| why.to_string())?;
        self.last = header.number;
        self.last_hash = record.hash();
        self.last_time = time;
        self.durable.send(Durable { record, batches, texts }).map_err(|_| "the reducer has ended".to_owned())
    }

    /// The last record of an orderly stop: no command, and a digest that covers the tail.
    fn close(mut self) -> Result<(), String> {
        let time = self.stamp();
        self.append(time, &[], Vec::new())?;
        self.wait_reduced()?;
        tracing::debug!(record = self.last.0, "{ORDERLY}");
        Ok(())
    }
}

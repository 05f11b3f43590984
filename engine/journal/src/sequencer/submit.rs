//! How commands come in: numbered by their producer, encoded by who submits, and let in while there is room.

use super::{
    Stopped,
    answer::{Pending, Waiter},
};
use crate::{
    sequencer::reducer::Reduced,
    space::{Shortage, Space},
    texts::{SealedText, TEXT_HEAD_BYTES},
};
use arena_schema::{
    Command,
    id::{CredentialRef, ProducerId},
    record::{
        CommandHead, Commands, HEADER_BYTES, RECORD_BYTES_MAX, SecondKey, TRAILER_BYTES, encode_command,
    },
};
use std::{
    cell::RefCell,
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Instant,
};
use tokio::sync::{Semaphore, SemaphorePermit, TryAcquireError, oneshot, watch};

/// How many commands may be unanswered at once.
pub const QUEUE_COMMANDS_MAX: usize = 4_096;
/// How long one batch's commands may be together, so that a record always has room for it.
pub const BATCH_BYTES_MAX: usize = 256 * 1024;
/// How long one batch's sealed texts may be together.
pub const BATCH_TEXTS_BYTES_MAX: usize = 1024 * 1024;

/// How much is put together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// How long one batch's sealed texts may be.
    batch_texts: usize,
    /// How long the commands of batches that were merged may be.
    commands: usize,
    /// The same of their texts, with what is said of each.
    texts: usize,
    /// Whether what adds something is kept apart from what does not: near a limit the leader refuses the one and takes the other.
    apart: bool,
}

impl Limits {
    /// What fits into a record, and rides beside one.
    const RECORD: Self = Self {
        batch_texts: BATCH_TEXTS_BYTES_MAX,
        commands: RECORD_BYTES_MAX - HEADER_BYTES - TRAILER_BYTES,
        texts: 4 * 1024 * 1024,
        apart: false,
    };

    /// What fits into one message to a leader, whose server takes no more than a record and its headers.
    pub(crate) const REQUEST: Self =
        Self { batch_texts: 192 * 1024, commands: BATCH_BYTES_MAX, texts: 224 * 1024, apart: true };
}

/// The queue is full: try again in a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sequencer's queue is full ({QUEUE_COMMANDS_MAX} commands): try again in a second")]
pub struct Busy;

/// Why commands were not let in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The queue is full.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The sequencer has ended.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// They add something, and the store is nearly full.
    #[error(transparent)]
    Short(#[from] Shortage),
    /// More than one batch may hold.
    #[error(
        "a batch holds at most {BATCH_BYTES_MAX} bytes of commands and {BATCH_TEXTS_BYTES_MAX} of texts, less of them \
         where it is sent to another process"
    )]
    TooLarge,
}

/// A command to submit, with the texts that it commits to.
#[derive(Debug, Clone)]
pub struct Submission {
    /// The command.
    pub command: Command,
    /// The credential that it is made with.
    pub credential: CredentialRef,
    /// What its caller may repeat it by.
    pub second_key: Option<SecondKey>,
    /// The sealed texts that ride beside its record.
    pub texts: Vec<SealedText>,
}

impl Submission {
    /// A command of the door's own, without texts.
    pub fn new(command: impl Into<Command>) -> Self {
        Self { command: command.into(), credential: CredentialRef::NONE, second_key: None, texts: Vec::new() }
    }

    /// The same with a text beside it.
    #[must_use]
    pub fn with_text(mut self, text: SealedText) -> Self {
        self.texts.push(text);
        self
    }

    /// The same under a credential.
    #[must_use]
    pub fn by(mut self, credential: CredentialRef) -> Self {
        self.credential = credential;
        self
    }
}

/// The next record's commands, merged as they come: what one submitter hands in together stays together.
#[derive(Default)]
pub(crate) struct Batch {
    pub(super) commands: Vec<u8>,
    pub(super) count: u32,
    pub(super) alone: bool,
    pub(super) texts: Vec<SealedText>,
    pub(super) texts_bytes: usize,
    pub(super) waiters: Vec<Waiter>,
    /// How much of the queue's room it takes until it is answered; the sequencer's own takes none.
    pub(super) room: usize,
    /// Whether one of them adds something.
    adds: bool,
}

impl Batch {
    pub(super) fn encode(
        heads: impl Iterator<Item = CommandHead>,
        submissions: Vec<Submission>,
    ) -> Result<(Self, Pending), SubmitError> {
        let mut batch = Self::default();
        let pending = batch.add(heads, submissions, Limits::RECORD)?;
        Ok((batch, pending))
    }

    /// Commands that another process's gateway gave numbers to; who is told is told by that process's own records.
    pub(crate) fn foreign(commands: Vec<u8>, count: u32, texts: Vec<SealedText>) -> (Self, Pending) {
        let (waiter, pending) = Waiter::new(count);
        let texts_bytes = texts.iter().map(|text| text.sealed.len()).sum();
        let (waiters, room) = (vec![waiter], count as usize);
        (Self { commands, count, texts, texts_bytes, waiters, room, ..Self::default() }, pending)
    }

    /// Its commands, their texts, how many they are, who waits for them, and the room that they take.
    pub(crate) fn into_parts(self) -> (Vec<u8>, Vec<SealedText>, u32, Vec<Waiter>, usize) {
        (self.commands, self.texts, self.count, self.waiters, self.room)
    }

    /// Puts what one submitter hands in into an empty batch.
    fn add(
        &mut self,
        heads: impl Iterator<Item = CommandHead>,
        submissions: Vec<Submission>,
        limits: Limits,
    ) -> Result<Pending, SubmitError> {
        self.count = submissions.len() as u32;
        let (waiter, pending) = Waiter::new(self.count);
        self.waiters.push(waiter);
        for (head, submission) in heads.zip(submissions) {
            let Submission { command, credential, second_key, texts } = submission;
            self.alone |= command.stands_alone();
            self.adds |= command.adds();
            encode_command(&CommandHead { credential, second_key, ..head }, &command, &mut self.commands);
            self.texts_bytes += texts.iter().map(|text| text.sealed.len()).sum::<usize>();
            self.texts.extend(texts);
        }
        if self.commands.len() > BATCH_BYTES_MAX || self.texts_bytes > limits.batch_texts {
            return Err(SubmitError::TooLarge);
        }
        Ok(pending)
    }

    /// Whether both may be put together.
    fn takes(&self, other: &Self, limits: Limits) -> bool {
        let texts = |batch: &Self| batch.texts_bytes + batch.texts.len() * TEXT_HEAD_BYTES;
        !self.alone
            && !other.alone
            && self.commands.len() + other.commands.len() <= limits.commands
            && texts(self) + texts(other) <= limits.texts
    }

    /// Moves all that the other has behind its own; the other is empty then, and keeps its memory.
    fn take(&mut self, other: &mut Self) {
        self.commands.append(&mut other.commands);
        self.count += std::mem::take(&mut other.count);
        self.alone |= std::mem::take(&mut other.alone);
        self.adds |= std::mem::take(&mut other.adds);
        self.texts.append(&mut other.texts);
        self.texts_bytes += std::mem::take(&mut other.texts_bytes);
        self.waiters.append(&mut other.waiters);
        self.room += std::mem::take(&mut other.room);
    }

    fn clear(&mut self) {
        self.commands.clear();
        self.texts.clear();
        self.waiters.clear();
        (self.count, self.alone, self.texts_bytes, self.room, self.adds) = (0, false, 0, 0, false);
    }
}

thread_local! {
    /// What the thread's submitters encode into, before they take the lock.
    static SCRATCH: RefCell<Batch> = RefCell::default();
}

/// What waits to be appended.
#[derive(Default)]
struct Waiting {
    batches: VecDeque<Batch>,
    /// The appender waits for a message: who comes first has to send one.
    asleep: bool,
    /// The appender has ended.
    ended: bool,
}

pub(crate) enum Message {
    /// Something waits.
    Waiting,
    Reduced(Reduced),
    Advance(u64, oneshot::Sender<()>),
    Stop,
    /// The reducer has ended by itself: nothing more is to be appended.
    Halted,
}

/// The way in. The channel itself has no end; the room does.
#[derive(Clone)]
pub(crate) struct Inbox {
    messages: mpsc::Sender<Message>,
    waiting: Arc<Mutex<Waiting>>,
    room: Arc<Semaphore>,
    limits: Limits,
    space: Space,
}

impl Inbox {
    pub(crate) fn new(messages: mpsc::Sender<Message>) -> Self {
        let room = Arc::new(Semaphore::new(QUEUE_COMMANDS_MAX));
        Self { messages, waiting: Arc::default(), room, limits: Limits::RECORD, space: Space::default() }
    }

    /// The same with other limits.
    pub(crate) fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same where what adds something comes in only while this space has enough.
    pub(crate) fn with_space(self, space: Space) -> Self {
        Self { space, ..self }
    }

    /// How many commands are unanswered.
    pub(crate) fn unanswered(&self) -> usize {
        QUEUE_COMMANDS_MAX.saturating_sub(self.room.available_permits())
    }

    /// Near a limit of the store nothing comes in that adds.
    fn check_space(&self, adds: impl FnOnce() -> bool) -> Result<(), Shortage> {
        match self.space.shortage() {
            Some(shortage) if adds() => Err(shortage),
            _ => Ok(()),
        }
    }

    pub(crate) fn send(&self, message: Message) -> Result<(), Stopped> {
        self.messages.send(message).map_err(|_| ended())
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts commands behind those that wait, into the same record where they fit.
    fn put(
        &self,
        heads: impl Iterator<Item = CommandHead>,
        submissions: Vec<Submission>,
    ) -> Result<Pending, SubmitError> {
        SCRATCH.with_borrow_mut(|own| {
            own.clear();
            let pending = own.add(heads, submissions, self.limits)?;
            own.room = own.count as usize;
            self.push(own)?;
            Ok(pending)
        })
    }

    /// The same for a batch; what it had is there no more.
    fn push(&self, batch: &mut Batch) -> Result<(), Stopped> {
        let mut waiting = self.waiting();
        if waiting.ended {
            return Err(ended());
        }
        let apart = self.limits.apart;
        let last = waiting.batches.iter_mut().rev().find(|last| !apart || last.adds == batch.adds);
        match last {
            Some(last) if last.takes(batch, self.limits) => last.take(batch),
            _ => waiting.batches.push_back(std::mem::take(batch)),
        }
        if std::mem::take(&mut waiting.asleep) { self.send(Message::Waiting) } else { Ok(()) }
    }

    /// Puts the sequencer's own commands behind those that wait.
    ///
    /// # Errors
    /// [`SubmitError::Stopped`].
    pub(crate) fn put_own(&self, submissions: Vec<Submission>) -> Result<Pending, SubmitError> {
        let heads = std::iter::repeat_n(CommandHead::SEQUENCER, submissions.len());
        let (mut batch, pending) = Batch::encode(heads, submissions)?;
        self.push(&mut batch)?;
        Ok(pending)
    }

    /// Puts another process's commands behind those that wait, when there is room for them.
    ///
    /// # Errors
    /// [`SubmitError::Stopped`], [`SubmitError::Short`].
    pub(crate) async fn put_foreign(
        &self,
        commands: Vec<u8>,
        count: u32,
        texts: Vec<SealedText>,
    ) -> Result<Pending, SubmitError> {
        // What makes no sense is not refused here: the record's reader judges it.
        let adds = |command: Command| command.adds();
        let adding = || {
            let mut encoded = Commands::of(&commands).filter_map(Result::ok);
            encoded.any(|it| Command::decode(it.kind, it.body).is_ok_and(adds))
        };
        self.check_space(adding)?;
        let room = self.room.acquire_many(count).await.map_err(|_| closed())?;
        let (mut batch, pending) = Batch::foreign(commands, count, texts);
        self.push(&mut batch)?;
        room.forget();
        Ok(pending)
    }

    /// The next record's commands.
    pub(crate) fn next(&self) -> Option<Batch> {
        self.waiting().batches.pop_front()
    }

    /// Whether nothing waits. Then whoever comes next sends a message.
    pub(crate) fn falls_asleep(&self) -> bool {
        let mut waiting = self.waiting();
        waiting.asleep = waiting.batches.is_empty();
        waiting.asleep
    }

    /// Gives room back for commands that are being answered.
    pub(crate) fn make_room(&self, room: usize) {
        self.room.add_permits(room);
    }

    pub(crate) fn stop(&self) {
        self.room.close();
        // Where the threads have ended, there is nobody left to stop.
        let _ = self.messages.send(Message::Stop);
    }

    /// Nothing is taken in any more, and who waits for an answer learns that none comes.
    pub(crate) fn end(&self) {
        self.room.close();
        let mut waiting = self.waiting();
        waiting.ended = true;
        waiting.batches.clear();
    }

    pub(crate) async fn advance(&self, micros: u64) -> Result<(), Stopped> {
        let (done, reply) = oneshot::channel();
        self.send(Message::Advance(micros, done))?;
        reply.await.map_err(|_| ended())
    }
}

fn ended() -> Stopped {
    Stopped("its threads have ended".to_owned())
}

/// Submits as one process's gateway, and numbers what it submits. A clone numbers on.
#[derive(Clone)]
pub struct Producer {
    inbox: Inbox,
    id: Arc<AtomicU64>,
    numbers: Arc<AtomicU64>,
    /// Until when this process is surely taken for present; none where nobody else could take its place.
    lease: Option<watch::Receiver<Option<Instant>>>,
}

impl Producer {
    pub(crate) fn new(inbox: Inbox, id: ProducerId) -> Self {
        Self { inbox, id: Arc::new(AtomicU64::new(id.0)), numbers: Arc::new(AtomicU64::new(0)), lease: None }
    }

    /// The same with a lease.
    pub(crate) fn leased(self, lease: watch::Receiver<Option<Instant>>) -> Self {
        Self { lease: Some(lease), ..self }
    }

    /// Waits until this process is surely taken for present (see [`Producer::is_absent`]): what it is home to is no other's then. An embedded one always is.
    pub async fn is_present(&self) {
        let Some(mut lease) = self.lease.clone() else { return };
        while lease.borrow_and_update().is_none_or(|until| until <= Instant::now()) {
            if lease.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Waits until this process may be taken for gone: what it is home to may be another's then. An embedded one never is.
    pub async fn is_absent(&self) {
        let Some(mut lease) = self.lease.clone() else { return std::future::pending().await };
        loop {
            let Some(until) = *lease.borrow_and_update() else { return };
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(until.into()) => return,
                // Where its other end is gone the process ends.
                renewed = lease.changed() => if renewed.is_err() { return },
            }
        }
    }

    /// Its number in the journal, by which events name it as a home. On a journal that several processes share it may become
    /// another one, and be none for a while.
    pub fn id(&self) -> ProducerId {
        ProducerId(self.id.load(Ordering::SeqCst))
    }

    /// It has another number from here on.
    pub(crate) fn is_now(&self, id: ProducerId) {
        self.id.store(id.0, Ordering::SeqCst);
    }

    /// How many commands are unanswered.
    pub fn unanswered(&self) -> usize {
        self.inbox.unanswered()
    }

    /// That what adds something would be let in now: for whoever has costly work to do before it submits.
    ///
    /// # Errors
    /// [`Shortage`].
    pub fn check_space(&self) -> Result<(), Shortage> {
        self.inbox.check_space(|| true)
    }

    /// Submits if there is room now.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing was submitted then.
    pub fn try_submit(&self, submissions: Vec<Submission>) -> Result<Pending, SubmitError> {
        let room =
            self.inbox.room.try_acquire_many(Self::room_for(&submissions)?).map_err(|why| match why {
                TryAcquireError::NoPermits => SubmitError::Busy(Busy),
                TryAcquireError::Closed => closed(),
            })?;
        self.send(submissions, room)
    }

    /// Submits when there is room: for facts that must not be lost.
    ///
    /// # Errors
    /// [`SubmitError`], but never [`SubmitError::Busy`]; nothing was submitted then.
    pub async fn submit(&self, submissions: Vec<Submission>) -> Result<Pending, SubmitError> {
        let count = Self::room_for(&submissions)?;
        let room = self.inbox.room.acquire_many(count).await.map_err(|_| closed())?;
        self.send(submissions, room)
    }

    fn room_for(submissions: &[Submission]) -> Result<u32, SubmitError> {
        let count = submissions.len();
        if count > QUEUE_COMMANDS_MAX { Err(SubmitError::TooLarge) } else { Ok(count as u32) }
    }

    fn send(&self, submissions: Vec<Submission>, room: SemaphorePermit<'_>) -> Result<Pending, SubmitError> {
        if submissions.is_empty() {
            return Ok(Pending::empty());
        }
        self.inbox.check_space(|| submissions.iter().any(|submission| submission.command.adds()))?;
        let first = self.numbers.fetch_add(submissions.len() as u64, Ordering::Relaxed) + 1;
        let producer = self.id();
        let heads = (first..).map(|number| CommandHead { producer, number, ..CommandHead::SEQUENCER });
        let pending = self.inbox.put(heads, submissions)?;
        // It comes back with the answer.
        room.forget();
        Ok(pending)
    }
}

fn closed() -> SubmitError {
    SubmitError::Stopped(Stopped("it is stopping".to_owned()))
}

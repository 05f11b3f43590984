//! How commands come in: numbered by their producer, encoded by who submits, and let in while there is room.

use super::{Outcome, Stopped};
use crate::{sequencer::reducer::Reduced, texts::SealedText};
use arena_engine::Emitted;
use arena_schema::{
    Command, Event, Rejection,
    event::system::Place,
    id::{CredentialRef, ProducerId, RecordNumber},
    record::{CommandHead, SecondKey, encode_command},
};
use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    task::{Context, Poll, Wake},
    thread,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// How many commands may be unanswered at once.
pub const QUEUE_COMMANDS_MAX: usize = 4_096;
/// How long one batch's commands may be together, so that a record always has room for it.
pub const BATCH_BYTES_MAX: usize = 256 * 1024;
/// How long one batch's sealed texts may be together.
pub const BATCH_TEXTS_BYTES_MAX: usize = 1024 * 1024;

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
    /// More than one batch may hold.
    #[error("a batch holds at most {BATCH_BYTES_MAX} bytes of commands and {BATCH_TEXTS_BYTES_MAX} of texts")]
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

/// Commands that go into one record together.
pub(super) struct Batch {
    pub(super) commands: Vec<u8>,
    pub(super) count: u32,
    pub(super) alone: bool,
    pub(super) texts: Vec<SealedText>,
    pub(super) texts_bytes: usize,
    pub(super) reply: oneshot::Sender<Answered>,
    /// Its room in the queue, given back with the answer; the sequencer's own have none.
    pub(super) room: Option<OwnedSemaphorePermit>,
}

impl Batch {
    pub(super) fn encode(
        heads: impl Iterator<Item = CommandHead>,
        submissions: Vec<Submission>,
    ) -> Result<(Self, Pending), SubmitError> {
        let (reply, answer) = oneshot::channel();
        let mut batch = Self {
            commands: Vec::with_capacity(submissions.len() * 96),
            count: submissions.len() as u32,
            alone: submissions.iter().any(|submission| submission.command.stands_alone()),
            texts: Vec::new(),
            texts_bytes: 0,
            reply,
            room: None,
        };
        for (head, submission) in heads.zip(submissions) {
            let head =
                CommandHead { credential: submission.credential, second_key: submission.second_key, ..head };
            encode_command(&head, &submission.command, &mut batch.commands);
            batch.texts_bytes += submission.texts.iter().map(|text| text.sealed.len()).sum::<usize>();
            batch.texts.extend(submission.texts);
        }
        if batch.commands.len() > BATCH_BYTES_MAX || batch.texts_bytes > BATCH_TEXTS_BYTES_MAX {
            return Err(SubmitError::TooLarge);
        }
        Ok((batch, Pending { answer }))
    }
}

pub(super) enum Message {
    Batch(Batch),
    Reduced(Reduced),
    Advance(u64, oneshot::Sender<()>),
    Stop,
    /// The reducer has ended by itself: nothing more is to be appended.
    Halted,
}

/// The way in. The channel itself has no end; the room does.
#[derive(Clone)]
pub(super) struct Inbox {
    pub(super) queue: mpsc::Sender<Message>,
    room: Arc<Semaphore>,
}

impl Inbox {
    pub(super) fn new(queue: mpsc::Sender<Message>) -> Self {
        Self { queue, room: Arc::new(Semaphore::new(QUEUE_COMMANDS_MAX)) }
    }

    pub(super) fn send(&self, message: Message) -> Result<(), Stopped> {
        self.queue.send(message).map_err(|_| Stopped("its threads have ended".to_owned()))
    }

    pub(super) fn stop(&self) {
        self.room.close();
        // Where the threads have ended, there is nobody left to stop.
        let _ = self.queue.send(Message::Stop);
    }

    pub(super) async fn advance(&self, micros: u64) -> Result<(), Stopped> {
        let (done, reply) = oneshot::channel();
        self.send(Message::Advance(micros, done))?;
        reply.await.map_err(|_| Stopped("its threads have ended".to_owned()))
    }
}

/// Submits as one process's gateway, and numbers what it submits. A clone numbers on.
#[derive(Clone)]
pub struct Producer {
    inbox: Inbox,
    id: ProducerId,
    numbers: Arc<AtomicU64>,
}

impl Producer {
    pub(super) fn new(inbox: Inbox, id: ProducerId) -> Self {
        Self { inbox, id, numbers: Arc::new(AtomicU64::new(0)) }
    }

    /// Its number in the journal, by which events name it as a home.
    pub fn id(&self) -> ProducerId {
        self.id
    }

    /// Submits if there is room now.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing was submitted then.
    pub fn try_submit(&self, submissions: Vec<Submission>) -> Result<Pending, SubmitError> {
        let room = Arc::clone(&self.inbox.room)
            .try_acquire_many_owned(Self::room_for(&submissions)?)
            .map_err(|why| match why {
                tokio::sync::TryAcquireError::NoPermits => SubmitError::Busy(Busy),
                tokio::sync::TryAcquireError::Closed => closed(),
            })?;
        self.send(submissions, room)
    }

    /// Submits when there is room: for facts that must not be lost.
    ///
    /// # Errors
    /// [`SubmitError`], but never [`SubmitError::Busy`]; nothing was submitted then.
    pub async fn submit(&self, submissions: Vec<Submission>) -> Result<Pending, SubmitError> {
        let count = Self::room_for(&submissions)?;
        let room = Arc::clone(&self.inbox.room).acquire_many_owned(count).await.map_err(|_| closed())?;
        self.send(submissions, room)
    }

    fn room_for(submissions: &[Submission]) -> Result<u32, SubmitError> {
        let count = submissions.len();
        if count > QUEUE_COMMANDS_MAX { Err(SubmitError::TooLarge) } else { Ok(count as u32) }
    }

    fn send(&self, submissions: Vec<Submission>, room: OwnedSemaphorePermit) -> Result<Pending, SubmitError> {
        if submissions.is_empty() {
            return Ok(Pending::empty());
        }
        let first = self.numbers.fetch_add(submissions.len() as u64, Ordering::Relaxed) + 1;
        let heads =
            (first..).map(|number| CommandHead { producer: self.id, number, ..CommandHead::SEQUENCER });
        let (mut batch, pending) = Batch::encode(heads, submissions)?;
        batch.room = Some(room);
        self.inbox.send(Message::Batch(batch))?;
        Ok(pending)
    }
}

fn closed() -> SubmitError {
    SubmitError::Stopped(Stopped("it is stopping".to_owned()))
}

/// The answer to come.
#[derive(Debug)]
pub struct Pending {
    answer: oneshot::Receiver<Answered>,
}

impl Pending {
    /// An answer that is there already: to a batch of no commands.
    fn empty() -> Self {
        let (reply, answer) = oneshot::channel();
        // The receiver is in the next line.
        let _ = reply.send(Answered { record: RecordNumber(0), first: 1, count: 0, events: Arc::default() });
        Self { answer }
    }

    /// Waits for the answer to a batch.
    ///
    /// # Errors
    /// [`Stopped`]: what became of it is unknown here.
    pub async fn answered(self) -> Result<Answered, Stopped> {
        self.answer.await.map_err(|_| Stopped("it ended before it answered".to_owned()))
    }

    /// Waits for the outcomes of a batch, in the order of its commands.
    ///
    /// # Errors
    /// [`Stopped`]: the outcome is unknown here.
    pub async fn outcomes(self) -> Result<Vec<Outcome>, Stopped> {
        let answered = self.answered().await?;
        Ok((0..answered.count).map(|at| answered.outcome(at)).collect())
    }

    /// Waits for the outcome of a batch of one.
    ///
    /// # Errors
    /// [`Stopped`]: the outcome is unknown here.
    pub async fn outcome(self) -> Result<Outcome, Stopped> {
        let answered = self.answered().await?;
        if answered.count == 0 {
            return Err(Stopped("the batch was empty".to_owned()));
        }
        Ok(answered.outcome(0))
    }

    /// The same for a thread that may wait, inside a runtime or out of it.
    pub(super) fn wait(self) -> Result<Vec<Outcome>, Stopped> {
        struct Unpark(thread::Thread);
        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Arc::new(Unpark(thread::current())).into();
        let mut answer = pin!(self.outcomes());
        loop {
            match answer.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(outcomes) => return outcomes,
                Poll::Pending => thread::park(),
            }
        }
    }
}

/// The one message for a batch: where its commands stand, and the record's events, shared by all who ask.
#[derive(Debug, Clone)]
pub struct Answered {
    pub(super) record: RecordNumber,
    /// The index of the batch's first command in the record.
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) events: Arc<Vec<Emitted>>,
}

impl Answered {
    /// Where a command of the batch stands, by its place in the batch from 0.
    pub fn place(&self, at: u32) -> Place {
        Place { record: self.record, command: self.first + at }
    }

    /// A command's events, or why it may not happen.
    ///
    /// # Errors
    /// The engine's refusal.
    pub fn events(&self, at: u32) -> Result<impl Iterator<Item = &Event>, Rejection> {
        let command = self.first + at;
        let begin = self.events.partition_point(|emitted| emitted.command < command);
        let own = self.events[begin..].iter().take_while(move |emitted| emitted.command == command);
        let own = own.map(|emitted| &emitted.event);
        let rejection = own.clone().find_map(|event| match event {
            Event::Rejected(rejection) => Some(*rejection),
            _ => None,
        });
        let of_all = |event: &&Event| matches!(event, Event::NumberSeen(_) | Event::SecondKeyKept(_));
        rejection.map_or(Ok(own.filter(move |event| !of_all(event))), Err)
    }

    /// The same, to keep.
    pub fn outcome(&self, at: u32) -> Outcome {
        Outcome { place: self.place(at), result: self.events(at).map(|events| events.cloned().collect()) }
    }
}

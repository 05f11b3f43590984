//! What comes back to whoever submitted: where the commands stand and their events, or why there is no outcome.

use super::{Outcome, Stopped};
use crate::space::Shortage;
use arena_engine::Emitted;
use arena_schema::{Event, Rejection, event::system::Place, id::RecordNumber};
use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake},
    thread,
};
use tokio::sync::oneshot;

/// Why there is no outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unanswered {
    /// What became of the commands is unknown here.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// They were refused at the leader's door, and nothing was done.
    #[error(transparent)]
    Short(#[from] Shortage),
}

/// Whom to answer, in the order of their commands.
pub(crate) struct Waiter {
    /// How many commands are theirs.
    pub(super) count: u32,
    sender: oneshot::Sender<Result<Answered, Shortage>>,
}

impl Waiter {
    /// Of so many commands, and where its answer comes.
    pub(super) fn new(count: u32) -> (Self, Pending) {
        let (sender, answer) = oneshot::channel();
        (Self { count, sender }, Pending { answer })
    }

    /// How many commands are theirs.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Tells them. Who no longer waits finds the outcome in the records.
    pub(crate) fn answer(self, answered: Answered) {
        let _ = self.sender.send(Ok(answered));
    }

    /// Tells them that nothing of theirs was done, nor will be.
    pub(crate) fn refuse(self, shortage: Shortage) {
        let _ = self.sender.send(Err(shortage));
    }
}

/// The answer to come.
#[derive(Debug)]
pub struct Pending {
    answer: oneshot::Receiver<Result<Answered, Shortage>>,
}

impl Pending {
    /// An answer that is there already: to a batch of no commands.
    pub(super) fn empty() -> Self {
        let (waiter, pending) = Waiter::new(0);
        waiter.answer(Answered { record: RecordNumber(0), first: 1, count: 0, events: Arc::default() });
        pending
    }

    /// Waits for the answer to a batch.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub async fn answered(self) -> Result<Answered, Unanswered> {
        let answer = self.answer.await.map_err(|_| Stopped("it ended before it answered".to_owned()))?;
        Ok(answer?)
    }

    /// Waits for the outcomes of a batch, in the order of its commands.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub async fn outcomes(self) -> Result<Vec<Outcome>, Unanswered> {
        let answered = self.answered().await?;
        Ok((0..answered.count).map(|at| answered.outcome(at)).collect())
    }

    /// Waits for the outcome of a batch of one.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub async fn outcome(self) -> Result<Outcome, Unanswered> {
        let answered = self.answered().await?;
        if answered.count == 0 {
            return Err(Stopped("the batch was empty".to_owned()).into());
        }
        Ok(answered.outcome(0))
    }

    /// The same for a thread that may wait, inside a runtime or out of it.
    pub(super) fn wait(self) -> Result<Vec<Outcome>, Unanswered> {
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
    pub(crate) fn new(record: RecordNumber, first: u32, count: u32, events: Arc<Vec<Emitted>>) -> Self {
        Self { record, first, count, events }
    }

    /// The record.
    pub fn record(&self) -> RecordNumber {
        self.record
    }

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

//! The stream of public events as its one publisher has it. What belongs here: where it ends, and putting events behind that,
//! each at its place. What never does: which events those are, or a reader.
//!
//! A message's place is the sequence that it expects to be the last, so two publishers of the same events never make a gap or a
//! double between them: whatever is stored stands where it must, or is refused.

use super::{
    append::{EXPECTED_LAST_SEQUENCE, is_full, publish_to},
    connection::{Failure, Nats, Pauses},
    streams::Stream,
};
use crate::journal::JournalError;
use arena_schema::{id::Partition, public::PublicEvent};
use async_nats::HeaderMap;
use bytes::Bytes;
use futures::{StreamExt, stream::FuturesOrdered};

const MESSAGE_ID: &str = "Nats-Msg-Id";

/// The public events of a partition on JetStream.
#[derive(Debug)]
pub(crate) struct EventStream {
    nats: Nats,
    stream: Stream,
    pauses: Pauses,
    /// A place where the server said that it had the message's id before, at another place: two events have one id where a
    /// restore begins another lineage. There the id is left out.
    same_id: Option<u64>,
}

/// Where the stream ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stands {
    /// The last sequence that was given.
    pub(crate) last: u64,
    /// The message there; none where nothing was ever stored, or a limit has taken all there was.
    pub(crate) message: Option<Bytes>,
}

impl EventStream {
    /// Makes the stream where there is none, and checks it setting by setting where there is one.
    ///
    /// # Errors
    /// [`JournalError::Format`] names a setting that is not as it must be; [`JournalError::Store`] says why there is no answer.
    pub(crate) async fn open(nats: &Nats, partition: Partition) -> Result<Self, JournalError> {
        let stream = Stream::of_events(partition);
        stream.open(nats).await?;
        Ok(Self { nats: nats.clone(), stream, pauses: Pauses::new(), same_id: None })
    }

    pub(crate) fn name(&self) -> &str {
        &self.stream.name
    }

    /// Where it ends, as its leader says. A stream that went missing is made anew.
    ///
    /// # Errors
    /// As [`EventStream::open`].
    pub(crate) async fn stands(&mut self) -> Result<Stands, JournalError> {
        self.stream.open(&self.nats).await?;
        loop {
            let state = self.stream.wait_state(&self.nats).await?;
            if state.messages == 0 {
                return Ok(Stands { last: state.last, message: None });
            }
            // Between the two questions a limit may have taken it; then there is another last one, or none.
            if let Some(message) = self.stream.wait_stored(&self.nats, state.last).await? {
                return Ok(Stands { last: state.last, message: Some(message.payload) });
            }
            self.pause().await;
        }
    }

    /// Puts events behind the sequence `last`, one behind the other, and waits for every answer. How many of the first ones are
    /// known to be stored at their places; where that is not all of them, the reason, and where the stream ends must be read
    /// again.
    pub(crate) async fn publish<'a>(
        &mut self,
        last: u64,
        events: impl Iterator<Item = &'a PublicEvent>,
    ) -> (usize, Result<(), String>) {
        let mut answers = FuturesOrdered::new();
        for (event, expected) in events.zip(last..) {
            let mut headers = HeaderMap::new();
            headers.insert(EXPECTED_LAST_SEQUENCE, expected.to_string());
            if self.same_id != Some(expected) {
                headers.insert(MESSAGE_ID, event.id.to_string());
            }
            let (subject, payload) = (event.subject.clone(), Bytes::copy_from_slice(event.json.as_bytes()));
            answers.push_back(publish_to(&self.nats, &self.stream.name, subject, headers, payload));
        }
        let mut doubt = None;
        let mut stored = 0;
        // A task that has done much in a row would be asked to pause, and what it sends then goes in another order.
        while let Some(answer) = tokio::task::unconstrained(answers.next()).await {
            if doubt.is_some() {
                continue;
            }
            let place = last + stored as u64 + 1;
            match answer {
                Ok(sequence) if sequence == place => stored += 1,
                Ok(sequence) => {
                    self.same_id = Some(place - 1);
                    doubt = Some(format!("an event is said to be message {sequence} and not {place}"));
                }
                Err(Failure::Refused(refusal)) if is_full(&refusal) => {
                    tracing::error!(stream = self.stream.name, %refusal, "the stream takes no more: raise the limit");
                    doubt = Some(refusal.to_string());
                }
                Err(why) => doubt = Some(why.to_string()),
            }
        }
        if stored > 0 {
            self.pauses = Pauses::new();
        }
        (stored, doubt.map_or(Ok(()), Err))
    }

    /// A moment before the next attempt, longer each time in a row.
    pub(crate) async fn pause(&mut self) {
        self.pauses.pause(&self.nats).await;
    }
}

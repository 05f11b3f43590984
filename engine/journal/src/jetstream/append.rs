//! Makes a record durable in its stream, and finds out whether it was. What belongs here: publishing, and the one way out of
//! not knowing. What never does: reading in order.
//!
//! No answer, a wrong last sequence and a broken connection say the same: the outcome is unknown. Then the stream's leader is
//! asked what it has at that place. Our bytes: stored. Others: fenced. Nothing: the same bytes again, at the same place, until
//! there is something. A tail that does not show it proves nothing.

use super::{
    JetStreamJournal, TEXTS_HEADER,
    connection::{Failure, Nats, Pauses, Refusal, read_answer},
    streams::Stream,
};
use crate::{
    journal::AppendError,
    texts::{SealedText, encode_texts},
};
use arena_schema::{
    id::{Era, RecordNumber},
    record::EncodedRecord,
};
use async_nats::HeaderMap;
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::watch;

/// A message of texts is never longer, but where one text alone is.
const TEXTS_BYTES_MAX: usize = 512 * 1024;
/// After so many attempts in vain it is said aloud, and again after as many.
const ATTEMPTS_IN_SILENCE: u32 = 20;

pub(super) const EXPECTED_STREAM: &str = "Nats-Expected-Stream";
pub(super) const EXPECTED_LAST_SEQUENCE: &str = "Nats-Expected-Last-Sequence";

/// The stream takes nothing any more.
const SEALED: u64 = 10_109;

/// Ends the appends of a journal whose outcome is unknown. A clone ends the same.
#[derive(Debug, Clone)]
pub struct GiveUp(Arc<watch::Sender<bool>>);

impl GiveUp {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// From now on an append that hangs, and every later one, returns [`AppendError::Unknown`].
    pub fn now(&self) {
        self.0.send_replace(true);
    }

    /// Until it is said.
    pub(super) async fn said(&self) {
        // The sender lives in here, so the wait ends only when it is said.
        let _ = self.0.subscribe().wait_for(|said| *said).await;
    }
}

/// Whether the server refuses for good as long as nobody raises a limit.
pub(super) fn is_full(refusal: &Refusal) -> bool {
    // Resources of the account, the server, its disk; headers or message too large; the stream's own limits.
    matches!(refusal.error, 10_002 | 10_023 | 10_047 | 10_053 | 10_054 | 10_077)
}

/// The texts as messages hold them: whole texts, in their order, together what [`encode_texts`] makes of them.
fn text_messages(texts: &[SealedText]) -> Vec<Bytes> {
    let mut messages: Vec<Vec<u8>> = Vec::new();
    for text in texts {
        let bytes = encode_texts(std::slice::from_ref(text));
        match messages.last_mut() {
            Some(message) if message.len() + bytes.len() <= TEXTS_BYTES_MAX => message.extend(bytes),
            _ => messages.push(bytes),
        }
    }
    messages.into_iter().map(Bytes::from).collect()
}

/// Publishes one message and waits for its sequence.
async fn publish(nats: &Nats, stream: &Stream, headers: HeaderMap, payload: Bytes) -> Result<u64, Failure> {
    publish_to(nats, &stream.name, stream.subject.clone(), headers, payload).await
}

/// The same for any subject of a stream.
pub(super) async fn publish_to(
    nats: &Nats,
    stream: &str,
    subject: String,
    mut headers: HeaderMap,
    payload: Bytes,
) -> Result<u64, Failure> {
    headers.insert(EXPECTED_STREAM, stream);
    let answer = nats.request(subject, headers, payload).await?;
    let ack = read_answer(&answer)?;
    let says = |name: &str| ack.get(name).cloned().unwrap_or_default();
    if says("stream").as_str() != Some(stream) {
        return Err(Failure::Lost(format!("who answered is not the stream {stream}")));
    }
    says("seq").as_u64().ok_or_else(|| Failure::Lost("the answer has no sequence".to_owned()))
}

/// Says that something has been tried long in vain.
struct Patience {
    pauses: Pauses,
    attempts: u32,
}

impl Patience {
    fn new() -> Self {
        Self { pauses: Pauses::new(), attempts: 0 }
    }

    async fn pause(&mut self, nats: &Nats, number: RecordNumber, why: &Failure) {
        self.attempts += 1;
        if self.attempts.is_multiple_of(ATTEMPTS_IN_SILENCE) {
            tracing::warn!(
                record = number.0,
                attempts = self.attempts,
                "whether it is stored is still unknown: {why}"
            );
        }
        self.pauses.pause(nats).await;
    }
}

impl JetStreamJournal {
    pub(super) async fn store(
        &mut self,
        record: &EncodedRecord,
        texts: &[SealedText],
    ) -> Result<(), AppendError> {
        let number = record.number();
        self.check_number(number).await?;
        if record.era() != self.era {
            return Err(AppendError::Era { number, era: record.era(), open: self.era });
        }
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED_LAST_SEQUENCE, (number.0 - self.first.0).to_string());
        let sequences = self.store_texts(number, texts).await?;
        if !sequences.is_empty() {
            headers.insert(TEXTS_HEADER, sequences.join(","));
        }
        self.store_record(number, headers, Bytes::copy_from_slice(record.as_bytes())).await?;
        self.known = number;
        self.bytes += record.as_bytes().len() as u64;
        Ok(())
    }

    /// That the record is the one after the last. Where this journal knows the one before, nobody is asked.
    async fn check_number(&mut self, number: RecordNumber) -> Result<(), AppendError> {
        if number > self.known.next() {
            let state = self.records.wait_state(&self.nats).await;
            let state = state.map_err(|why| AppendError::Unknown { number, why: why.to_string() })?;
            self.known = self.known.max(self.number_at(state.last));
        }
        if number == self.known.next() { Ok(()) } else { Err(self.fenced(number).await) }
    }

    async fn fenced(&mut self, number: RecordNumber) -> AppendError {
        if let Ok(state) = self.records.state(&self.nats).await {
            self.known = self.known.max(self.number_at(state.last));
        }
        AppendError::Fenced { number, last: self.known }
    }

    /// The texts' messages, one durable after the other, so that their sequences rise. One sent twice lies there unnamed
    /// until it is swept.
    async fn store_texts(
        &self,
        number: RecordNumber,
        texts: &[SealedText],
    ) -> Result<Vec<String>, AppendError> {
        let mut sequences = Vec::new();
        for message in text_messages(texts) {
            let mut patience = Patience::new();
            let sequence = loop {
                match publish(&self.nats, &self.texts, HeaderMap::new(), message.clone()).await {
                    Ok(sequence) => break sequence,
                    Err(Failure::Refused(refusal)) if is_full(&refusal) => {
                        return Err(self.full(number, &self.texts, &refusal, true));
                    }
                    Err(why) => patience.pause(&self.nats, number, &why).await,
                }
            };
            sequences.push(sequence.to_string());
        }
        Ok(sequences)
    }

    async fn store_record(
        &mut self,
        number: RecordNumber,
        headers: HeaderMap,
        bytes: Bytes,
    ) -> Result<(), AppendError> {
        let sequence = number.0 - self.first.0 + 1;
        let mut patience = Patience::new();
        loop {
            let published = publish(&self.nats, &self.records, headers.clone(), bytes.clone()).await;
            let mut why = match published {
                Ok(stored) if stored == sequence => return Ok(()),
                Ok(stored) => Failure::Lost(format!("stored as message {stored}, not {sequence}")),
                // The era was closed meanwhile: nothing is stored in its stream any more.
                Err(Failure::Refused(refusal)) if refusal.error == SEALED => {
                    let (era, open) = (self.era, Era(self.era.0 + 1));
                    return Err(AppendError::Era { number, era, open });
                }
                Err(why) => why,
            };
            // Until the leader says what it has there.
            loop {
                match self.nats.stored(&self.records.name, sequence).await {
                    Ok(Some(there)) if there.payload == bytes => return Ok(()),
                    Ok(Some(_)) => {
                        self.known = self.known.max(number);
                        return Err(self.fenced(number).await);
                    }
                    Ok(None) => break,
                    Err(unanswered) => {
                        patience.pause(&self.nats, number, &unanswered).await;
                        if !matches!(why, Failure::Refused(_)) {
                            why = unanswered;
                        }
                    }
                }
            }
            match why {
                Failure::Refused(refusal) if is_full(&refusal) => {
                    return Err(self.full(number, &self.records, &refusal, patience.attempts == 0));
                }
                why => patience.pause(&self.nats, number, &why).await,
            }
        }
    }

    /// `sure`: no attempt before may still be on its way.
    fn full(&self, number: RecordNumber, stream: &Stream, refusal: &Refusal, sure: bool) -> AppendError {
        let stored = if sure { "nothing was stored" } else { "an attempt before may still be stored" };
        let why = format!(
            "the stream {} on {} takes no more: {refusal}; {stored}, raise the limit and start again",
            stream.name,
            self.nats.address()
        );
        AppendError::Unknown { number, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Dice, agent_id, sealed_text};

    #[test]
    fn texts_are_cut_into_messages_between_texts_and_lose_no_byte() {
        let mut dice = Dice(7);
        for (count, size) in [(0, 0), (1, 10), (2_000, 500), (20, 65_536), (3, 600_000)] {
            let texts: Vec<_> = (0..count).map(|at| sealed_text(agent_id(at), size, &mut dice).1).collect();
            let messages = text_messages(&texts);
            assert_eq!(messages.concat(), encode_texts(&texts));
            for message in &messages {
                let one = message.len() > TEXTS_BYTES_MAX;
                let whole = crate::texts::decode_texts(RecordNumber(1), message).unwrap();
                assert_eq!(one, whole.len() == 1 && size > TEXTS_BYTES_MAX);
            }
        }
    }
}

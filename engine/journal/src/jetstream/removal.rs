//! Removes eras that were archived, and the texts that belong to nothing else. What belongs here: which texts those are, and in
//! which order things go. What never does: whether an era was archived, which whoever calls has seen to.
//!
//! The archive has the texts beside their records, and every view has its own copy of those that it shows: from the stream they
//! are read with their records alone. So they go with them. Their sequences rise with the records that name them; hence all below
//! the first that a record which stays names belong to records that went, or to none.

use super::{
    JetStreamJournal,
    connection::Nats,
    eras,
    feed::{Arrived, Feed, Gaps},
    read::text_sequences,
    streams::{PATIENCE, Stream, insist},
};
use crate::journal::JournalError;
use arena_schema::id::Era;
use serde_json::{Value, json};
use tokio::time::Instant;

impl JetStreamJournal {
    /// Deletes the streams of eras that were archived, and then the texts that only records before those that stay name; says how
    /// many texts' messages went. Where a run before ended in between, it goes on there, also with no era.
    ///
    /// # Errors
    /// [`JournalError`], also where one of the eras is open; what was deleted until then stays deleted.
    pub async fn remove_eras(&self, gone: &[Era]) -> Result<u64, JournalError> {
        let nats = &self.nats;
        let listed = eras::wait_list(nats, self.partition).await?;
        if let Some(open) = gone.iter().find(|era| **era >= self.era || listed.last() == Some(*era)) {
            return Err(self.of_era(*open).error(nats, "removed", &"it is not closed"));
        }
        let stays: Vec<Era> = listed.iter().copied().filter(|era| !gone.contains(era)).collect();
        let (mut first_named, mut last_gone) = (None::<u64>, None::<u64>);
        for era in &stays {
            each_named_text(nats, &self.of_era(*era), &mut |sequence| {
                first_named = Some(first_named.map_or(sequence, |first| first.min(sequence)));
            })
            .await?;
        }
        if first_named.is_none() {
            for era in listed.iter().filter(|era| gone.contains(era)) {
                each_named_text(nats, &self.of_era(*era), &mut |sequence| {
                    last_gone = last_gone.max(Some(sequence));
                })
                .await?;
            }
        }
        // The records first: one whose text were missing would be damage, a text without a record is nobody's.
        for era in listed.iter().filter(|era| gone.contains(era)) {
            let stream = self.of_era(*era);
            let operation = format!("STREAM.DELETE.{}", stream.name);
            let deleted = insist(nats, || nats.api(&operation, &Value::Null)).await;
            deleted.map_err(|why| stream.error(nats, "removed", &why))?;
        }
        let keeps_from = first_named.or(last_gone.map(|last| last + 1));
        match keeps_from {
            // Before the first era there is nothing that went.
            Some(from) if stays.first() != Some(&Era(1)) => self.purge_texts(from).await,
            _ => Ok(0),
        }
    }

    fn of_era(&self, era: Era) -> Stream {
        Stream::of_records(self.partition, era)
    }

    /// Deletes the texts' messages below a sequence.
    async fn purge_texts(&self, from: u64) -> Result<u64, JournalError> {
        let (operation, body) = (format!("STREAM.PURGE.{}", self.texts.name), json!({"seq": from}));
        let purged = insist(&self.nats, || self.nats.api(&operation, &body)).await;
        let purged = purged.map_err(|why| self.texts.error(&self.nats, "purged", &why))?;
        Ok(purged.get("purged").and_then(Value::as_u64).unwrap_or_default())
    }
}

/// Shows each sequence that the records of an era name as a text's, in the order of the records.
///
/// # Errors
/// [`JournalError`].
pub(super) async fn each_named_text(
    nats: &Nats,
    stream: &Stream,
    take: &mut dyn FnMut(u64),
) -> Result<(), JournalError> {
    let state = stream.wait_state(nats).await?;
    let mut records = Feed::new(nats, stream, Gaps::Never).headers_only();
    while records.position() <= state.last {
        let arrived = records.next(Instant::now() + PATIENCE).await?;
        let Some(Arrived { sequence, message, .. }) = arrived else {
            return Err(stream.error(nats, "read", &records.trouble()));
        };
        let sequences = text_sequences(message.headers.as_ref()).ok_or_else(|| {
            stream.error(nats, "read", &format!("the headers of message {sequence} are damaged"))
        })?;
        sequences.into_iter().for_each(&mut *take);
    }
    Ok(())
}

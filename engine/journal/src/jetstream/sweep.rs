//! Deletes texts that no record names: what an append sent twice, or sent for a record that was never stored. What belongs
//! here: telling them apart. What never does: forgetting, which destroys a key and not a message.

use super::{
    JetStreamJournal,
    connection::{Failure, Pauses},
    feed::{Arrived, Feed, Gaps},
    removal::each_named_text,
    streams::PATIENCE,
};
use crate::journal::JournalError;
use serde_json::json;
use tokio::time::Instant;

/// The message was deleted before.
const NO_MESSAGE: u64 = 10_057;
const NO_SUCH_SEQUENCE: u64 = 10_043;

impl JetStreamJournal {
    /// Deletes, overwriting their bytes, the text messages between the first and the last that this era's records name and
    /// that none of them names; says how many. What lies above the last may belong to a record that is on its way, what lies
    /// below the first to an earlier era. Blocks, and is called from plain threads.
    ///
    /// # Errors
    /// [`JournalError`]; what was deleted until then stays deleted.
    pub fn sweep_texts(&self) -> Result<u64, JournalError> {
        self.nats.runtime().block_on(async {
            let named = self.named_texts().await?;
            let (Some(&first), Some(&last)) = (named.first(), named.last()) else {
                return Ok(0);
            };
            let mut deleted = 0;
            let mut texts = Feed::new(&self.nats, &self.texts, Gaps::Deleted).headers_only();
            texts.begin(first);
            loop {
                let Arrived { sequence, .. } = self.arrived(&mut texts).await?;
                if sequence >= last {
                    return Ok(deleted);
                }
                if named.binary_search(&sequence).is_err() {
                    self.delete_text(sequence).await?;
                    deleted += 1;
                }
            }
        })
    }

    /// All sequences that this era's records name, rising.
    async fn named_texts(&self) -> Result<Vec<u64>, JournalError> {
        let mut named = Vec::new();
        each_named_text(&self.nats, &self.records, &mut |sequence| named.push(sequence)).await?;
        named.sort_unstable();
        Ok(named)
    }

    async fn arrived(&self, feed: &mut Feed) -> Result<Arrived, JournalError> {
        let arrived = feed.next(Instant::now() + PATIENCE).await?;
        arrived.ok_or_else(|| self.records.error(&self.nats, "swept", &feed.trouble()))
    }

    async fn delete_text(&self, sequence: u64) -> Result<(), JournalError> {
        let operation = format!("STREAM.MSG.DELETE.{}", self.texts.name);
        let body = json!({"seq": sequence, "no_erase": false});
        let (begun, mut pauses) = (Instant::now(), Pauses::new());
        loop {
            match self.nats.api(&operation, &body).await {
                Ok(_) => return Ok(()),
                Err(Failure::Refused(refusal)) if [NO_MESSAGE, NO_SUCH_SEQUENCE].contains(&refusal.error) => {
                    return Ok(());
                }
                Err(why @ Failure::Refused(_)) => return Err(self.texts.error(&self.nats, "swept", &why)),
                Err(why) if begun.elapsed() > PATIENCE => {
                    return Err(self.texts.error(&self.nats, "swept", &why));
                }
                Err(_) => pauses.pause(&self.nats).await,
            }
        }
    }
}

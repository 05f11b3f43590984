//! What nobody destroyed whose it was: keys, tokens and payloads of sessions that ended while nobody was home, or that never came
//! to be, and payloads that no entry names. Done at each start, and once a day from then on.

use super::Relay;
use crate::arena::ON_ITS_WAY;
use arena_journal::TextOwner;
use arena_schema::id::{ObjectId, SessionId};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// How often is swept.
const EVERY: Duration = Duration::from_secs(24 * 3_600);
/// How long after it was found a stray is looked at once more: a session of this process's own may have been on its way, whose key
/// is there before its record.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

impl Relay {
    /// Sweeps, and says what could not be.
    pub(super) async fn sweep_daily(self) {
        loop {
            self.sweep_keys().await;
            self.sweep_payloads().await;
            tokio::time::sleep(EVERY).await;
        }
    }

    async fn sweep_keys(&self) {
        let (relay, vault) = (self.clone(), Arc::clone(&self.vault));
        let strays = tokio::task::spawn_blocking(move || {
            let mut strays = BTreeSet::new();
            for name in vault.names("session/")? {
                let id = name.split('/').nth(1).and_then(SessionId::parse);
                // One that is young may be on its way through another process.
                if let Some(id) = id.filter(|id| !relay.may_live(*id))
                    && vault.is_older_than(&name, ON_ITS_WAY)?
                {
                    strays.insert(id);
                }
            }
            Ok::<_, arena_journal::VaultError>(strays)
        });
        match strays.await {
            Ok(Ok(strays)) if strays.is_empty() => {}
            Ok(Ok(strays)) => {
                tokio::time::sleep(LOOK_AGAIN).await;
                for id in strays.into_iter().filter(|id| !self.may_live(*id)) {
                    if let Err(why) = self.destroy(id).await {
                        tracing::warn!(?why, "what is left of a session that ended could not be destroyed");
                    }
                }
            }
            Ok(Err(why)) => {
                tracing::warn!(%why, "what is left of sessions that ended could not be looked for");
            }
            Err(why) => tracing::warn!(%why, "the sweep failed"),
        }
    }

    async fn sweep_payloads(&self) {
        let lives = |owner: &TextOwner| match owner {
            TextOwner::Session(id) => self.may_live(*id),
            TextOwner::Agent(_) => true,
        };
        let swept =
            self.payloads.sweep(lives, |owner, object| self.is_named(owner, object), ON_ITS_WAY).await;
        match swept {
            Ok(swept) if swept.whole + swept.unfinished > 0 => {
                tracing::info!(swept.whole, swept.unfinished, "payloads that nobody has were removed");
            }
            Ok(_) => {}
            Err(why) => tracing::warn!(%why, "payloads that nobody has could not be removed"),
        }
    }

    /// Whether a session is open, or its partition is not followed here.
    fn may_live(&self, id: SessionId) -> bool {
        self.parts.get(id.partition()).is_none_or(|part| part.handle.state().sessions().by_id(&id).is_some())
    }
    /// Whether an entry names a payload, as far as anyone can tell.
    fn is_named(&self, owner: &TextOwner, object: ObjectId) -> bool {
        match owner {
            TextOwner::Session(id) => self.views.has_object(id.partition(), *id, object).unwrap_or(true),
            TextOwner::Agent(_) => true,
        }
    }
}

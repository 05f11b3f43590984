//! What nobody destroyed whose it was: keys, tokens and payloads of sessions that ended while nobody was home, or that never came
//! to be. Done at each start.

use super::Relay;
use crate::arena::ON_ITS_WAY;
use arena_journal::TextOwner;
use arena_schema::id::SessionId;
use std::{collections::BTreeSet, sync::Arc};

impl Relay {
    /// Sweeps once, and says what could not be.
    pub(super) async fn sweep(self) {
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
            Ok(Ok(strays)) => {
                for id in strays {
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
        let lives = |owner: &TextOwner| match owner {
            TextOwner::Session(id) => self.may_live(*id),
            TextOwner::Agent(_) => true,
        };
        // One that nothing names in a session that lives goes with it.
        let swept = self.payloads.sweep(lives, |_, _| true, ON_ITS_WAY).await;
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
}

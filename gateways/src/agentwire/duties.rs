//! What this process is home to, outside: asking the access service whether an owned session may be deleted, and destroying what is
//! left of one that ended, its key first.

use super::{Relay, create::address_name, failure::Failure, hub::Duty};
use arena_journal::{Submission, TextOwner};
use arena_schema::{
    command::sessions::{AnswerDeletion, DeletionAnswer},
    id::{Partition, SessionId, SessionKey},
};
use std::sync::Arc;
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
};

/// How many are done at once.
const AT_ONCE_MAX: usize = 16;

/// What all that a session has in the vault begins with.
pub(super) fn vault_prefix(id: SessionId) -> String {
    format!("session/{}/", id.to_uuid())
}

impl Relay {
    /// Does what is owed until nothing is owed any more.
    pub(super) async fn do_duties(self, mut owed: mpsc::UnboundedReceiver<Duty>) {
        let room = Arc::new(Semaphore::new(AT_ONCE_MAX));
        let mut doing = JoinSet::new();
        while let Some(duty) = owed.recv().await {
            let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
            while doing.try_join_next().is_some() {}
            let relay = self.clone();
            doing.spawn(async move {
                relay.do_duty(duty).await;
                drop(place);
            });
        }
    }

    async fn do_duty(&self, duty: Duty) {
        let done = match duty {
            Duty::Ask { partition, session, id, attempt } => {
                self.ask_about(partition, session, id, attempt).await
            }
            Duty::Destroy { id } => self.destroy(id).await,
        };
        if let Err(why) = done {
            // A question is put again by the next home, or at the next start; what is left is swept then.
            tracing::warn!(?why, "what was owed to a session was not done");
        }
    }

    async fn ask_about(
        &self,
        partition: Partition,
        session: SessionKey,
        id: SessionId,
        attempt: u32,
    ) -> Result<(), Failure> {
        let vault = Arc::clone(&self.vault);
        let read = tokio::task::spawn_blocking(move || vault.get(&address_name(id)));
        let address = read.await.map_err(Failure::internal)?.map_err(Failure::internal)?;
        let address = address.and_then(|address| String::from_utf8(address.to_vec()).ok());
        let answer = match (&self.access, address) {
            (Some(access), Some(address)) => access.may_be_deleted(&address).await,
            // Nobody can say that it may go; where nobody ever joined nothing goes with it.
            _ if self.is_unjoined(partition, session) => DeletionAnswer::Delete,
            _ => DeletionAnswer::Silence,
        };
        let command = AnswerDeletion { session, attempt, answer };
        self.submit_when_there_is_room(partition, Submission::new(command)).await.map(|_| ())
    }

    fn is_unjoined(&self, partition: Partition, session: SessionKey) -> bool {
        let Some(part) = self.parts.get(partition) else { return false };
        let state = part.handle.state();
        state.sessions().get(session).is_some_and(|session| session.entries == 0)
    }

    /// Destroys what is left of a session that ended: its key, with which nothing of it can be read any more, then the rest.
    pub(super) async fn destroy(&self, id: SessionId) -> Result<(), Failure> {
        let owner = TextOwner::Session(id);
        let (texts, vault) = (self.texts.clone(), Arc::clone(&self.vault));
        let destroyed = tokio::task::spawn_blocking(move || {
            texts.forget_owner(owner).map_err(Failure::internal)?;
            for name in vault.names(&vault_prefix(id)).map_err(Failure::internal)? {
                vault.destroy(&name).map_err(Failure::internal)?;
            }
            Ok(())
        });
        destroyed.await.map_err(Failure::internal)??;
        self.payloads.remove_owner(owner).await.map_err(Failure::internal)
    }
}

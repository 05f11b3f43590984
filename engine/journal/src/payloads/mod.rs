//! Payloads that are too large to ride beside a record: sealed under their owner's key, each a file of the data folder or an
//! object of the store that processes share. What belongs here: writing one as it comes, reading it as it goes, and removing what
//! nobody has any more. What never does: which payloads there may be, or how large they may be; a record.
//!
//! - A payload is durable before the command that names it is submitted, and what was not finished is never taken for whole.
//! - It never lies in memory as a whole: a chunk of it does, and the chunk's sealed bytes.
//! - What is read was verified, chunk by chunk; that its end is there is verified before the first chunk is given.
//! - Key first, then bytes: forgetting an owner destroys its key, and with it every copy of its payloads wherever it lies, also
//!   in a server's blocks and in backups. That the bytes go too gives back the room.

mod error;
mod folder;
mod names;
mod objects;
mod parts;
mod reading;
mod store;
mod writing;

pub use error::PayloadError;
pub use reading::Reading;
pub use writing::{Stored, Writing};

use crate::{
    jetstream::Nats,
    texts::{TextError, TextOwner, Texts},
    vault::random,
};
use arena_schema::{Commitment, id::ObjectId};
use folder::Folder;
use objects::Objects;
use std::{path::Path, time::Duration};
use store::Store;

/// A store of payloads. A clone is the same.
#[derive(Debug, Clone)]
pub struct Payloads {
    texts: Texts,
    store: Store,
}

/// What a sweep removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Whole payloads.
    pub whole: u64,
    /// What was begun and never finished.
    pub unfinished: u64,
}

impl Payloads {
    /// As files in the folder `payloads` of a data folder, which is made with the first of them.
    pub fn in_data(data: &Path, texts: Texts) -> Self {
        Self { texts, store: Store::Folder(Folder::in_data(data)) }
    }

    /// In the object store [`arena_schema::subject::PAYLOADS_STORE`], which is made where there is none, and whose settings are
    /// checked where there is one.
    ///
    /// # Errors
    /// [`PayloadError::Store`] names a setting that is not as it must be, or says why there is no answer.
    pub async fn in_objects(nats: &Nats, texts: Texts) -> Result<Self, PayloadError> {
        Ok(Self { texts, store: Store::Objects(Objects::open(nats).await?) })
    }

    /// What to call the store in a message.
    pub fn name(&self) -> String {
        self.store.name()
    }

    /// Begins to write a payload of an owner, under an id of its own.
    ///
    /// # Errors
    /// [`PayloadError::Gone`] where the owner has no key; [`PayloadError::Full`], [`PayloadError::Store`].
    pub async fn begin(&self, owner: TextOwner) -> Result<Writing, PayloadError> {
        Writing::begin(self, owner, ObjectId(random())).await
    }

    /// Opens a payload for reading. Its first chunk and its last were verified when this returns, and so its size was.
    ///
    /// # Errors
    /// [`PayloadError::Gone`] where the owner's key is destroyed; [`PayloadError::Missing`] where it is not and the payload is not
    /// there all the same; [`PayloadError::Damaged`], [`PayloadError::Store`].
    pub async fn read(&self, owner: TextOwner, object: ObjectId) -> Result<Reading, PayloadError> {
        Reading::open(self, owner, object, None).await
    }

    /// The same for a payload that a record commits to: the last chunk comes only where all that came fits the commitment.
    ///
    /// # Errors
    /// As [`Payloads::read`].
    pub async fn read_committed(
        &self,
        owner: TextOwner,
        object: ObjectId,
        commitment: Commitment,
    ) -> Result<Reading, PayloadError> {
        Reading::open(self, owner, object, Some(commitment)).await
    }

    /// Removes all payloads of an owner whose key was destroyed; done again it does no harm. What arrives after is swept.
    ///
    /// # Errors
    /// [`PayloadError::KeyStands`] where the key was not destroyed; [`PayloadError::Store`].
    pub async fn remove_owner(&self, owner: TextOwner) -> Result<(), PayloadError> {
        if self.key_stands(owner)? {
            return Err(PayloadError::KeyStands(owner));
        }
        self.store.remove_owner(owner).await
    }

    /// Removes what nobody has: payloads of owners that do not live, those that nothing names (their command was refused, or
    /// came after the end), and what was begun and never finished. Only what nothing was added to for `older_than` is looked
    /// at: longer than a payload may wait for its next bytes, and than a command that names it is on its way. Both questions are
    /// answered from a state that is read after this has begun.
    ///
    /// # Errors
    /// [`PayloadError::Store`]; what was removed until then stays removed.
    pub async fn sweep(
        &self,
        is_owner_live: impl Fn(&TextOwner) -> bool,
        is_named: impl Fn(&TextOwner, ObjectId) -> bool,
        older_than: Duration,
    ) -> Result<Swept, PayloadError> {
        let mut swept = Swept::default();
        for kept in self.store.list().await? {
            let wanted = is_owner_live(&kept.owner) && kept.whole && is_named(&kept.owner, kept.object);
            if wanted || self.store.age(kept).await?.is_none_or(|age| age < older_than) {
                continue;
            }
            self.store.remove(kept, self.key_stands(kept.owner)?).await?;
            if kept.whole {
                swept.whole += 1;
            } else {
                swept.unfinished += 1;
            }
        }
        Ok(swept)
    }

    fn key_stands(&self, owner: TextOwner) -> Result<bool, PayloadError> {
        match self.texts.has_owner(owner) {
            Ok(()) => Ok(true),
            Err(TextError::NoKey) => Ok(false),
            Err(why) => Err(PayloadError::Key(why)),
        }
    }

    /// Where an owner's key is destroyed meanwhile, that is why anything else went wrong.
    fn blame(&self, owner: TextOwner, error: PayloadError) -> PayloadError {
        match self.key_stands(owner) {
            Ok(false) => PayloadError::Gone,
            _ => error,
        }
    }
}

//! A payload that is being written. What belongs here: the chunk that is not yet full, and what is known of all that came.

use super::{
    Payloads,
    error::PayloadError,
    parts::{CHUNK_BYTES, Seal},
    store::Sink,
};
use crate::{texts::TextOwner, vault::random};
use arena_schema::{Commitment, Committing, TextSalt, id::ObjectId};
use zeroize::Zeroizing;

/// A payload that is durable, as a command names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Under which id.
    pub object: ObjectId,
    /// How long it is, in bytes.
    pub size: u64,
    /// SHA-256 over 32 random bytes and the payload: the same kind as a text's.
    pub commitment: Commitment,
}

/// A payload that is being written. Dropped before [`Writing::finish`], it never was.
pub struct Writing {
    payloads: Payloads,
    owner: TextOwner,
    object: ObjectId,
    seal: Seal,
    sink: Sink,
    committing: Committing,
    size: u64,
    /// What is sealed next. A full one waits for what comes behind it, since the last is sealed as such.
    chunk: Zeroizing<Vec<u8>>,
    number: u64,
    /// A write failed, or was given up while it waited.
    broken: bool,
}

impl std::fmt::Debug for Writing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writing").field("object", &self.object).finish_non_exhaustive()
    }
}

impl Writing {
    pub(super) async fn begin(
        payloads: &Payloads,
        owner: TextOwner,
        object: ObjectId,
    ) -> Result<Self, PayloadError> {
        let seal = Seal::new(&payloads.texts.payload_key(owner, object)?, owner, object);
        let sink = payloads.store.begin(owner, object).await.map_err(|why| payloads.blame(owner, why))?;
        let salt = TextSalt(random());
        let mut chunk = Zeroizing::new(Vec::with_capacity(CHUNK_BYTES));
        chunk.extend_from_slice(&salt.0);
        Ok(Self {
            payloads: payloads.clone(),
            owner,
            object,
            seal,
            sink,
            committing: Commitment::begin(&salt),
            size: 0,
            chunk,
            number: 0,
            broken: false,
        })
    }

    /// The id that it will have.
    pub const fn object(&self) -> ObjectId {
        self.object
    }

    /// How much came so far, in bytes.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Adds the next bytes, however many. When it returns, all of them but a last chunk are in the store.
    ///
    /// # Errors
    /// [`PayloadError::Gone`] where the owner was forgotten meanwhile; [`PayloadError::Full`], [`PayloadError::Store`]; and from
    /// then on [`PayloadError::Broken`].
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), PayloadError> {
        self.size += bytes.len() as u64;
        self.committing.update(bytes);
        if std::mem::replace(&mut self.broken, true) {
            return Err(PayloadError::Broken);
        }
        while !bytes.is_empty() {
            if self.chunk.len() == CHUNK_BYTES {
                self.store(false).await?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK_BYTES - self.chunk.len()));
            self.chunk.extend_from_slice(now);
            bytes = later;
        }
        self.broken = false;
        Ok(())
    }

    async fn store(&mut self, last: bool) -> Result<(), PayloadError> {
        self.payloads.texts.has_owner(self.owner)?;
        let part = self.seal.seal(self.number, last, &self.chunk);
        let appended = self.sink.append(part).await;
        appended.map_err(|why| self.payloads.blame(self.owner, why))?;
        self.chunk.clear();
        self.number += 1;
        Ok(())
    }

    /// Makes the payload durable under its id. What is not named by a command after is swept.
    ///
    /// # Errors
    /// As [`Writing::write`]. Then it is not to be named.
    pub async fn finish(mut self) -> Result<Stored, PayloadError> {
        if self.broken {
            return Err(PayloadError::Broken);
        }
        self.store(true).await?;
        let Self { payloads, owner, object, sink, committing, size, .. } = self;
        sink.finish().await.map_err(|why| payloads.blame(owner, why))?;
        payloads.texts.has_owner(owner)?;
        Ok(Stored { object, size, commitment: committing.finish() })
    }
}

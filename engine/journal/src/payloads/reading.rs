//! A payload that is being read: a stream of verified chunks.

use super::{
    Payloads,
    error::PayloadError,
    parts::{Layout, SALT_BYTES, Seal},
    store::Source,
};
use crate::texts::TextOwner;
use arena_schema::{Commitment, Committing, TextSalt, id::ObjectId};
use bytes::Bytes;
use futures::{Stream, StreamExt, stream::BoxStream};
use std::{
    pin::Pin,
    task::{Context, Poll},
};
use zeroize::Zeroizing;

/// A payload that is being read, chunk by chunk, each of at most 64 KiB and read when it is asked for. After an error there is no
/// more of it.
pub struct Reading {
    size: u64,
    salt: TextSalt,
    chunks: BoxStream<'static, Result<Bytes, PayloadError>>,
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").field("size", &self.size).finish_non_exhaustive()
    }
}

impl Reading {
    /// How long the payload is, in bytes.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The random bytes that prove it to others, as a text's do.
    pub const fn salt(&self) -> &TextSalt {
        &self.salt
    }

    pub(super) async fn open(
        payloads: &Payloads,
        owner: TextOwner,
        object: ObjectId,
        expected: Option<Commitment>,
    ) -> Result<Self, PayloadError> {
        Self::try_open(payloads, owner, object, expected).await.map_err(|why| payloads.blame(owner, why))
    }

    async fn try_open(
        payloads: &Payloads,
        owner: TextOwner,
        object: ObjectId,
        expected: Option<Commitment>,
    ) -> Result<Self, PayloadError> {
        let seal = Seal::new(&payloads.texts.payload_key(owner, object)?, owner, object);
        let Some(source) = payloads.store.find(owner, object).await? else {
            return Err(PayloadError::Missing { owner, object, store: payloads.store.name() });
        };
        let about = About { payloads: payloads.clone(), owner, object };
        let length = source.length();
        let layout =
            Layout::of(length).ok_or_else(|| about.damaged(format!("no payload takes {length} bytes")))?;
        let mut parts = Parts { about, seal, source, layout, next: 0 };
        // Its end first: where that is cut off, nothing of it is given.
        parts.verify_end().await?;
        let first = parts.next().await?;
        let salt = TextSalt(*first.first_chunk::<SALT_BYTES>().expect("a layout has these bytes"));
        let committing = expected.map(|commitment| (Commitment::begin(&salt), commitment));
        let mut rest = Rest { parts, committing };
        let first = rest.check(&first[SALT_BYTES..])?;
        let chunks = futures::stream::try_unfold(rest, |mut rest| async move {
            if rest.parts.next == rest.parts.layout.parts {
                return Ok(None);
            }
            let chunk = rest.parts.next().await;
            let chunk = chunk.map_err(|why| rest.parts.about.payloads.blame(rest.parts.about.owner, why))?;
            Ok(Some((rest.check(&chunk)?, rest)))
        });
        let first = futures::stream::iter((!first.is_empty()).then_some(Ok(first)));
        Ok(Self { size: layout.size, salt, chunks: first.chain(chunks).boxed() })
    }

    /// All of it at once, for what is known to be small.
    ///
    /// # Errors
    /// As the stream.
    pub async fn collect(self) -> Result<Vec<u8>, PayloadError> {
        let mut whole = Vec::with_capacity(self.size as usize);
        let mut chunks = self.chunks;
        while let Some(chunk) = chunks.next().await {
            whole.extend_from_slice(&chunk?);
        }
        Ok(whole)
    }
}

impl Stream for Reading {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.chunks.poll_next_unpin(context)
    }
}

/// Which payload it is.
struct About {
    payloads: Payloads,
    owner: TextOwner,
    object: ObjectId,
}

impl About {
    fn damaged(&self, why: String) -> PayloadError {
        PayloadError::Damaged {
            owner: self.owner,
            object: self.object,
            store: self.payloads.store.name(),
            why,
        }
    }
}

/// The parts that are still to be read.
struct Parts {
    about: About,
    seal: Seal,
    source: Source,
    layout: Layout,
    next: u64,
}

impl Parts {
    async fn verify_end(&mut self) -> Result<(), PayloadError> {
        let last = self.source.last(self.layout).await?;
        self.open(self.layout.parts - 1, &last).map(|_| ())
    }

    async fn next(&mut self) -> Result<Zeroizing<Vec<u8>>, PayloadError> {
        self.about.payloads.texts.has_owner(self.about.owner)?;
        let part = self.source.next(self.layout, self.next).await?;
        let chunk = self.open(self.next, &part)?;
        self.next += 1;
        Ok(chunk)
    }

    fn open(&self, number: u64, part: &[u8]) -> Result<Zeroizing<Vec<u8>>, PayloadError> {
        let (begin, end) = self.layout.place(number);
        let part = Some(part).filter(|part| part.len() as u64 == end - begin);
        let chunk = part.and_then(|part| self.seal.open(number, self.layout.is_last(number), part));
        chunk.ok_or_else(|| {
            let (at, all) = (number + 1, self.layout.parts);
            self.about.damaged(format!("part {at} of {all} is missing or not the one that was written"))
        })
    }
}

/// The same with the commitment that all of it must fit, if any.
struct Rest {
    parts: Parts,
    committing: Option<(Committing, Commitment)>,
}

impl Rest {
    fn check(&mut self, chunk: &[u8]) -> Result<Bytes, PayloadError> {
        if let Some((committing, _)) = &mut self.committing {
            committing.update(chunk);
        }
        let ended = self.parts.next == self.parts.layout.parts;
        if let Some((committing, expected)) = self.committing.take_if(|_| ended)
            && committing.finish() != expected
        {
            return Err(self
                .parts
                .about
                .damaged(format!("it is not the payload of the commitment {expected}")));
        }
        Ok(Bytes::copy_from_slice(chunk))
    }
}

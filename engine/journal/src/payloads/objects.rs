//! Payloads as objects of the store that processes share. What belongs here: that an object under its name is whole and durable.
//! What never does: what its bytes are.
//!
//! An object is named `<kind>/<owner>/<object>` when all its parts are stored, which are messages at `<kind>.<owner>.<object>`.
//! A message that is purged stays in its block until that is written anew, and several servers have it in the log that they
//! agree by. So erasing rests on the owner's key, which goes first and leaves noise, and an owner's messages are purged at once.
//! Where the key stands (the command that would have named the payload was refused), each message is overwritten where it lay.

use super::{
    error::PayloadError,
    names::{object_of_name, owner_name, owner_of_name},
    store::Kept,
};
use crate::{
    jetstream::{About, Nats, ObjectParts, PartsError},
    texts::TextOwner,
};
use arena_schema::{id::ObjectId, subject::PAYLOADS_STORE};
use sha2::{Digest, Sha256};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// The store.
#[derive(Debug, Clone)]
pub(super) struct Objects {
    parts: Arc<ObjectParts>,
}

fn name(owner: TextOwner, object: ObjectId) -> String {
    format!("{}/{object}", owner_name(owner, '/'))
}

fn place(owner: TextOwner, object: ObjectId) -> String {
    format!("{}.{object}", owner_name(owner, '.'))
}

/// The owner and the object that are called so.
fn read(called: &str, between: char) -> Option<(TextOwner, ObjectId)> {
    let (owner, object) = called.rsplit_once(between)?;
    Some((owner_of_name(owner, between)?, object_of_name(object)?))
}

fn failed(store: String, error: PartsError) -> PayloadError {
    let PartsError { action, why, full } = error;
    if full { PayloadError::Full { store, why } } else { PayloadError::Store { store, action, why } }
}

impl Objects {
    pub(super) async fn open(nats: &Nats) -> Result<Self, PayloadError> {
        let parts = ObjectParts::open(nats, PAYLOADS_STORE).await;
        let store = || format!("{PAYLOADS_STORE} on NATS");
        Ok(Self { parts: Arc::new(parts.map_err(|why| failed(store(), why))?) })
    }

    pub(super) fn name(&self) -> String {
        self.parts.describe()
    }

    fn failed(&self) -> impl Fn(PartsError) -> PayloadError {
        |why| failed(self.name(), why)
    }

    pub(super) fn begin(&self, owner: TextOwner, object: ObjectId) -> ObjectSink {
        let about = About {
            name: name(owner, object),
            place: place(owner, object),
            size: 0,
            parts: 0,
            digest: [0; 32],
        };
        ObjectSink { store: self.clone(), about, digest: Sha256::new(), named: false }
    }

    pub(super) async fn find(
        &self,
        owner: TextOwner,
        object: ObjectId,
    ) -> Result<Option<ObjectSource>, PayloadError> {
        let found = self.parts.find(&name(owner, object)).await.map_err(self.failed())?;
        Ok(found.map(|about| ObjectSource { store: self.clone(), about, from: 1, last: 0 }))
    }

    /// All that is here, whole or not.
    pub(super) async fn list(&self) -> Result<Vec<Kept>, PayloadError> {
        // The parts first: what is named meanwhile has a name when the names are looked at.
        let places = self.parts.places(None).await.map_err(self.failed())?;
        let names = self.parts.names().await.map_err(self.failed())?;
        let whole: BTreeSet<_> = names.iter().filter_map(|name| read(name, '/')).collect();
        let begun: BTreeSet<_> = places.iter().filter_map(|place| read(place, '.')).collect();
        let kept = |(owner, object): &(TextOwner, ObjectId)| Kept {
            owner: *owner,
            object: *object,
            whole: whole.contains(&(*owner, *object)),
        };
        Ok(begun.union(&whole).map(kept).collect())
    }

    pub(super) async fn age(&self, kept: Kept) -> Result<Option<Duration>, PayloadError> {
        let (owner, object) = (kept.owner, kept.object);
        self.parts.age(&name(owner, object), &place(owner, object)).await.map_err(self.failed())
    }

    pub(super) async fn remove(&self, kept: Kept, key_stands: bool) -> Result<(), PayloadError> {
        let (name, place) = (name(kept.owner, kept.object), place(kept.owner, kept.object));
        self.parts.remove_name(&name).await.map_err(self.failed())?;
        let removed = if key_stands {
            self.parts.overwrite_parts(&place).await
        } else {
            self.parts.remove_parts(&place).await
        };
        removed.map_err(self.failed())
    }

    pub(super) async fn remove_owner(&self, owner: TextOwner) -> Result<(), PayloadError> {
        let all = owner_name(owner, '.');
        for place in self.parts.places(Some(&all)).await.map_err(self.failed())? {
            if let Some((owner, object)) = read(&place, '.') {
                self.parts.remove_name(&name(owner, object)).await.map_err(self.failed())?;
            }
        }
        self.parts.remove_parts(&format!("{all}.>")).await.map_err(self.failed())
    }
}

/// An object that is being written. Dropped before its end, its parts go.
#[derive(Debug)]
pub(super) struct ObjectSink {
    store: Objects,
    about: About,
    digest: Sha256,
    named: bool,
}

impl ObjectSink {
    pub(super) async fn append(&mut self, part: Vec<u8>) -> Result<(), PayloadError> {
        let Self { store, about, digest, .. } = self;
        let (number, length) = (about.parts, part.len() as u64);
        digest.update(&part);
        // Before it is sent: a part that is on its way when this is dropped goes too.
        about.parts += 1;
        about.size += length;
        store.parts.append(&about.place, number, part.into()).await.map_err(store.failed())
    }

    /// Gives it its name.
    pub(super) async fn finish(mut self) -> Result<(), PayloadError> {
        self.about.digest = self.digest.clone().finalize().into();
        self.store.parts.name(&self.about).await.map_err(self.store.failed())?;
        self.named = true;
        Ok(())
    }
}

impl Drop for ObjectSink {
    fn drop(&mut self) {
        if self.named || self.about.parts == 0 {
            return;
        }
        let (store, about) = (self.store.clone(), self.about.clone());
        self.store.parts.spawn(async move {
            // What cannot be removed, or is still on its way, is swept.
            if store.parts.remove_name(&about.name).await.is_ok() {
                let _ = store.parts.remove_parts(&about.place).await;
            }
        });
    }
}

/// An object that is being read.
#[derive(Debug)]
pub(super) struct ObjectSource {
    store: Objects,
    about: About,
    /// The sequence that the next part has, or a lower one.
    from: u64,
    /// The sequence of the last part.
    last: u64,
}

impl ObjectSource {
    pub(super) const fn length(&self) -> u64 {
        self.about.size
    }

    pub(super) async fn last(&mut self) -> Result<Vec<u8>, PayloadError> {
        let last = self.store.parts.last(&self.about.place).await.map_err(self.store.failed())?;
        let Some((sequence, part)) = last else { return Ok(Vec::new()) };
        self.last = sequence;
        Ok(part.to_vec())
    }

    /// The part behind the one before; nothing where none is, or where the last is to come and others are before it.
    pub(super) async fn next(&mut self, last: bool) -> Result<Vec<u8>, PayloadError> {
        let next = self.store.parts.next(&self.about.place, self.from).await.map_err(self.store.failed())?;
        let Some((sequence, part)) = next else { return Ok(Vec::new()) };
        self.from = sequence + 1;
        Ok(if last && sequence != self.last { Vec::new() } else { part.to_vec() })
    }
}

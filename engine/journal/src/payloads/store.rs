//! The two places that payloads lie in, as one. What belongs here: choosing. What never does: a key, or how anything is sealed.

use super::{
    error::PayloadError,
    folder::{FileSink, FileSource, Folder},
    objects::{ObjectSink, ObjectSource, Objects},
    parts::Layout,
};
use crate::texts::TextOwner;
use arena_schema::id::ObjectId;
use std::time::Duration;

/// Something that lies there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) owner: TextOwner,
    pub(super) object: ObjectId,
    /// Whether all of it is there, and under its name.
    pub(super) whole: bool,
}

/// Where payloads lie.
#[derive(Debug, Clone)]
pub(super) enum Store {
    Folder(Folder),
    Objects(Objects),
}

/// What is being written.
#[derive(Debug)]
pub(super) enum Sink {
    File(FileSink),
    Object(ObjectSink),
}

/// What is being read.
#[derive(Debug)]
pub(super) enum Source {
    File(FileSource),
    Object(ObjectSource),
}

impl Store {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Folder(folder) => folder.name(),
            Self::Objects(objects) => objects.name(),
        }
    }

    pub(super) async fn begin(&self, owner: TextOwner, object: ObjectId) -> Result<Sink, PayloadError> {
        match self {
            Self::Folder(folder) => folder.begin(owner, object).await.map(Sink::File),
            Self::Objects(objects) => Ok(Sink::Object(objects.begin(owner, object))),
        }
    }

    /// What lies there whole under a name.
    pub(super) async fn find(
        &self,
        owner: TextOwner,
        object: ObjectId,
    ) -> Result<Option<Source>, PayloadError> {
        Ok(match self {
            Self::Folder(folder) => folder.find(owner, object).await?.map(Source::File),
            Self::Objects(objects) => objects.find(owner, object).await?.map(Source::Object),
        })
    }

    pub(super) async fn list(&self) -> Result<Vec<Kept>, PayloadError> {
        match self {
            Self::Folder(folder) => folder.list().await,
            Self::Objects(objects) => objects.list().await,
        }
    }

    pub(super) async fn age(&self, kept: Kept) -> Result<Option<Duration>, PayloadError> {
        match self {
            Self::Folder(folder) => folder.age(kept).await,
            Self::Objects(objects) => objects.age(kept).await,
        }
    }

    /// Removes one; where its owner's key stands, its bytes are overwritten as far as that can be done.
    pub(super) async fn remove(&self, kept: Kept, key_stands: bool) -> Result<(), PayloadError> {
        match self {
            Self::Folder(folder) => folder.remove(kept).await,
            Self::Objects(objects) => objects.remove(kept, key_stands).await,
        }
    }

    pub(super) async fn remove_owner(&self, owner: TextOwner) -> Result<(), PayloadError> {
        match self {
            Self::Folder(folder) => folder.remove_owner(owner).await,
            Self::Objects(objects) => objects.remove_owner(owner).await,
        }
    }
}

impl Sink {
    pub(super) async fn append(&mut self, part: Vec<u8>) -> Result<(), PayloadError> {
        match self {
            Self::File(file) => file.append(part).await,
            Self::Object(object) => object.append(part).await,
        }
    }

    pub(super) async fn finish(self) -> Result<(), PayloadError> {
        match self {
            Self::File(file) => file.finish().await,
            Self::Object(object) => object.finish().await,
        }
    }
}

impl Source {
    /// How long all its parts are.
    pub(super) const fn length(&self) -> u64 {
        match self {
            Self::File(file) => file.length(),
            Self::Object(object) => object.length(),
        }
    }

    /// The last part, whatever was read before.
    pub(super) async fn last(&mut self, layout: Layout) -> Result<Vec<u8>, PayloadError> {
        match self {
            Self::File(file) => file.part(layout, layout.parts - 1).await,
            Self::Object(object) => object.last().await,
        }
    }

    /// The part of this number, asked for in their order; where it is not there, bytes that open as no part.
    pub(super) async fn next(&mut self, layout: Layout, number: u64) -> Result<Vec<u8>, PayloadError> {
        match self {
            Self::File(file) => file.part(layout, number).await,
            Self::Object(object) => object.next(layout.is_last(number)).await,
        }
    }
}

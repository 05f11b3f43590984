//! What a projection is. What never belongs here: where its rows lie (see the store) or when they are written (see the thread).

use crate::error::Fault;
use arena_engine::Emitted;
use arena_journal::{Followed, SealedText};
use arena_schema::{
    Commitment, LogTime,
    event::system::Place,
    id::{MatchId, RecordNumber},
    record::Header,
};
use rusqlite::Transaction;
use std::{cell::OnceCell, collections::HashMap};

/// Folds records into rows. All that it remembers between two records is in its rows, so that a restart changes nothing.
pub trait Projector: Send {
    /// The view's name, also its file's: lower-case letters.
    fn name(&self) -> &'static str;

    /// The version of its tables and of what it writes into them, from 1. Another one builds the view again.
    fn version(&self) -> u32;

    /// The SQL that makes its tables in an empty database. The table `checkpoint` is the store's.
    fn schema(&self) -> &'static str;

    /// Writes what the record changes. The rows and the checkpoint are committed together by whoever calls.
    ///
    /// # Errors
    /// [`Fault`]: the view can go on no more; nothing of the record stays.
    fn project(
        &mut self,
        rows: &Transaction<'_>,
        record: &Record<'_>,
        changes: &mut Changes,
    ) -> Result<(), Fault>;
}

/// A record as a projector sees it: its events, and the sealed texts beside it.
pub struct Record<'a> {
    followed: &'a Followed,
    texts: OnceCell<HashMap<Commitment, &'a SealedText>>,
}

impl<'a> Record<'a> {
    pub(crate) fn new(followed: &'a Followed) -> Self {
        Self { followed, texts: OnceCell::new() }
    }

    /// Its header.
    pub fn header(&self) -> &'a Header {
        &self.followed.header
    }

    /// Its number.
    pub fn number(&self) -> RecordNumber {
        self.followed.header.number
    }

    /// Its time.
    pub fn time(&self) -> LogTime {
        self.followed.header.time
    }

    /// Its events, in order.
    pub fn events(&self) -> &'a [Emitted] {
        &self.followed.events
    }

    /// Where an event of it stands.
    pub fn place(&self, emitted: &Emitted) -> Place {
        Place { record: self.number(), command: emitted.command }
    }

    /// The sealed bytes of what one of its events commits to; none where they do not ride beside it.
    pub fn sealed(&self, commitment: &Commitment) -> Option<&'a [u8]> {
        let texts = self
            .texts
            .get_or_init(|| self.followed.texts.iter().map(|sealed| (sealed.commitment, sealed)).collect());
        texts.get(commitment).map(|sealed| sealed.sealed.as_slice())
    }
}

/// What a commit changed that others wait for.
#[derive(Debug, Default)]
pub struct Changes {
    pub(crate) matches: Vec<MatchId>,
}

impl Changes {
    /// Something that this match shows is new.
    pub fn note_match(&mut self, id: MatchId) {
        if self.matches.last() != Some(&id) {
            self.matches.push(id);
        }
    }

    /// The matches that changed, each once.
    pub(crate) fn take_matches(&mut self) -> Vec<MatchId> {
        let mut matches = std::mem::take(&mut self.matches);
        matches.sort_unstable();
        matches.dedup();
        matches
    }
}

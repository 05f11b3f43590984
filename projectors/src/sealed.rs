//! Sealed texts in rows: a commitment and the sealed bytes, opened at the read under their owner's key. What never belongs here:
//! a text in clear that outlives the read.

use crate::{error::Fault, projector::Record};
use arena_journal::{TextError, TextOwner, Texts};
use arena_schema::{Commitment, TextRef, TextSalt, id::AgentId};
use rusqlite::Row;

/// A text that was opened, with what proves it to be the one that the record commits to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedText {
    /// What was written.
    pub text: String,
    /// The random bytes: SHA-256 over them and the text is the commitment.
    pub salt: TextSalt,
    /// What stands in the record.
    pub commitment: Commitment,
}

/// A text as a row keeps it.
pub(crate) struct SealedColumns {
    commitment: Commitment,
    sealed: Vec<u8>,
}

impl SealedColumns {
    /// From two columns side by side, the commitment first; none where either is null.
    pub(crate) fn read(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Self>> {
        let commitment: Option<[u8; 32]> = row.get(at)?;
        let sealed: Option<Vec<u8>> = row.get(at + 1)?;
        Ok(commitment
            .zip(sealed)
            .map(|(commitment, sealed)| Self { commitment: Commitment(commitment), sealed }))
    }

    /// In clear; none where the owner's key is destroyed. Bytes that no longer open are none too, and said so in the log: one
    /// damaged text hides nothing else.
    pub(crate) fn open(&self, texts: &Texts, owner: AgentId) -> Result<Option<OpenedText>, Fault> {
        match texts.open(TextOwner::Agent(owner), &self.commitment, &self.sealed) {
            Ok((salt, text)) => Ok(Some(OpenedText { text, salt, commitment: self.commitment })),
            Err(TextError::NoKey) => Ok(None),
            Err(TextError::Damaged) => {
                tracing::warn!(commitment = %self.commitment, "a sealed text does not open and is left out");
                Ok(None)
            }
            Err(why) => Err(why.into()),
        }
    }
}

/// The two columns of a text that an event may name.
pub(crate) fn columns<'a>(
    record: &Record<'a>,
    text: Option<&TextRef>,
) -> (Option<[u8; 32]>, Option<&'a [u8]>) {
    (text.map(|text| text.commitment.0), text.and_then(|text| record.sealed(text)))
}

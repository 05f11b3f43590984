//! Sealed texts in rows, and what is sealed like one: a commitment and the sealed bytes, opened at the read under their owner's
//! key. What never belongs here: a text in clear that outlives the read.

use crate::{error::Fault, projector::Record};
use arena_journal::{TextError, TextOwner, Texts};
use arena_schema::{Commitment, TextRef, TextSalt};
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

    /// What stands in the record.
    pub(crate) fn commitment(&self) -> Commitment {
        self.commitment
    }

    /// In clear; none where the owner's key is destroyed. Bytes that no longer open are none too, and said so in the log: one
    /// damaged text hides nothing else.
    pub(crate) fn open(&self, texts: &Texts, owner: TextOwner) -> Result<Option<OpenedText>, Fault> {
        let opened = self.readable(texts.open(owner, &self.commitment, &self.sealed))?;
        Ok(opened.map(|(salt, text)| OpenedText { text, salt, commitment: self.commitment }))
    }

    /// The same of bytes that may be no text.
    pub(crate) fn open_bytes(&self, texts: &Texts, owner: TextOwner) -> Result<Option<Vec<u8>>, Fault> {
        self.readable(texts.open_bytes(owner, &self.commitment, &self.sealed))
    }

    fn readable<T>(&self, opened: Result<T, TextError>) -> Result<Option<T>, Fault> {
        match opened {
            Ok(clear) => Ok(Some(clear)),
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
    (text.map(|text| text.commitment.0), text.and_then(|text| record.sealed(&text.commitment)))
}

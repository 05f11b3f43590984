//! Why a payload is not written, read or removed.

use crate::texts::{TextError, TextOwner};
use arena_schema::id::ObjectId;

/// Why a payload is not written, read or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The owner has no key: it was forgotten, or never was.
    #[error("the payload's owner has no key any more: what it owned cannot be read or added to")]
    Gone,
    /// A payload that is named is not there: damage, never an empty answer.
    #[error("the payload {object} of {} is missing in {store}: a backup may have it", owner.vault_name())]
    Missing {
        /// Whose it is.
        owner: TextOwner,
        /// Which.
        object: ObjectId,
        /// The store that lacks it.
        store: String,
    },
    /// What is there is not what was written.
    #[error("the payload {object} of {} in {store} is damaged: {why}", owner.vault_name())]
    Damaged {
        /// Whose it is.
        owner: TextOwner,
        /// Which.
        object: ObjectId,
        /// The store that has it.
        store: String,
        /// What is wrong with it.
        why: String,
    },
    /// The store takes no more.
    #[error(
        "the payloads in {store} cannot be written, since it is full ({why}): make room, or raise its limit"
    )]
    Full {
        /// Which store.
        store: String,
        /// What it said.
        why: String,
    },
    /// A write went on after one that had failed or was given up: what the payload would hold is unknown.
    #[error("the payload cannot be written any further: a write before failed or was given up")]
    Broken,
    /// Payloads are to be removed whose owner's key still stands: key first, then bytes.
    #[error("the payloads of {} are not removed while their key stands: destroy the key first", .0.vault_name())]
    KeyStands(TextOwner),
    /// The store failed.
    #[error("the payloads in {store} cannot be {action}: {why}")]
    Store {
        /// Which store.
        store: String,
        /// What was tried.
        action: &'static str,
        /// What it said.
        why: String,
    },
    /// The owner's key cannot be had.
    #[error(transparent)]
    Key(TextError),
}

impl From<TextError> for PayloadError {
    fn from(error: TextError) -> Self {
        match error {
            TextError::NoKey => Self::Gone,
            error => Self::Key(error),
        }
    }
}

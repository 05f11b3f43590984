//! What stands in a record in place of a text or a secret. What belongs here: commitments and hashes. What never does: the
//! text, the secret, or the key that seals either.

use crate::codec::wire_bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The longest text that rides beside a record, in bytes of UTF-8. What is longer is a payload, kept elsewhere.
pub const TEXT_BYTES_MAX: usize = 65_536;

wire_bytes! {
    /// SHA-256 of a bearer secret of at least 128 bits from the system's randomness; the secret itself is in no record.
    pub struct SecretHash([u8; 32]);
}

impl SecretHash {
    /// The hash of a secret as it is presented, in its text form.
    pub fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }
}

wire_bytes! {
    /// The 32 random bytes that make a commitment say nothing of its text, also of a short one.
    pub struct TextSalt([u8; 32]);
}

wire_bytes! {
    /// SHA-256 over a [`TextSalt`] and the text.
    pub struct Commitment([u8; 32]);
}

impl Commitment {
    /// Commits under `salt` to bytes that come in pieces: SHA-256(salt ‖ bytes).
    pub fn begin(salt: &TextSalt) -> Committing {
        Committing(Sha256::new().chain_update(salt.0))
    }
}

/// A commitment to bytes of which some are still to come.
#[derive(Debug, Clone)]
pub struct Committing(Sha256);

impl Committing {
    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The commitment to all of them.
    pub fn finish(self) -> Commitment {
        Commitment(self.0.finalize().into())
    }
}

/// A text that somebody wrote, as records and events know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TextRef {
    /// SHA-256(salt ‖ text).
    pub commitment: Commitment,
    /// The text's length in bytes of UTF-8.
    pub size: u32,
}

impl TextRef {
    /// Commits to `text` under `salt`.
    pub fn commit(salt: &TextSalt, text: &str) -> Self {
        let mut committing = Commitment::begin(salt);
        committing.update(text.as_bytes());
        Self { commitment: committing.finish(), size: text.len() as u32 }
    }
}

//! The hashes of the chain. What belongs here: BLAKE3 over stored bytes. What never does: SHA-256 of secrets and texts (see
//! [`crate::TextRef`]), or any key.

use crate::codec::wire_bytes;

wire_bytes! {
    /// A BLAKE3 hash: of a record, of the events so far, of what a match accepted.
    #[derive(Default)]
    pub struct Hash([u8; 32]);
}

impl Hash {
    /// Stands for "nothing before": the hash before a journal's first record.
    pub const ZERO: Self = Self([0; 32]);

    /// The hash of one run of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The hash of several runs, one behind the other. Whoever calls gives each part a fixed length or a length before it.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }
}

wire_bytes! {
    /// The first half of a BLAKE3 hash, where only equality with an earlier value is asked for.
    pub struct ShortHash([u8; 16]);
}

impl ShortHash {
    /// The short hash of one run of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let hash = blake3::hash(bytes);
        let (short, _) = hash.as_bytes().split_first_chunk::<16>().expect("a hash has 32 bytes");
        Self(*short)
    }
}

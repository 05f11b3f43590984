//! How a payload is sealed: cut into parts, each of which opens at its own place of its own object alone. What belongs here: the
//! bytes of a part and how long they are. What never does: where they lie.
//!
//! What is sealed is 32 random bytes and the payload behind them, which is what the payload's commitment is over. It is cut into
//! chunks of [`CHUNK_BYTES`], of which the last may be shorter and none is empty. A part is a chunk sealed as XChaCha20-Poly1305
//! under a key that is derived from the owner's key and the object's id, so that no nonce ever comes twice under one key: the
//! nonce is the part's number (u64, little-endian), a byte that is 1 in the last part and 0 in the others, and 15 zeros. The
//! associated data are the format's version, the owner's kind (u16) and id, and the object's id. Before the first part stands
//! one byte, the version. So a part that is cut, swapped, repeated, left out, another object's or another owner's does not open,
//! and neither does the last but one where the last is gone.

use crate::texts::{OwnerKey, TextOwner};
use arena_schema::id::ObjectId;
use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use zeroize::Zeroizing;

/// How many bytes are sealed together.
pub(super) const CHUNK_BYTES: usize = 64 * 1024;
/// What stands before the payload in the first chunk.
pub(super) const SALT_BYTES: usize = 32;
/// What a part is longer than its chunk.
const TAG_BYTES: usize = 16;
/// The longest part but for the byte before the first.
const PART_BYTES: u64 = (CHUNK_BYTES + TAG_BYTES) as u64;
/// The version of all this.
const VERSION: u8 = 1;

/// Seals and opens the parts of one object.
pub(super) struct Seal {
    cipher: XChaCha20Poly1305,
    about: [u8; 35],
}

impl Seal {
    /// Under the key that is this object's own.
    pub(super) fn new(key: &OwnerKey, owner: TextOwner, object: ObjectId) -> Self {
        let mut about = [VERSION; 35];
        about[1..3].copy_from_slice(&owner.code().to_le_bytes());
        about[3..19].copy_from_slice(owner.id());
        about[19..].copy_from_slice(&object.0);
        Self { cipher: XChaCha20Poly1305::new(&(**key).into()), about }
    }

    fn nonce(number: u64, last: bool) -> XNonce {
        let mut nonce = [0; 24];
        nonce[..8].copy_from_slice(&number.to_le_bytes());
        nonce[8] = u8::from(last);
        XNonce::from(nonce)
    }

    /// The part of this number, from 0.
    pub(super) fn seal(&self, number: u64, last: bool, chunk: &[u8]) -> Vec<u8> {
        let sealed = self
            .cipher
            .encrypt(&Self::nonce(number, last), Payload { msg: chunk, aad: &self.about })
            .expect("a chunk is far below the cipher's limit");
        if number == 0 { [&[VERSION], sealed.as_slice()].concat() } else { sealed }
    }

    /// The chunk of a part; `None` where it is not the part of this number, or not the last, or not of this object.
    pub(super) fn open(&self, number: u64, last: bool, part: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let sealed = match (number, part.split_first()) {
            (0, Some((&VERSION, sealed))) => sealed,
            (0, _) => return None,
            _ => part,
        };
        let payload = Payload { msg: sealed, aad: &self.about };
        self.cipher.decrypt(&Self::nonce(number, last), payload).ok().map(Zeroizing::new)
    }
}

/// How the parts of an object lie one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// How many parts there are, at least one.
    pub(super) parts: u64,
    /// How long the payload is.
    pub(super) size: u64,
    sealed: u64,
}

impl Layout {
    /// Of an object of so many bytes; `None` where no object is as long.
    pub(super) fn of(sealed: u64) -> Option<Self> {
        let body = sealed.checked_sub(1)?;
        let parts = body.div_ceil(PART_BYTES);
        let rest = body % PART_BYTES;
        let chunks = body.checked_sub(parts * TAG_BYTES as u64)?;
        let size = chunks.checked_sub(SALT_BYTES as u64)?;
        // A last part without a chunk is none.
        (rest == 0 || rest > TAG_BYTES as u64).then_some(Self { parts, size, sealed })
    }

    /// Whether the part of this number is the last.
    pub(super) const fn is_last(&self, number: u64) -> bool {
        number + 1 == self.parts
    }

    /// Where the part of this number begins, and where it ends.
    pub(super) fn place(&self, number: u64) -> (u64, u64) {
        let begin = if number == 0 { 0 } else { 1 + number * PART_BYTES };
        (begin, (1 + (number + 1) * PART_BYTES).min(self.sealed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arena_schema::id::{AgentId, SessionId};

    const OWNER: TextOwner = TextOwner::Session(SessionId([1; 16]));
    const OBJECT: ObjectId = ObjectId([2; 16]);

    fn seal(owner: TextOwner, object: ObjectId) -> Seal {
        Seal::new(&Zeroizing::new([3; 32]), owner, object)
    }

    #[test]
    fn a_part_opens_at_its_own_place_of_its_own_object_alone() {
        let own = seal(OWNER, OBJECT);
        for number in [0, 1, 256, u64::MAX] {
            for last in [false, true] {
                let part = own.seal(number, last, b"chunk");
                assert_eq!(own.open(number, last, &part).unwrap().as_slice(), b"chunk");
                assert!(own.open(number, !last, &part).is_none());
                for other in [1, 2, 257] {
                    assert!(own.open(number ^ other, last, &part).is_none(), "{number} at {other}");
                }
                let agent = TextOwner::Agent(AgentId([1; 16]));
                for other in [seal(OWNER, ObjectId([4; 16])), seal(agent, OBJECT)] {
                    assert!(other.open(number, last, &part).is_none());
                }
            }
        }
    }

    #[test]
    fn every_changed_bit_and_every_cut_of_a_part_is_found() {
        let own = seal(OWNER, OBJECT);
        for number in [0, 5] {
            let part = own.seal(number, true, b"a chunk of some bytes");
            for bit in 0..part.len() * 8 {
                let mut changed = part.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                assert!(own.open(number, true, &changed).is_none(), "bit {bit} of part {number}");
            }
            for cut in 0..part.len() {
                assert!(own.open(number, true, &part[..cut]).is_none(), "part {number} cut at {cut}");
            }
        }
    }

    #[test]
    fn the_length_of_what_is_sealed_tells_the_size_and_where_each_part_lies() {
        let own = seal(OWNER, OBJECT);
        let chunk = CHUNK_BYTES as u64;
        for size in [0, 1, chunk - 33, chunk - 32, chunk - 31, 2 * chunk - 32, 2 * chunk - 31, 10_000_000] {
            let plain = vec![0; size as usize + SALT_BYTES];
            let chunks: Vec<&[u8]> = plain.chunks(CHUNK_BYTES).collect();
            let parts: Vec<u64> = (0..)
                .zip(&chunks)
                .map(|(number, chunk)| {
                    own.seal(number, number as usize + 1 == chunks.len(), chunk).len() as u64
                })
                .collect();
            let layout = Layout::of(parts.iter().sum()).unwrap();
            assert_eq!((layout.size, layout.parts), (size, parts.len() as u64));
            let mut from = 0;
            for (number, length) in (0..).zip(parts) {
                assert_eq!(layout.place(number), (from, from + length), "part {number} of {size} bytes");
                from += length;
            }
        }
        for none in [0, 1, 17, 48, 1 + PART_BYTES + 1, 1 + PART_BYTES + 16] {
            assert_eq!(Layout::of(none), None, "{none} bytes");
        }
        assert_eq!(Layout::of(49).unwrap().size, 0);
    }
}

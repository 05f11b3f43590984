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

    /// The hash that goes on from `self` with one run of bytes: BLAKE3 keyed with the value before. A short run takes one block.
    #[must_use]
    pub fn then(&self, bytes: &[u8]) -> Self {
        Self(*blake3::keyed_hash(&self.0, bytes).as_bytes())
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
    /// Tells a repeat of a command from another command under the same number. It is no cryptographic hash, since whoever numbers
    /// the commands chooses both; it is quick, and its value is frozen as bytes are.
    pub struct BodyDigest([u8; 16]);
}

impl BodyDigest {
    /// Over a command's kind and body: two lanes of 64 bits, each mixed with sixteen bytes of the body at a time (zeros behind its
    /// end) by a multiplication whose halves are folded together.
    #[inline]
    pub fn of(kind: u16, body: &[u8]) -> Self {
        const K: [u64; 4] =
            [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db, 0x8ebc_6af0_9c88_c6e3, 0x5899_65cc_7537_4cc3];
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            (product as u64) ^ ((product >> 64) as u64)
        };
        let mix = |lanes: [u64; 2], whole: u128| {
            let (low, high) = (whole as u64, (whole >> 64) as u64);
            [fold(lanes[0] ^ low, high ^ K[2]), fold(lanes[1] ^ high, low ^ K[3])]
        };
        let mut lanes = [K[0] ^ body.len() as u64, K[1] ^ u64::from(kind)];
        let (chunks, rest) = body.as_chunks::<16>();
        for chunk in chunks {
            lanes = mix(lanes, u128::from_le_bytes(*chunk));
        }
        if !rest.is_empty() {
            let padded = match body.last_chunk::<16>() {
                // The rest are the last of these bytes; the shift drops those before it.
                Some(last) => u128::from_le_bytes(*last) >> (8 * (16 - rest.len())),
                None => rest.iter().rev().fold(0, |whole, &byte| whole << 8 | u128::from(byte)),
            };
            lanes = mix(lanes, padded);
        }
        let mut digest = [0; 16];
        digest[..8].copy_from_slice(&fold(lanes[0] ^ K[1], lanes[1] ^ K[2]).to_le_bytes());
        digest[8..].copy_from_slice(&fold(lanes[1] ^ K[0], lanes[0] ^ K[3]).to_le_bytes());
        Self(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_bit_a_longer_body_and_another_kind_all_show() {
        let body: Vec<u8> = (0..70).collect();
        let digest = BodyDigest::of(7, &body);
        for bit in 0..body.len() * 8 {
            let mut changed = body.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(BodyDigest::of(7, &changed), digest, "bit {bit}");
        }
        for length in 0..body.len() {
            assert_ne!(BodyDigest::of(7, &body[..length]), digest, "{length} bytes");
        }
        // Zeros behind the end are not the end.
        assert_ne!(BodyDigest::of(7, &[&body[..], &[0]].concat()), digest);
        assert_ne!(BodyDigest::of(8, &body), digest);
    }

    #[test]
    fn its_value_is_frozen_for_bodies_of_every_length() {
        let body: Vec<u8> = (1..=70).collect();
        let digests: Vec<u8> =
            (0..=body.len()).flat_map(|length| BodyDigest::of(0x0302, &body[..length]).0).collect();
        assert_eq!(
            Hash::of(&digests).to_string(),
            "bebb66cd6f9658a158a39181c72cfcf8cd488d73d9bb06ddaae1ed7d57427657"
        );
    }

    #[test]
    fn a_million_bodies_that_differ_little_have_a_million_digests() {
        let mut seen = std::collections::BTreeSet::new();
        for number in 0..1_000_000u32 {
            let mut body = [0; 24];
            body[(number % 5) as usize * 4..][..4].copy_from_slice(&number.to_le_bytes());
            seen.insert(BodyDigest::of(1, &body).0[..8].to_vec());
        }
        assert_eq!(seen.len(), 1_000_000);
    }
}

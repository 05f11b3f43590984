//! The one place that makes secrets and compares them: 256 bits of the system's randomness, kept as SHA-256, compared in
//! constant time (CHOICES, *comparing secrets*).

use arena_journal::vault::random;
use arena_schema::SecretHash;
use subtle::ConstantTimeEq;

/// A new secret as text: a prefix that says what it is for, and 64 hex digits.
pub fn draw(prefix: &str) -> String {
    format!("{prefix}_{}", hex::encode(random::<32>()))
}

/// Whether a presented secret is the one with this hash.
pub fn matches(presented: &str, hash: &SecretHash) -> bool {
    same_hash(&SecretHash::of(presented), hash)
}

/// Whether two hashes are the same secret's.
pub fn same_hash(one: &SecretHash, other: &SecretHash) -> bool {
    one.0.ct_eq(&other.0).into()
}

/// Whether two texts are the same, in time that depends on their lengths alone.
pub fn same(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_long_never_the_same_and_matches_its_hash_alone() {
        let (one, other) = (draw("key"), draw("key"));
        assert_eq!(one.len(), 4 + 64);
        assert_ne!(one, other);
        assert!(matches(&one, &SecretHash::of(&one)));
        assert!(!matches(&other, &SecretHash::of(&one)));
        assert!(same("a", "a") && !same("a", "b") && !same("a", "ab"));
    }
}

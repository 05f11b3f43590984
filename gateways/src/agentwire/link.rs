//! Links: a session's address and a participant's secret as text, and what is kept of them. An address says in which partition
//! its session lives, so that any gateway finds it; all else of it is random.

use arena_journal::vault::random;
use arena_schema::{SecretHash, id::Partition};

/// How many random bytes an address has, and a secret.
const RANDOM_BYTES: usize = 22;
const ADDRESS_BYTES: usize = 2 + RANDOM_BYTES;

/// A new session's address.
pub(super) fn draw_address(partition: Partition) -> String {
    let mut bytes = [0; ADDRESS_BYTES];
    bytes[..2].copy_from_slice(&partition.0.to_be_bytes());
    bytes[2..].copy_from_slice(&random::<RANDOM_BYTES>());
    hex::encode(bytes)
}

/// A new participant's secret.
pub(super) fn draw_secret() -> String {
    hex::encode(random::<ADDRESS_BYTES>())
}

/// What is kept of an address or a secret.
pub(super) fn hash(text: &str) -> SecretHash {
    SecretHash::of(text)
}

/// Where a session with this address would live; none where no session can have it.
pub(super) fn partition_of(address: &str) -> Option<Partition> {
    let mut bytes = [0; ADDRESS_BYTES];
    // In one form alone, since what is kept of it is its hash.
    let fits = address.bytes().all(|byte| !byte.is_ascii_uppercase())
        && hex::decode_to_slice(address, &mut bytes).is_ok();
    fits.then(|| Partition(u16::from_be_bytes([bytes[0], bytes[1]])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_its_partition_and_nothing_else_is_one() {
        for partition in [Partition(0), Partition(3), Partition(u16::MAX)] {
            let address = draw_address(partition);
            assert_eq!(partition_of(&address), Some(partition));
            assert!(address.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{address}");
        }
        let capital = draw_address(Partition(10)).to_ascii_uppercase();
        for other in [
            "",
            "join",
            "log",
            "leave",
            "a",
            &"a".repeat(47),
            &"a".repeat(49),
            &"g".repeat(48),
            &"é".repeat(24),
            &capital,
        ] {
            assert_eq!(partition_of(other), None, "{other}");
        }
        assert_ne!(draw_address(Partition(0)), draw_address(Partition(0)));
        assert_ne!(draw_secret(), draw_secret());
        assert_eq!(draw_secret().len(), 2 * ADDRESS_BYTES, "longer than the name of any operation");
    }
}

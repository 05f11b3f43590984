//! The name of one event in all the world. What belongs here: its parts, its text, its order. What never does: where a reader
//! is (a cursor is the last id that it has).

use crate::id::{Lineage, Partition, RecordNumber};

/// `<lineage>-<partition>-<record>-<command>-<event>`: the lineage as 32 lower-case hex digits, the numbers decimal without
/// leading zeros (DESIGN, *What is public*). Whoever reduces the record comes to the same ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventId {
    /// Which history the event's record names in its header.
    pub lineage: Lineage,
    /// Which partition's journal.
    pub partition: Partition,
    /// The record.
    pub record: RecordNumber,
    /// The command's index in the record, from 1; 0 is the agenda.
    pub command: u32,
    /// The event's place among all events of the command, from 1, those that are not public counted too.
    pub event: u32,
}

impl EventId {
    /// Reads the text form and no other.
    pub fn parse(text: &str) -> Option<Self> {
        let (lineage, rest) = text.split_at_checked(32)?;
        let mut bytes = [0; 16];
        for (byte, digits) in bytes.iter_mut().zip(lineage.as_bytes().as_chunks::<2>().0) {
            *byte = digit(digits[0])? << 4 | digit(digits[1])?;
        }
        let mut numbers = rest.strip_prefix('-')?.split('-');
        let id = Self {
            lineage: Lineage(bytes),
            partition: Partition(u16::try_from(number(numbers.next()?)?).ok()?),
            record: RecordNumber(number(numbers.next()?)?),
            command: u32::try_from(number(numbers.next()?)?).ok()?,
            event: u32::try_from(number(numbers.next()?)?).ok()?,
        };
        numbers.next().is_none().then_some(id)
    }

    /// Whether it stands behind `other` in the journal that both are of. Ids of two partitions have no order.
    pub fn is_after(&self, other: &Self) -> bool {
        let place = |id: &Self| (id.record, id.command, id.event);
        place(self) > place(other)
    }
}

/// One lower-case hex digit.
const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// A decimal number as it is written here: digits alone, no leading zero.
fn number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

impl std::fmt::Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { lineage, partition, record, command, event } = self;
        write!(f, "{lineage}-{}-{record}-{command}-{event}", partition.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "000102030405060708090a0b0c0d0e0f-7-18446744073709551615-4294967295-1";

    fn id() -> EventId {
        EventId {
            lineage: Lineage([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
            partition: Partition(7),
            record: RecordNumber(u64::MAX),
            command: u32::MAX,
            event: 1,
        }
    }

    #[test]
    fn an_id_is_the_lineage_in_hex_and_four_decimal_numbers() {
        assert_eq!(id().to_string(), TEXT);
        assert_eq!(EventId::parse(TEXT), Some(id()));
    }

    #[test]
    fn no_other_text_is_an_id() {
        let lineage = &TEXT[..32];
        for text in [
            "",
            "5",
            lineage,
            &TEXT[1..],
            &TEXT.to_uppercase(),
            &format!("{TEXT}-1"),
            &format!("{TEXT}-"),
            &format!("{TEXT} "),
            &format!("{lineage}-7-1-1"),
            &format!("{lineage}-07-1-1-1"),
            &format!("{lineage}-7-+1-1-1"),
            &format!("{lineage}-7-1--1-1"),
            &format!("{lineage}-65536-1-1-1"),
            &format!("{lineage}-7-18446744073709551616-1-1"),
            &format!("{lineage}-7-1-4294967296-1"),
            &format!("{lineage}-7-1-1-4294967296"),
            &format!("{lineage}_7-1-1-1"),
            &format!("{}é-7-1-1-1", &lineage[..31]),
        ] {
            assert_eq!(EventId::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn ids_of_a_partition_are_ordered_by_record_command_and_event() {
        let at = |record, command, event| EventId { record: RecordNumber(record), command, event, ..id() };
        let ordered = [at(1, 0, 2), at(1, 1, 1), at(1, 1, 2), at(1, 10, 1), at(2, 0, 1), at(10, 1, 1)];
        for (place, one) in ordered.iter().enumerate() {
            for (other_place, other) in ordered.iter().enumerate() {
                assert_eq!(one.is_after(other), place > other_place, "{one} after {other}");
            }
        }
    }
}

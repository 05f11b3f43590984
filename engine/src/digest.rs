//! The running digest of all events: the digest after a record is BLAKE3 over the digest before it, the record's number, and
//! for each event the index of its command (u32), its kind (u16), its length (u32) and its body, all little-endian.

use arena_schema::{Event, Hash, id::RecordNumber};

/// The digest before a journal's first record.
pub fn genesis_digest() -> Hash {
    Hash::ZERO
}

const PREFIX_BYTES: usize = 40;

/// One record's events as bytes, in the form that the digest is over. It is kept between records, so that it allocates once.
#[derive(Debug, Clone, Default)]
pub struct EventFrames {
    bytes: Vec<u8>,
}

impl EventFrames {
    /// Begins a record's frames.
    pub(crate) fn begin(&mut self, before: Hash, number: RecordNumber) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&before.0);
        self.bytes.extend_from_slice(&number.0.to_le_bytes());
    }

    /// Appends an event of the command with this index; 0 is the agenda.
    pub(crate) fn push(&mut self, command: u32, event: &Event) {
        self.bytes.extend_from_slice(&command.to_le_bytes());
        self.bytes.extend_from_slice(&event.kind().to_le_bytes());
        let length_at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        event.encode_body(&mut self.bytes);
        let length = (self.bytes.len() - length_at - 4) as u32;
        self.bytes[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
    }

    /// The digest after this record.
    pub(crate) fn digest(&self) -> Hash {
        Hash::of(&self.bytes)
    }

    /// The frames alone, without what links them to the record before.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(PREFIX_BYTES..).unwrap_or_default()
    }
}

//! The bytes of a record: one appended batch, the same in every journal. What belongs here: the layout and its strict
//! reading. What never does: where records are stored, or what a command does.
//!
//! All numbers are little-endian. A record is
//!
//! | bytes | field |
//! |---|---|
//! | 8 | magic, `ARENAREC` |
//! | 2 | format version, 1 |
//! | 16 | lineage |
//! | 2 | partition |
//! | 4 | era |
//! | 8 | record number, from 1 |
//! | 32 | hash of the record before; zero at the first |
//! | 32 | running digest of all events up to the record named next |
//! | 8 | record number that the digest reaches |
//! | 8 | sequencer's epoch |
//! | 8 | time, microseconds since 1970 |
//! | 4 | rules version |
//! | 32 | salt, random |
//!
//! then its commands, none or more, each
//!
//! | bytes | field |
//! |---|---|
//! | 2 | kind |
//! | 2 | flags; bit 0: a second key follows the credential; all others are zero |
//! | 8 | producer |
//! | 8 | the producer's number |
//! | 8 + 4 | credential: id (0 is none) and generation |
//! | 2 + 4 + 4 + 32 + 32 | where flagged, the second key: route, caller's slot and generation, the key's tag, the body's tag |
//! | 4 | length of the body |
//! | … | the body, as the kind has it |
//!
//! and last, in 32 bytes, the BLAKE3 of all bytes before: the hash that the next record names.

use crate::{
    codec::DecodeError,
    command::Command,
    event::system::KeyTag,
    hash::Hash,
    id::{AgentKey, CredentialRef, Epoch, Era, Lineage, Partition, ProducerId, RecordNumber, RulesVersion},
    time::LogTime,
};

/// A record is never longer than this, in any journal.
pub const RECORD_BYTES_MAX: usize = 512 * 1024;
/// A command's body is never longer than this.
pub const BODY_BYTES_MAX: usize = 64 * 1024;
/// The bytes before a record's first command.
pub const HEADER_BYTES: usize = 164;
/// The bytes behind a record's last command.
pub const TRAILER_BYTES: usize = 32;
/// The bytes of a command without second key and body.
pub const COMMAND_HEAD_BYTES: usize = 36;
/// The bytes of a second key.
pub const SECOND_KEY_BYTES: usize = 74;

/// A command's bytes before its second key and its length.
const COMMAND_FIXED_BYTES: usize = COMMAND_HEAD_BYTES - 4;
const MAGIC: &[u8; 8] = b"ARENAREC";
const FORMAT_VERSION: u16 = 1;
const FLAG_SECOND_KEY: u16 = 1;
/// The kind of `CloseEra`.
const CLOSE_ERA: u16 = 0x0006;

/// Why bytes are not a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// Fewer bytes than the smallest record has, or more than the largest.
    #[error(
        "a record has {HEADER_BYTES} + {TRAILER_BYTES} to {RECORD_BYTES_MAX} bytes, this one has {bytes}"
    )]
    Size {
        /// How many there are.
        bytes: usize,
    },
    /// It does not begin as a record does.
    #[error("the bytes do not begin with the record's magic")]
    Magic,
    /// A format that this build does not read.
    #[error("the record's format version is {version}, this build reads {FORMAT_VERSION}")]
    Version {
        /// The version as it stands.
        version: u16,
    },
    /// The last 32 bytes are not the hash of those before.
    #[error("the record's bytes do not match the hash at its end")]
    Hash,
    /// A command runs past the record's end.
    #[error("command {command} runs past the end of the record")]
    Cut {
        /// Its index, from 1.
        command: u32,
    },
    /// A command has a flag that nobody gave out.
    #[error("command {command} has unknown flags {flags:#06x}")]
    Flags {
        /// Its index, from 1.
        command: u32,
        /// The flags as they stand.
        flags: u16,
    },
    /// A command's body is longer than [`BODY_BYTES_MAX`].
    #[error("the body of command {command} has {bytes} bytes, at most {BODY_BYTES_MAX} are allowed")]
    Body {
        /// Its index, from 1.
        command: u32,
        /// The length as it stands.
        bytes: usize,
    },
}

/// What stands before a record's commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Which history.
    pub lineage: Lineage,
    /// Which partition's journal.
    pub partition: Partition,
    /// Which file or stream of it.
    pub era: Era,
    /// The record's place.
    pub number: RecordNumber,
    /// The hash of the record before.
    pub previous: Hash,
    /// The running digest of all events up to [`Header::digest_reaches`].
    pub digest: Hash,
    /// The last record whose events the digest covers.
    pub digest_reaches: RecordNumber,
    /// Whose leadership wrote it.
    pub epoch: Epoch,
    /// When.
    pub time: LogTime,
    /// Under which rules it is reduced.
    pub rules: RulesVersion,
    /// Random, for the public tree's salts.
    pub salt: [u8; 32],
}

/// What a caller may repeat through another door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecondKey {
    /// The route that it was given to.
    pub route: u16,
    /// Who gave it; [`AgentKey::NONE`] where nobody was known.
    pub caller: AgentKey,
    /// The key's tag.
    pub key: KeyTag,
    /// The tag of the request's body as received.
    pub body: KeyTag,
}

/// What stands beside a command's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandHead {
    /// Who submits it.
    pub producer: ProducerId,
    /// The submitter's own number for it, from 1; 0 for the sequencer.
    pub number: u64,
    /// The credential that it was made with.
    pub credential: CredentialRef,
    /// What its caller may repeat it by.
    pub second_key: Option<SecondKey>,
}

impl CommandHead {
    /// A command of the sequencer itself.
    pub const SEQUENCER: Self = Self {
        producer: ProducerId::SEQUENCER,
        number: 0,
        credential: CredentialRef::NONE,
        second_key: None,
    };
}

/// Appends a command as a record holds it.
///
/// # Panics
/// Where the body is longer than [`BODY_BYTES_MAX`], which the door's own limits exclude.
pub fn encode_command(head: &CommandHead, command: &Command, out: &mut Vec<u8>) {
    let flags = if head.second_key.is_some() { FLAG_SECOND_KEY } else { 0 };
    out.extend_from_slice(&command.kind().to_le_bytes());
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(&head.producer.0.to_le_bytes());
    out.extend_from_slice(&head.number.to_le_bytes());
    out.extend_from_slice(&head.credential.id.to_le_bytes());
    out.extend_from_slice(&head.credential.generation.to_le_bytes());
    if let Some(second) = &head.second_key {
        out.extend_from_slice(&second.route.to_le_bytes());
        out.extend_from_slice(&second.caller.slot.to_le_bytes());
        out.extend_from_slice(&second.caller.generation.to_le_bytes());
        out.extend_from_slice(&second.key.0);
        out.extend_from_slice(&second.body.0);
    }
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    command.encode_body(out);
    let length = out.len() - length_at - 4;
    assert!(length <= BODY_BYTES_MAX, "a body of {length} bytes passed the door");
    out[length_at..length_at + 4].copy_from_slice(&(length as u32).to_le_bytes());
}

/// Gives commands, each as [`encode_command`] wrote it, another producer, and numbers from `first` on in their order. What
/// does not read as commands is left as it is from there on.
pub fn renumber(commands: &mut [u8], producer: ProducerId, first: u64) {
    let mut rest = commands;
    for number in first.. {
        let Some(fixed) = rest.first_chunk_mut::<COMMAND_FIXED_BYTES>() else { return };
        let flagged = fixed[2..4] != [0, 0];
        fixed[4..12].copy_from_slice(&producer.0.to_le_bytes());
        fixed[12..20].copy_from_slice(&number.to_le_bytes());
        let length_at = COMMAND_FIXED_BYTES + if flagged { SECOND_KEY_BYTES } else { 0 };
        let Some(length) = rest.get(length_at..).and_then(|bytes| bytes.first_chunk::<4>()) else { return };
        let end = length_at + 4 + u32::from_le_bytes(*length) as usize;
        let Some((_, after)) = rest.split_at_mut_checked(end) else { return };
        rest = after;
    }
}

/// A record's bytes, complete with their hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedRecord {
    number: RecordNumber,
    bytes: Vec<u8>,
}

impl EncodedRecord {
    /// Puts a header before `commands` (each written by [`encode_command`], together at most
    /// [`RECORD_BYTES_MAX`] less header and trailer) and their hash behind.
    pub fn seal(header: &Header, commands: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + commands.len() + TRAILER_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&header.lineage.0);
        bytes.extend_from_slice(&header.partition.0.to_le_bytes());
        bytes.extend_from_slice(&header.era.0.to_le_bytes());
        bytes.extend_from_slice(&header.number.0.to_le_bytes());
        bytes.extend_from_slice(&header.previous.0);
        bytes.extend_from_slice(&header.digest.0);
        bytes.extend_from_slice(&header.digest_reaches.0.to_le_bytes());
        bytes.extend_from_slice(&header.epoch.0.to_le_bytes());
        bytes.extend_from_slice(&header.time.0.to_le_bytes());
        bytes.extend_from_slice(&header.rules.0.to_le_bytes());
        bytes.extend_from_slice(&header.salt);
        debug_assert_eq!(bytes.len(), HEADER_BYTES, "the header's table above is the layout");
        bytes.extend_from_slice(commands);
        let hash = Hash::of(&bytes);
        bytes.extend_from_slice(&hash.0);
        debug_assert!(bytes.len() <= RECORD_BYTES_MAX, "the sequencer closes a record before it is too long");
        Self { number: header.number, bytes }
    }

    /// A record as a store has it.
    ///
    /// # Errors
    /// [`RecordError`]: it does not hold.
    pub fn stored(bytes: &[u8]) -> Result<Self, RecordError> {
        let number = RecordView::parse(bytes)?.header.number;
        Ok(Self { number, bytes: bytes.to_vec() })
    }

    /// The record's place.
    pub fn number(&self) -> RecordNumber {
        self.number
    }

    /// Which file or stream of its journal it belongs to.
    pub fn era(&self) -> Era {
        let header = RecordView::header(&mut Cursor(&self.bytes));
        header.expect("a sealed record begins with its header").era
    }

    /// The hash at its end.
    pub fn hash(&self) -> Hash {
        let (_, hash) = self.bytes.split_last_chunk::<32>().expect("a sealed record ends in its hash");
        Hash(*hash)
    }

    /// All its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All its bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// The number in a record's header. The hash and all behind the header are not looked at: [`RecordView::parse`] does.
///
/// # Errors
/// [`RecordError`]: too short or too long, no record, or another format.
pub fn record_number(bytes: &[u8]) -> Result<RecordNumber, RecordError> {
    if bytes.len() < HEADER_BYTES + TRAILER_BYTES || bytes.len() > RECORD_BYTES_MAX {
        return Err(RecordError::Size { bytes: bytes.len() });
    }
    Ok(RecordView::header(&mut Cursor(bytes))?.number)
}

/// Whether these bytes are the record that ends an era: `CloseEra` alone, of the sequencer.
pub fn closes_era(bytes: &[u8]) -> bool {
    if bytes.len() != HEADER_BYTES + COMMAND_HEAD_BYTES + TRAILER_BYTES {
        return false;
    }
    RecordView::parse(bytes).is_ok_and(|view| {
        let mut commands = view.commands().flatten();
        commands.next().is_some_and(|command| {
            command.kind == CLOSE_ERA && command.head.producer == ProducerId::SEQUENCER
        })
    })
}

/// A record read from bytes: its header, its hash and where its commands lie.
#[derive(Debug, Clone)]
pub struct RecordView<'a> {
    /// The header.
    pub header: Header,
    /// The hash at its end, which its bytes match.
    pub hash: Hash,
    commands: &'a [u8],
}

/// One command as a record holds it.
#[derive(Debug, Clone, Copy)]
pub struct CommandView<'a> {
    /// Its index in the record, from 1.
    pub index: u32,
    /// Its kind's code.
    pub kind: u16,
    /// What stands beside the body.
    pub head: CommandHead,
    /// The body's bytes.
    pub body: &'a [u8],
    /// All its bytes, as stored.
    pub bytes: &'a [u8],
}

impl CommandView<'_> {
    /// Decodes the body.
    ///
    /// # Errors
    /// [`DecodeError`], where the kind is unknown or the body not of it.
    pub fn decode(&self) -> Result<Command, DecodeError> {
        Command::decode(self.kind, self.body)
    }
}

/// Takes fixed parts off the front of bytes whose length was checked or is being checked.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (part, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*part)
    }

    fn slice(&mut self, len: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(part)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn second_key(&mut self) -> Option<SecondKey> {
        Some(SecondKey {
            route: self.u16()?,
            caller: AgentKey { slot: self.u32()?, generation: self.u32()? },
            key: KeyTag(self.take()?),
            body: KeyTag(self.take()?),
        })
    }
}

impl<'a> RecordView<'a> {
    /// Reads a record, checks its hash and that its commands fill it exactly. Bodies are not decoded.
    ///
    /// # Errors
    /// [`RecordError`], naming what does not fit.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RecordError> {
        if bytes.len() < HEADER_BYTES + TRAILER_BYTES || bytes.len() > RECORD_BYTES_MAX {
            return Err(RecordError::Size { bytes: bytes.len() });
        }
        let (content, hash) = bytes.split_last_chunk::<32>().expect("the size was checked");
        let hash = Hash(*hash);
        let mut cursor = Cursor(content);
        let header = Self::header(&mut cursor)?;
        if Hash::of(content) != hash {
            return Err(RecordError::Hash);
        }
        let view = Self { header, hash, commands: cursor.0 };
        for command in view.commands() {
            command?;
        }
        Ok(view)
    }

    fn header(cursor: &mut Cursor<'a>) -> Result<Header, RecordError> {
        let size = "the size was checked";
        if cursor.take::<8>().expect(size) != *MAGIC {
            return Err(RecordError::Magic);
        }
        let version = cursor.u16().expect(size);
        if version != FORMAT_VERSION {
            return Err(RecordError::Version { version });
        }
        Ok(Header {
            lineage: Lineage(cursor.take().expect(size)),
            partition: Partition(cursor.u16().expect(size)),
            era: Era(cursor.u32().expect(size)),
            number: RecordNumber(cursor.u64().expect(size)),
            previous: Hash(cursor.take().expect(size)),
            digest: Hash(cursor.take().expect(size)),
            digest_reaches: RecordNumber(cursor.u64().expect(size)),
            epoch: Epoch(cursor.u64().expect(size)),
            time: LogTime(cursor.u64().expect(size)),
            rules: RulesVersion(cursor.u32().expect(size)),
            salt: cursor.take().expect(size),
        })
    }

    /// The commands in their order. Each is an error only where [`RecordView::parse`] would have said so.
    pub fn commands(&self) -> Commands<'a> {
        Commands { rest: self.commands, index: 0 }
    }

    /// Whether it holds no command.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }
}

/// Walks over the commands of a record.
#[derive(Debug, Clone)]
pub struct Commands<'a> {
    rest: &'a [u8],
    index: u32,
}

impl<'a> Commands<'a> {
    /// Walks over commands as [`encode_command`] writes them one behind the other.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, index: 0 }
    }

    #[inline]
    fn read(&mut self) -> Result<CommandView<'a>, RecordError> {
        self.index += 1;
        let (index, start) = (self.index, self.rest);
        let cut = RecordError::Cut { command: index };
        let mut cursor = Cursor(start);
        // What every command has is taken off at once: a replay walks over each of them twice.
        let Some(fixed) = cursor.take::<COMMAND_FIXED_BYTES>() else {
            return Err(cut);
        };
        let mut fixed = Cursor(&fixed);
        let size = "the fixed part was taken whole";
        let (kind, flags) = (fixed.u16().expect(size), fixed.u16().expect(size));
        let (producer, number) = (fixed.u64().expect(size), fixed.u64().expect(size));
        let (id, generation) = (fixed.u64().expect(size), fixed.u32().expect(size));
        let second_key = if flags & FLAG_SECOND_KEY == 0 {
            None
        } else {
            match cursor.second_key() {
                Some(second) => Some(second),
                None => return Err(cut),
            }
        };
        let Some(length) = cursor.u32() else {
            return Err(cut);
        };
        let length = length as usize;
        if flags & !FLAG_SECOND_KEY != 0 {
            return Err(RecordError::Flags { command: index, flags });
        }
        if length > BODY_BYTES_MAX {
            return Err(RecordError::Body { command: index, bytes: length });
        }
        let Some(body) = cursor.slice(length) else {
            return Err(cut);
        };
        let used = start.len() - cursor.0.len();
        self.rest = cursor.0;
        let credential = CredentialRef { id, generation };
        let head = CommandHead { producer: ProducerId(producer), number, credential, second_key };
        Ok(CommandView { index, kind, head, body, bytes: &start[..used] })
    }
}

impl<'a> Iterator for Commands<'a> {
    type Item = Result<CommandView<'a>, RecordError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let item = self.read();
        if item.is_err() {
            self.rest = &[];
        }
        Some(item)
    }
}

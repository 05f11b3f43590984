//! What a gateway asks a partition's leader over `arena.submit.<partition>` and `arena.position.<partition>`, and what comes
//! back. A message begins with the version and the kind, a byte each; numbers are little-endian; nothing may follow.

use arena_schema::id::{Incarnation, ProducerId, RecordNumber, RulesVersion};

/// The version of these messages.
const VERSION: u8 = 1;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request<'a> {
    /// A gateway's process begins, or asks again for its number.
    Announce { incarnation: Incarnation, rules_known: RulesVersion },
    /// It is still there.
    Renew { incarnation: Incarnation },
    /// Its process ends: what it was to do passes to another at once.
    Leave { incarnation: Incarnation },
    /// It is about to end: a leader that ends too waits until it has left.
    Leaving { incarnation: Incarnation },
    /// Commands for one record, each with its head, and the sealed texts that they commit to, both as a record has them.
    Submit { producer: ProducerId, count: u32, commands: &'a [u8], texts: &'a [u8] },
    /// How far the journal may have been seen.
    Position,
    /// Moves a clock that stands still.
    Advance { micros: u64 },
}

/// What comes back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The process's number.
    Announced { producer: ProducerId },
    /// Its lease goes on.
    Renewed,
    /// The leader does not know it, or knows no more: it has to announce itself anew.
    Gone,
    /// The commands stand in this record.
    Placed { record: RecordNumber },
    /// No follower has seen a record beyond this one.
    Position { record: RecordNumber },
    /// Done.
    Done,
    /// There is no room now, or the lead ended meanwhile: ask again.
    Busy,
    /// The store is nearly full, and one of the commands adds something: none of them was taken.
    Short { why: String },
    /// It cannot be taken, whenever it comes.
    Refused { why: String },
}

impl Request<'_> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        match self {
            Self::Announce { incarnation, rules_known } => {
                out.push(1);
                out.extend_from_slice(&incarnation.0);
                out.extend_from_slice(&rules_known.0.to_le_bytes());
            }
            Self::Renew { incarnation } => {
                out.push(2);
                out.extend_from_slice(&incarnation.0);
            }
            Self::Submit { producer, count, commands, texts } => {
                out.reserve_exact(17 + commands.len() + texts.len());
                out.push(3);
                out.extend_from_slice(&producer.0.to_le_bytes());
                out.extend_from_slice(&count.to_le_bytes());
                out.extend_from_slice(&(commands.len() as u32).to_le_bytes());
                out.extend_from_slice(commands);
                out.extend_from_slice(texts);
            }
            Self::Position => out.push(4),
            Self::Advance { micros } => {
                out.push(5);
                out.extend_from_slice(&micros.to_le_bytes());
            }
            Self::Leave { incarnation } => {
                out.push(6);
                out.extend_from_slice(&incarnation.0);
            }
            Self::Leaving { incarnation } => {
                out.push(7);
                out.extend_from_slice(&incarnation.0);
            }
        }
        out
    }
}

impl<'a> Request<'a> {
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, String> {
        let (kind, mut rest) = opened(bytes)?;
        let request = match kind {
            1 => Self::Announce {
                incarnation: Incarnation(array(&mut rest)?),
                rules_known: RulesVersion(u32::from_le_bytes(array(&mut rest)?)),
            },
            2 => Self::Renew { incarnation: Incarnation(array(&mut rest)?) },
            3 => {
                let producer = ProducerId(u64::from_le_bytes(array(&mut rest)?));
                let count = u32::from_le_bytes(array(&mut rest)?);
                let length = u32::from_le_bytes(array(&mut rest)?) as usize;
                let (commands, texts) = rest.split_at_checked(length).ok_or_else(short)?;
                return Ok(Self::Submit { producer, count, commands, texts });
            }
            4 => Self::Position,
            5 => Self::Advance { micros: u64::from_le_bytes(array(&mut rest)?) },
            6 => Self::Leave { incarnation: Incarnation(array(&mut rest)?) },
            7 => Self::Leaving { incarnation: Incarnation(array(&mut rest)?) },
            other => return Err(format!("there is no request of kind {other}")),
        };
        closed(rest, request)
    }
}

impl Reply {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        match self {
            Self::Announced { producer } => {
                out.push(1);
                out.extend_from_slice(&producer.0.to_le_bytes());
            }
            Self::Renewed => out.push(2),
            Self::Gone => out.push(3),
            Self::Placed { record } => {
                out.push(4);
                out.extend_from_slice(&record.0.to_le_bytes());
            }
            Self::Position { record } => {
                out.push(5);
                out.extend_from_slice(&record.0.to_le_bytes());
            }
            Self::Done => out.push(6),
            Self::Busy => out.push(7),
            Self::Refused { why } => {
                out.push(8);
                out.extend_from_slice(why.as_bytes());
            }
            Self::Short { why } => {
                out.push(9);
                out.extend_from_slice(why.as_bytes());
            }
        }
        out
    }

    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let (kind, mut rest) = opened(bytes)?;
        let reply = match kind {
            1 => Self::Announced { producer: ProducerId(u64::from_le_bytes(array(&mut rest)?)) },
            2 => Self::Renewed,
            3 => Self::Gone,
            4 => Self::Placed { record: RecordNumber(u64::from_le_bytes(array(&mut rest)?)) },
            5 => Self::Position { record: RecordNumber(u64::from_le_bytes(array(&mut rest)?)) },
            6 => Self::Done,
            7 => Self::Busy,
            8 | 9 => {
                let why = std::str::from_utf8(rest).map_err(|why| why.to_string())?.to_owned();
                return Ok(if kind == 8 { Self::Refused { why } } else { Self::Short { why } });
            }
            other => return Err(format!("there is no reply of kind {other}")),
        };
        closed(rest, reply)
    }
}

fn short() -> String {
    "it is cut short".to_owned()
}

fn opened(bytes: &[u8]) -> Result<(u8, &[u8]), String> {
    match bytes {
        [VERSION, kind, rest @ ..] => Ok((*kind, rest)),
        [version, _, ..] => Err(format!("it is of version {version}, this process speaks version {VERSION}")),
        _ => Err(short()),
    }
}

fn array<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], String> {
    let (taken, after) = rest.split_first_chunk::<N>().ok_or_else(short)?;
    *rest = after;
    Ok(*taken)
}

fn closed<T>(rest: &[u8], read: T) -> Result<T, String> {
    if rest.is_empty() { Ok(read) } else { Err(format!("{} bytes follow it", rest.len())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_reads_back_as_it_was_written_and_no_other_length_does() {
        let incarnation = Incarnation([3; 16]);
        let requests = [
            Request::Announce { incarnation, rules_known: RulesVersion(2) },
            Request::Renew { incarnation },
            Request::Leave { incarnation },
            Request::Leaving { incarnation },
            Request::Position,
            Request::Advance { micros: 1 << 40 },
        ];
        for request in requests {
            let bytes = request.encode();
            assert_eq!(Request::decode(&bytes).as_ref(), Ok(&request));
            for cut in 0..bytes.len() {
                assert!(Request::decode(&bytes[..cut]).is_err(), "{request:?} cut at {cut}");
            }
            assert!(Request::decode(&[&bytes[..], &[0]].concat()).is_err(), "{request:?} with more");
        }
        let submit = Request::Submit { producer: ProducerId(7), count: 2, commands: b"com", texts: b"te" };
        let bytes = submit.encode();
        assert_eq!(Request::decode(&bytes), Ok(submit));
        assert!(Request::decode(&bytes[..19]).is_err());
        let replies = [
            Reply::Announced { producer: ProducerId(u64::MAX) },
            Reply::Renewed,
            Reply::Gone,
            Reply::Placed { record: RecordNumber(4) },
            Reply::Position { record: RecordNumber(5) },
            Reply::Done,
            Reply::Busy,
            Reply::Refused { why: "no: é".to_owned() },
            Reply::Short { why: "full: é".to_owned() },
        ];
        for reply in replies {
            assert_eq!(Reply::decode(&reply.encode()), Ok(reply));
        }
        for garbage in
            [&b""[..], b"\x01", b"\x02\x02", b"\x01\x00", b"\x01\xff", b"\x01\x08\xff", b"\x01\x09\xff"]
        {
            assert!(Request::decode(garbage).is_err() && Reply::decode(garbage).is_err(), "{garbage:?}");
        }
    }
}

//! The whole state as bytes, and back. What belongs here: the frame (magic, layout, checksum), the order of the rooms, and what
//! one room must find in another. What never does: a room's own fields, which the room writes and reads itself (its
//! `snapshot.rs`), nor which record a snapshot is kept for and where (the journal's).
//!
//! The same state has the same bytes, whatever path led to it: places in a slab and maps that only look something up are not
//! written but made anew. Every struct is taken apart by all its fields, so that a new one does not compile until it is written
//! here too; then [`SNAPSHOT_LAYOUT`] goes up, and older snapshots are passed over.

use crate::{
    agenda::{Agenda, Claims},
    homes::Homes,
    matches::Matches,
    outbox::Outbox,
    producers::Producers,
    registry::{Guests, Registry},
    rules::RULES_NEWEST,
    second_keys::SecondKeys,
    sessions::Sessions,
    state::{Head, State},
};
use arena_schema::{
    Hash,
    codec::{self, NoValue, Values},
    id::{RecordNumber, RulesVersion},
};

/// The layout of the bytes. Whatever changes them makes it another one.
pub const SNAPSHOT_LAYOUT: u32 = 3;

const MAGIC: &[u8; 8] = b"ARENASTA";
const FRONT_BYTES: usize = MAGIC.len() + 4;
const CHECKSUM_BYTES: usize = 32;

/// Why bytes are no state.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// They do not begin as a state does, or end before it could.
    NoState,
    /// They are of another layout than this build's.
    Layout {
        /// The layout as it stands.
        found: u32,
    },
    /// The last 32 bytes are not the hash of those before.
    Checksum,
    /// The rules in force are newer than this build.
    RulesTooNew {
        /// The rules in force.
        rules: RulesVersion,
    },
    /// A room's values do not fit together.
    Misfit {
        /// The room.
        room: &'static str,
        /// What does not fit.
        why: &'static str,
    },
}

impl std::fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoState => write!(f, "the bytes are no state"),
            Self::Layout { found } => {
                write!(f, "the state's layout is {found}, this build reads layout {SNAPSHOT_LAYOUT}")
            }
            Self::Checksum => write!(f, "the state's bytes do not match the hash at their end"),
            Self::RulesTooNew { rules } => write!(
                f,
                "the state is under rules {}, this build knows rules up to {}: use a newer one",
                rules.0, RULES_NEWEST.0
            ),
            Self::Misfit { room, why } => write!(f, "the state does not hold in {room}: {why}"),
        }
    }
}

impl std::error::Error for SnapshotError {}

/// What does not fit in a room.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Misfit(pub(crate) &'static str);

impl From<NoValue> for Misfit {
    fn from(_: NoValue) -> Self {
        Self("the bytes end early, or hold no such value")
    }
}

impl State {
    /// Appends the state as bytes to `out`, complete with their hash.
    pub fn encode_snapshot(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        let Self {
            lineage,
            partition,
            era,
            rules,
            head: Head { number, hash, time, epoch, digest },
            digests,
            agenda,
            producers,
            second_keys,
            homes,
            outbox,
            registry,
            guests,
            matches,
            sessions,
        } = self;
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&SNAPSHOT_LAYOUT.to_le_bytes());
        codec::encode(&(lineage, partition, era, rules), out);
        codec::encode(&(number, hash, time, epoch, digest), out);
        codec::encode(digests, out);
        agenda.encode(out);
        producers.encode(out);
        second_keys.encode(out);
        registry.encode(out);
        guests.encode(out);
        matches.encode(out);
        sessions.encode(out);
        homes.encode(out);
        outbox.encode(out);
        let checksum = Hash::of(&out[begin..]);
        out.extend_from_slice(&checksum.0);
    }

    /// The state that [`State::encode_snapshot`] wrote, which must fill `bytes` to the last one.
    ///
    /// # Errors
    /// [`SnapshotError`]. No bytes make it panic, and it takes no more memory than some multiple of theirs.
    pub fn decode_snapshot(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let (content, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(SnapshotError::NoState)?;
        let front = content.get(..FRONT_BYTES).ok_or(SnapshotError::NoState)?;
        let layout = match front.split_last_chunk::<4>() {
            Some((magic, layout)) if magic == MAGIC => u32::from_le_bytes(*layout),
            _ => return Err(SnapshotError::NoState),
        };
        if layout != SNAPSHOT_LAYOUT {
            return Err(SnapshotError::Layout { found: layout });
        }
        if Hash::of(content).0 != *checksum {
            return Err(SnapshotError::Checksum);
        }
        let state = decode(&mut Values::of(&content[FRONT_BYTES..]))?;
        // Whatever another encoder might have written otherwise shows here.
        let mut again = Vec::with_capacity(bytes.len());
        state.encode_snapshot(&mut again);
        if again != bytes {
            return Err(SnapshotError::Misfit { room: "the whole", why: "it is not in the one form" });
        }
        Ok(state)
    }
}

fn decode(values: &mut Values<'_>) -> Result<State, SnapshotError> {
    let of = |room: &'static str| move |Misfit(why): Misfit| SnapshotError::Misfit { room, why };
    let none = |none: NoValue| of("the head")(none.into());
    let (lineage, partition, era, rules) = values.take().map_err(none)?;
    let (number, hash, time, epoch, digest) = values.take().map_err(none)?;
    let digests: [(RecordNumber, Hash); 8] = values.take().map_err(none)?;
    if rules > RULES_NEWEST {
        return Err(SnapshotError::RulesTooNew { rules });
    }
    let head = Head { number, hash, time, epoch, digest };
    check_digests(&head, &digests).map_err(of("the digests"))?;

    let agenda = Agenda::decode(values).map_err(of("the agenda"))?;
    let mut claims = Claims::of(&agenda).map_err(of("the agenda"))?;
    let producers = Producers::decode(values).map_err(of("the producers"))?;
    let second_keys = SecondKeys::decode(values, &mut claims).map_err(of("the second keys"))?;
    let registry = Registry::decode(values).map_err(of("the registry"))?;
    let mut guests = Guests::decode(values).map_err(of("the guests"))?;
    let matches = Matches::decode(values, &mut claims, &registry, &mut guests).map_err(of("the matches"))?;
    let sessions = Sessions::decode(values, &mut claims, &producers).map_err(of("the sessions"))?;
    guests.all_counted().map_err(of("the guests"))?;
    let homes = Homes::decode(values, &matches).map_err(of("the homes"))?;
    let outbox = Outbox::decode(values).map_err(of("the outbox"))?;
    claims.all_taken().map_err(of("the agenda"))?;
    if values.left() > 0 {
        return Err(of("the whole")(Misfit("bytes are left over")));
    }
    Ok(State {
        lineage,
        partition,
        era,
        rules,
        head,
        digests,
        agenda,
        producers,
        second_keys,
        homes,
        outbox,
        registry,
        guests,
        matches,
        sessions,
    })
}

/// Each place of the ring holds the newest record that it can hold, the head's with the head's digest.
fn check_digests(head: &Head, digests: &[(RecordNumber, Hash)]) -> Result<(), Misfit> {
    let ring = digests.len() as u64;
    for (&(number, digest), at) in digests.iter().zip(0..) {
        let newest = head.number.0.checked_sub(at).map_or(0, |above| head.number.0 - above % ring);
        let known = match newest {
            0 => Some(crate::digest::genesis_digest()),
            newest if newest == head.number.0 => Some(head.digest),
            _ => None,
        };
        if number.0 != newest || known.is_some_and(|known| known != digest) {
            return Err(Misfit("they are not those of the last records"));
        }
    }
    Ok(())
}

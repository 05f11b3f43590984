//! From one record to its events and the state after it. What belongs here: that it is this journal's next record, the
//! agenda before its first command, the digest behind its last.

use crate::{
    agenda::Due,
    decide::{Context, decide},
    digest::EventFrames,
    matches,
    rules::RULES_NEWEST,
    sessions,
    state::{Head, State, evolve},
};
use arena_schema::{
    Event, Hash, LogTime,
    id::{RecordNumber, RulesVersion},
    record::{Header, RecordView},
};

/// How many records back a header's digest may reach.
pub const DIGEST_LAG_MAX: u64 = 7;

/// The kinds of `AnnounceSequencer` and `BeginLineage`, before whose records the agenda is not emptied: what fell due while we
/// were away is moved by the announcement first.
const AFTER_OUR_ABSENCE: [u16; 2] = [0x0001, 0x0007];

/// An event and the command that it came of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emitted {
    /// The command's index in its record, from 1; 0 is the agenda.
    pub command: u32,
    /// The event.
    pub event: Event,
}

/// What a record came to. Kept between records, so that it allocates once.
#[derive(Debug, Clone, Default)]
pub struct Reduction {
    /// All events of the record, in their order.
    pub events: Vec<Emitted>,
    /// The same as bytes.
    pub frames: EventFrames,
    scratch: Vec<Event>,
}

/// Why a record cannot be reduced here. The state is as it was before; whoever meets it follows no further.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Halt {
    /// Another number than the next one.
    Number {
        /// The next one.
        expected: RecordNumber,
        /// What came.
        found: RecordNumber,
    },
    /// It does not name the hash of the record before.
    Chain {
        /// The record.
        record: RecordNumber,
        /// The hash of the record before it, as reduced.
        expected: Hash,
        /// The hash that it names.
        found: Hash,
    },
    /// It is of another history, partition or era, or its epoch or time goes back.
    Header {
        /// The record.
        record: RecordNumber,
        /// Which field, and how.
        field: &'static str,
    },
    /// It was written under rules that are not in force here.
    Rules {
        /// The record.
        record: RecordNumber,
        /// The rules in force.
        expected: RulesVersion,
        /// The rules that it names.
        found: RulesVersion,
    },
    /// These rules are newer than this build.
    RulesTooNew {
        /// The record.
        record: RecordNumber,
        /// The rules in force.
        rules: RulesVersion,
    },
    /// Whoever wrote it had reduced the records before to other events.
    Digest {
        /// The record.
        record: RecordNumber,
        /// The record up to which the digests part.
        reaches: RecordNumber,
    },
}

impl std::fmt::Display for Halt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number { expected, found } => {
                write!(f, "record {expected} was expected, record {found} came")
            }
            Self::Chain { record, expected, found } => write!(
                f,
                "record {record} breaks the chain: the record before it has the hash {expected}, it names {found}"
            ),
            Self::Header { record, field } => {
                write!(f, "the header of record {record} does not fit: {field}")
            }
            Self::Rules { record, expected, found } => {
                write!(f, "record {record} names rules {}, in force are rules {}", found.0, expected.0)
            }
            Self::RulesTooNew { record, rules } => write!(
                f,
                "record {record} is under rules {}, this build knows rules up to {}: use a newer one",
                rules.0, RULES_NEWEST.0
            ),
            Self::Digest { record, reaches } => write!(
                f,
                "record {record} names another digest of the events up to record {reaches} than they have here"
            ),
        }
    }
}

impl std::error::Error for Halt {}

/// Reduces one record: appends nothing to `out` but this record's events, changes the state, and moves its head.
///
/// # Errors
/// A [`Halt`] where it is not this journal's next record or this build cannot reduce it; the state is unchanged then.
pub fn reduce(state: &mut State, record: &RecordView<'_>, out: &mut Reduction) -> Result<(), Halt> {
    let header = &record.header;
    check(state, header)?;
    state.lineage = Some(header.lineage);
    out.events.clear();
    out.frames.begin(state.head.digest, header.number);

    let mut commands = record.commands().flatten().peekable();
    let returns = commands.peek().is_some_and(|first| AFTER_OUR_ABSENCE.contains(&first.kind));
    let alone = commands.clone().nth(1).is_none();
    if commands.peek().is_some() && !(returns && alone) {
        empty_agenda(state, header.time, out);
    }
    for view in commands {
        let (number, time, epoch) = (header.number, header.time, header.epoch);
        let context = Context { record: number, time, epoch, alone, view: &view };
        out.scratch.clear();
        decide(state, &context, &mut out.scratch);
        take_in(state, header.time, view.index, out);
    }

    let digest = out.frames.digest();
    state.head =
        Head { number: header.number, hash: record.hash, time: header.time, epoch: header.epoch, digest };
    let at = (header.number.0 % state.digests.len() as u64) as usize;
    state.digests[at] = (header.number, digest);
    Ok(())
}

fn check(state: &State, header: &Header) -> Result<(), Halt> {
    let (record, head) = (header.number, &state.head);
    if record != head.number.next() {
        return Err(Halt::Number { expected: head.number.next(), found: record });
    }
    if header.previous != head.hash {
        return Err(Halt::Chain { record, expected: head.hash, found: header.previous });
    }
    let misfit = if state.lineage.is_some_and(|lineage| lineage != header.lineage) {
        Some("it is of another lineage")
    } else if header.partition != state.partition {
        Some("it is of another partition")
    } else if header.era != state.era {
        Some("it is of another era")
    } else if header.epoch < head.epoch {
        Some("its epoch goes back")
    } else if header.time <= head.time {
        Some("its time does not go on")
    } else {
        None
    };
    if let Some(field) = misfit {
        return Err(Halt::Header { record, field });
    }
    if header.rules != state.rules {
        return Err(Halt::Rules { record, expected: state.rules, found: header.rules });
    }
    if state.rules > RULES_NEWEST {
        return Err(Halt::RulesTooNew { record, rules: state.rules });
    }
    let reaches = header.digest_reaches;
    if !state.digests.contains(&(reaches, header.digest)) {
        return Err(Halt::Digest { record, reaches });
    }
    Ok(())
}

/// Everything due by the record's time, in order, each before the next is looked at.
fn empty_agenda(state: &mut State, now: LogTime, out: &mut Reduction) {
    while let Some((due, entry, what)) = state.agenda.first() {
        if due > now {
            break;
        }
        // The thing is off the agenda whatever comes of it, so that this loop ends.
        state.agenda.cancel(entry);
        out.scratch.clear();
        match what {
            Due::Turn(turn) => matches::overdue::decide(state, now, turn, &mut out.scratch),
            Due::Session(session) => sessions::overdue::decide(state, session, &mut out.scratch),
            Due::SecondKey(kept) => out.scratch.push(kept.expired().into()),
        }
        take_in(state, now, 0, out);
    }
}

fn take_in(state: &mut State, now: LogTime, command: u32, out: &mut Reduction) {
    for event in out.scratch.drain(..) {
        evolve(state, now, &event);
        out.frames.push(command, &event);
        out.events.push(Emitted { command, event });
    }
}

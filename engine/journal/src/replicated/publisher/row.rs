//! The public events in a row, and where in it the output stream ends. What belongs here: the fold, the events that it gave
//! last, and finding the place behind which the rest is to be put. What never does: a record's origin, a stream, a thread.

use super::Trouble;
use crate::{PublicEvents, jetstream::Stands};
use arena_engine::{Emitted, State};
use arena_schema::{
    Event,
    id::{Lineage, Partition, RecordNumber},
    public::{EventId, PublicEvent},
    record::Header,
};
use bytes::Bytes;
use std::collections::VecDeque;

/// How much of what is stored is remembered, in bytes: where a leader goes on, the last stored event should be among it.
const RECENT_BYTES: usize = 16 * 1024 * 1024;
/// What an event takes beside its texts.
const EVENT_BYTES: usize = 128;

/// What the first event to be put there is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seek {
    /// It is the first of all.
    All,
    /// It stands behind this message.
    Behind {
        /// The message's id.
        id: EventId,
        /// All of it. Two events have one id where a restore begins another lineage.
        json: Bytes,
    },
    /// It is the first of this record or of a later one.
    From(RecordNumber),
    /// So many stand before it. Every event is one message, so a stream that a limit has emptied tells it by its sequence.
    Count(u64),
}

impl Seek {
    /// The earliest record that must be followed to find it.
    pub(crate) fn record(&self) -> RecordNumber {
        match self {
            Self::Behind { id, .. } => id.record,
            Self::From(record) => *record,
            Self::All | Self::Count(_) => RecordNumber(1),
        }
    }

    /// The history in which it is looked for. Behind a state of another one it may not be found.
    pub(crate) fn lineage(&self) -> Option<Lineage> {
        match self {
            Self::Behind { id, .. } => Some(id.lineage),
            Self::All | Self::From(_) | Self::Count(_) => None,
        }
    }
}

/// What is to be done about the end of the output stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Aligned {
    /// The row knows what comes next, or will when it has followed further.
    Here,
    /// The records must be followed from the first on, looking for this.
    Again(Seek),
}

/// The events of the records that were followed.
#[derive(Debug)]
pub(crate) struct Row {
    partition: Partition,
    fold: PublicEvents,
    /// What the last followed record's header names.
    lineage: Option<Lineage>,
    events: VecDeque<PublicEvent>,
    bytes: usize,
    /// How many of them are stored, or are taken for it while nobody asks.
    stored: usize,
    /// Whether no event is missing before the first of them.
    whole: bool,
    seek: Option<Seek>,
    /// How many events passed since the first record, where they are counted.
    passed: u64,
    /// The record of the first restore that took back what the output stream's last event tells of, as far as it is known.
    fork: Option<RecordNumber>,
    leads: bool,
}

impl Row {
    /// Of the records behind this state's.
    pub(crate) fn after(state: &State) -> Self {
        let fold = PublicEvents::after(state);
        Self {
            partition: state.partition(),
            whole: fold.next() == RecordNumber(1),
            fold,
            lineage: state.lineage(),
            events: VecDeque::new(),
            bytes: 0,
            stored: 0,
            seek: None,
            passed: 0,
            fork: None,
            leads: false,
        }
    }

    /// The record that comes next.
    pub(crate) fn next(&self) -> RecordNumber {
        self.fold.next()
    }

    /// Whether what is followed from now on is to be put into the stream.
    pub(crate) fn set_leads(&mut self, leads: bool) {
        self.leads = leads;
        if !leads {
            self.stored = self.events.len();
            self.seek = None;
            self.forget_old();
        }
    }

    /// Begins again behind this state, looking for a place.
    pub(crate) fn again(&mut self, state: &State, seek: Seek) {
        *self = Self { leads: self.leads, ..Self::after(state) };
        self.seek = (seek != Seek::All).then_some(seek);
    }

    /// Finds what comes behind the end of the output stream.
    ///
    /// # Errors
    /// [`Trouble::Stream`]: what stands at the end is no event of this partition's.
    pub(crate) fn align(&mut self, stands: Stands) -> Result<Aligned, Trouble> {
        let json = match stands {
            Stands { last: 0, message: None } if self.whole => {
                (self.stored, self.seek) = (0, None);
                return Ok(Aligned::Here);
            }
            Stands { last: 0, message: None } => return Ok(Aligned::Again(Seek::All)),
            Stands { last, message: None } => return Ok(Aligned::Again(Seek::Count(last))),
            Stands { message: Some(json), .. } => json,
        };
        let id = id_of(&json).filter(|id| id.partition == self.partition);
        let id = id.ok_or_else(|| {
            Trouble::Stream(format!("its last message is no public event: {:?}", shown(&json)))
        })?;
        if let Some(at) = self.events.iter().rposition(|event| is(event, &id, &json)) {
            (self.stored, self.seek) = (at + 1, None);
            return Ok(Aligned::Here);
        }
        let seek = Seek::Behind { id, json };
        if self.is_ahead(&id) {
            // Another publisher has followed further.
            (self.stored, self.seek) = (self.events.len(), Some(seek));
            return Ok(Aligned::Here);
        }
        Ok(Aligned::Again(seek))
    }

    /// Whether an id is of a record of this history that was not followed yet.
    fn is_ahead(&self, id: &EventId) -> bool {
        self.lineage == Some(id.lineage) && id.record >= self.next()
    }

    /// Takes the next record in. What it says of the place that is looked for, if that is more than that it is not here.
    ///
    /// # Errors
    /// [`Trouble::Fold`]; or [`Trouble::Stream`]: it ends with what the journal does not have.
    pub(crate) fn follow(&mut self, header: &Header, events: &[Emitted]) -> Result<Aligned, Trouble> {
        let public = self.fold.follow(header, events)?;
        self.lineage = Some(header.lineage);
        let begins = events.iter().any(|emitted| matches!(emitted.event, Event::LineageBegun(_)));
        let mut aligned = Aligned::Here;
        for event in public {
            self.passed += 1;
            let place = self.look_at(&event, begins)?;
            self.bytes += bytes_of(&event);
            self.events.push_back(event);
            match place {
                Place::NotYet => self.stored = self.events.len(),
                Place::Behind => (self.stored, self.seek) = (self.events.len(), None),
                Place::Here => (self.stored, self.seek) = (self.events.len() - 1, None),
                Place::Known if !self.leads => self.stored = self.events.len(),
                Place::Known => {}
                Place::Again(record) => aligned = Aligned::Again(Seek::From(record)),
            }
            if aligned != Aligned::Here {
                break;
            }
        }
        self.forget_old();
        Ok(aligned)
    }

    /// Where the next event stands, seen from the place that is looked for. `begins`: its record begins a lineage.
    fn look_at(&mut self, event: &PublicEvent, begins: bool) -> Result<Place, Trouble> {
        Ok(match &self.seek {
            None => Place::Known,
            Some(Seek::All) => Place::Here,
            Some(Seek::From(record)) if event.id.record >= *record => Place::Here,
            // How much of the history before a restore the stream had nobody knows: once more is better than never.
            Some(Seek::Count(_)) if begins => Place::Here,
            Some(Seek::Count(count)) if self.passed >= *count => Place::Behind,
            Some(Seek::Behind { id, json }) if is(event, id, json) => Place::Behind,
            // What the stream ends with was taken back here.
            Some(Seek::Behind { id, .. }) if begins && event.id.record <= id.record => {
                if event.id.lineage == id.lineage {
                    return Ok(Place::Here);
                }
                self.fork.get_or_insert(event.id.record);
                Place::NotYet
            }
            Some(Seek::Behind { id, json }) if event.id.is_after(id) => match self.fork {
                Some(fork) => Place::Again(fork),
                None => return Err(strange(json)),
            },
            Some(_) => Place::NotYet,
        })
    }

    /// Every record that there is was followed.
    ///
    /// # Errors
    /// As [`Row::follow`].
    pub(crate) fn at_end(&self) -> Result<Aligned, Trouble> {
        match (&self.seek, self.fork) {
            (Some(Seek::Behind { id, .. }), _) if self.is_ahead(id) => Ok(Aligned::Here),
            (Some(Seek::Behind { .. }), Some(fork)) => Ok(Aligned::Again(Seek::From(fork))),
            (Some(Seek::Behind { json, .. }), None) => Err(strange(json)),
            _ => Ok(Aligned::Here),
        }
    }

    /// Whether the place is still looked for.
    pub(crate) fn seeks(&self) -> bool {
        self.seek.is_some()
    }

    /// What is to be stored next, in order.
    pub(crate) fn waiting(&self) -> impl ExactSizeIterator<Item = &PublicEvent> {
        self.events.range(self.stored..)
    }

    /// The first so many of those that wait are stored.
    pub(crate) fn set_stored(&mut self, count: usize) {
        self.stored += count;
        self.forget_old();
    }

    /// The last record of which all events are stored.
    pub(crate) fn through(&self) -> RecordNumber {
        let before = |record: RecordNumber| RecordNumber(record.0.saturating_sub(1));
        match &self.seek {
            Some(Seek::Behind { id, .. }) => before(id.record),
            Some(Seek::All | Seek::From(_) | Seek::Count(_)) => RecordNumber(0),
            None => before(self.waiting().next().map_or(self.next(), |event| event.id.record)),
        }
    }

    fn forget_old(&mut self) {
        while self.bytes > RECENT_BYTES && self.stored > 0 {
            let Some(event) = self.events.pop_front() else { return };
            self.bytes -= bytes_of(&event);
            self.stored -= 1;
            self.whole = false;
        }
    }
}

/// Where an event stands.
enum Place {
    /// The place was found before.
    Known,
    /// It is stored already.
    NotYet,
    /// The place is behind it.
    Behind,
    /// The place is its own.
    Here,
    /// The place was this record's.
    Again(RecordNumber),
}

fn bytes_of(event: &PublicEvent) -> usize {
    event.json.len() + event.subject.len() + EVENT_BYTES
}

fn is(event: &PublicEvent, id: &EventId, json: &[u8]) -> bool {
    event.id == *id && event.json.as_bytes() == json
}

fn id_of(json: &[u8]) -> Option<EventId> {
    let value: serde_json::Value = serde_json::from_slice(json).ok()?;
    EventId::parse(value.get("id")?.as_str()?)
}

/// As much of a message as a line of a log takes.
fn shown(json: &[u8]) -> String {
    String::from_utf8_lossy(json).chars().take(200).collect()
}

fn strange(json: &[u8]) -> Trouble {
    Trouble::Stream(format!("its last message tells what this journal does not have: {:?}", shown(json)))
}

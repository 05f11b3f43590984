//! Where a publisher goes on when the stream ends with what a restore took back, or with nothing, or with another's. No server:
//! a list stands for the stream.

use crate::{
    jetstream::Stands,
    replicated::{Aligned, Row, Trouble},
    testing::{PARTITION, Writer, register},
};
use arena_engine::{Emitted, Reduction, State, reduce};
use arena_schema::{
    command::system::{AnnounceSequencer, BeginLineage},
    id::{Incarnation, Lineage},
    record::{CommandHead, EncodedRecord, Header, RecordView},
};

/// A journal that was written, restored, and written again.
struct History {
    writer: Writer,
    records: Vec<EncodedRecord>,
}

impl History {
    fn begin() -> Self {
        let mut writer = Writer::new();
        let records = writer.begin();
        Self { writer, records }
    }

    /// Agents of these numbers, a record each.
    fn agents(mut self, numbers: std::ops::Range<u64>) -> Self {
        for at in numbers {
            let record = self.writer.record(vec![register(at).into()]);
            self.records.push(record);
        }
        self
    }

    fn announced(mut self) -> Self {
        let announce = AnnounceSequencer { incarnation: Incarnation([8; 16]), outage_us: 5 };
        let record = self.writer.seal(&[(CommandHead::SEQUENCER, announce.into())]);
        self.records.push(record);
        self
    }

    /// Restored here, as another lineage; the gateway is announced anew.
    fn restored(mut self, lineage: u8) -> Self {
        let (number, hash) = (self.writer.state.head().number, self.writer.state.head().hash);
        let begin = BeginLineage { lineage: Lineage([lineage; 16]), number, hash };
        let record = self.writer.seal(&[(CommandHead::SEQUENCER, begin.into())]);
        self.records.push(record);
        self.announced()
    }

    fn followed(&self) -> Vec<(Header, Vec<Emitted>)> {
        let (mut state, mut reduction) = (State::new(PARTITION), Reduction::default());
        let follow = |record: &EncodedRecord| {
            let view = RecordView::parse(record.as_bytes()).unwrap();
            reduce(&mut state, &view, &mut reduction).unwrap();
            (view.header, reduction.events.clone())
        };
        self.records.iter().map(follow).collect()
    }

    /// What its records tell from this record on.
    fn told(&self, from: usize) -> Vec<String> {
        let mut row = Row::after(&State::new(PARTITION));
        row.set_leads(true);
        let followed = self.followed();
        for (header, events) in &followed {
            row.follow(header, events).unwrap();
        }
        row.waiting()
            .filter(|event| event.id.record.0 >= from as u64)
            .map(|event| event.json.clone())
            .collect()
    }
}

/// Publishes what is missing of this history behind a stream that had so many messages, of which these are left.
fn publish(history: &History, given: usize, stream: &mut Vec<String>) -> Result<(), Trouble> {
    let followed = history.followed();
    let stands =
        Stands { last: given as u64, message: stream.last().map(|json| json.clone().into_bytes().into()) };
    // As a process does that starts: what is behind is not looked at until it leads.
    let mut row = Row::after(&history.writer.state);
    row.set_leads(true);
    let mut aligned = row.align(stands)?;
    let mut at = followed.len();
    loop {
        if let Aligned::Again(seek) = aligned {
            row.again(&State::new(PARTITION), seek);
            at = 0;
        }
        aligned = match followed.get(at) {
            Some((header, events)) => row.follow(header, events)?,
            None if row.seeks() => row.at_end()?,
            None => break,
        };
        if at >= followed.len() && aligned == Aligned::Here {
            break;
        }
        at += 1;
    }
    assert!(!row.seeks(), "it waits for what does not come");
    stream.extend(row.waiting().map(|event| event.json.clone()));
    Ok(())
}

/// That a stream which was told these events goes on with those of this history from this record on.
#[track_caller]
fn check(told: &[String], history: &History, goes_on: usize) {
    let mut stream = told.to_vec();
    publish(history, told.len(), &mut stream).unwrap();
    assert_eq!(stream[..told.len()], *told);
    assert_eq!(stream[told.len()..], history.told(goes_on));
    let all = stream.clone();
    publish(history, all.len(), &mut stream).unwrap();
    assert_eq!(stream, all, "twice is once");
}

#[test]
fn a_new_stream_is_told_everything_and_one_that_is_behind_the_rest() {
    let history = History::begin().agents(0..5).restored(4).agents(5..9);
    check(&[], &history, 1);
    let told = history.told(1);
    for count in 1..=told.len() {
        let mut stream = told[..count].to_vec();
        publish(&history, count, &mut stream).unwrap();
        assert_eq!(stream, told, "{count}");
    }
}

#[test]
fn what_a_restore_took_back_is_followed_by_the_lineage_that_it_began() {
    let told = History::begin().agents(0..9).told(1);
    // Records 1 to 5 are in common; 6 begins the lineage.
    let history = History::begin().agents(0..3).restored(4).agents(20..24);
    check(&told, &history, 6);
    // Also where the new history is longer than the old one was.
    check(&told, &History::begin().agents(0..3).restored(4).agents(20..60), 6);
    // And where all that is behind is the lineage's own beginning.
    check(&told, &History::begin().agents(0..3).restored(4), 6);
}

#[test]
fn an_event_that_was_taken_back_may_have_the_id_of_the_lineages_beginning() {
    let told = History::begin().agents(0..3).announced().told(1);
    let history = History::begin().agents(0..3).restored(4).agents(20..24);
    let id = |json: &str| json.split('"').nth(3).unwrap().to_owned();
    assert_eq!(id(told.last().unwrap()), id(&history.told(6)[0]));
    check(&told, &history, 6);
}

#[test]
fn a_history_may_be_restored_again_and_again() {
    // The second restore within what the first one began.
    let once = History::begin().agents(0..3).restored(4).agents(20..30);
    let twice = || History::begin().agents(0..3).restored(4).agents(20..24).restored(5).agents(40..44);
    let fork = 5 + 2 + 4 + 1;
    check(&once.told(1), &twice(), fork);
    // The first one was never told.
    check(&History::begin().agents(0..9).told(1), &twice(), 6);
    // The second restore took all of the first back: nothing of this history knows its lineage.
    let again = History::begin().agents(0..2).restored(6).agents(50..53);
    let told = [History::begin().agents(0..9).told(1), once.told(6)].concat();
    check(&told, &again, 5);
    // The same, before as many records as the stream has told of, and with another restore behind.
    let again = History::begin().agents(0..2).restored(6).agents(50..70).restored(7).agents(80..84);
    check(&told, &again, 5);
}

#[test]
fn a_stream_that_a_limit_has_emptied_goes_on_by_its_count() {
    let history = History::begin().agents(0..9);
    let told = history.told(1);
    for count in 1..=told.len() {
        let mut stream = Vec::new();
        publish(&history, count, &mut stream).unwrap();
        assert_eq!(stream, told[count..], "{count}");
    }
    // Behind a restore nobody knows how much was told: from its beginning on.
    let history = History::begin().agents(0..3).restored(4).agents(20..24);
    let mut stream = Vec::new();
    publish(&history, 30, &mut stream).unwrap();
    assert_eq!(stream, history.told(6));
}

#[test]
fn a_stream_of_another_journal_is_left_alone() {
    let history = History::begin().agents(0..4);
    let mut other = History::begin().agents(10..13).told(1);
    let foreign = |stream: &mut Vec<String>| {
        let before = stream.clone();
        let refused = publish(&history, stream.len(), stream);
        assert!(matches!(refused, Err(Trouble::Stream(_))), "{refused:?}");
        assert_eq!(*stream, before);
    };
    foreign(&mut other);
    for strange in ["", "{}", "no", r#"{"id":"5"}"#, r#"{"id":"03030303030303030303030303030303-7-1-1-1"}"#] {
        foreign(&mut vec![strange.to_owned()]);
    }
    // Of a history that nobody here has heard of.
    foreign(&mut vec![r#"{"id":"09090909090909090909090909090909-0-900-1-1"}"#.to_owned()]);
}

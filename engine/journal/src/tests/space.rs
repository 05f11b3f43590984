//! Near a limit of the store what adds is refused and nothing else: at a sequencer's own door, by what a gauge reads.

use crate::{
    AppendError, Clock, Gauge, Journal, JournalError, Limit, Measure, MemoryJournal, Reader, SealedText,
    Sequencer, Submission,
    sequencer::SubmitError,
    testing::{Witness, agent_key, open_match, register, rows, run, start, submit_move, turn_of},
};
use arena_schema::{
    Command, Event,
    id::{Era, RecordNumber},
    record::EncodedRecord,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// A journal whose gauge reads what a test says, of 100.
#[derive(Clone, Default)]
struct Gauged {
    inner: MemoryJournal,
    used: Arc<AtomicU64>,
}

struct Reading(Arc<AtomicU64>);

impl Gauge for Reading {
    fn look(&mut self) -> Result<Vec<Limit>, String> {
        let used = self.0.load(Ordering::SeqCst);
        let measure = Measure::Used { used, most: 100, unit: "bytes" };
        Ok(vec![Limit { of: "the test's disk".to_owned(), measure }])
    }
}

impl Journal for Gauged {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn last(&mut self) -> Result<RecordNumber, JournalError> {
        self.inner.last()
    }

    fn append(&mut self, record: &EncodedRecord, texts: &[SealedText]) -> Result<(), AppendError> {
        self.inner.append(record, texts)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, JournalError> {
        self.inner.reader()
    }

    fn era(&self) -> Era {
        self.inner.era()
    }

    fn next_era(&mut self, era: Era, first: RecordNumber) -> Result<(), JournalError> {
        self.inner.next_era(era, first)
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn gauge(&self) -> Option<Box<dyn Gauge>> {
        Some(Box::new(Reading(Arc::clone(&self.used))))
    }
}

fn accepted(sequencer: &Sequencer, command: impl Into<Command>) -> Vec<Event> {
    let pending = sequencer.producer().try_submit(vec![Submission::new(command)]).unwrap();
    run(pending.outcome()).unwrap().result.unwrap()
}

#[track_caller]
fn until_short(sequencer: &Sequencer, short: bool) {
    let begun = Instant::now();
    while sequencer.handle().space().shortage().is_some() != short {
        assert!(begun.elapsed() < Duration::from_secs(30), "it is never seen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn near_a_limit_open_matches_come_to_their_end_and_no_other_begins_until_there_is_space_again() {
    let journal = Gauged::default();
    let sequencer = start(journal.clone(), 1, Clock::System, &Witness::default()).unwrap();
    let producer = sequencer.producer();
    for at in [0, 1] {
        accepted(&sequencer, register(at));
    }
    let mut turn = turn_of(&accepted(&sequencer, open_match(1, [agent_key(0), agent_key(1)]))).unwrap();
    journal.used.store(90, Ordering::SeqCst);
    until_short(&sequencer, true);

    for adds in [Command::from(register(2)), open_match(2, [agent_key(0), agent_key(1)]).into()] {
        for together in [vec![adds.clone()], vec![submit_move(turn, 3).into(), adds.clone()]] {
            let submissions = together.into_iter().map(Submission::new).collect();
            let refused = producer.try_submit(submissions).unwrap_err();
            let SubmitError::Short(shortage) = &refused else { panic!("{refused}") };
            assert!(shortage.0.contains("the test's disk has 90 of 100 bytes"), "{shortage}");
        }
        let waiting = run(producer.submit(vec![Submission::new(adds)])).unwrap_err();
        assert!(matches!(waiting, SubmitError::Short(_)), "who may wait for room is told too: {waiting}");
    }
    assert_eq!(producer.unanswered(), 0, "a refused one takes no room");
    let mut ended = false;
    // The one stacks a column, and has four in it first.
    for column in [3, 0, 3, 0, 3, 0, 3] {
        let events = accepted(&sequencer, submit_move(turn, column));
        ended |= events.iter().any(|event| matches!(event, Event::MatchEnded(_)));
        turn = turn_of(&events).unwrap_or(turn);
    }
    assert!(ended, "the match came to its end");
    let numbers = |journal: &Gauged| rows(&journal.inner).len();
    let before = numbers(&journal);

    journal.used.store(89, Ordering::SeqCst);
    until_short(&sequencer, false);
    accepted(&sequencer, register(2));
    accepted(&sequencer, open_match(3, [agent_key(0), agent_key(1)]));
    assert_eq!(numbers(&journal), before + 2, "nothing of a refusal is in the journal");
    sequencer.stop().unwrap();
}

#[test]
fn a_journal_that_is_nearly_full_when_it_is_opened_takes_nothing_new_from_the_first_command_on() {
    let journal = Gauged::default();
    journal.used.store(100, Ordering::SeqCst);
    let sequencer = start(journal, 1, Clock::System, &Witness::default()).unwrap();
    let refused = sequencer.producer().try_submit(vec![Submission::new(register(0))]).unwrap_err();
    assert!(matches!(refused, SubmitError::Short(_)), "{refused}");
    sequencer.stop().unwrap();
}

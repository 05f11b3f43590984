//! The queue has an end, and a stop drains it.

use crate::{
    AppendError, Busy, Clock, Journal, JournalError, MemoryJournal, Reader, SealedText, Submission,
    sequencer::{BATCH_BYTES_MAX, QUEUE_COMMANDS_MAX, SubmitError},
    testing::{BEGINNING, Dice, Folder, Witness, agent_id, register, rows, run, sealed_text, start},
};
use arena_schema::{
    Event,
    id::{Era, RecordNumber},
    record::{EncodedRecord, RecordView},
};
use std::sync::{Arc, Condvar, Mutex};

/// A journal whose appends wait while it is shut.
#[derive(Clone, Default)]
struct Gated {
    inner: MemoryJournal,
    shut: Arc<(Mutex<bool>, Condvar)>,
}

impl Gated {
    fn shut(&self, shut: bool) {
        *self.shut.0.lock().unwrap() = shut;
        self.shut.1.notify_all();
    }
}

impl Journal for Gated {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn last(&mut self) -> Result<RecordNumber, JournalError> {
        self.inner.last()
    }

    fn append(&mut self, record: &EncodedRecord, texts: &[SealedText]) -> Result<(), AppendError> {
        let mut shut = self.shut.0.lock().unwrap();
        while *shut {
            shut = self.shut.1.wait(shut).unwrap();
        }
        drop(shut);
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
}

#[test]
fn a_full_queue_is_busy_and_loses_nothing() {
    let journal = Gated::default();
    let sequencer = start(journal.clone(), 1, Clock::System, &Witness::default()).unwrap();
    let producer = sequencer.producer();
    journal.shut(true);
    let mut pending = Vec::new();
    let mut next = 0..;
    let refused = loop {
        assert!(pending.len() <= QUEUE_COMMANDS_MAX, "memory has an end");
        match producer.try_submit(vec![Submission::new(register(next.next().unwrap()))]) {
            Ok(one) => pending.push(one),
            Err(why) => break why,
        }
    };
    assert_eq!(refused, SubmitError::Busy(Busy));
    assert_eq!(pending.len(), QUEUE_COMMANDS_MAX);
    for _ in 0..10_000 {
        let again = producer.try_submit(vec![Submission::new(register(0))]);
        assert_eq!(again.unwrap_err(), SubmitError::Busy(Busy), "a refused one takes no room");
    }
    run(async {
        let waiting = {
            let producer = producer.clone();
            tokio::spawn(async move { producer.submit(vec![Submission::new(register(1 << 20))]).await })
        };
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "who may wait waits for room");
        journal.shut(false);
        for (one, at) in pending.drain(..).zip(0..) {
            let events = one.outcome().await.unwrap().result.unwrap();
            assert!(matches!(&events[..], [Event::AgentRegistered(event)] if event.id == agent_id(at)));
        }
        assert!(waiting.await.unwrap().unwrap().outcome().await.unwrap().result.is_ok());
        // The room came back.
        for _ in 0..4 {
            let part = (0..QUEUE_COMMANDS_MAX as u64 / 4).map(|_| Submission::new(register(0))).collect();
            pending.push(producer.submit(part).await.unwrap());
        }
        for one in pending {
            assert_eq!(one.outcomes().await.unwrap().len(), QUEUE_COMMANDS_MAX / 4);
        }
    });
    assert_eq!(sequencer.handle().state().registry().agents().len(), QUEUE_COMMANDS_MAX + 1);
    sequencer.stop().unwrap();
}

#[test]
fn a_batch_that_no_record_has_room_for_is_refused_and_takes_no_room() {
    let sequencer = start(MemoryJournal::default(), 1, Clock::System, &Witness::default()).unwrap();
    let producer = sequencer.producer();
    let mut dice = Dice(1);
    let per_command = 100;
    for _ in 0..100 {
        let many =
            (0..BATCH_BYTES_MAX as u64 / per_command).map(|at| Submission::new(register(at))).collect();
        assert_eq!(producer.try_submit(many).unwrap_err(), SubmitError::TooLarge);
        let more = (0..=QUEUE_COMMANDS_MAX as u64).map(|at| Submission::new(register(at))).collect();
        assert_eq!(producer.try_submit(more).unwrap_err(), SubmitError::TooLarge);
        let mut laden = Submission::new(register(0));
        for _ in 0..17 {
            laden = laden.with_text(sealed_text(agent_id(0), 65_000, &mut dice).1);
        }
        assert_eq!(producer.try_submit(vec![laden]).unwrap_err(), SubmitError::TooLarge);
    }
    let outcome =
        run(async { producer.submit(vec![Submission::new(register(0))]).await.unwrap().outcome().await });
    assert!(outcome.unwrap().result.is_ok());
    sequencer.stop().unwrap();
}

#[test]
fn an_empty_batch_has_no_outcomes_and_makes_no_record() {
    let journal = MemoryJournal::default();
    let sequencer = start(journal.clone(), 1, Clock::System, &Witness::default()).unwrap();
    let outcomes = run(async { sequencer.producer().submit(Vec::new()).await.unwrap().outcomes().await });
    assert_eq!(outcomes.unwrap(), []);
    sequencer.stop().unwrap();
    assert_eq!(rows(&journal).len() as u64, BEGINNING + 1, "those of the start, and one of the stop");
}

#[test]
fn records_stay_within_their_size_however_much_is_queued() {
    let journal = Gated::default();
    let sequencer = start(journal.clone(), 1, Clock::System, &Witness::default()).unwrap();
    journal.shut(true);
    let mut dice = Dice(1);
    let pending: Vec<_> = (0..12u64)
        .map(|batch| {
            let mut submissions: Vec<_> =
                (0..340).map(|at| Submission::new(register(batch * 340 + at))).collect();
            for _ in 0..14 {
                submissions[0].texts.push(sealed_text(agent_id(batch * 340), 65_000, &mut dice).1);
            }
            sequencer.producer().try_submit(submissions).unwrap()
        })
        .collect();
    journal.shut(false);
    run(async {
        for one in pending {
            assert!(one.outcomes().await.unwrap().iter().all(|outcome| outcome.result.is_ok()));
        }
    });
    sequencer.stop().unwrap();
    for (number, bytes, texts) in rows(&journal) {
        let record = RecordView::parse(&bytes).unwrap();
        assert!(
            texts.len() <= 4 * 1024 * 1024 + 64 * 1024,
            "record {number} has {} bytes of texts",
            texts.len()
        );
        assert!(record.commands().all(|command| command.is_ok()));
    }
}

#[test]
fn a_stop_drains_what_was_submitted_and_closes_with_an_empty_record_that_covers_the_tail() {
    let folder = Folder::new();
    let sequencer = start(folder.journal(), 1, Clock::System, &Witness::default()).unwrap();
    let (producer, handle) = (sequencer.producer(), sequencer.handle().clone());
    let pending: Vec<_> =
        (0..500).map(|at| producer.try_submit(vec![Submission::new(register(at))]).unwrap()).collect();
    sequencer.stop().unwrap();
    run(async {
        for one in pending {
            assert!(one.outcome().await.unwrap().result.is_ok());
        }
        let refused = producer.submit(vec![Submission::new(register(900))]).await;
        assert!(matches!(refused, Err(SubmitError::Stopped(_))), "{refused:?}");
        assert!(matches!(producer.try_submit(Vec::new()), Err(SubmitError::Stopped(_))));
    });
    let stored = rows(&folder.journal());
    let (last, before) = (&stored[stored.len() - 1].1, &stored[stored.len() - 2].1);
    let closing = RecordView::parse(last).unwrap();
    assert!(closing.is_empty());
    assert_eq!(closing.header.previous, RecordView::parse(before).unwrap().hash);
    assert_eq!(closing.header.digest_reaches.next(), closing.header.number);
    let state = handle.state();
    assert_eq!(state.registry().agents().len(), 500);
    assert_eq!(state.head().hash, closing.hash);
    assert_eq!(handle.stopped().borrow().as_deref(), Some(crate::sequencer::ORDERLY));
}

//! What fails ends the sequencer with its reason, and the file is the answer.

use crate::{
    AppendError, Clock, Journal, JournalError, MemoryJournal, Reader, SealedText, SqliteJournal, StartError,
    Submission, audit,
    testing::{BEGINNING, Folder, PARTITION, Witness, agent_id, register, rows, run, start},
};
use arena_schema::{
    Event, Rejection,
    id::{Era, RecordNumber},
    record::EncodedRecord,
};

/// Fails at one record: before it is stored, or after.
struct Failing {
    inner: SqliteJournal,
    at: u64,
    stores: bool,
}

impl Journal for Failing {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn last(&mut self) -> Result<RecordNumber, JournalError> {
        self.inner.last()
    }

    fn append(&mut self, record: &EncodedRecord, texts: &[SealedText]) -> Result<(), AppendError> {
        let fails = record.number().0 == self.at;
        if !fails || self.stores {
            self.inner.append(record, texts)?;
        }
        if fails {
            return Err(AppendError::Unknown { number: record.number(), why: "the disk is gone".to_owned() });
        }
        Ok(())
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
fn where_an_append_fails_the_outcome_is_unknown_and_the_file_is_the_answer() {
    for stores in [false, true] {
        let folder = Folder::new();
        let journal = Failing { inner: folder.journal(), at: BEGINNING + 3, stores };
        let sequencer = start(journal, 1, Clock::System, &Witness::default()).unwrap();
        let (producer, handle) = (sequencer.producer(), sequencer.handle().clone());
        run(async {
            for at in 0..2 {
                let pending = producer.submit(vec![Submission::new(register(at))]).await.unwrap();
                assert!(pending.outcome().await.unwrap().result.is_ok());
            }
            let pending = producer.submit(vec![Submission::new(register(2))]).await.unwrap();
            pending.outcome().await.expect_err("nobody can tell what became of it");
            let mut stopped = handle.stopped();
            let why = stopped.wait_for(Option::is_some).await.unwrap().clone().unwrap();
            assert!(
                why.contains(&format!("record {}", BEGINNING + 3)) && why.contains("the disk is gone"),
                "{why}"
            );
            if let Ok(later) = producer.submit(vec![Submission::new(register(3))]).await {
                later.outcome().await.expect_err("it takes no more");
            }
        });
        assert_eq!(
            handle.position(),
            RecordNumber(BEGINNING + 2),
            "a failed append leaves no trace in the state"
        );
        assert_eq!(handle.state().registry().agents().len(), 2);
        let why = sequencer.stop().unwrap_err().to_string();
        assert!(why.contains("the disk is gone"), "{why}");

        let stored = rows(&folder.journal());
        assert_eq!(stored.len() as u64, BEGINNING + if stores { 3 } else { 2 });
        let witness = Witness::default();
        let sequencer = start(folder.journal(), 2, Clock::System, &witness).unwrap();
        assert_eq!(sequencer.handle().state().registry().agents().len(), if stores { 3 } else { 2 });
        let again = run(async {
            sequencer
                .producer()
                .submit(vec![Submission::new(register(2))])
                .await
                .unwrap()
                .outcome()
                .await
                .unwrap()
        });
        assert_eq!(again.result.is_ok(), !stores);
        assert!(!stores || again.result == Err(Rejection::NameTaken));
        sequencer.stop().unwrap();
        let registered =
            |event: &&Event| matches!(event, Event::AgentRegistered(event) if event.id == agent_id(2));
        assert_eq!(witness.events().iter().filter(registered).count(), 1, "nothing twice, nothing lost");
        audit(folder.journal().reader().unwrap().as_mut(), PARTITION, &[]).unwrap();
    }
}

#[test]
fn a_journal_that_fails_at_its_first_records_lets_nobody_start() {
    for at in 1..=BEGINNING {
        let folder = Folder::new();
        let journal = Failing { inner: folder.journal(), at, stores: false };
        let why = start(journal, 1, Clock::System, &Witness::default()).map(drop).unwrap_err();
        assert!(
            matches!(why, StartError::Stopped(_)) && why.to_string().contains("the disk is gone"),
            "{why}"
        );
    }
}

#[test]
fn another_writer_fences_this_one() {
    let folder = Folder::new();
    let sequencer = start(folder.journal(), 1, Clock::System, &Witness::default()).unwrap();
    let other = start(folder.journal(), 2, Clock::System, &Witness::default()).unwrap();
    run(async {
        let pending = sequencer.producer().submit(vec![Submission::new(register(0))]).await.unwrap();
        pending.outcome().await.expect_err("another's record stands there");
    });
    let why = sequencer.stop().unwrap_err().to_string();
    assert!(why.contains(&format!("record {} cannot be appended", BEGINNING + 1)), "{why}");
    other.stop().unwrap();
    audit(folder.journal().reader().unwrap().as_mut(), PARTITION, &[]).unwrap();
}

#[test]
fn a_follower_that_can_go_on_no_more_stops_the_sequencer_with_its_reason() {
    for panics in [false, true] {
        let mut witness = Witness::default();
        *(if panics { &mut witness.panics_at } else { &mut witness.fails_at }) = Some(BEGINNING + 2);
        let journal = MemoryJournal::default();
        let sequencer = start(journal.clone(), 1, Clock::System, &witness).unwrap();
        let (producer, handle) = (sequencer.producer(), sequencer.handle().clone());
        run(async {
            let first = producer.submit(vec![Submission::new(register(0))]).await.unwrap();
            assert!(first.outcome().await.unwrap().result.is_ok());
            let second = producer.submit(vec![Submission::new(register(1))]).await.unwrap();
            second.outcome().await.expect_err("the follower failed before anyone was told");
            let mut stopped = handle.stopped();
            let why = stopped.wait_for(Option::is_some).await.unwrap().clone().unwrap();
            let enough = format!("the witness had enough at record {}", BEGINNING + 2);
            let reason = if panics { "the witness panics" } else { &enough };
            assert!(why.contains(reason), "{why}");
        });
        let why = sequencer.stop().unwrap_err().to_string();
        assert!(why.contains("the witness"), "{why}");
        assert_eq!(rows(&journal).len() as u64, BEGINNING + 2, "nothing is appended that nobody will reduce");
    }
}

#[test]
fn a_follower_that_fails_during_the_replay_or_the_announcement_lets_nobody_start() {
    let journal = MemoryJournal::default();
    start(journal.clone(), 1, Clock::System, &Witness::default()).unwrap().stop().unwrap();
    // Before its orderly stop, and both records of the next start behind it.
    for at in [2, BEGINNING, BEGINNING + 2, BEGINNING + 3] {
        let witness = Witness { fails_at: Some(at), ..Witness::default() };
        let why = start(journal.clone(), 2, Clock::System, &witness).map(drop).unwrap_err().to_string();
        assert!(why.contains(&format!("the witness had enough at record {at}")), "{why}");
    }
}

#[test]
fn a_start_inside_a_runtime_waits_like_any_other() {
    run(async {
        let sequencer = start(MemoryJournal::default(), 1, Clock::System, &Witness::default()).unwrap();
        let pending = sequencer.producer().submit(vec![Submission::new(register(0))]).await.unwrap();
        assert!(pending.outcome().await.unwrap().result.is_ok());
        sequencer.stop().unwrap();
    });
}

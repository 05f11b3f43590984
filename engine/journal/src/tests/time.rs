//! The records' times, and what falls due in them.

use crate::{
    Clock, MemoryJournal, StillClock, Submission,
    clock::parting_clock,
    sequencer::Handle,
    testing::{Witness, agent_key, open_match, register, rows, run, start},
};
use arena_engine::matches::ANSWER_GRACE_MS;
use arena_schema::{
    Event, LogTime,
    command::{matches::StrikeCause, registry::RegisterAgent},
    event::system::KeyTag,
    id::{AgentKey, ConnectionMethod, Protocol, RecordNumber},
    record::{RecordView, SecondKey},
};
use std::time::{Duration, Instant};

const HOUR_US: u64 = 3_600 * 1_000_000;

/// Waits until the state shows it; never for a time, but for an end of the test.
fn wait_for(handle: &Handle, what: &str, shows: impl Fn(&arena_engine::State) -> bool) {
    let begin = Instant::now();
    while !shows(&handle.state()) {
        assert!(begin.elapsed() < Duration::from_secs(30), "{what} never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn times(journal: &MemoryJournal) -> Vec<u64> {
    rows(journal).iter().map(|(_, bytes, _)| RecordView::parse(bytes).unwrap().header.time.0).collect()
}

fn kinds(journal: &MemoryJournal) -> Vec<Vec<u16>> {
    let kinds_of = |bytes: &[u8]| {
        RecordView::parse(bytes).unwrap().commands().map(|command| command.unwrap().kind).collect()
    };
    rows(journal).iter().map(|(_, bytes, _)| kinds_of(bytes)).collect()
}

#[test]
fn times_strictly_increase_also_where_the_clock_stands_or_is_behind_the_journal() {
    let journal = MemoryJournal::default();
    let late = StillClock::at(LogTime(5_000_000));
    for (run_number, clock) in [(1, late.clone()), (2, StillClock::at(LogTime(1_000)))] {
        let sequencer = start(journal.clone(), run_number, Clock::Still(clock), &Witness::default()).unwrap();
        run(async {
            for at in 0..5 {
                let submission = Submission::new(register(at));
                sequencer.producer().submit(vec![submission]).await.unwrap().outcome().await.unwrap();
            }
        });
        sequencer.stop().unwrap();
    }
    let times = times(&journal);
    assert_eq!(times[0], 5_000_000);
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
}

#[test]
fn what_was_shown_falls_due_by_a_tick_when_the_clock_reaches_it() {
    let (journal, witness) = (MemoryJournal::default(), Witness::default());
    let still = StillClock::at(LogTime(HOUR_US));
    let sequencer = start(journal.clone(), 1, Clock::Still(still), &witness).unwrap();
    let key = SecondKey { route: 7, caller: AgentKey::NONE, key: KeyTag([1; 32]), body: KeyTag([2; 32]) };
    run(async {
        let submission = Submission { second_key: Some(key), ..Submission::new(register(0)) };
        sequencer.producer().submit(vec![submission]).await.unwrap().outcome().await.unwrap();
        let kept = |handle: &Handle| handle.state().second_key(7, AgentKey::NONE, KeyTag([1; 32])).is_some();
        sequencer.handle().advance(23 * HOUR_US).await.unwrap();
        assert!(kept(sequencer.handle()));
        assert!(!kinds(&journal).contains(&vec![0x0004]), "nothing was due, so no time was recorded");
        sequencer.handle().advance(HOUR_US + 1_000).await.unwrap();
        assert!(!kept(sequencer.handle()), "an advance returns when all that came due is reduced");
    });
    sequencer.stop().unwrap();
    let expired = |event: &Event| matches!(event, Event::SecondKeyExpired(_));
    assert_eq!(witness.events().iter().filter(|event| expired(event)).count(), 1);
    assert_eq!(kinds(&journal).iter().filter(|kinds| **kinds == [0x0004]).count(), 1, "one tick for it");
}

#[test]
fn an_advance_is_an_outage_of_ours_and_a_turn_moves_with_it() {
    let witness = Witness::default();
    let still = StillClock::at(LogTime(HOUR_US));
    let sequencer = start(MemoryJournal::default(), 1, Clock::Still(still), &witness).unwrap();
    open(&sequencer);
    let read = || (sequencer.handle().state().head().time, sequencer.handle().state().next_due().unwrap());
    let (before, due) = read();
    run(sequencer.handle().advance(HOUR_US)).unwrap();
    let (after, moved) = read();
    assert_eq!(moved.us_since(due), after.us_since(before), "by the time between the two records");
    assert!(after.us_since(before) > HOUR_US - 1_000);
    assert!(!witness.events().iter().any(|event| matches!(event, Event::StrikeRecorded(_))));
    sequencer.stop().unwrap();
}

#[test]
fn a_clock_that_stands_still_goes_on_from_where_another_run_moved_it() {
    let journal = MemoryJournal::default();
    for run_number in 1..=3_u64 {
        // Each run begins at the same time, hours before the last one ended.
        let still = StillClock::at(LogTime(HOUR_US));
        let sequencer =
            start(journal.clone(), run_number as u8, Clock::Still(still), &Witness::default()).unwrap();
        let before = sequencer.handle().state().head().time;
        run(sequencer.handle().advance(5 * HOUR_US)).unwrap();
        let after = sequencer.handle().state().head().time;
        assert!(
            after.us_since(before) > 5 * HOUR_US - 1_000,
            "run {run_number} moved by {}",
            after.us_since(before)
        );
        sequencer.stop().unwrap();
    }
}

#[test]
fn a_turn_that_nobody_answers_is_ended_by_a_tick_once_its_grace_is_over() {
    let (journal, witness) = (MemoryJournal::default(), Witness::default());
    let still = StillClock::at(LogTime(HOUR_US));
    let sequencer = start(journal.clone(), 1, Clock::Still(still.clone()), &witness).unwrap();
    open(&sequencer);
    // The clock goes on by itself here: no outage.
    still.advance((500 + u64::from(ANSWER_GRACE_MS)) * 1_000 - 1);
    let before = sequencer.handle().position();
    run(async {
        // Whatever comes now is before the deadline.
        sequencer
            .producer()
            .submit(vec![Submission::new(register(5))])
            .await
            .unwrap()
            .outcome()
            .await
            .unwrap();
    });
    assert_eq!(sequencer.handle().position(), before.next());
    assert!(!witness.events().iter().any(|event| matches!(event, Event::StrikeRecorded(_))));
    for strikes in 1..=3 {
        still.advance(16_000_000);
        wait_for(sequencer.handle(), "the strike", |_| {
            let count = |event: &&Event| matches!(event, Event::StrikeRecorded(_));
            witness.events().iter().filter(count).count() == strikes
        });
    }
    wait_for(sequencer.handle(), "the forfeit", |state| state.matches().open().is_empty());
    sequencer.stop().unwrap();
    let causes: Vec<_> = witness
        .events()
        .iter()
        .filter_map(|event| match event {
            Event::StrikeRecorded(event) => Some((event.cause, event.strikes)),
            _ => None,
        })
        .collect();
    assert_eq!(causes, [1, 2, 3].map(|strikes| (StrikeCause::Timeout, strikes)));
    assert_eq!(
        kinds(&journal).iter().filter(|kinds| **kinds == [0x0004]).count(),
        3,
        "a tick for each, no more"
    );
}

/// An agent that comes for its turns by itself: only such a turn is the journal's to end.
fn polling(at: u64) -> RegisterAgent {
    RegisterAgent { protocol: Protocol::AgentArena, method: ConnectionMethod::Polling, ..register(at) }
}

fn open(sequencer: &crate::Sequencer) {
    let batch = vec![
        Submission::new(polling(0)),
        Submission::new(polling(1)),
        Submission::new(open_match(1, [agent_key(0), agent_key(1)])),
    ];
    run(async { sequencer.producer().submit(batch).await.unwrap().outcomes().await.unwrap() });
    assert_eq!(sequencer.handle().state().matches().open().len(), 1);
}

#[test]
fn where_the_clocks_part_the_sequencer_announces_itself_anew() {
    for offset_s in [-3_600i64, 3_600] {
        let (journal, witness) = (MemoryJournal::default(), Witness::default());
        let (clock, shift) = parting_clock();
        let sequencer = start(journal.clone(), 1, clock, &witness).unwrap();
        open(&sequencer);
        let announced = || {
            let is = |event: &&Event| matches!(event, Event::SequencerAnnounced(_));
            witness.events().iter().filter(is).count()
        };
        shift.store(900_000, std::sync::atomic::Ordering::SeqCst);
        run(async {
            sequencer
                .producer()
                .submit(vec![Submission::new(register(5))])
                .await
                .unwrap()
                .outcome()
                .await
                .unwrap();
        });
        assert_eq!(announced(), 1, "less than a second is no parting");
        shift.store(offset_s * 1_000_000, std::sync::atomic::Ordering::SeqCst);
        wait_for(sequencer.handle(), "the announcement", |_| announced() == 2);
        run(async {
            sequencer
                .producer()
                .submit(vec![Submission::new(register(6))])
                .await
                .unwrap()
                .outcome()
                .await
                .unwrap();
        });
        let strikes =
            witness.events().iter().filter(|event| matches!(event, Event::StrikeRecorded(_))).count();
        assert_eq!(strikes, 0, "a jump of the clock costs nobody a turn");
        sequencer.stop().unwrap();
        assert_eq!(announced(), 2, "once for one parting");
        let times = times(&journal);
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
        assert_eq!(witness.seen().last().unwrap().header.number, RecordNumber(times.len() as u64));
    }
}

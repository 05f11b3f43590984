//! Who submits gets the outcome, in order, exactly once.

use crate::{
    Clock, MemoryJournal, Outcome, Producer, Submission,
    testing::{
        Folder, Witness, agent_id, agent_key, open_match, register, rows, run, sealed_text, start,
        submit_move, turn_of,
    },
    texts::decode_texts,
};
use arena_schema::{Event, Rejection, id::RecordNumber, record::RecordView};
use std::collections::BTreeSet;

async fn submit(producer: &Producer, submission: Submission) -> Outcome {
    producer.submit(vec![submission]).await.unwrap().outcome().await.unwrap()
}

#[test]
fn an_accepted_command_comes_back_with_its_events_and_a_refused_one_with_its_code() {
    let witness = Witness::default();
    let sequencer = start(MemoryJournal::default(), 1, Clock::System, &witness).unwrap();
    let producer = sequencer.producer();
    run(async {
        let first = submit(&producer, Submission::new(register(0))).await;
        let Ok(events) = &first.result else { panic!("{first:?}") };
        assert!(matches!(&events[..], [Event::AgentRegistered(event)] if event.handle.as_str() == "agent-0"));
        let again = submit(&producer, Submission::new(register(0))).await;
        assert_eq!(again.result, Err(Rejection::NameTaken));
        assert!(again.place.record > first.place.record);
        submit(&producer, Submission::new(register(1))).await;
        let opened = submit(&producer, Submission::new(open_match(1, [agent_key(0), agent_key(1)]))).await;
        let turn = turn_of(opened.result.as_ref().unwrap()).unwrap();
        let moved = submit(&producer, Submission::new(submit_move(turn, 3))).await.result.unwrap();
        assert!(matches!(&moved[..], [Event::MovePlayed(_), Event::TurnOpened(_)]), "{moved:?}");
        let late = submit(&producer, Submission::new(submit_move(turn, 3))).await;
        assert_eq!(late.result, Err(Rejection::StalePly));
    });
    sequencer.stop().unwrap();
}

#[test]
fn commands_submitted_together_stand_together_and_in_their_order() {
    let journal = MemoryJournal::default();
    let sequencer = start(journal.clone(), 1, Clock::System, &Witness::default()).unwrap();
    let batch = (0..50).map(|at| Submission::new(register(at / 2))).collect();
    let outcomes = run(async { sequencer.producer().submit(batch).await.unwrap().outcomes().await.unwrap() });
    assert_eq!(outcomes.len(), 50);
    let record = outcomes[0].place.record;
    for (outcome, at) in outcomes.iter().zip(0..) {
        assert_eq!((outcome.place.record, outcome.place.command), (record, at + 1));
        if at % 2 == 0 {
            let events = outcome.result.as_ref().unwrap();
            assert!(
                matches!(&events[..], [Event::AgentRegistered(event)] if event.id == agent_id(u64::from(at) / 2))
            );
        } else {
            assert_eq!(outcome.result, Err(Rejection::NameTaken));
        }
    }
    sequencer.stop().unwrap();
    let stored = &rows(&journal)[record.0 as usize - 1].1;
    assert_eq!(RecordView::parse(stored).unwrap().commands().count(), 50);
}

#[test]
fn texts_ride_beside_the_record_of_their_command() {
    let folder = Folder::new();
    let sequencer = start(folder.journal(), 1, Clock::System, &Witness::default()).unwrap();
    let mut dice = crate::testing::Dice(1);
    let (reference, text) = sealed_text(agent_id(0), 30, &mut dice);
    let named = arena_schema::command::registry::RegisterAgent { name: Some(reference), ..register(0) };
    let outcome = run(submit(&sequencer.producer(), Submission::new(named).with_text(text.clone())));
    sequencer.stop().unwrap();
    let stored = rows(&folder.journal());
    let record = outcome.place.record;
    assert_eq!(decode_texts(record, &stored[record.0 as usize - 1].2).unwrap(), [text]);
    assert!(stored.iter().all(|(number, _, texts)| *number == record.0 || texts.is_empty()));
}

#[test]
fn a_thousand_submitters_at_once_each_get_their_own_outcome_once() {
    let folder = Folder::new();
    let witness = Witness::default();
    let sequencer = start(folder.journal(), 1, Clock::System, &witness).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
    let places = runtime.block_on(async {
        let submitters: Vec<_> = (0..1_000u64)
            .map(|at| {
                let producer = sequencer.producer();
                tokio::spawn(async move {
                    let outcome = submit(&producer, Submission::new(register(at))).await;
                    let events = outcome.result.unwrap();
                    assert!(
                        matches!(&events[..], [Event::AgentRegistered(event)] if event.id == agent_id(at))
                    );
                    let again = submit(&producer, Submission::new(register(at))).await;
                    assert_eq!(again.result, Err(Rejection::NameTaken), "the first was done, once");
                    [(outcome.place.record, outcome.place.command), (again.place.record, again.place.command)]
                })
            })
            .collect();
        let mut places = BTreeSet::new();
        for submitter in submitters {
            places.extend(submitter.await.unwrap());
        }
        places
    });
    assert_eq!(places.len(), 2_000, "no two commands have one place");
    assert_eq!(sequencer.handle().state().registry().agents().len(), 1_000);
    sequencer.stop().unwrap();
    let registered = |event: &Event| matches!(event, Event::AgentRegistered(_));
    assert_eq!(witness.events().iter().filter(|event| registered(event)).count(), 1_000);
    let records = rows(&folder.journal()).len();
    assert!(records < 1_500, "what queues up goes into one record, there are {records}");
}

#[test]
fn followers_get_every_record_once_and_in_order_with_what_is_stored() {
    let (folder, witness) = (Folder::new(), Witness::default());
    let sequencer = start(folder.journal(), 1, Clock::System, &witness).unwrap();
    run(async {
        for at in 0..20 {
            submit(&sequencer.producer(), Submission::new(register(at))).await;
            let position = sequencer.handle().position();
            let seen = witness.seen();
            assert!(seen.last().unwrap().header.number >= position, "a follower is never behind an outcome");
        }
    });
    sequencer.stop().unwrap();
    let stored = rows(&folder.journal());
    let seen = witness.seen();
    assert_eq!(seen.len(), stored.len());
    for ((followed, (number, bytes, _)), at) in seen.iter().zip(&stored).zip(1..) {
        assert_eq!((followed.header.number, *number), (RecordNumber(at), at));
        assert_eq!(&followed.bytes, bytes);
        assert!(followed.live);
    }
}

//! A start replays, announces this run, and takes over what the former one left open.

use crate::{
    Clock, Finding, Mark, StartError, Submission, audit,
    testing::{
        Folder, PARTITION, Witness, agent_key, open_match, register, rows, run, start, submit_move, turn_of,
    },
};
use arena_schema::{
    Event, Hash, Rejection,
    id::{Incarnation, ProducerId, RecordNumber},
};

/// Two agents and a match between them, whose first turn is open.
fn begun(folder: &Folder) -> crate::Sequencer {
    let sequencer = start(folder.journal(), 1, Clock::System, &Witness::default()).unwrap();
    let batch = vec![
        Submission::new(register(0)),
        Submission::new(register(1)),
        Submission::new(open_match(1, [agent_key(0), agent_key(1)])),
    ];
    run(async { sequencer.producer().submit(batch).await.unwrap().outcomes().await.unwrap() });
    sequencer
}

#[test]
fn a_restart_is_a_new_producer_says_that_the_former_is_gone_and_opens_its_turns_anew() {
    let folder = Folder::new();
    let former = begun(&folder);
    let former_id = former.producer().id();
    let former_epoch = former.handle().state().head().epoch;
    former.stop().unwrap();

    let witness = Witness::default();
    let sequencer = start(folder.journal(), 2, Clock::System, &witness).unwrap();
    let id = sequencer.producer().id();
    assert_eq!((former_id, id), (ProducerId(1), ProducerId(2)));
    let seen = witness.seen();
    let live: Vec<_> = seen.iter().filter(|record| record.live).collect();
    assert_eq!(live.len(), 2, "one record announces the leader, one the gateway and who is gone");
    assert!(matches!(&live[0].events[..], [only]
        if matches!(&only.event, Event::SequencerAnnounced(event) if event.incarnation == Incarnation([2; 16]))));
    let events: Vec<_> = live[1].events.iter().map(|it| &it.event).collect();
    match &events[..] {
        [Event::GatewayAnnounced(announced), Event::GatewayRemoved(removed), Event::TurnOpened(turn)] => {
            assert_eq!((announced.producer, removed.producer), (id, former_id));
            assert_eq!(
                (turn.ply, turn.attempt, turn.home),
                (1, 2, id),
                "the same turn, asked anew from here"
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(live[0].header.epoch > former_epoch);

    let turn = turn_of(events).unwrap();
    run(async {
        let producer = sequencer.producer();
        let past = arena_schema::command::matches::TurnRef { attempt: 1, ..turn };
        for (turn, expected) in [(past, Err(Rejection::StaleAttempt)), (turn, Ok(()))] {
            let submission = Submission::new(submit_move(turn, 3));
            let outcome = producer.submit(vec![submission]).await.unwrap().outcome().await.unwrap();
            assert_eq!(outcome.result.map(|_| ()), expected);
        }
    });
    sequencer.stop().unwrap();
}

#[test]
fn a_restart_comes_to_the_same_state_and_hands_the_followers_all_records_first() {
    let folder = Folder::new();
    let former = begun(&folder);
    let handle = former.handle().clone();
    former.stop().unwrap();
    let (head, lineage) = (*handle.state().head(), handle.lineage());
    let before = rows(&folder.journal());

    let witness = Witness::default();
    let sequencer = start(folder.journal(), 2, Clock::System, &witness).unwrap();
    let seen = witness.seen();
    let replayed: Vec<_> = seen.iter().filter(|record| !record.live).collect();
    assert_eq!(replayed.len(), before.len());
    let last = replayed.last().unwrap();
    assert_eq!((last.header.number, last.hash, last.digest), (head.number, head.hash, head.digest));
    assert_eq!(sequencer.handle().lineage(), lineage, "the lineage is the journal's");
    sequencer.stop().unwrap();
    assert_eq!(rows(&folder.journal())[..before.len()], before, "what was written stays as it was");
    audit(crate::Journal::reader(&folder.journal()).unwrap().as_mut(), PARTITION, &[]).unwrap();
}

#[test]
fn after_a_crash_the_next_start_covers_all_before_it() {
    let folder = Folder::new();
    let sequencer = begun(&folder);
    // What the disk holds when the process is killed now.
    let crashed = Folder::new();
    for name in ["records-0-1.db", "records-0-1.db-wal"] {
        std::fs::copy(folder.path().join(name), crashed.path().join(name)).unwrap();
    }
    let state = sequencer.handle().state().head().digest;
    let last = sequencer.handle().position();
    drop(sequencer.stop());

    let witness = Witness::default();
    let next = start(crashed.journal(), 2, Clock::System, &witness).unwrap();
    next.stop().unwrap();
    let seen = witness.seen();
    let announcing = seen.iter().find(|record| record.live).unwrap();
    assert_eq!(announcing.header.number, last.next());
    assert_eq!((announcing.header.digest, announcing.header.digest_reaches), (state, last));
}

#[test]
fn a_run_under_the_incarnation_of_one_that_is_live_is_refused() {
    let folder = Folder::new();
    begun(&folder).stop().unwrap();
    let refused = start(folder.journal(), 1, Clock::System, &Witness::default()).map(drop).unwrap_err();
    assert!(matches!(refused, StartError::Incarnation(Incarnation(bytes)) if bytes == [1; 16]), "{refused}");
    start(folder.journal(), 2, Clock::System, &Witness::default()).unwrap().stop().unwrap();
}

#[test]
fn a_journal_cut_short_behind_a_mark_is_refused_by_the_name_of_who_remembers() {
    let folder = Folder::new();
    begun(&folder).stop().unwrap();
    let stored = rows(&folder.journal());
    let last = stored.len() as u64;
    let hash = arena_schema::record::RecordView::parse(&stored[last as usize - 1].1).unwrap().hash;
    let mark = Mark { who: "the view replays".to_owned(), number: RecordNumber(last), hash };
    let remembering = Witness { mark: Some(mark.clone()), ..Witness::default() };
    start(folder.journal(), 2, Clock::System, &remembering).unwrap().stop().unwrap();

    let other = Witness { mark: Some(Mark { hash: Hash([1; 32]), ..mark.clone() }), ..Witness::default() };
    let refused = start(folder.journal(), 3, Clock::System, &other).map(drop).unwrap_err();
    assert!(matches!(refused, StartError::Forgotten { .. }), "{refused}");
    assert!(refused.to_string().contains(&format!("the view replays remembers record {last} ")), "{refused}");

    folder.sql().execute("DELETE FROM records WHERE number >= ?1", [last.cast_signed()]).unwrap();
    let refused = start(folder.journal(), 3, Clock::System, &remembering).map(drop).unwrap_err();
    assert!(matches!(refused, StartError::Forgotten { .. }), "{refused}");
    for word in ["the view replays", &format!("record {last}"), "cut short"] {
        assert!(refused.to_string().contains(word), "{refused}");
    }
    let found = audit(crate::Journal::reader(&folder.journal()).unwrap().as_mut(), PARTITION, &[mark]);
    assert!(matches!(&found, Err(Finding::Forgotten(why)) if why.contains("the view replays")), "{found:?}");
    assert_eq!(rows(&folder.journal()).len() as u64, last - 1, "a refused start writes nothing");
}

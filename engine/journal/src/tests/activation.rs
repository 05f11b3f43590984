//! Newer rules come by themselves, one by one, each alone in its record, as soon as every gateway that is live knows them.

use crate::{
    Clock, Journal, MemoryJournal, audit,
    jetstream::{JetStreamJournal, Nats, NatsOptions},
    nats_servers::{NatsServers, NatsSetup, left_out},
    replicated::{Node, NodeOptions, Peers},
    sequencer::Followed,
    testing::{BEGINNING, PARTITION, Witness, played, rows, rows_of, start},
};
use arena_engine::RULES_NEWEST;
use arena_schema::{
    Event,
    id::{Era, RecordNumber},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The versions that came, with the records that they came in.
fn activated(seen: &[Arc<Followed>]) -> Vec<(u64, u32)> {
    let mut activated = Vec::new();
    for record in seen {
        for emitted in record.events.iter() {
            if let Event::RulesActivated(event) = &emitted.event {
                assert_eq!(record.events.len(), 1, "alone in its record");
                activated.push((record.header.number.0, event.version.0));
            }
        }
    }
    activated
}

/// One behind the other from this record on, after the rules of this version.
fn in_order(first: u64, after: u32) -> Vec<(u64, u32)> {
    (first..).zip(after + 1..=RULES_NEWEST.0).collect()
}

#[test]
fn a_new_journal_has_the_newest_rules_before_its_door_opens_and_the_next_start_brings_none() {
    let journal = MemoryJournal::default();
    for (run, expected) in [(1, in_order(3, 1)), (2, Vec::new())] {
        let witness = Witness::default();
        let sequencer = start(journal.clone(), run, Clock::System, &witness).unwrap();
        assert_eq!(sequencer.handle().state().rules(), RULES_NEWEST);
        if run == 1 {
            assert_eq!(sequencer.handle().position(), RecordNumber(BEGINNING));
        }
        sequencer.stop().unwrap();
        let live: Vec<_> = witness.seen().into_iter().filter(|record| record.live).collect();
        assert_eq!(activated(&live), expected);
    }
    audit(journal.reader().unwrap().as_mut(), PARTITION, &[]).unwrap();
}

#[test]
fn a_journal_of_older_rules_goes_over_at_its_next_start_and_what_it_has_stays() {
    let records = played(60, 2);
    let mut journal = MemoryJournal::default();
    for (record, texts) in &records {
        journal.append(record, texts).unwrap();
    }
    let witness = Witness::default();
    start(journal.clone(), 2, Clock::System, &witness).unwrap().stop().unwrap();
    assert_eq!(rows(&journal)[..60], rows_of(&records));
    // Behind the leader's record and the gateway's, in which the one that did not know them is gone.
    let seen = witness.seen();
    assert_eq!(activated(&seen), in_order(63, 1));
    let rules: Vec<u32> = seen[60..].iter().map(|record| record.header.rules.0).collect();
    assert_eq!(rules[..3], [1, 1, 1]);
    assert_eq!(rules.last(), Some(&RULES_NEWEST.0));
    audit(journal.reader().unwrap().as_mut(), PARTITION, &[]).unwrap();
}

#[test]
fn where_several_share_a_journal_newer_rules_wait_for_a_gateway_that_lacks_them_to_go() {
    if left_out() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let servers = NatsServers::one(&NatsSetup::default());
    let connect = || runtime.block_on(Nats::connect(&NatsOptions::new(servers.url()))).unwrap();
    // A gateway of an older build is live in these records, and is heard of no more.
    let nats = connect();
    let open = JetStreamJournal::open(&nats, PARTITION, Era(1), RecordNumber(1));
    let mut journal = runtime.block_on(open).unwrap();
    for (record, texts) in played(5, 2) {
        journal.append(&record, &texts).unwrap();
    }
    let (data, witness) = (TempDir::new().unwrap(), Witness::default());
    let node = Node::start(NodeOptions {
        nats: connect(),
        partition: PARTITION,
        clock: Clock::System,
        data: data.path().to_owned(),
        snapshots: None,
        followers: vec![Box::new(witness.clone())],
        behind: Vec::new(),
        may_lead: true,
        gateway: None,
        peers: Peers::of(1),
        era_bytes_max: crate::ERA_BYTES,
    })
    .unwrap();
    let begun = Instant::now();
    while node.handle().state().rules() < RULES_NEWEST {
        assert!(begun.elapsed() < Duration::from_secs(30), "the newest rules do not come");
        std::thread::sleep(Duration::from_millis(5));
    }
    node.stop().unwrap();
    let seen = witness.seen();
    let goes = |record: &&Arc<Followed>| {
        record.events.iter().any(|emitted| matches!(emitted.event, Event::GatewayRemoved(_)))
    };
    let gone = seen.iter().find(goes).expect("it is gone").header.number.0;
    assert_eq!(activated(&seen), in_order(gone + 1, 1));
}

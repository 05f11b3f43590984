//! The sequencer over a journal on JetStream: the same as over any other, and an outage of the server is a delay.

use super::Bench;
use crate::{
    Clock, Journal, Submission, audit,
    nats_servers::left_out,
    testing::{PARTITION, Witness, agent_key, open_match, register, run, start},
};

#[test]
fn what_was_submitted_before_an_outage_of_the_server_is_answered_after_it() {
    if left_out() {
        return;
    }
    let mut bench = Bench::one();
    let sequencer = start(bench.journal(0), 1, Clock::System, &Witness::default()).unwrap();
    let producer = sequencer.producer();
    let submit = |what| run(producer.submit(vec![what])).unwrap();
    for at in [0, 1] {
        run(submit(Submission::new(register(at))).outcome()).unwrap().result.unwrap();
    }
    bench.servers.nodes[0].kill();
    let pending = submit(Submission::new(open_match(1, [agent_key(0), agent_key(1)])));
    bench.servers.nodes[0].start();
    run(pending.outcome()).unwrap().result.unwrap();
    let head = *sequencer.handle().state().head();
    sequencer.stop().unwrap();

    let witness = Witness::default();
    let again = start(bench.journal(0), 2, Clock::System, &witness).unwrap();
    let replayed = witness.seen().into_iter().find(|record| record.header.number == head.number).unwrap();
    assert_eq!((replayed.hash, replayed.digest), (head.hash, head.digest));
    again.stop().unwrap();
    let mut journal = bench.journal(0);
    let report = audit(journal.reader().unwrap().as_mut(), PARTITION, &[]).unwrap();
    assert_eq!(report.records, journal.last().unwrap().0);
}

//! A record that is not this journal's next one is not reduced, and leaves no trace.

use crate::testing::check;
use expect_test::expect;

#[test]
fn the_header_must_be_the_next_one_s() {
    check(
        "
        10:00:00.000 sequencer
        10:00:00.001 gateway a
        10:00:00.002 {number=2} tick
        10:00:00.002 {number=4} tick
        10:00:00.002 {chain=bad} tick
        10:00:00.002 {lineage=other} tick
        10:00:00.002 {partition=1} tick
        10:00:00.002 {era=2} tick
        10:00:00.002 {epoch=0} tick
        10:00:00.001 tick
        10:00:00.000999 tick
        10:00:00.002 {rules=0} tick
        10:00:00.002 {rules=2} tick
        10:00:00.002 {digest=bad} tick
        10:00:00.002 a register left
        ",
        expect![[r#"
            1.1 sequencer of epoch 1, outage 0 us
            2.1 gateway a is producer 1, knows rules 1
            halt: record 3 was expected, record 2 came
            halt: record 3 was expected, record 4 came
            halt: record 3 breaks the chain: the record before it has the hash … it names …
            halt: the header of record 3 does not fit: it is of another lineage
            halt: the header of record 3 does not fit: it is of another partition
            halt: the header of record 3 does not fit: it is of another era
            halt: the header of record 3 does not fit: its epoch goes back
            halt: the header of record 3 does not fit: its time does not go on
            halt: the header of record 3 does not fit: its time does not go on
            halt: record 3 names rules 0, in force are rules 1
            halt: record 3 names rules 2, in force are rules 1
            halt: record 3 names another digest of the events up to record 1 than they have here
            3.1 a#1 agent left speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
        "#]],
    );
}

#[test]
fn the_first_record_is_number_one_of_era_one_after_nothing() {
    check(
        "
        10:00:00.000 {number=0} tick
        10:00:00.000 {number=2} tick
        10:00:00.000 {chain=bad} tick
        10:00:00.000 {era=2} tick
        10:00:00.000 {digest=bad} tick
        10:00:00.000 {reaches=1} tick
        10:00:00.000 {lineage=any} tick
        ",
        expect![[r#"
            halt: record 1 was expected, record 0 came
            halt: record 1 was expected, record 2 came
            halt: record 1 breaks the chain: the record before it has the hash … it names …
            halt: the header of record 1 does not fit: it is of another era
            halt: record 1 names another digest of the events up to record 0 than they have here
            halt: record 1 names another digest of the events up to record 1 than they have here
            1 nothing
        "#]],
    );
}

#[test]
fn a_digest_of_another_record_or_of_one_too_far_back_does_not_fit() {
    // Record 10 may name the digests after records 2 to 9; the harness names the one after 8.
    check(
        "
        ~10:00:00.000 gateway a
        ~10:00:00.001 a register a-1
        ~10:00:00.002 a register a-2
        ~10:00:00.003 a register a-3
        ~10:00:00.004 a register a-4
        ~10:00:00.005 a register a-5
        ~10:00:00.006 a register a-6
        ~10:00:00.007 a register a-7
        ~10:00:00.008 a register a-8
        10:00:00.009 {reaches=7} tick
        10:00:00.009 {reaches=10} tick
        10:00:00.009 {lag=8} tick
        10:00:00.009 {lag=7} tick
        10:00:00.010 {lag=0} tick
        ",
        expect![[r#"
            halt: record 10 names another digest of the events up to record 7 than they have here
            halt: record 10 names another digest of the events up to record 10 than they have here
            halt: record 10 names another digest of the events up to record 1 than they have here
            10 nothing
            11 nothing
        "#]],
    );
}

#[test]
fn under_rules_that_this_build_does_not_know_it_halts() {
    check(
        "
        10:00:00.000 gateway a rules=4
        10:00:00.001 rules 2
        10:00:00.002 rules 3
        10:00:00.003 rules 4
        10:00:00.004 {rules=3} tick
        10:00:00.004 {rules=5} tick
        10:00:00.004 tick
        10:00:00.004 empty
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 4
            2.1 rules 2 are next
            3.1 rules 3 are next
            4.1 rules 4 are next
            halt: record 5 names rules 3, in force are rules 4
            halt: record 5 names rules 5, in force are rules 4
            halt: record 5 is under rules 4, this build knows rules up to 3: use a newer one
            halt: record 5 is under rules 4, this build knows rules up to 3: use a newer one
        "#]],
    );
}

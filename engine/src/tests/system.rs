//! Leaders, gateways, rules, eras and lineages: only the sequencer asks for any of it.

use crate::testing::check;
use expect_test::expect;

#[test]
fn a_gateway_asks_for_none_of_it() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a sequencer
        10:00:00.002 a gateway b
        10:00:00.003 a gone a
        10:00:00.004 a tick
        10:00:00.005 a rules 2
        10:00:00.006 a close
        10:00:00.007 a lineage new
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 rejected: not_sequencer
            3.1 a#2 rejected: not_sequencer
            4.1 a#3 rejected: not_sequencer
            5.1 a#4 rejected: not_sequencer
            6.1 a#5 rejected: not_sequencer
            7.1 a#6 rejected: not_sequencer
            8.1 a#7 rejected: not_sequencer
        "#]],
    );
}

#[test]
fn what_stands_alone_is_refused_beside_another_first_or_last() {
    check(
        "
        10:00:00.000 tick
                   & sequencer
        10:00:00.001 sequencer
                   & tick
        10:00:00.002 rules 2
                   & close
        10:00:00.003 lineage new
                   & tick
        10:00:00.004 tick
        ",
        expect![[r#"
            1.2 rejected: not_alone
            2.1 rejected: not_alone
            3.1 rejected: not_alone
            3.2 rejected: not_alone
            4.1 rejected: not_alone
            5 nothing
        "#]],
    );
}

#[test]
fn an_announcement_that_does_not_stand_alone_lets_the_agenda_be_emptied() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        10:00:30.000 sequencer outage_us=29000000
                   & tick
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.0 m1 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            4.0 m1 X asked: ply 1 attempt 2 by a until 10:00:55.000
            4.1 rejected: not_alone
        "#]],
    );
}

#[test]
fn every_leader_has_an_epoch_of_its_own() {
    check(
        "
        10:00:00.000 sequencer
        10:00:00.001 sequencer outage_us=1000
        10:00:00.002 tick
        10:00:00.003 {epoch=2} tick
        10:00:00.004 {epoch=7} tick
        ",
        expect![[r#"
            1.1 sequencer of epoch 1, outage 0 us
            2.1 sequencer of epoch 2, outage 1000 us
            3 nothing
            4 nothing
            5 nothing
        "#]],
    );
}

#[test]
fn the_next_rules_come_once_every_live_process_knows_them() {
    check(
        "
        10:00:00.000 gateway a rules=1
                   & gateway b rules=2
        10:00:00.001 rules 2
        10:00:00.002 gone a
        10:00:00.003 rules 1
        10:00:00.004 rules 3
        10:00:00.005 rules 0
        10:00:00.006 rules 2
        10:00:00.007 {rules=1} tick
        10:00:00.008 tick
        10:00:00.009 rules 3
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            1.2 gateway b is producer 2, knows rules 2
            2.1 rejected: rules_unknown
            3.1 gateway a is gone
            4.1 rejected: rules_unknown
            5.1 rejected: rules_unknown
            6.1 rejected: rules_unknown
            7.1 rules 2 are next
            halt: record 8 names rules 1, in force are rules 2
            8 nothing
            9.1 rejected: rules_unknown
        "#]],
    );
}

#[test]
fn an_era_that_is_closed_is_followed_by_the_next() {
    check(
        "
        10:00:00.000 tick
        10:00:00.001 close
        10:00:00.002 {era=1} tick
        10:00:00.003 tick
        10:00:00.004 close
        10:00:00.005 {era=3} tick
        ",
        expect![[r#"
            1 nothing
            2.1 era 1 closed
            halt: the header of record 3 does not fit: it is of another era
            3 nothing
            4.1 era 2 closed
            5 nothing
        "#]],
    );
}

#[test]
fn a_lineage_begins_at_the_journal_s_last_record_and_nowhere_else() {
    check(
        "
        10:00:00.000 tick
        10:00:00.001 lineage new after=0
        10:00:00.002 lineage new hash=bad
        10:00:00.003 lineage new after=9
        10:00:00.004 lineage new
        10:00:00.005 {lineage=old} tick
        10:00:00.006 tick
        10:00:00.007 {lineage=new} tick
        ",
        expect![[r#"
            1 nothing
            2.1 rejected: lineage_mismatch
            3.1 rejected: lineage_mismatch
            4.1 rejected: lineage_mismatch
            5.1 lineage new begun after 4
            halt: the header of record 6 does not fit: it is of another lineage
            6 nothing
            7 nothing
        "#]],
    );
}

#[test]
fn another_lineage_ends_every_producer_and_leaves_what_is_open_without_a_home() {
    check(
        "
        10:00:00.000 gateway a
                   & gateway b
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        10:00:01.001 a open m2 right left
        11:00:00.000 sequencer outage_us=3598999000
        11:00:00.001 lineage new
        11:00:00.002 a move m1 X d
        11:00:00.003 b move m1 X d
        11:00:00.004 gateway c
        11:00:00.005 c#1 move m1 X d
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            1.2 gateway b is producer 2, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by b until 10:00:26.000
            4.1 a#4 m2 opened: X right, O left, connect4, rated, 10000 ms
            4.1 a#4 m2 X asked: ply 1 attempt 1 by a until 10:00:26.001
            5.1 sequencer of epoch 2, outage 3598999000 us
            6.1 lineage new begun after 5
            6.1 m1 X asked: ply 1 attempt 2 by nobody until 11:00:25.001
            6.1 m2 X asked: ply 1 attempt 2 by nobody until 11:00:25.001
            7.1 rejected: expired
            8.1 rejected: expired
            9.1 gateway c is producer 3, knows rules 1
            9.1 m1 X asked: ply 1 attempt 3 by c until 11:00:25.004
            9.1 m2 X asked: ply 1 attempt 3 by c until 11:00:25.004
            10.1 c#1 m1 X played d at ply 1, reason none, 0 ms
            10.1 c#1 m1 O asked: ply 2 attempt 4 by c until 11:00:25.005
        "#]],
    );
}

#[test]
fn kinds_that_these_rules_do_not_know_and_bodies_that_are_none_are_refused() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a raw 0x0000
        10:00:00.002 a raw 0x0201 00
        10:00:00.003 a raw 0x0304
        10:00:00.004 a raw 0x0304 000101ff
        10:00:00.005 a raw 0x0304 00010100
        10:00:00.006 a raw 0x0004 00
        10:00:00.007 raw 0x0999
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 rejected: unknown_kind
            3.1 a#2 rejected: unknown_kind
            4.1 a#3 rejected: malformed
            5.1 a#4 rejected: malformed
            6.1 a#5 rejected: malformed
            7.1 a#6 rejected: malformed
            8.1 rejected: unknown_kind
        "#]],
    );
}

#[test]
fn a_lineage_begun_long_after_the_last_record_strikes_nobody_for_our_absence() {
    // The restore's own announcement moves what fell due meanwhile before anything is ended.
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        1d10:00:00.000 lineage restored
        1d10:00:00.001 sequencer outage_us=86399001000
        1d10:00:00.002 gateway b
        1d10:00:20.000 tick
        1d10:00:25.002 tick
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.1 lineage restored begun after 3
            4.1 m1 X asked: ply 1 attempt 2 by nobody until 1d10:00:25.000
            5.1 sequencer of epoch 2, outage 1000 us
            6.1 gateway b is producer 2, knows rules 1
            6.1 m1 X asked: ply 1 attempt 3 by b until 1d10:00:25.002
            7 nothing
            8.0 m1 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            8.0 m1 X asked: ply 1 attempt 4 by b until 1d10:00:50.002
        "#]],
    );
}

#[test]
fn an_outage_is_never_longer_than_the_records_times_show() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        10:00:02.000 sequencer outage_us=99000000000
        10:00:26.999999 tick
        10:00:27.000 tick
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.1 sequencer of epoch 2, outage 1000000 us
            5 nothing
            6.0 m1 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            6.0 m1 X asked: ply 1 attempt 2 by a until 10:00:52.000
        "#]],
    );
}

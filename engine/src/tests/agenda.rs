//! What falls due in the journal's time: before a record's first command, at its own time, once.

use crate::testing::check;
use expect_test::expect;

#[test]
fn a_turn_ends_at_its_deadline_and_15_seconds_and_not_a_microsecond_before() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right deadline=10000
        10:00:25.999999 tick
        10:00:26.000 tick
        10:00:51.000 tick
        10:01:16.000 tick
        10:10:00.000 tick
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4 nothing
            5.0 m1 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            5.0 m1 X asked: ply 1 attempt 2 by a until 10:00:51.000
            6.0 m1 X strike 2: timeout at ply 1, excerpt none, 10000 ms
            6.0 m1 X asked: ply 1 attempt 3 by a until 10:01:16.000
            7.0 m1 X strike 3: timeout at ply 1, excerpt none, 10000 ms
            7.0 m1 ended: O by forfeit
            8 nothing
        "#]],
    );
}

#[test]
fn the_record_s_time_is_cut_to_milliseconds_before_the_deadline_is_added() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000999 a open m1 left right deadline=500
        10:00:16.500999 tick
        10:00:16.501 tick
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 500 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:16.500
            4.0 m1 X strike 1: timeout at ply 1, excerpt none, 500 ms
            4.0 m1 X asked: ply 1 attempt 2 by a until 10:00:32.000
            5 nothing
        "#]],
    );
}

#[test]
fn no_late_command_overtakes_a_deadline() {
    // The answer is in the very record before which the turn ends: it was for an attempt that is past.
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        10:00:26.000 a move m1 X d
        10:00:26.001 a open m2 left right
        10:00:51.000 a move m1 X d attempt=2
                   & a move m1 X d attempt=3
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.0 m1 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            4.0 m1 X asked: ply 1 attempt 2 by a until 10:00:51.000
            4.1 a#4 rejected: stale_attempt
            5.1 a#5 m2 opened: X left, O right, connect4, rated, 10000 ms
            5.1 a#5 m2 X asked: ply 1 attempt 1 by a until 10:00:51.001
            6.0 m1 X strike 2: timeout at ply 1, excerpt none, 10000 ms
            6.0 m1 X asked: ply 1 attempt 3 by a until 10:01:16.000
            6.1 a#6 rejected: stale_attempt
            6.2 a#7 m1 X played d at ply 1, reason none, 0 ms
            6.2 a#7 m1 O asked: ply 2 attempt 4 by a until 10:01:16.000
        "#]],
    );
}

#[test]
fn an_answer_within_the_grace_counts() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        10:00:25.999999 a move m1 X d
        10:00:30.000 tick
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.1 a#4 m1 X played d at ply 1, reason none, 0 ms
            4.1 a#4 m1 O asked: ply 2 attempt 2 by a until 10:00:50.999
            5 nothing
        "#]],
    );
}

#[test]
fn what_is_due_comes_by_due_time_then_by_the_order_of_its_scheduling() {
    // m3 has the shorter deadline: it is due before m1. m2 and m4 are due in the same millisecond as m1, after it.
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right, third method=polling
        10:00:01.000 a open m1 left right deadline=10000
        10:00:01.000500 a open m2 left third deadline=10000
        10:00:01.001 a open m3 left right deadline=9000
        10:00:06.000 a open m4 right third deadline=5000
        10:00:40.000 tick
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#4 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#4 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.1 a#5 m2 opened: X left, O third, connect4, rated, 10000 ms
            4.1 a#5 m2 X asked: ply 1 attempt 1 by a until 10:00:26.000
            5.1 a#6 m3 opened: X left, O right, connect4, rated, 9000 ms
            5.1 a#6 m3 X asked: ply 1 attempt 1 by a until 10:00:25.001
            6.1 a#7 m4 opened: X right, O third, connect4, rated, 5000 ms
            6.1 a#7 m4 X asked: ply 1 attempt 1 by a until 10:00:26.000
            7.0 m3 X strike 1: timeout at ply 1, excerpt none, 9000 ms
            7.0 m3 X asked: ply 1 attempt 2 by a until 10:01:04.000
            7.0 m1 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            7.0 m1 X asked: ply 1 attempt 2 by a until 10:01:05.000
            7.0 m2 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            7.0 m2 X asked: ply 1 attempt 2 by a until 10:01:05.000
            7.0 m4 X strike 1: timeout at ply 1, excerpt none, 5000 ms
            7.0 m4 X asked: ply 1 attempt 2 by a until 10:01:00.000
        "#]],
    );
}

#[test]
fn a_second_key_and_a_turn_that_are_due_together_come_in_the_order_of_their_scheduling() {
    // All three are due at 10:00:01 of the next day, in the same microsecond.
    check(
        "
        ~10:00:00.000 gateway a
        ~10:00:00.001 a register right method=polling
        10:00:01.000 a register left key=k1/b1 method=polling
        1d09:59:36.000 a open m1 left right
        1d09:59:36.000001 a open m2 left right
        1d10:00:01.000 tick
        ",
        expect![[r#"
            3.1 a#2 agent left speaks agentarena/1 by polling, endpoint none, challenges open, credentials []
            3.1 a#2 kept k1/b1 of nobody: accepted at 3.1
            4.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            4.1 a#3 m1 X asked: ply 1 attempt 1 by a until 1d10:00:01.000
            5.1 a#4 m2 opened: X left, O right, connect4, rated, 10000 ms
            5.1 a#4 m2 X asked: ply 1 attempt 1 by a until 1d10:00:01.000
            6.0 forgot k1 of nobody
            6.0 m1 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            6.0 m1 X asked: ply 1 attempt 2 by a until 1d10:00:26.000
            6.0 m2 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            6.0 m2 X asked: ply 1 attempt 2 by a until 1d10:00:26.000
        "#]],
    );
}

#[test]
fn it_is_emptied_once_a_record_before_the_first_command_alone() {
    // The second asking is due later than the record that opened it, however late that record comes.
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        12:00:00.000 a register third method=polling
                   & tick
        12:00:24.999999 tick
        12:00:25.000 tick
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.0 m1 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            4.0 m1 X asked: ply 1 attempt 2 by a until 12:00:25.000
            4.1 a#4 agent third speaks agentarena/1 by polling, endpoint none, challenges open, credentials []
            5 nothing
            6.0 m1 X strike 2: timeout at ply 1, excerpt none, 10000 ms
            6.0 m1 X asked: ply 1 attempt 3 by a until 12:00:50.000
        "#]],
    );
}

#[test]
fn a_record_without_commands_does_not_empty_it() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        10:05:00.000 empty
        10:05:00.000001 tick
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4 nothing
            5.0 m1 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            5.0 m1 X asked: ply 1 attempt 2 by a until 10:05:25.000
        "#]],
    );
}

#[test]
fn an_announced_sequencer_does_not_empty_it_and_moves_turns_by_its_outage() {
    // Due at 10:00:26, 300 seconds away: due at 10:05:26.
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        10:00:02.000 tick
        10:05:02.000 sequencer outage_us=300000000
        10:05:25.999999 tick
        10:05:26.000 tick
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4 nothing
            5.1 sequencer of epoch 2, outage 300000000 us
            6 nothing
            7.0 m1 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            7.0 m1 X asked: ply 1 attempt 2 by a until 10:05:51.000
        "#]],
    );
}

#[test]
fn what_is_scheduled_after_an_outage_is_due_at_its_own_time() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        10:05:01.000 sequencer outage_us=300000000
        10:05:02.000 a open m2 left right
        10:05:27.000 tick
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.1 sequencer of epoch 2, outage 300000000 us
            5.1 a#4 m2 opened: X left, O right, connect4, rated, 10000 ms
            5.1 a#4 m2 X asked: ply 1 attempt 1 by a until 10:05:27.000
            6.0 m1 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            6.0 m1 X asked: ply 1 attempt 2 by a until 10:05:52.000
            6.0 m2 X strike 1: timeout at ply 1, excerpt none, 10000 ms
            6.0 m2 X asked: ply 1 attempt 2 by a until 10:05:52.000
        "#]],
    );
}

#[test]
fn an_answered_turn_is_never_due() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        10:00:02.000 a abort m1
        10:00:03.000 a open m2 left right
        10:00:04.000 a move m2 X d
        10:00:05.000 a strike m2 O timeout
        10:00:29.999999 tick
        10:00:30.000 tick
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.1 a#4 m1 ended: nobody by void
            5.1 a#5 m2 opened: X left, O right, connect4, rated, 10000 ms
            5.1 a#5 m2 X asked: ply 1 attempt 1 by a until 10:00:28.000
            6.1 a#6 m2 X played d at ply 1, reason none, 0 ms
            6.1 a#6 m2 O asked: ply 2 attempt 2 by a until 10:00:29.000
            7.1 a#7 m2 O strike 1: timeout at ply 2, excerpt none, 0 ms
            7.1 a#7 m2 O asked: ply 2 attempt 3 by a until 10:00:30.000
            8 nothing
            9.0 m2 O strike 2: timeout at ply 2, excerpt none, 10000 ms
            9.0 m2 O asked: ply 2 attempt 4 by a until 10:00:55.000
        "#]],
    );
}

#[test]
fn a_pushed_turn_is_its_gateways_alone_and_no_time_ends_it() {
    // It may wait in its gateway's queue for as long as the agent is busy with others: that counts against nobody.
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        ~10:00:00.002 a register gremlin by house
        10:00:01.000 a open m1 left right deadline=500
        10:00:01.001 a open m2 left gremlin deadline=500 unrated first=opponent
        1d10:00:00.000 tick
        1d10:00:01.000 a move m1 X d
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            4.1 a#4 m1 opened: X left, O right, connect4, rated, 500 ms
            4.1 a#4 m1 X asked: ply 1 attempt 1 by a
            5.1 a#5 m2 opened: X gremlin, O left, connect4, unrated, 500 ms
            5.1 a#5 m2 X asked: ply 1 attempt 1 by a
            6 nothing
            7.1 a#6 m1 X played d at ply 1, reason none, 0 ms
            7.1 a#6 m1 O asked: ply 2 attempt 2 by a
        "#]],
    );
}

//! Who asks an agent: its home, one gateway for all that is open of it.

use crate::testing::check;
use expect_test::expect;

#[test]
fn a_turn_is_opened_at_the_live_gateway() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
        "#]],
    );
}

#[test]
fn a_gateway_that_goes_takes_nothing_with_it() {
    // A new attempt at another home, the whole deadline from the record's own time, and no strike.
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        10:00:02.000 gateway b
        10:00:09.000500 gone a
        10:00:09.001 b move m1 X d
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.1 gateway b is producer 2, knows rules 1
            5.1 gateway a is gone
            5.1 m1 X asked: ply 1 attempt 2 by b until 10:00:34.000
            6.1 b#1 m1 X played d at ply 1, reason none, 0 ms
            6.1 b#1 m1 O asked: ply 2 attempt 3 by b until 10:00:34.001
        "#]],
    );
}

#[test]
fn with_none_live_there_is_no_home_and_the_next_announcement_takes_what_has_none() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right, third method=polling
        10:00:01.000 a open m1 left right
        10:00:01.001 a open m2 third left
        10:00:02.000 gone a
        10:00:03.000 gateway b
        10:00:04.000 gateway c
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#4 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#4 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.1 a#5 m2 opened: X third, O left, connect4, rated, 10000 ms
            4.1 a#5 m2 X asked: ply 1 attempt 1 by a until 10:00:26.001
            5.1 gateway a is gone
            5.1 m1 X asked: ply 1 attempt 2 by nobody until 10:00:27.000
            5.1 m2 X asked: ply 1 attempt 2 by nobody until 10:00:27.000
            6.1 gateway b is producer 2, knows rules 1
            6.1 m1 X asked: ply 1 attempt 3 by b until 10:00:28.000
            6.1 m2 X asked: ply 1 attempt 3 by b until 10:00:28.000
            7.1 gateway c is producer 3, knows rules 1
        "#]],
    );
}

#[test]
fn two_gateways_share_by_rendezvous() {
    check(
        "
        10:00:00.000 gateway a
                   & gateway b
        ~10:00:00.001 a register one, two, three, four, five, six method=polling
        10:00:01.000 a open m1 one two
        10:00:01.001 a open m2 three two
        10:00:01.002 a open m3 five two
        10:00:01.003 b open m4 two one
        10:00:01.004 b open m5 four one
        10:00:01.005 b open m6 six one
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            1.2 gateway b is producer 2, knows rules 1
            3.1 a#7 m1 opened: X one, O two, connect4, rated, 10000 ms
            3.1 a#7 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.1 a#8 m2 opened: X three, O two, connect4, rated, 10000 ms
            4.1 a#8 m2 X asked: ply 1 attempt 1 by b until 10:00:26.001
            5.1 a#9 m3 opened: X five, O two, connect4, rated, 10000 ms
            5.1 a#9 m3 X asked: ply 1 attempt 1 by a until 10:00:26.002
            6.1 b#1 m4 opened: X two, O one, connect4, rated, 10000 ms
            6.1 b#1 m4 X asked: ply 1 attempt 1 by a until 10:00:26.003
            7.1 b#2 m5 opened: X four, O one, connect4, rated, 10000 ms
            7.1 b#2 m5 X asked: ply 1 attempt 1 by a until 10:00:26.004
            8.1 b#3 m6 opened: X six, O one, connect4, rated, 10000 ms
            8.1 b#3 m6 X asked: ply 1 attempt 1 by a until 10:00:26.005
        "#]],
    );
}

#[test]
fn an_agent_keeps_its_home_while_anything_of_it_is_open_and_then_goes_where_it_belongs() {
    // `three` belongs to b (see the test above), but sits at a, which was there first, until its last match is over: also while
    // only its opponents are asked.
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register one, two, three method=polling
        10:00:01.000 a open m1 three one
        10:00:02.000 gateway b
        10:00:03.000 b open m2 three two
        10:00:04.000 a move m1 X d
        10:00:05.000 b open m3 three one
        10:00:06.000 a strike m2 X timeout
        10:00:07.000 a move m2 X d
        10:00:08.000 a move m3 X d
        10:00:09.000 b open m4 three two
        10:00:10.000 b abort m1
        10:00:10.001 b abort m2
        10:00:10.002 b abort m3
        10:00:10.003 b abort m4
        10:00:11.000 b open m5 three two
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#4 m1 opened: X three, O one, connect4, rated, 10000 ms
            3.1 a#4 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.1 gateway b is producer 2, knows rules 1
            5.1 b#1 m2 opened: X three, O two, connect4, rated, 10000 ms
            5.1 b#1 m2 X asked: ply 1 attempt 1 by a until 10:00:28.000
            6.1 a#5 m1 X played d at ply 1, reason none, 0 ms
            6.1 a#5 m1 O asked: ply 2 attempt 2 by a until 10:00:29.000
            7.1 b#2 m3 opened: X three, O one, connect4, rated, 10000 ms
            7.1 b#2 m3 X asked: ply 1 attempt 1 by a until 10:00:30.000
            8.1 a#6 m2 X strike 1: timeout at ply 1, excerpt none, 0 ms
            8.1 a#6 m2 X asked: ply 1 attempt 2 by a until 10:00:31.000
            9.1 a#7 m2 X played d at ply 1, reason none, 0 ms
            9.1 a#7 m2 O asked: ply 2 attempt 3 by a until 10:00:32.000
            10.1 a#8 m3 X played d at ply 1, reason none, 0 ms
            10.1 a#8 m3 O asked: ply 2 attempt 2 by a until 10:00:33.000
            11.1 b#3 m4 opened: X three, O two, connect4, rated, 10000 ms
            11.1 b#3 m4 X asked: ply 1 attempt 1 by a until 10:00:34.000
            12.1 b#4 m1 ended: nobody by void
            13.1 b#5 m2 ended: nobody by void
            14.1 b#6 m3 ended: nobody by void
            15.1 b#7 m4 ended: nobody by void
            16.1 b#8 m5 opened: X three, O two, connect4, rated, 10000 ms
            16.1 b#8 m5 X asked: ply 1 attempt 1 by b until 10:00:36.000
        "#]],
    );
}

#[test]
fn all_that_is_open_of_an_agent_moves_to_one_and_the_same_home() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register one, two, three method=polling
        ~10:00:01.000 a open m1 two one
        ~10:00:01.001 a open m2 two three
        ~10:00:01.002 a open m3 one three
        ~10:00:02.000 gateway b
        ~10:00:02.001 gateway c
        10:00:03.000 gone a
        10:00:04.000 gone b
        10:00:05.000 gone c
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            8.1 gateway a is gone
            8.1 m1 X asked: ply 1 attempt 2 by c until 10:00:28.000
            8.1 m2 X asked: ply 1 attempt 2 by c until 10:00:28.000
            8.1 m3 X asked: ply 1 attempt 2 by c until 10:00:28.000
            9.1 gateway b is gone
            10.1 gateway c is gone
            10.1 m1 X asked: ply 1 attempt 3 by nobody until 10:00:30.000
            10.1 m2 X asked: ply 1 attempt 3 by nobody until 10:00:30.000
            10.1 m3 X asked: ply 1 attempt 3 by nobody until 10:00:30.000
        "#]],
    );
}

#[test]
fn a_gateway_that_goes_leaves_the_turns_of_others_alone() {
    check(
        "
        10:00:00.000 gateway a
                   & gateway b
        ~10:00:00.001 a register one, two, three, four method=polling
        10:00:01.000 a open m1 one two first=challenger unrated
        10:00:01.001 a open m2 two one first=challenger unrated
        10:00:02.000 gone a
        10:00:03.000 gateway c
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            1.2 gateway b is producer 2, knows rules 1
            3.1 a#5 m1 opened: X one, O two, connect4, unrated, 10000 ms
            3.1 a#5 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.1 a#6 m2 opened: X two, O one, connect4, unrated, 10000 ms
            4.1 a#6 m2 X asked: ply 1 attempt 1 by a until 10:00:26.001
            5.1 gateway a is gone
            5.1 m1 X asked: ply 1 attempt 2 by b until 10:00:27.000
            5.1 m2 X asked: ply 1 attempt 2 by b until 10:00:27.000
            6.1 gateway c is producer 3, knows rules 1
        "#]],
    );
}

#[test]
fn a_fact_of_a_past_attempt_or_of_another_gateway_is_stale_and_of_one_that_is_gone_expired() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        ~10:00:00.002 gateway b
        10:00:01.000 a open m1 left right
        10:00:01.001 gone b
        10:00:01.002 gone a
        10:00:02.000 gateway c
        10:00:02.001 gateway d
        10:00:03.000 c move m1 X d attempt=1
        10:00:03.001 c move m1 X d attempt=99
        10:00:03.002 d move m1 X d
        10:00:03.003 d strike m1 X timeout
        10:00:03.004 a move m1 X d
        10:00:03.005 a strike m1 X timeout
        10:00:03.006 c move m1 X d
        10:00:03.007 d move m1 O d
        10:00:03.008 c move m1 O d
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            4.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            4.1 a#3 m1 X asked: ply 1 attempt 1 by b until 10:00:26.000
            5.1 gateway b is gone
            5.1 m1 X asked: ply 1 attempt 2 by a until 10:00:26.001
            6.1 gateway a is gone
            6.1 m1 X asked: ply 1 attempt 3 by nobody until 10:00:26.002
            7.1 gateway c is producer 3, knows rules 1
            7.1 m1 X asked: ply 1 attempt 4 by c until 10:00:27.000
            8.1 gateway d is producer 4, knows rules 1
            9.1 c#1 rejected: stale_attempt
            10.1 c#2 rejected: stale_attempt
            11.1 d#1 rejected: stale_attempt
            12.1 d#2 rejected: stale_attempt
            13.1 rejected: expired
            14.1 rejected: expired
            15.1 c#3 m1 X played d at ply 1, reason none, 0 ms
            15.1 c#3 m1 O asked: ply 2 attempt 5 by d until 10:00:28.006
            16.1 d#3 m1 O played d at ply 2, reason none, 0 ms
            16.1 d#3 m1 X asked: ply 3 attempt 6 by c until 10:00:28.007
            17.1 c#4 rejected: not_to_act
        "#]],
    );
}

#[test]
fn an_embedded_start_hands_over_within_one_record() {
    check(
        "
        10:00:00.000 sequencer
        10:00:00.001 gateway a
        ~10:00:00.002 a register left, right method=polling
        10:00:01.000 a open m1 left right
        10:05:01.000 sequencer outage_us=300000000
        10:05:01.001 gateway b
                   & gone a
        10:05:02.000 b move m1 X d
        ",
        expect![[r#"
            1.1 sequencer of epoch 1, outage 0 us
            2.1 gateway a is producer 1, knows rules 1
            4.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            4.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            5.1 sequencer of epoch 2, outage 300000000 us
            6.1 gateway b is producer 2, knows rules 1
            6.2 gateway a is gone
            6.2 m1 X asked: ply 1 attempt 2 by b until 10:05:26.001
            7.1 b#1 m1 X played d at ply 1, reason none, 0 ms
            7.1 b#1 m1 O asked: ply 2 attempt 3 by b until 10:05:27.000
        "#]],
    );
}

#[test]
fn while_nobody_is_there_to_ask_no_seat_is_struck() {
    // CHOICES, fault of ours: an agent never pays for it.
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        10:00:01.000 a open m1 left right
        10:00:02.000 gone a
        10:00:27.000 tick
        10:01:27.000 tick
        11:00:00.000 gateway b
        11:00:00.001 b move m1 X d
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a until 10:00:26.000
            4.1 gateway a is gone
            4.1 m1 X asked: ply 1 attempt 2 by nobody until 10:00:27.000
            5.0 m1 X asked: ply 1 attempt 3 by nobody until 10:00:52.000
            6.0 m1 X asked: ply 1 attempt 4 by nobody until 10:01:52.000
            7.0 m1 X asked: ply 1 attempt 5 by nobody until 11:00:25.000
            7.1 gateway b is producer 2, knows rules 1
            7.1 m1 X asked: ply 1 attempt 6 by b until 11:00:25.000
            8.1 b#1 m1 X played d at ply 1, reason none, 0 ms
            8.1 b#1 m1 O asked: ply 2 attempt 7 by b until 11:00:25.001
        "#]],
    );
}

#[test]
fn where_nobody_asks_nobody_answers_and_the_sequencer_least_of_all() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        10:00:01.000 a open m1 left right
        10:00:02.000 gone a
        10:00:03.000 @0#0 move m1 X d
        10:00:03.001 @0#0 strike m1 X timeout
        10:00:03.002 a move m1 X d
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a
            4.1 gateway a is gone
            4.1 m1 X asked: ply 1 attempt 2 by nobody
            5.1 rejected: stale_attempt
            6.1 rejected: stale_attempt
            7.1 rejected: expired
        "#]],
    );
}

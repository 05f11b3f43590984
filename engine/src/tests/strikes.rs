//! Three strikes in a match forfeit it, whatever their causes; they are counted per seat and never reset.

use crate::testing::check;
use expect_test::expect;

#[test]
fn after_a_strike_the_same_position_is_asked_again_with_the_whole_deadline() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        10:00:01.000 a open m1 left right
        10:00:05.000 a strike m1 X status status=500 excerpt=oops ms=33
        10:00:06.000 a move m1 X d
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a
            4.1 a#4 m1 X strike 1: status at ply 1, status 500, excerpt text of 4, 33 ms
            4.1 a#4 m1 X asked: ply 1 attempt 2 by a
            5.1 a#5 m1 X played d at ply 1, reason none, 0 ms
            5.1 a#5 m1 O asked: ply 2 attempt 3 by a
        "#]],
    );
}

#[test]
fn the_third_forfeits_at_once_whatever_mix_of_causes() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right method=polling
        ~10:00:01.000 a open m1 left right
        10:00:02.000 a strike m1 X nonce
        10:00:03.000 a move m1 X 7 excerpt=h
        10:00:28.000 tick
        10:00:29.000 a move m1 X d
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            4.1 a#4 m1 X strike 1: nonce at ply 1, excerpt none, 0 ms
            4.1 a#4 m1 X asked: ply 1 attempt 2 by a until 10:00:27.000
            5.1 a#5 m1 X strike 2: illegal at ply 1, move ?, excerpt text of 1, 0 ms
            5.1 a#5 m1 X asked: ply 1 attempt 3 by a until 10:00:28.000
            6.0 m1 X strike 3: timeout at ply 1, excerpt none, 10000 ms
            6.0 m1 ended: O by forfeit
            7.1 a#6 rejected: gone
        "#]],
    );
}

#[test]
fn every_cause_of_a_door_is_one_strike() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        ~10:00:01.000 a open m1 left right first=challenger unrated
        ~10:00:01.001 a open m2 left right first=challenger unrated
        ~10:00:01.002 a open m3 right left first=challenger unrated
        10:00:02.000 a strike m1 X tls
        10:00:02.001 a strike m1 X transport
        10:00:02.002 a strike m1 X timeout ms=10000
        10:00:02.003 a strike m2 X redirect status=302
        10:00:02.004 a strike m2 X status status=204
        10:00:02.005 a strike m2 X too_large status=200
        10:00:02.006 a strike m3 X not_json
        10:00:02.007 a strike m3 X no_move
        10:00:02.008 a strike m3 X illegal excerpt=D4
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            6.1 a#6 m1 X strike 1: tls at ply 1, excerpt none, 0 ms
            6.1 a#6 m1 X asked: ply 1 attempt 2 by a
            7.1 a#7 m1 X strike 2: transport at ply 1, excerpt none, 0 ms
            7.1 a#7 m1 X asked: ply 1 attempt 3 by a
            8.1 a#8 m1 X strike 3: timeout at ply 1, excerpt none, 10000 ms
            8.1 a#8 m1 ended: O by forfeit
            9.1 a#9 m2 X strike 1: redirect at ply 1, status 302, excerpt none, 0 ms
            9.1 a#9 m2 X asked: ply 1 attempt 2 by a
            10.1 a#10 m2 X strike 2: status at ply 1, status 204, excerpt none, 0 ms
            10.1 a#10 m2 X asked: ply 1 attempt 3 by a
            11.1 a#11 m2 X strike 3: too_large at ply 1, status 200, excerpt none, 0 ms
            11.1 a#11 m2 ended: O by forfeit
            12.1 a#12 m3 X strike 1: not_json at ply 1, excerpt none, 0 ms
            12.1 a#12 m3 X asked: ply 1 attempt 2 by a
            13.1 a#13 m3 X strike 2: no_move at ply 1, excerpt none, 0 ms
            13.1 a#13 m3 X asked: ply 1 attempt 3 by a
            14.1 a#14 m3 X strike 3: illegal at ply 1, excerpt text of 2, 0 ms
            14.1 a#14 m3 ended: O by forfeit
        "#]],
    );
}

#[test]
fn an_illegal_move_is_judged_by_the_engine() {
    // A full column, and bytes that are no move of the game: both are one strike, and the position stands.
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        ~10:00:01.000 a open m1 left right
        ~10:00:02.000 a play m1 dddddd
        10:00:03.000 a move m1 X d excerpt=d ms=5
        10:00:03.001 a move m1 X 200
        10:00:03.002 a move m1 X c
        10:00:03.003 a move m1 O d
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            10.1 a#10 m1 X strike 1: illegal at ply 7, move d, excerpt text of 1, 5 ms
            10.1 a#10 m1 X asked: ply 7 attempt 8 by a
            11.1 a#11 m1 X strike 2: illegal at ply 7, move ?, excerpt none, 0 ms
            11.1 a#11 m1 X asked: ply 7 attempt 9 by a
            12.1 a#12 m1 X played c at ply 7, reason none, 0 ms
            12.1 a#12 m1 O asked: ply 8 attempt 10 by a
            13.1 a#13 m1 O strike 1: illegal at ply 8, move d, excerpt none, 0 ms
            13.1 a#13 m1 O asked: ply 8 attempt 11 by a
        "#]],
    );
}

#[test]
fn strikes_are_counted_per_seat_and_a_good_move_does_not_take_them_back() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        ~10:00:01.000 a open m1 left right
        10:00:02.000 a strike m1 X timeout
        10:00:02.001 a move m1 X a
        10:00:02.002 a strike m1 O timeout
        10:00:02.003 a move m1 O b
        10:00:02.004 a strike m1 X timeout
        10:00:02.005 a move m1 X a
        10:00:02.006 a strike m1 O timeout
        10:00:02.007 a move m1 O b
        10:00:02.008 a move m1 X a
        10:00:02.009 a strike m1 O timeout
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            4.1 a#4 m1 X strike 1: timeout at ply 1, excerpt none, 0 ms
            4.1 a#4 m1 X asked: ply 1 attempt 2 by a
            5.1 a#5 m1 X played a at ply 1, reason none, 0 ms
            5.1 a#5 m1 O asked: ply 2 attempt 3 by a
            6.1 a#6 m1 O strike 1: timeout at ply 2, excerpt none, 0 ms
            6.1 a#6 m1 O asked: ply 2 attempt 4 by a
            7.1 a#7 m1 O played b at ply 2, reason none, 0 ms
            7.1 a#7 m1 X asked: ply 3 attempt 5 by a
            8.1 a#8 m1 X strike 2: timeout at ply 3, excerpt none, 0 ms
            8.1 a#8 m1 X asked: ply 3 attempt 6 by a
            9.1 a#9 m1 X played a at ply 3, reason none, 0 ms
            9.1 a#9 m1 O asked: ply 4 attempt 7 by a
            10.1 a#10 m1 O strike 2: timeout at ply 4, excerpt none, 0 ms
            10.1 a#10 m1 O asked: ply 4 attempt 8 by a
            11.1 a#11 m1 O played b at ply 4, reason none, 0 ms
            11.1 a#11 m1 X asked: ply 5 attempt 9 by a
            12.1 a#12 m1 X played a at ply 5, reason none, 0 ms
            12.1 a#12 m1 O asked: ply 6 attempt 10 by a
            13.1 a#13 m1 O strike 3: timeout at ply 6, excerpt none, 0 ms
            13.1 a#13 m1 ended: X by forfeit
        "#]],
    );
}

#[test]
fn a_house_agent_strikes_out_as_any_other() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register gremlin by house
        ~10:00:00.002 a register left
        ~10:00:01.000 a open m1 gremlin left unrated first=challenger
        10:00:26.000 a strike m1 X timeout
        10:00:51.000 a strike m1 X timeout
        10:01:16.000 a strike m1 X timeout
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            5.1 a#4 m1 X strike 1: timeout at ply 1, excerpt none, 0 ms
            5.1 a#4 m1 X asked: ply 1 attempt 2 by a
            6.1 a#5 m1 X strike 2: timeout at ply 1, excerpt none, 0 ms
            6.1 a#5 m1 X asked: ply 1 attempt 3 by a
            7.1 a#6 m1 X strike 3: timeout at ply 1, excerpt none, 0 ms
            7.1 a#6 m1 ended: O by forfeit
        "#]],
    );
}

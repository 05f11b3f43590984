//! Matches: what opens them, what ends them, and every refusal.

use crate::testing::check;
use expect_test::expect;

#[test]
fn four_in_a_row_wins_and_nothing_is_asked_after() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        10:00:01.000 a open m1 left right
        10:00:02.000 a play m1 dcdcdc
        10:00:03.000 a move m1 X d reason=four ms=12
        10:00:04.000 a move m1 O c ply=8
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a
            4.1 a#4 m1 X played d at ply 1, reason none, 0 ms
            4.1 a#4 m1 O asked: ply 2 attempt 2 by a
            5.1 a#5 m1 O played c at ply 2, reason none, 0 ms
            5.1 a#5 m1 X asked: ply 3 attempt 3 by a
            6.1 a#6 m1 X played d at ply 3, reason none, 0 ms
            6.1 a#6 m1 O asked: ply 4 attempt 4 by a
            7.1 a#7 m1 O played c at ply 4, reason none, 0 ms
            7.1 a#7 m1 X asked: ply 5 attempt 5 by a
            8.1 a#8 m1 X played d at ply 5, reason none, 0 ms
            8.1 a#8 m1 O asked: ply 6 attempt 6 by a
            9.1 a#9 m1 O played c at ply 6, reason none, 0 ms
            9.1 a#9 m1 X asked: ply 7 attempt 7 by a
            10.1 a#10 m1 X played d at ply 7, reason text of 4, 12 ms
            10.1 a#10 m1 ended: X by win
            11.1 a#11 rejected: gone
        "#]],
    );
}

#[test]
fn the_second_seat_wins_as_well() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        ~10:00:01.000 a open m1 left right
        ~10:00:02.000 a play m1 acbcgce
        10:00:03.000 a move m1 O c
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            11.1 a#11 m1 O played c at ply 8, reason none, 0 ms
            11.1 a#11 m1 ended: O by win
        "#]],
    );
}

#[test]
fn a_full_board_is_a_draw() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        ~10:00:01.000 a open m1 left right
        ~10:00:02.000 a play m1 aaaaaabbbbbbccccccedddddd
        ~10:00:02.500 a play m1 eeeeeffffffggggg
        10:00:03.000 a move m1 O g
        10:00:04.000 a abort m1
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            45.1 a#45 m1 O played g at ply 42, reason none, 0 ms
            45.1 a#45 m1 ended: nobody by draw
            46.1 a#46 rejected: gone
        "#]],
    );
}

#[test]
fn four_in_a_row_on_the_last_square_is_a_win_and_no_draw() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        ~10:00:01.000 a open m1 left right
        ~10:00:02.000 a play m1 egacgfbcfcdebbeadffgcedabdbfabdacgcedaegg
        10:00:03.000 a move m1 O f
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            45.1 a#45 m1 O played f at ply 42, reason none, 0 ms
            45.1 a#45 m1 ended: O by win
        "#]],
    );
}

#[test]
fn an_abort_ends_it_without_a_result_and_its_key_is_gone() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        10:00:01.000 a open m1 left right
        10:00:02.000 a abort m1
        10:00:03.000 a abort m1 operator
        10:00:04.000 a move m1 X d
        10:00:05.000 a strike m1 X timeout
        10:00:06.000 a move never X d
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a
            4.1 a#4 m1 ended: nobody by void
            5.1 a#5 rejected: gone
            6.1 a#6 rejected: gone
            7.1 a#7 rejected: gone
            8.1 a#8 rejected: gone
        "#]],
    );
}

#[test]
fn a_past_match_s_key_is_gone_also_where_its_slot_is_another_s() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        10:00:01.000 a open m1 left right
        10:00:02.000 a abort m1
        10:00:03.000 a open m2 left right
        10:00:04.000 a move m1 X d ply=1 attempt=1
        10:00:05.000 a strike m1 X timeout ply=1 attempt=1
        10:00:06.000 a abort m1
        10:00:07.000 a move m2 X d ply=1 attempt=1
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#3 m1 X asked: ply 1 attempt 1 by a
            4.1 a#4 m1 ended: nobody by void
            5.1 a#5 m2 opened: X left, O right, connect4, rated, 10000 ms
            5.1 a#5 m2 X asked: ply 1 attempt 1 by a
            6.1 a#6 rejected: gone
            7.1 a#7 rejected: gone
            8.1 a#8 rejected: gone
            9.1 a#9 m2 X played d at ply 1, reason none, 0 ms
            9.1 a#9 m2 O asked: ply 2 attempt 2 by a
        "#]],
    );
}

#[test]
fn an_id_is_taken_while_its_match_is_open() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right, third
        10:00:01.000 a open m1 left right
        10:00:02.000 a open m1 left third
        10:00:03.000 a abort m1
        10:00:04.000 a open m1 left third
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#4 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#4 m1 X asked: ply 1 attempt 1 by a
            4.1 a#5 rejected: match_id_taken
            5.1 a#6 m1 ended: nobody by void
            6.1 a#7 m1 opened: X left, O third, connect4, rated, 10000 ms
            6.1 a#7 m1 X asked: ply 1 attempt 1 by a
        "#]],
    );
}

#[test]
fn who_may_not_sit_down() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        ~10:00:00.002 a register shut closed
        ~10:00:00.003 a register lux by ludux
        ~10:00:00.004 a register duel by evalduel
        ~10:00:00.005 a register deal by mcp
        10:00:01.000 a open m1 left left
        10:00:01.001 a open m1 left nobody
        10:00:01.002 a open m1 nobody left
        10:00:01.003 a open m1 left right game=0
        10:00:01.004 a open m1 left right game=2
        10:00:01.005 a open m1 left lux
        10:00:01.006 a open m1 duel left
        10:00:01.007 a open m1 left deal
        10:00:01.008 a open m1 left shut
        10:00:01.009 a open m1 shut left
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            7.1 a#7 rejected: self_match
            8.1 a#8 rejected: unknown_agent
            9.1 a#9 rejected: unknown_agent
            10.1 a#10 rejected: unknown_game
            11.1 a#11 rejected: unknown_game
            12.1 a#12 rejected: game_not_played
            13.1 a#13 rejected: game_not_played
            14.1 a#14 rejected: game_not_played
            15.1 a#15 rejected: challenges_closed
            16.1 a#16 m1 opened: X shut, O left, connect4, rated, 10000 ms
            16.1 a#16 m1 X asked: ply 1 attempt 1 by a
        "#]],
    );
}

#[test]
fn a_deadline_is_from_500_to_60000_ms() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        10:00:01.000 a open m1 left right deadline=499
        10:00:01.001 a open m1 left right deadline=500
        10:00:01.002 a open m2 left right deadline=60000
        10:00:01.003 a open m3 left right deadline=60001
        10:00:01.004 a open m3 left right deadline=0
        10:00:01.005 a open m3 left right deadline=4294967295
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 rejected: deadline_out_of_range
            4.1 a#4 m1 opened: X left, O right, connect4, rated, 500 ms
            4.1 a#4 m1 X asked: ply 1 attempt 1 by a
            5.1 a#5 m2 opened: X left, O right, connect4, rated, 60000 ms
            5.1 a#5 m2 X asked: ply 1 attempt 1 by a
            6.1 a#6 rejected: deadline_out_of_range
            7.1 a#7 rejected: deadline_out_of_range
            8.1 a#8 rejected: deadline_out_of_range
        "#]],
    );
}

#[test]
fn who_is_first_comes_from_the_seed_and_may_be_said_in_unrated_matches_alone() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right, third
        10:00:01.000 a open m1 left right seed=0
        10:00:01.001 a open m2 left right seed=1
        10:00:01.002 a open m3 left right seed=254
        10:00:01.003 a open m4 left third first=challenger
        10:00:01.004 a open m4 left third first=opponent
        10:00:01.005 a open m4 left third first=challenger unrated seed=1
        10:00:01.006 a open m5 left third first=opponent unrated seed=0
        10:00:01.007 a open m6 left third first=by_seed unrated seed=1
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#4 m1 opened: X left, O right, connect4, rated, 10000 ms
            3.1 a#4 m1 X asked: ply 1 attempt 1 by a
            4.1 a#5 m2 opened: X right, O left, connect4, rated, 10000 ms
            4.1 a#5 m2 X asked: ply 1 attempt 1 by a
            5.1 a#6 m3 opened: X left, O right, connect4, rated, 10000 ms
            5.1 a#6 m3 X asked: ply 1 attempt 1 by a
            6.1 a#7 rejected: first_is_rated
            7.1 a#8 rejected: first_is_rated
            8.1 a#9 m4 opened: X left, O third, connect4, unrated, 10000 ms
            8.1 a#9 m4 X asked: ply 1 attempt 1 by a
            9.1 a#10 m5 opened: X third, O left, connect4, unrated, 10000 ms
            9.1 a#10 m5 X asked: ply 1 attempt 1 by a
            10.1 a#11 m6 opened: X third, O left, connect4, unrated, 10000 ms
            10.1 a#11 m6 X asked: ply 1 attempt 1 by a
        "#]],
    );
}

#[test]
fn a_pair_has_at_most_three_open_whoever_challenges() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right, third
        ~10:00:01.000 a open m1 left right
        ~10:00:01.001 a open m2 right left
        ~10:00:01.002 a open m3 left right
        10:00:01.003 a open m4 left right
        10:00:01.004 a open m4 right left
        10:00:01.005 a open m4 left third
        10:00:01.006 a abort m2
        10:00:01.007 a open m5 right left
        10:00:01.008 a open m6 right left
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            6.1 a#7 rejected: pair_limit
            7.1 a#8 rejected: pair_limit
            8.1 a#9 m4 opened: X left, O third, connect4, rated, 10000 ms
            8.1 a#9 m4 X asked: ply 1 attempt 1 by a
            9.1 a#10 m2 ended: nobody by void
            10.1 a#11 m5 opened: X right, O left, connect4, rated, 10000 ms
            10.1 a#11 m5 X asked: ply 1 attempt 1 by a
            11.1 a#12 rejected: pair_limit
        "#]],
    );
}

#[test]
fn an_agent_has_at_most_16_open_whichever_side_it_is_on() {
    let names: Vec<String> = (0..9).map(|at| format!("agent-{at}")).collect();
    let opens: Vec<String> = (0..16)
        .map(|at| {
            let other = &names[at / 2];
            let pair = if at % 2 == 0 { format!("left {other}") } else { format!("{other} left") };
            format!("~10:00:02.{at:03} a open m{at} {pair}")
        })
        .collect();
    check(
        &format!(
            "
            10:00:00.000 gateway a
            ~10:00:00.001 a register left, {}
            {}
            10:00:03.000 a open m16 left agent-8
            10:00:03.001 a open m16 agent-8 left
            10:00:03.002 a open m16 agent-8 agent-7
            10:00:03.003 a abort m0
            10:00:03.004 a open m17 agent-8 left
            10:00:03.005 a open m18 agent-8 left
            ",
            names.join(", "),
            opens.join("\n")
        ),
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            19.1 a#27 rejected: agent_limit
            20.1 a#28 rejected: agent_limit
            21.1 a#29 m16 opened: X agent-8, O agent-7, connect4, rated, 10000 ms
            21.1 a#29 m16 X asked: ply 1 attempt 1 by a
            22.1 a#30 m0 ended: nobody by void
            23.1 a#31 m17 opened: X agent-8, O left, connect4, rated, 10000 ms
            23.1 a#31 m17 X asked: ply 1 attempt 1 by a
            24.1 a#32 rejected: agent_limit
        "#]],
    );
}

#[test]
fn house_agents_are_exempt_from_both_caps() {
    let opens: Vec<String> =
        (0..20).map(|at| format!("~10:00:02.{at:03} a open h{at} gremlin maxi")).collect();
    check(
        &format!(
            "
            10:00:00.000 gateway a
            ~10:00:00.001 a register gremlin, maxi by house
            ~10:00:00.002 a register left, right
            {}
            10:00:03.000 a open m1 left gremlin unrated
            10:00:03.001 a open m2 left gremlin unrated
            10:00:03.002 a open m3 left gremlin unrated
            10:00:03.003 a open m4 gremlin left unrated
            ",
            opens.join("\n")
        ),
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            24.1 a#25 m1 opened: X left, O gremlin, connect4, unrated, 10000 ms
            24.1 a#25 m1 X asked: ply 1 attempt 1 by a
            25.1 a#26 m2 opened: X left, O gremlin, connect4, unrated, 10000 ms
            25.1 a#26 m2 X asked: ply 1 attempt 1 by a
            26.1 a#27 m3 opened: X left, O gremlin, connect4, unrated, 10000 ms
            26.1 a#27 m3 X asked: ply 1 attempt 1 by a
            27.1 a#28 m4 opened: X gremlin, O left, connect4, unrated, 10000 ms
            27.1 a#28 m4 X asked: ply 1 attempt 1 by a
        "#]],
    );
}

#[test]
fn a_ply_that_is_not_to_be_made_now_and_a_seat_that_is_not_to_move() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        ~10:00:01.000 a open m1 left right
        10:00:02.000 a move m1 O d ply=1
        10:00:02.001 a move m1 O d ply=2
        10:00:02.002 a move m1 X d ply=2
        10:00:02.003 a move m1 X d ply=0
        10:00:02.004 a move m1 X d
        10:00:02.005 a move m1 X d ply=1
        10:00:02.006 a move m1 X d ply=2
        10:00:02.007 a move m1 X d ply=3
        10:00:02.008 a move m1 O d ply=1
        10:00:02.009 a strike m1 X timeout ply=1
        10:00:02.010 a strike m1 O timeout ply=1
        10:00:02.011 a strike m1 X timeout ply=3
        10:00:02.012 a move m1 O d
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            4.1 a#4 rejected: not_to_act
            5.1 a#5 rejected: not_to_act
            6.1 a#6 rejected: stale_ply
            7.1 a#7 rejected: stale_ply
            8.1 a#8 m1 X played d at ply 1, reason none, 0 ms
            8.1 a#8 m1 O asked: ply 2 attempt 2 by a
            9.1 a#9 rejected: stale_ply
            10.1 a#10 rejected: not_to_act
            11.1 a#11 rejected: not_to_act
            12.1 a#12 rejected: stale_ply
            13.1 a#13 rejected: stale_ply
            14.1 a#14 rejected: stale_ply
            15.1 a#15 rejected: not_to_act
            16.1 a#16 m1 O played d at ply 2, reason none, 0 ms
            16.1 a#16 m1 X asked: ply 3 attempt 3 by a
        "#]],
    );
}

#[test]
fn two_answers_in_one_record_and_the_second_is_stale() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        ~10:00:01.000 a open m1 left right
        10:00:02.000 a move m1 X d
                   & a move m1 X e
                   & a strike m1 X timeout
        10:00:03.000 a strike m1 O status status=500
                   & a strike m1 O status status=500
                   & a move m1 O d
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            4.1 a#4 m1 X played d at ply 1, reason none, 0 ms
            4.1 a#4 m1 O asked: ply 2 attempt 2 by a
            4.2 a#5 rejected: stale_ply
            4.3 a#6 rejected: stale_ply
            5.1 a#7 m1 O strike 1: status at ply 2, status 500, excerpt none, 0 ms
            5.1 a#7 m1 O asked: ply 2 attempt 3 by a
            5.2 a#8 rejected: stale_attempt
            5.3 a#9 rejected: stale_attempt
        "#]],
    );
}

#[test]
fn matches_of_the_same_agents_do_not_know_each_other() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right
        ~10:00:01.000 a open m1 left right
        ~10:00:01.001 a open m2 left right
        10:00:02.000 a strike m1 X timeout
        10:00:02.001 a move m2 X d
        10:00:02.002 a strike m2 O timeout
        10:00:02.003 a move m1 X c
        10:00:02.004 a abort m1
        10:00:02.005 a move m2 O d
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            5.1 a#5 m1 X strike 1: timeout at ply 1, excerpt none, 0 ms
            5.1 a#5 m1 X asked: ply 1 attempt 2 by a
            6.1 a#6 m2 X played d at ply 1, reason none, 0 ms
            6.1 a#6 m2 O asked: ply 2 attempt 2 by a
            7.1 a#7 m2 O strike 1: timeout at ply 2, excerpt none, 0 ms
            7.1 a#7 m2 O asked: ply 2 attempt 3 by a
            8.1 a#8 m1 X played c at ply 1, reason none, 0 ms
            8.1 a#8 m1 O asked: ply 2 attempt 3 by a
            9.1 a#9 m1 ended: nobody by void
            10.1 a#10 m2 O played d at ply 2, reason none, 0 ms
            10.1 a#10 m2 X asked: ply 3 attempt 4 by a
        "#]],
    );
}

#[test]
fn a_match_against_the_house_is_never_rated() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left
        ~10:00:00.002 a register gremlin by house
        10:00:01.000 a open m1 left gremlin
        10:00:02.000 a open m1 gremlin left
        10:00:03.000 a open m1 left gremlin unrated first=challenger
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            4.1 a#3 rejected: house_unrated
            5.1 a#4 rejected: house_unrated
            6.1 a#5 m1 opened: X left, O gremlin, connect4, unrated, 10000 ms
            6.1 a#5 m1 X asked: ply 1 attempt 1 by a
        "#]],
    );
}

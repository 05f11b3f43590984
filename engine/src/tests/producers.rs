//! Exactly once: a producer's number acts at most once, in whatever order it comes.

use crate::testing::check;
use expect_test::expect;

#[test]
fn a_number_acts_once_and_its_repeat_is_a_duplicate_never_the_outcome() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a#1 register left
        10:00:00.002 a#1 register left
        10:00:00.003 a#2 register left
        10:00:00.004 a#2 register left
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 agent left speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            3.1 rejected: duplicate
            4.1 a#2 rejected: name_taken
            5.1 rejected: duplicate
        "#]],
    );
}

#[test]
fn another_body_under_a_used_number_is_refused_also_when_the_number_had_failed() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a#1 register left
        10:00:00.002 a#1 register right
        10:00:00.003 a#2 register left
        10:00:00.004 a#2 register right
        10:00:00.005 a#3 register right
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 agent left speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            3.1 rejected: number_reused
            4.1 a#2 rejected: name_taken
            5.1 rejected: number_reused
            6.1 a#3 agent right speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
        "#]],
    );
}

#[test]
fn another_kind_with_the_same_bytes_is_another_body() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a#1 raw 0x0999 00
        10:00:00.002 a#1 raw 0x0998 00
        10:00:00.003 a#1 raw 0x0999 00
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 rejected: unknown_kind
            3.1 rejected: number_reused
            4.1 rejected: duplicate
        "#]],
    );
}

#[test]
fn a_long_body_is_told_from_another_by_its_last_byte() {
    // On either side of what is hashed in one piece: a kind and 254 bytes.
    for bytes in [253, 254, 255, 4_000] {
        let most = "ab".repeat(bytes - 1);
        check(
            &format!(
                "
                ~10:00:00.000 gateway a
                10:00:00.001 a#1 raw 0x0999 {most}00
                10:00:00.002 a#1 raw 0x0999 {most}01
                10:00:00.003 a#1 raw 0x0999 {most}00
                "
            ),
            expect![[r#"
                2.1 a#1 rejected: unknown_kind
                3.1 rejected: number_reused
                4.1 rejected: duplicate
            "#]],
        );
    }
}

#[test]
fn numbers_come_in_any_order_and_two_producers_do_not_know_each_others() {
    check(
        "
        10:00:00.000 gateway a
                   & gateway b
        10:00:00.001 a#3 register one
        10:00:00.002 a#1 register two
        10:00:00.003 b#3 register three
        10:00:00.004 a#2 register four
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            1.2 gateway b is producer 2, knows rules 1
            2.1 a#3 agent one speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            3.1 a#1 agent two speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            4.1 b#3 agent three speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            5.1 a#2 agent four speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
        "#]],
    );
}

#[test]
fn repeats_within_one_record_are_repeats() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a#1 register left
                   & a#1 register left
                   & a#1 register right
                   & a#2 register right
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 agent left speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            2.2 rejected: duplicate
            2.3 rejected: number_reused
            2.4 a#2 agent right speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
        "#]],
    );
}

#[test]
fn at_or_below_the_mark_nothing_is_done_and_one_above_it_still_acts() {
    // 65,539 raises the mark to 3.
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a#1 register one
        10:00:00.002 a#65536 register two
        10:00:00.003 a#1 register one
        10:00:00.004 a#65539 register three
        10:00:00.005 a#1 register one
        10:00:00.006 a#2 register four
        10:00:00.007 a#3 register four
        10:00:00.008 a#4 register four
        10:00:00.009 a#65536 register two
        10:00:00.010 a#0 register five
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 agent one speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            3.1 a#65536 agent two speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            4.1 rejected: duplicate
            5.1 a#65539 agent three speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            6.1 rejected: expired
            7.1 rejected: expired
            8.1 rejected: expired
            9.1 a#4 agent four speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            10.1 rejected: duplicate
            11.1 rejected: expired
        "#]],
    );
}

#[test]
fn who_is_gone_or_never_was_is_expired_and_a_new_run_counts_from_one() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a#1 register one
        10:00:00.002 gone a
        10:00:00.003 a#2 register two
        10:00:00.004 @9#1 register two
        10:00:00.005 gone a
        10:00:00.006 gone z
        10:00:00.007 gateway a
        10:00:00.008 a#1 register two
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 agent one speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            3.1 gateway a is gone
            4.1 rejected: expired
            5.1 rejected: expired
            6.1 rejected: expired
            7.1 rejected: expired
            8.1 gateway a is producer 2, knows rules 1
            9.1 a#1 agent two speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
        "#]],
    );
}

#[test]
fn the_same_incarnation_gets_the_same_number_and_keeps_its_window() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a#1 register left
        10:00:00.002 gateway a
        10:00:00.003 gateway b
        10:00:00.004 a#1 register left
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 agent left speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            3.1 gateway a is producer 1, knows rules 1
            4.1 gateway b is producer 2, knows rules 1
            5.1 rejected: duplicate
        "#]],
    );
}

#[test]
fn at_most_1024_are_live_and_one_that_is_live_is_still_answered() {
    let many: Vec<String> = (0..crate::PRODUCERS_LIVE_MAX).map(|at| format!("& gateway g{at}")).collect();
    check(
        &format!(
            "
            ~10:00:00.000 tick
            {}
            10:00:00.001 gateway late
            10:00:00.002 gateway g7
            10:00:00.003 gone g7
                       & gateway late
            ",
            many.join("\n")
        ),
        expect![[r#"
            2.1 rejected: limit_reached
            3.1 gateway g7 is producer 8, knows rules 1
            4.1 gateway g7 is gone
            4.2 gateway late is producer 1025, knows rules 1
        "#]],
    );
}

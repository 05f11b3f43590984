//! When a session ends by itself: to the microsecond, reckoned from whole seconds.

use super::check;
use expect_test::expect;

#[test]
fn one_that_nobody_joined_ends_a_day_after_it_was_created() {
    check(
        "
        10:00:00.999999 a create s1
        10:00:01 a create s2
        ~10:00:02 a create s3
        ~20:00:00 a join s3 luis
        1d09:59:59.999999 tick
        1d10:00:00 tick
        1d10:00:00.999999 tick
        1d10:00:01 a join s2 luis
        ",
        expect![[r#"
            4.1 a#1 s1 created
            5.1 a#2 s2 created
            8 nothing
            9.0 s1 ended: nobody_joined, cleared by a
            10 nothing
            11.0 s2 ended: nobody_joined, cleared by a
            11.1 a#5 rejected: session_gone
        "#]],
    );
}

#[test]
fn one_that_nobody_received_in_ends_a_week_after_the_last_join() {
    // Sending, reading and leaving count as nothing.
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01.5 a join s1 luis
        ~1d10:00:02.5 a join s1 anna
        ~2d10:00:00 a leave s1 luis
        ~3d10:00:03.5 a rejoin s1 luis
        ~4d10:00:00 a send s1 luis
        ~5d10:00:00 a read s1 luis:3
        ~6d10:00:00 a leave s1 anna
        ~7d10:00:00 a account s1 luis account=luis
        10d10:00:02.999999 tick
        10d10:00:03 tick
        ",
        expect![[r#"
            13 nothing
            14.0 s1 ended: nobody_received, cleared by a
        "#]],
    );
}

#[test]
fn every_receive_counts_the_week_anew_and_a_join_behind_it_does_not() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 luis
        10:00:02 a touch s1
        ~3d10:00:00 a join s1 anna
        5d10:00:00.7 a touch s1
        ~6d10:00:00 a join s1 eva
        12d09:59:59.999999 tick
        12d10:00:00 tick
        ",
        expect![[r#"
            6.1 a#3 s1 received by a
            8.1 a#5 s1 received by a
            10 nothing
            11.0 s1 ended: nobody_received, cleared by a
        "#]],
    );
}

#[test]
fn a_receive_that_waits_counts_while_its_gateway_lives() {
    check(
        "
        ~10:00:00 gateway b rules=3
        ~10:00:00.1 a create s1
        ~10:00:01 a join s1 luis
        10:00:02 a touch s1 waiting
        10:00:03 b touch s1 waiting
        10:00:04 b touch s1 waiting
        20d10:00:00 a touch s1
        40d10:00:00 tick
        40d10:00:00.5 gone b
        47d09:59:59.999999 tick
        47d10:00:00 tick
        ",
        expect![[r#"
            7.1 a#3 s1 received by a, waiting
            8.1 b#1 s1 received by b, waiting
            10.1 a#4 s1 received by a
            11 nothing
            12.1 gateway b is gone
            13 nothing
            14.0 s1 ended: nobody_received, cleared by a
        "#]],
    );
}

#[test]
fn in_a_lineage_that_begins_nobody_waits_any_more() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a join s1 luis
        10:00:02 a touch s1 waiting
        9d10:00:00 lineage other
        9d10:00:01 gateway b rules=3
        16d09:59:59.999999 tick
        16d10:00:00 tick
        ",
        expect![[r#"
            6.1 a#3 s1 received by a, waiting
            7.1 lineage other begun after 6
            8.1 gateway b is producer 2, knows rules 3
            9 nothing
            10.0 s1 ended: nobody_received, cleared by b
        "#]],
    );
}

#[test]
fn where_nobody_is_in_nobody_receives() {
    check(
        "
        ~10:00:00 a create s1
        10:00:01 a touch s1
        10:00:02 a touch s1 waiting
        1d10:00:00 a touch s1
        ~2d10:00:00 a create s2 owned
        ~2d10:00:01 a join s2 luis
        ~2d10:00:02 a touch s2 waiting
        2d10:00:03 a leave s2 luis
        2d10:00:04 a touch s2
        2d10:00:05 a answer s2 keep
        ",
        expect![[r#"
            7.0 s1 ended: nobody_joined, cleared by a
            7.1 a#4 rejected: session_gone
            11.1 a#8 s2 luis@1 left: n 2, account none
            11.1 a#8 s2 asked about: attempt 1 by a, everyone_left
            13.1 a#10 s2 attempt 1: keep, again 3d10:00:05.000
        "#]],
    );
}

#[test]
fn these_instants_stand_through_an_outage_of_ours() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:01 a create s2
        ~10:00:02 a join s2 luis
        ~10:00:03 a create s3
        ~10:00:04 a join s3 luis
        ~10:00:05 a touch s3 waiting
        8d10:00:00 sequencer outage_us=691195000000
        8d10:00:00.1 gateway b rules=3
                    & gone a
        15d09:59:59.999999 tick
        15d10:00:00 tick
        ",
        expect![[r#"
            10.1 sequencer of epoch 2, outage 691195000000 us
            11.0 s1 ended: nobody_joined, cleared by a
            11.0 s2 ended: nobody_received, cleared by a
            11.1 gateway b is producer 2, knows rules 3
            11.2 gateway a is gone
            12 nothing
            13.0 s3 ended: nobody_received, cleared by b
        "#]],
    );
}

#[test]
fn what_falls_due_at_once_comes_in_the_order_of_its_scheduling() {
    check(
        "
        ~10:00:00 a create s1
        ~10:00:00.1 a create s2
        ~10:00:00.2 a create s3
        ~10:00:00.3 a join s1 luis
        ~10:00:00.4 a create s4
        ~10:00:00.5 a join s2 luis
        30d10:00:00 tick
        ",
        expect![[r#"
            10.0 s3 ended: nobody_joined, cleared by a
            10.0 s4 ended: nobody_joined, cleared by a
            10.0 s1 ended: nobody_received, cleared by a
            10.0 s2 ended: nobody_received, cleared by a
        "#]],
    );
}

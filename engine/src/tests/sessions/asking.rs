//! Owned sessions: their service is asked before they are deleted, by one gateway.

use super::check;
use expect_test::expect;

#[test]
fn one_that_nobody_joined_is_asked_about_each_day_while_it_is_kept() {
    check(
        "
        ~10:00:00.3 a create s1 owned
        1d10:00:00 tick
        ~1d10:00:00.1 tick
        1d10:00:05.7 a answer s1 keep
        2d10:00:04.999999 tick
        2d10:00:05 tick
        2d10:00:06 a answer s1 delete
        ",
        expect![[r#"
            5.0 s1 asked about: attempt 1 by a, nobody_joined
            7.1 a#2 s1 attempt 1: keep, again 2d10:00:05.000
            8 nothing
            9.0 s1 asked about: attempt 2 by a, nobody_joined
            10.1 a#3 s1 ended: nobody_joined, cleared by a
        "#]],
    );
}

#[test]
fn one_that_is_not_answered_for_is_kept_and_asked_about_again_an_hour_later() {
    check(
        "
        ~10:00:00 a create s1 owned
        ~10:00:01 a join s1 luis
        10:00:02 a leave s1 luis
        10:00:07.9 a answer s1 silence
        11:00:06.999999 tick
        11:00:07 tick
        11:00:08 a answer s1 silence
        12:00:08 tick
        12:00:09 a answer s1 delete
        ",
        expect![[r#"
            6.1 a#3 s1 luis@1 left: n 2, account none
            6.1 a#3 s1 asked about: attempt 1 by a, everyone_left
            7.1 a#4 s1 attempt 1: silence, again 11:00:07.000
            8 nothing
            9.0 s1 asked about: attempt 2 by a, everyone_left
            10.1 a#5 s1 attempt 2: silence, again 12:00:08.000
            11.0 s1 asked about: attempt 3 by a, everyone_left
            12.1 a#6 s1 ended: everyone_left, cleared by a
        "#]],
    );
}

#[test]
fn one_that_nobody_received_in_is_asked_about_and_a_receive_withdraws_that() {
    check(
        "
        ~10:00:00 a create s1 owned
        ~10:00:01 a join s1 luis
        ~10:00:02 a touch s1
        7d10:00:02 tick
        7d10:00:03 a touch s1
        7d10:00:04 a answer s1 delete
        14d10:00:03 tick
        14d10:00:04 a answer s1 keep
        15d10:00:04 tick
        15d10:00:05 a answer s1 keep
        ~15d10:00:06 a touch s1 waiting
        ~40d10:00:00 a touch s1
        47d09:59:59.999999 tick
        47d10:00:00 tick
        47d10:00:01 a answer s1 delete
        ",
        expect![[r#"
            7.0 s1 asked about: attempt 1 by a, nobody_received
            8.1 a#4 s1 received by a
            9.1 a#5 rejected: stale_attempt
            10.0 s1 asked about: attempt 2 by a, nobody_received
            11.1 a#6 s1 attempt 2: keep, again 15d10:00:04.000
            12.0 s1 asked about: attempt 3 by a, nobody_received
            13.1 a#7 s1 attempt 3: keep, again 16d10:00:05.000
            16 nothing
            17.0 s1 asked about: attempt 4 by a, nobody_received
            18.1 a#10 s1 ended: nobody_received, cleared by a
        "#]],
    );
}

#[test]
fn a_join_in_between_withdraws_what_was_asked_because_nobody_was_there() {
    check(
        "
        ~10:00:00 a create s1 owned
        1d10:00:00 tick
        1d10:00:01 a join s1 luis
        1d10:00:02 a answer s1 delete
        1d10:00:03 a leave s1 luis
        1d10:00:04 a rejoin s1 luis
        1d10:00:05 a answer s1 delete attempt=2
        1d10:00:06 a join s1 anna
        1d10:00:07 a leave s1 luis
        1d10:00:08 a leave s1 anna
        1d10:00:09 a answer s1 delete attempt=2
        1d10:00:10 a answer s1 delete attempt=3
        ",
        expect![[r#"
            5.0 s1 asked about: attempt 1 by a, nobody_joined
            6.1 a#2 s1 luis@1 joined: n 1, account none
            7.1 a#3 rejected: stale_attempt
            8.1 a#4 s1 luis@1 left: n 2, account none
            8.1 a#4 s1 asked about: attempt 2 by a, everyone_left
            9.1 a#5 s1 luis@1 joined again: n 3, account none
            10.1 a#6 rejected: stale_attempt
            11.1 a#7 s1 anna@2 joined: n 4, account none
            12.1 a#8 s1 luis@1 left: n 5, account none
            13.1 a#9 s1 anna@2 left: n 6, account none
            13.1 a#9 s1 asked about: attempt 3 by a, everyone_left
            14.1 a#10 rejected: stale_attempt
            15.1 a#11 s1 ended: everyone_left, cleared by a
        "#]],
    );
}

#[test]
fn a_join_withdraws_the_weeks_question_only_where_nobody_ever_received() {
    check(
        "
        ~10:00:00 a create s1 owned
        ~10:00:00.1 a create s2 owned
        ~10:00:01 a join s1 luis
        ~10:00:01.1 a join s2 luis
        ~10:00:01.2 a touch s2
        7d10:00:01 tick
        7d10:00:02 a join s1 anna
        7d10:00:03 a join s2 anna
        7d10:00:04 a answer s1 delete
        7d10:00:05 a answer s2 keep
        ~8d10:00:00 a join s2 eva
        8d10:00:05 tick
        8d10:00:06 a answer s2 keep
        14d10:00:02 tick
        ",
        expect![[r#"
            9.0 s1 asked about: attempt 1 by a, nobody_received
            9.0 s2 asked about: attempt 1 by a, nobody_received
            10.1 a#6 s1 anna@2 joined: n 2, account none
            11.1 a#7 s2 anna@2 joined: n 2, account none
            12.1 a#8 rejected: stale_attempt
            13.1 a#9 s2 attempt 1: keep, again 8d10:00:05.000
            15.0 s2 asked about: attempt 2 by a, nobody_received
            16.1 a#11 s2 attempt 2: keep, again 9d10:00:06.000
            17.0 s2 asked about: attempt 3 by a, nobody_received
            17.0 s1 asked about: attempt 2 by a, nobody_received
        "#]],
    );
}

#[test]
fn when_everyone_leaves_it_is_asked_about_at_once_whatever_was_asked_before() {
    check(
        "
        ~10:00:00 a create s1 owned
        ~10:00:01 a join s1 luis
        7d10:00:01 tick
        7d10:00:02 a leave s1 luis
        7d10:00:03 a answer s1 delete attempt=1
        7d10:00:04 a answer s1 keep
        7d10:00:05 a rejoin s1 luis
        7d10:00:06 a leave s1 luis
        7d10:00:07 a answer s1 keep
        8d10:00:07 tick
        ",
        expect![[r#"
            6.0 s1 asked about: attempt 1 by a, nobody_received
            7.1 a#3 s1 luis@1 left: n 2, account none
            7.1 a#3 s1 asked about: attempt 2 by a, everyone_left
            8.1 a#4 rejected: stale_attempt
            9.1 a#5 s1 attempt 2: keep, again 8d10:00:04.000
            10.1 a#6 s1 luis@1 joined again: n 3, account none
            11.1 a#7 s1 luis@1 left: n 4, account none
            11.1 a#7 s1 asked about: attempt 3 by a, everyone_left
            12.1 a#8 s1 attempt 3: keep, again 8d10:00:07.000
            13.0 s1 asked about: attempt 4 by a, everyone_left
        "#]],
    );
}

#[test]
fn only_its_home_answers_and_only_once() {
    check(
        "
        ~10:00:00 gateway b rules=3
        ~10:00:01 a create s1 owned
        ~10:00:02 a join s1 luis
        10:00:03 a answer s1 delete
        10:00:04 a leave s1 luis
        10:00:05 b answer s1 delete
        10:00:05.1 b answer s1 delete attempt=0
        10:00:06 a answer s1 delete attempt=2
        10:00:07 a answer s1 keep
        10:00:08 a answer s1 delete
        10:00:09 a answer s1 delete attempt=1
        ",
        expect![[r#"
            7.1 a#3 rejected: stale_attempt
            8.1 a#4 s1 luis@1 left: n 2, account none
            8.1 a#4 s1 asked about: attempt 1 by a, everyone_left
            9.1 b#1 rejected: stale_attempt
            10.1 b#2 rejected: stale_attempt
            11.1 a#5 rejected: stale_attempt
            12.1 a#6 s1 attempt 1: keep, again 1d10:00:07.000
            13.1 a#7 rejected: stale_attempt
            14.1 a#8 rejected: stale_attempt
        "#]],
    );
}

#[test]
fn a_gateway_that_goes_leaves_its_question_to_another_as_the_next_attempt() {
    check(
        "
        ~10:00:01 a create s1 owned
        ~10:00:02 a join s1 luis
        10:00:03 a leave s1 luis
        ~10:00:04 gateway b rules=3
        10:00:05 gone a
        10:00:06 b answer s1 delete attempt=1
        10:00:07 gone b
        10:00:08 gateway c rules=3
        10:00:09 gateway d rules=3
        10:00:10 c answer s1 delete
        ",
        expect![[r#"
            6.1 a#3 s1 luis@1 left: n 2, account none
            6.1 a#3 s1 asked about: attempt 1 by a, everyone_left
            8.1 gateway a is gone
            8.1 s1 asked about: attempt 2 by b, everyone_left
            9.1 b#1 rejected: stale_attempt
            10.1 gateway b is gone
            10.1 s1 asked about: attempt 3 by nobody, everyone_left
            11.1 gateway c is producer 3, knows rules 3
            11.1 s1 asked about: attempt 4 by c, everyone_left
            12.1 gateway d is producer 4, knows rules 3
            13.1 c#1 s1 ended: everyone_left, cleared by c
        "#]],
    );
}

#[test]
fn with_none_live_it_is_nobody_s_to_ask_until_one_is_announced() {
    check(
        "
        ~10:00:01 a create s1 owned
        ~10:00:02 a create s2
        10:00:03 gone a
        1d10:00:01 tick
        1d10:00:02 tick
        1d10:00:03 gateway b rules=3
        1d10:00:04 lineage other
        1d10:00:05 gateway c rules=3
        1d10:00:06 c answer s1 delete
        ",
        expect![[r#"
            6.1 gateway a is gone
            7.0 s1 asked about: attempt 1 by nobody, nobody_joined
            8.0 s2 ended: nobody_joined, cleared by nobody
            9.1 gateway b is producer 2, knows rules 3
            9.1 s1 asked about: attempt 2 by b, nobody_joined
            10.1 lineage other begun after 9
            10.1 s1 asked about: attempt 3 by nobody, nobody_joined
            11.1 gateway c is producer 3, knows rules 3
            11.1 s1 asked about: attempt 4 by c, nobody_joined
            12.1 c#1 s1 ended: nobody_joined, cleared by c
        "#]],
    );
}

//! What a caller repeats through another door: kept for 24 hours with place and code of its outcome.

use crate::testing::check;
use expect_test::expect;

#[test]
fn a_second_key_answers_through_another_door_and_with_another_body_it_conflicts() {
    check(
        "
        10:00:00.000 gateway a
                   & gateway b
        10:00:00.001 a register left key=k1/b1
        10:00:00.002 b register left key=k1/b1
        10:00:00.003 b register right key=k1/b2
        10:00:00.004 b register right key=k2/b2
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            1.2 gateway b is producer 2, knows rules 1
            2.1 a#1 agent left speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            2.1 a#1 kept k1/b1 of nobody: accepted at 2.1
            3.1 b#1 rejected: second_key_replayed
            4.1 b#2 rejected: second_key_conflict
            5.1 b#3 agent right speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            5.1 b#3 kept k2/b2 of nobody: accepted at 5.1
        "#]],
    );
}

#[test]
fn a_key_is_its_route_s_and_its_caller_s_own() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right secrets=api_key
        10:00:00.002 a register one key=k1/b1
        10:00:00.003 a register two key=k1/b1 route=2
        10:00:00.004 a endpoint left challenges=none with=left key=k1/b1 caller=left
        10:00:00.005 a endpoint right challenges=none with=right key=k1/b1 caller=right
        10:00:00.006 a endpoint right challenges=open with=right key=k1/b1 caller=right
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 agent one speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            3.1 a#3 kept k1/b1 of nobody: accepted at 3.1
            4.1 a#4 agent two speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            4.1 a#4 kept k1/b1 of nobody: accepted at 4.1
            5.1 a#5 agent left has endpoint as it was, challenges none
            5.1 a#5 kept k1/b1 of left: accepted at 5.1
            6.1 a#6 agent right has endpoint as it was, challenges none
            6.1 a#6 kept k1/b1 of right: accepted at 6.1
            7.1 a#7 rejected: second_key_replayed
        "#]],
    );
}

#[test]
fn the_code_of_a_refusal_is_kept_too() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a register left
        10:00:00.002 a register left key=k1/b1
        10:00:00.003 a raw 0x0999 key=k2/b1
        10:00:00.004 a raw 0x0101 ff key=k3/b1
        10:00:00.005 a tick key=k4/b1
        10:00:00.006 a register left key=k1/b1
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 agent left speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            3.1 a#2 rejected: name_taken
            3.1 a#2 kept k1/b1 of nobody: name_taken at 3.1
            4.1 a#3 rejected: unknown_kind
            4.1 a#3 kept k2/b1 of nobody: unknown_kind at 4.1
            5.1 a#4 rejected: malformed
            5.1 a#4 kept k3/b1 of nobody: malformed at 5.1
            6.1 a#5 rejected: not_sequencer
            6.1 a#5 kept k4/b1 of nobody: not_sequencer at 6.1
            7.1 a#6 rejected: second_key_replayed
        "#]],
    );
}

#[test]
fn a_number_that_is_refused_leaves_the_key_unused() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a#1 register left
        10:00:00.002 a#1 register left key=k1/b1
        10:00:00.003 a#2 register right key=k1/b1
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 agent left speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            3.1 rejected: duplicate
            4.1 a#2 agent right speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            4.1 a#2 kept k1/b1 of nobody: accepted at 4.1
        "#]],
    );
}

#[test]
fn it_is_forgotten_after_24_hours_and_not_a_microsecond_before() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001500 a register left key=k1/b1
        1d10:00:00.001499 a register right key=k1/b1
        1d10:00:00.001500 a register right key=k1/b1
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 agent left speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            2.1 a#1 kept k1/b1 of nobody: accepted at 2.1
            3.1 a#2 rejected: second_key_replayed
            4.0 forgot k1 of nobody
            4.1 a#3 agent right speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            4.1 a#3 kept k1/b1 of nobody: accepted at 4.1
        "#]],
    );
}

#[test]
fn an_outage_does_not_move_it() {
    check(
        "
        10:00:00.000 sequencer
        10:00:00.001 gateway a
        10:00:00.002 a register left key=k1/b1
        11:00:00.002 sequencer outage_us=3600000000
        1d10:00:00.001999 tick
        1d10:00:00.002 tick
        ",
        expect![[r#"
            1.1 sequencer of epoch 1, outage 0 us
            2.1 gateway a is producer 1, knows rules 1
            3.1 a#1 agent left speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials []
            3.1 a#1 kept k1/b1 of nobody: accepted at 3.1
            4.1 sequencer of epoch 2, outage 3600000000 us
            5 nothing
            6.0 forgot k1 of nobody
        "#]],
    );
}

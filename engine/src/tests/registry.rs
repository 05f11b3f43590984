//! Agents, their handles and their credentials.

use crate::testing::check;
use expect_test::expect;

#[test]
fn a_handle_is_for_ever_somebody_s() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a register left by agentarena secrets=api_key,agent_token
        10:00:00.002 a register left by ludux
        10:00:00.003 a register gremlin-9 by house
        10:00:00.004 a register gremlin-9 by house
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 agent left speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials [api_key 1@1, agent_token 2@1]
            3.1 a#2 rejected: name_taken
            4.1 a#3 agent gremlin-9 speaks house by house, endpoint none, challenges open, credentials []
            5.1 a#4 rejected: name_taken
        "#]],
    );
}

#[test]
fn a_registration_that_contradicts_itself_is_refused() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a register one by agentarena url=none
        10:00:00.002 a register one by house url=https://one.example/
        10:00:00.003 a register one by house method=websocket
        10:00:00.004 a register one by mcp method=house
        10:00:00.005 a register one secrets=api_key,api_key:other
        10:00:00.006 a register one secrets=api_key:same,agent_token:same
        10:00:00.007 a register one secrets=api_key:same
        10:00:00.008 a register two secrets=agent_token:same
        10:00:00.009 a register two secrets=api_key,endpoint_secret,agent_token
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 rejected: invalid_registration
            3.1 a#2 rejected: invalid_registration
            4.1 a#3 rejected: invalid_registration
            5.1 a#4 rejected: invalid_registration
            6.1 a#5 rejected: invalid_registration
            7.1 a#6 rejected: invalid_registration
            8.1 a#7 agent one speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials [api_key 1@1]
            9.1 a#8 rejected: invalid_registration
            10.1 a#9 agent two speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials [api_key 2@1, endpoint_secret 3@1, agent_token 4@1]
        "#]],
    );
}

#[test]
fn a_rotated_credential_has_the_next_generation_and_the_old_one_is_stale() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a register left secrets=api_key
        10:00:00.002 a rotate left api_key secret=second with=left
        10:00:00.003 a endpoint left challenges=none with=left@1
        10:00:00.004 a endpoint left challenges=none with=left@2
        10:00:00.005 a rotate left api_key secret=third with=left@1
        10:00:00.006 a rotate left api_key secret=third with=left@2
        10:00:00.007 a rotate left api_key secret=fourth with=left@4
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 agent left speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials [api_key 1@1]
            3.1 a#2 agent left has credential api_key 1@2
            4.1 a#3 rejected: stale_credential
            5.1 a#4 agent left has endpoint as it was, challenges none
            6.1 a#5 rejected: stale_credential
            7.1 a#6 agent left has credential api_key 1@3
            8.1 a#7 rejected: stale_credential
        "#]],
    );
}

#[test]
fn a_rotation_makes_a_credential_of_a_kind_that_was_not_there() {
    check(
        "
        10:00:00.000 gateway a
        10:00:00.001 a register left, right secrets=api_key
        10:00:00.002 a rotate left agent_token with=left
        10:00:00.003 a rotate left agent_token secret=another with=left:agent_token
        10:00:00.004 a rotate left agent_token secret=another with=left
        10:00:00.005 a rotate left api_key secret=another with=left
        10:00:00.006 a rotate nobody api_key
        10:00:00.007 a rotate right api_key
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            2.1 a#1 agent left speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials [api_key 1@1]
            2.2 a#2 agent right speaks agentarena/1 by remote_endpoint, endpoint text of 26, challenges open, credentials [api_key 2@1]
            3.1 a#3 agent left has credential agent_token 3@1
            4.1 a#4 rejected: not_allowed
            5.1 a#5 agent left has credential agent_token 3@2
            6.1 a#6 rejected: invalid_registration
            7.1 a#7 rejected: unknown_agent
            8.1 a#8 rejected: invalid_registration
        "#]],
    );
}

#[test]
fn a_credential_acts_for_its_own_agent_alone() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left, right secrets=api_key
        10:00:00.002 a rotate right api_key secret=stolen with=left
        10:00:00.003 a endpoint right challenges=none with=left
        10:00:00.004 a open m1 right left with=left
        10:00:00.005 a open m1 left right with=left
        10:00:00.006 a endpoint left challenges=none with=99
        10:00:00.007 a endpoint left challenges=none with=0@5
        10:00:00.008 a endpoint left challenges=none
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            3.1 a#3 rejected: not_allowed
            4.1 a#4 rejected: not_allowed
            5.1 a#5 rejected: not_allowed
            6.1 a#6 m1 opened: X left, O right, connect4, rated, 10000 ms
            6.1 a#6 m1 X asked: ply 1 attempt 1 by a
            7.1 a#7 rejected: stale_credential
            8.1 a#8 rejected: stale_credential
            9.1 a#9 agent left has endpoint as it was, challenges none
        "#]],
    );
}

#[test]
fn an_endpoint_is_set_where_the_agent_has_one_and_what_is_not_named_stays() {
    check(
        "
        10:00:00.000 gateway a
        ~10:00:00.001 a register left
        ~10:00:00.002 a register gremlin by house
        10:00:00.003 a endpoint left url=https://left.example/
        10:00:00.004 a endpoint left challenges=none
        10:00:00.005 a endpoint left
        10:00:00.006 a endpoint gremlin url=https://gremlin.example/
        10:00:00.007 a endpoint gremlin challenges=none
        10:00:00.008 a endpoint nobody challenges=none
        ",
        expect![[r#"
            1.1 gateway a is producer 1, knows rules 1
            4.1 a#3 agent left has endpoint text of 21, challenges open
            5.1 a#4 agent left has endpoint as it was, challenges none
            6.1 a#5 agent left has endpoint as it was, challenges none
            7.1 a#6 rejected: invalid_registration
            8.1 a#7 agent gremlin has endpoint as it was, challenges none
            9.1 a#8 rejected: unknown_agent
        "#]],
    );
}

//! What rules 3 brought is theirs.

use super::made_by;
use crate::{refusal, testing::check};
use arena_schema::{
    Command, Rejection, SecretHash,
    command::sessions::{CreateSession, LeaveSession, TouchSession},
    id::{CredentialRef, Partition, SessionId, SessionKey},
};
use expect_test::expect;

#[test]
fn under_older_rules_none_of_its_kinds_is_known() {
    let kinds = ["0701", "0702", "0703", "0704", "0705", "0706", "0707", "0708", "0709"];
    let line = |at: usize, kind: &str| format!("10:00:{at:02} raw {kind}\n");
    let raw = |from| kinds.iter().zip(from..).map(|(kind, at)| line(at, kind)).collect::<String>();
    let script = format!(
        "~09:59:00 gateway a rules=3\n{}10:00:20 rules 2\n{}10:00:40 rules 3\n{}",
        raw(1),
        raw(21),
        raw(41)
    );
    check(
        &script,
        expect![[r#"
        2.1 rejected: unknown_kind
        3.1 rejected: unknown_kind
        4.1 rejected: unknown_kind
        5.1 rejected: unknown_kind
        6.1 rejected: unknown_kind
        7.1 rejected: unknown_kind
        8.1 rejected: unknown_kind
        9.1 rejected: unknown_kind
        10.1 rejected: unknown_kind
        11.1 rules 2 are next
        12.1 rejected: unknown_kind
        13.1 rejected: unknown_kind
        14.1 rejected: unknown_kind
        15.1 rejected: unknown_kind
        16.1 rejected: unknown_kind
        17.1 rejected: unknown_kind
        18.1 rejected: unknown_kind
        19.1 rejected: unknown_kind
        20.1 rejected: unknown_kind
        21.1 rules 3 are next
        22.1 rejected: malformed
        23.1 rejected: malformed
        24.1 rejected: malformed
        25.1 rejected: malformed
        26.1 rejected: malformed
        27.1 rejected: malformed
        28.1 rejected: malformed
        29.1 rejected: malformed
        30.1 rejected: malformed
    "#]],
    );
}

#[test]
fn a_door_hears_before_it_submits_what_the_state_shows_to_be_impossible() {
    let state = made_by(
        "
        10:00:00 a create s1
        10:00:01 a join s1 luis
        ",
    );
    let create = |partition: u16| CreateSession {
        id: SessionId::from_random(Partition(partition), [9; 14]),
        address: SecretHash([9; 32]),
        owned: false,
    };
    let ask = |command: Command| refusal(&state, CredentialRef::NONE, false, &command);
    assert_eq!(ask(create(0).into()), None);
    assert_eq!(ask(create(1).into()), Some(Rejection::WrongPartition));
    let session = |slot| SessionKey { slot, generation: 1 };
    let leave = |slot, participant| ask(LeaveSession { session: session(slot), participant }.into());
    assert_eq!(leave(0, 1), None);
    assert_eq!(leave(0, 2), Some(Rejection::UnknownParticipant));
    assert_eq!(leave(1, 1), Some(Rejection::SessionGone));
    assert_eq!(ask(TouchSession { session: session(0), waiting: true }.into()), None);
}

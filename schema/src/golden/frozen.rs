//! Codes and names that were given out once, each written here a second time by hand, and the forms of ids and commitments.

use crate::{
    Hash, LogTime, Rejection, Seat, SecretHash, TextRef, TextSalt,
    command::{
        matches::{First, StrikeCause, VoidReason},
        sessions::{DeletionAnswer, GoneBecause},
    },
    event::{matches::EndReason, sessions::Vacancy},
    hash::BodyDigest,
    id::{
        AgentId, ChallengePolicy, ConnectionMethod, CredentialKind, Handle, MatchId, Partition, ProducerId,
        Protocol, SessionId,
    },
    record::{COMMAND_HEAD_BYTES, HEADER_BYTES, RECORD_BYTES_MAX, SECOND_KEY_BYTES, TRAILER_BYTES},
};

/// The whole of an enum is this table, and both of its ways to read lead back and nowhere else.
macro_rules! frozen {
    ($name:ident: $($code:literal $text:literal)+) => {{
        let table: &[(u16, &str)] = &[$(($code, $text),)+];
        let all: Vec<(u16, &str)> = $name::ALL.iter().map(|one| (one.code(), one.as_str())).collect();
        assert_eq!(all, table, "{}: codes and names are for ever", stringify!($name));
        for one in $name::ALL {
            assert_eq!($name::from_code(one.code()), Some(*one));
            assert_eq!($name::from_name(one.as_str()), Some(*one));
            assert_eq!(one.to_string(), one.as_str());
            assert_eq!($name::from_name(&format!("{one} ")), None);
        }
        for code in 0..=u16::MAX {
            assert_eq!($name::from_code(code).is_some(), table.iter().any(|(known, _)| *known == code));
        }
        assert_eq!($name::from_name(""), None);
    }};
}

#[test]
fn rejections() {
    frozen!(Rejection:
        1 "expired"
        2 "duplicate"
        3 "number_reused"
        4 "not_sequencer"
        5 "unknown_kind"
        6 "malformed"
        7 "not_alone"
        8 "stale_credential"
        9 "not_allowed"
        10 "second_key_replayed"
        11 "second_key_conflict"
        12 "limit_reached"
        13 "rules_unknown"
        14 "lineage_mismatch"
        15 "wrong_partition"
        16 "unknown_partition"
        17 "outbox_gap"
        18 "outbox_full"
        19 "outbox_forked"
        101 "name_taken"
        102 "unknown_agent"
        103 "invalid_registration"
        301 "gone"
        302 "unknown_game"
        303 "self_match"
        304 "challenges_closed"
        305 "pair_limit"
        306 "agent_limit"
        307 "match_id_taken"
        308 "deadline_out_of_range"
        309 "stale_ply"
        310 "stale_attempt"
        311 "not_to_act"
        312 "game_not_played"
        313 "first_is_rated"
        314 "house_unrated"
        701 "session_gone"
        702 "session_id_taken"
        703 "session_address_taken"
        704 "session_name_taken"
        705 "session_secret_taken"
        706 "unknown_participant"
        707 "not_in"
        708 "invalid_entry"
    );
}

#[test]
fn enums_of_matches() {
    frozen!(Seat: 1 "X" 2 "O");
    frozen!(First: 1 "by_seed" 2 "challenger" 3 "opponent");
    frozen!(StrikeCause:
        1 "tls"
        2 "transport"
        3 "timeout"
        4 "redirect"
        5 "status"
        6 "too_large"
        7 "not_json"
        8 "no_move"
        9 "nonce"
        10 "illegal"
    );
    frozen!(VoidReason: 1 "referee_fault" 2 "operator");
    frozen!(EndReason:
        1 "win"
        2 "draw"
        3 "forfeit"
        4 "resignation"
        5 "agreement"
        6 "void"
    );
}

#[test]
fn enums_of_sessions() {
    frozen!(GoneBecause: 1 "refused" 2 "silent");
    frozen!(DeletionAnswer: 1 "keep" 2 "delete" 3 "silence");
    frozen!(Vacancy: 1 "nobody_joined" 2 "nobody_received" 3 "everyone_left");
}

#[test]
fn enums_of_the_registry() {
    frozen!(Protocol:
        1 "house"
        2 "agentarena/1"
        3 "ludux/1"
        4 "evalduel-agent-v0"
        5 "mcp"
    );
    frozen!(ConnectionMethod: 1 "house" 2 "remote_endpoint" 3 "websocket" 4 "polling" 5 "mcp");
    frozen!(ChallengePolicy: 1 "open" 2 "none");
    frozen!(CredentialKind: 1 "api_key" 2 "endpoint_secret" 3 "agent_token");
}

#[test]
fn the_sizes_of_a_record_s_parts() {
    assert_eq!((HEADER_BYTES, TRAILER_BYTES), (164, 32));
    assert_eq!((COMMAND_HEAD_BYTES, SECOND_KEY_BYTES), (36, 74));
    assert_eq!(RECORD_BYTES_MAX, 524_288);
}

#[test]
fn hashes_are_blake3_and_commitments_sha_256() {
    let blake3_of_abc = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
    assert_eq!(Hash::of(b"abc").to_string(), blake3_of_abc);
    assert_eq!(Hash::of_parts(&[b"a", b"", b"bc"]).to_string(), blake3_of_abc);
    // BLAKE3 keyed with 32 zeros, over `abc`.
    assert_eq!(
        Hash::ZERO.then(b"abc").to_string(),
        "a77fc933cbb22a3738a01105ab6ec3c183b0eb0e582311f7881dd3bb8393ffa5"
    );
    for (kind, body, digest) in [
        (0, &b""[..], "5239c74d52d667cf69f6ba53aeb3b8c8"),
        (0x0302, b"abc", "e247a3681bc77edf75369974a204ad4b"),
        (0x0302, b"exactly16bytes..", "55817ba83a25f721c707a7a652b7b9b8"),
        (0x0303, b"exactly16bytes..and more", "d78b7e07fc3e9002af82c61adc7d7b18"),
    ] {
        assert_eq!(BodyDigest::of(kind, body).to_string(), digest);
    }
    let sha256_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(SecretHash::of("abc").to_string(), sha256_of_abc);
    // SHA-256 over 32 zeros and `abc`.
    let text = TextRef::commit(&TextSalt([0; 32]), "abc");
    assert_eq!(text.size, 3);
    assert_eq!(
        text.commitment.to_string(),
        "365aa7d8f7f9402c4b9434502b4cc89ddb09fe50d7cd95b493b834c62d5a5370"
    );
    assert_eq!(TextRef::commit(&TextSalt([0; 32]), "äöü").size, 6, "bytes of UTF-8, not characters");
}

#[test]
fn an_external_id_is_a_uuid_of_version_8_that_carries_its_partition() {
    let id = MatchId::from_random(Partition(0x0a0b), [0xff; 14]);
    assert_eq!(id.to_uuid().to_string(), "0a0bffff-ffff-8fff-bfff-ffffffffffff");
    assert_eq!(id.to_uuid().get_version_num(), 8);
    assert_eq!(id.to_uuid().get_variant(), uuid::Variant::RFC4122);
    assert_eq!(id.partition(), Partition(0x0a0b));
    let zero = AgentId::from_random(Partition(0), [0; 14]);
    assert_eq!(zero.to_uuid().to_string(), "00000000-0000-8000-8000-000000000000");
    let session = SessionId::from_random(Partition(0x0a0b), [0xff; 14]);
    assert_eq!((session.0, session.partition()), (id.0, Partition(0x0a0b)));
    assert_eq!(MatchId::parse("0a0bffff-ffff-8fff-bfff-ffffffffffff"), Some(id));
    for other in [
        "0A0BFFFF-ffff-8fff-bfff-ffffffffffff",
        "0a0bffffffff8fffbfffffffffffffff",
        "{0a0bffff-ffff-8fff-bfff-ffffffffffff}",
        "urn:uuid:0a0bffff-ffff-8fff-bfff-ffffffffffff",
        "0a0bffff-ffff-8fff-bfff-ffffffffffff ",
        "",
    ] {
        assert_eq!(MatchId::parse(other), None, "{other:?}");
    }
}

#[test]
fn a_partition_submits_under_a_number_that_no_gateway_has() {
    for (partition, number) in [(0, 1 << 63), (1, (1 << 63) + 1), (u16::MAX, (1 << 63) + 65_535)] {
        let producer = ProducerId::of_partition(Partition(partition));
        assert_eq!((producer.0, producer.as_partition()), (number, Some(Partition(partition))));
    }
    for other in [0, 1, 65_535, (1 << 63) - 1, (1 << 63) + 65_536, u64::MAX] {
        assert_eq!(ProducerId(other).as_partition(), None, "{other}");
    }
}

#[test]
fn a_handle_is_3_to_32_of_its_letters() {
    let long = "a".repeat(32);
    for good in ["abc", "a-_", "000", "gremlin-9", long.as_str()] {
        assert_eq!(Handle::parse(good).map(|handle| handle.to_string()), Some(good.to_owned()));
    }
    let longer = "a".repeat(33);
    for bad in ["", "ab", longer.as_str(), "Abc", "a c", "abc\n", "äbc", "a.c", "ab\0"] {
        assert_eq!(Handle::parse(bad), None, "{bad:?}");
    }
}

#[test]
fn time_is_cut_downwards_and_never_wraps() {
    assert_eq!(LogTime(1_999_999).cut_to_ms(), LogTime(1_999_000));
    assert_eq!(LogTime(1_999_999).cut_to_s(), LogTime(1_000_000));
    assert_eq!(LogTime(5_000_000).cut_to_s().cut_to_ms(), LogTime(5_000_000));
    assert_eq!(LogTime(u64::MAX - 1).plus_us(9), LogTime(u64::MAX));
    assert_eq!(LogTime(3).us_since(LogTime(5)), 0);
    assert_eq!(LogTime(5).us_since(LogTime(3)), 2);
    assert_eq!(crate::micros_of_ms(u32::MAX), 4_294_967_295_000);
}

//! A state as bytes, and back. That every script and every random history goes on the same after it, `crate::testing` proves
//! beside each of them; here is what bytes may not do.

use crate::{
    SNAPSHOT_LAYOUT, SnapshotError, State,
    games::{Game, Move, Position, Seat, connect4::Connect4},
    testing::{decoded, encoded, made_by},
};
use arena_schema::{
    Hash,
    id::{Partition, RulesVersion},
};

/// Something in every room: a window with a gap, a key, credentials, an agent of either kind, places that are free, turns that
/// the agenda ends, sessions that wait for each thing that one can wait for, and more records than the ring of digests has places.
const SCRIPT: &str = r#"
    10:00:00 sequencer
    10:00:00.1 rules 2
    10:00:00.2 rules 3
    10:00:01 gateway g rules=3
    10:00:02 g register alpha beta secrets=api_key,endpoint_secret
    10:00:03 g register gamma method=polling by ludux secrets=api_key
    10:00:04 g register delta epsilon method=polling key=one/two
    10:00:05 g rotate alpha api_key secret=another
    10:00:06 g#20 open m1 alpha beta
    10:00:07 g open m2 delta epsilon
    10:00:08 g open m3 alpha delta unrated key=three/four
    10:00:09 g play m1 dcd
    10:00:10 g strike m2 ? timeout
    10:00:11 g abort m1
    10:00:11.1 g create s1
    10:00:11.2 g create s2 owned
    10:00:11.3 g create s3
    10:00:11.4 g create s4
    10:00:11.5 g join s3 luis account=luis
    10:00:11.6 g join s3 anna
    10:00:11.7 g send s3 anna
    10:00:11.8 g read s3 luis:2
    10:00:11.9 g leave s3 anna
    10:00:11.91 g join s4 luis
    10:00:11.92 g leave s4 luis
    10:00:11.93 g join s2 luis account=luis
    10:00:11.94 g leave s2 luis
    10:00:12 gateway h rules=3
    10:00:13 gone g
    10:00:14 h open m4 beta epsilon
    10:00:15 h abort m2
    10:00:16 h touch s3 waiting
"#;

fn rich() -> State {
    made_by(SCRIPT)
}

#[test]
fn a_state_before_the_first_record_comes_back() {
    let bytes = encoded(&State::new(Partition(7)));
    assert_eq!(decoded(&bytes).partition(), Partition(7));
    assert!(encoded(&decoded(&bytes)) == bytes);
}

#[test]
fn the_bytes_are_frozen_under_their_layout() {
    // Where this fails the layout is another one: raise SNAPSHOT_LAYOUT, or older snapshots are read as what they are not.
    let hash = Hash::of(&encoded(&rich())).to_string();
    assert_eq!((SNAPSHOT_LAYOUT, &hash[..32]), (3, "b2b899cf7d8281b7de6fe7df2e747823"));
}

#[test]
fn no_truncation_no_flipped_bit_and_no_byte_more_is_a_state() {
    let bytes = encoded(&rich());
    for length in 0..bytes.len() {
        assert!(State::decode_snapshot(&bytes[..length]).is_err(), "{length} bytes");
    }
    let mut changed = bytes.clone();
    for bit in 0..bytes.len() * 8 {
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(State::decode_snapshot(&changed).is_err(), "bit {bit}");
        changed[bit / 8] ^= 1 << (bit % 8);
    }
    changed.push(0);
    assert_eq!(State::decode_snapshot(&changed).map(drop), Err(SnapshotError::Checksum));
}

/// With a checksum that fits again.
fn resealed(mut content: Vec<u8>) -> Vec<u8> {
    let hash = Hash::of(&content);
    content.extend_from_slice(&hash.0);
    content
}

#[test]
fn bytes_that_were_sealed_anew_are_refused_or_are_a_state_in_its_one_form() {
    let bytes = encoded(&rich());
    let content = &bytes[..bytes.len() - 32];
    let mut refused = 0;
    let mut check = |content: Vec<u8>| {
        let bytes = resealed(content);
        match State::decode_snapshot(&bytes) {
            Ok(state) => assert!(encoded(&state) == bytes),
            Err(why) => {
                assert!(!why.to_string().is_empty());
                refused += 1;
            }
        }
    };
    for length in 0..content.len() {
        check(content[..length].to_vec());
    }
    for at in 12..content.len() {
        for value in [0, 1, 2, 0x7f, 0x80, 0xff, content[at] ^ 1, content[at].wrapping_add(1)] {
            let mut changed = content.to_vec();
            changed[at] = value;
            check(changed);
        }
        // A byte less, a byte more, a length that no memory holds.
        check([&content[..at], &content[at + 1..]].concat());
        check([&content[..at], &[0], &content[at..]].concat());
        check([&content[..at], &[0xff, 0xff, 0xff, 0xff, 0x0f], &content[at + 1..]].concat());
    }
    assert!(refused > content.len(), "{refused}");
}

#[test]
fn noise_behind_a_true_front_is_refused() {
    let mut seed = 9u64;
    for length in 0..400 {
        let mut content = encoded(&State::new(Partition(0)))[..12].to_vec();
        content.extend((0..length).map(|_| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 56) as u8
        }));
        assert!(State::decode_snapshot(&resealed(content)).is_err(), "{length} bytes");
    }
}

#[test]
fn another_layout_and_rules_that_are_too_new_are_named() {
    let bytes = encoded(&rich());
    let mut later = bytes[..bytes.len() - 32].to_vec();
    later[8..12].copy_from_slice(&(SNAPSHOT_LAYOUT + 1).to_le_bytes());
    let found = State::decode_snapshot(&resealed(later)).map(drop).unwrap_err();
    assert_eq!(found, SnapshotError::Layout { found: SNAPSHOT_LAYOUT + 1 });
    assert!(found.to_string().contains("layout is 4"), "{found}");

    let mut state = rich();
    state.rules = RulesVersion(9);
    let found = State::decode_snapshot(&encoded(&state)).map(drop).unwrap_err();
    assert_eq!(found, SnapshotError::RulesTooNew { rules: RulesVersion(9) });
    assert_eq!(State::decode_snapshot(b"ARENAREC").map(drop), Err(SnapshotError::NoState));
}

/// What holds a room together, broken in the state itself, so that its bytes are sealed as they should be.
#[test]
fn rooms_that_do_not_fit_together_are_refused_by_the_room() {
    let check = |room: &str, spoil: &dyn Fn(&mut State)| {
        let mut state = rich();
        spoil(&mut state);
        let found = State::decode_snapshot(&encoded(&state)).map(drop).unwrap_err();
        assert!(
            matches!(&found, SnapshotError::Misfit { room: found, .. } if *found == room),
            "{room}: {found}"
        );
    };
    let (slot, generation, _) = rich().matches.open.iter().next().map(|(s, g, m)| (s, g, m.id)).unwrap();
    check("the digests", &|state| state.head.digest = Hash::ZERO);
    check("the digests", &|state| state.digests.rotate_left(1));
    check("the agenda", &|state| state.second_keys = crate::second_keys::SecondKeys::default());
    check("the second keys", &|state| state.agenda = crate::agenda::Agenda::default());
    check("the homes", &|state| state.homes = crate::Homes::default());
    check("the matches", &|state| state.registry = crate::registry::Registry::default());
    check("the matches", &|state| {
        let open = state.matches.open.get_mut(slot, generation).unwrap();
        let turn = open.seats.iter_mut().find_map(|seat| seat.turn.as_mut()).unwrap();
        turn.entry = if turn.entry.is_some() { None } else { state.agenda.first().map(|first| first.1) };
    });
}

#[test]
fn a_position_comes_back_and_one_that_play_cannot_come_to_is_none() {
    let mut position = Position::from(Connect4::EMPTY);
    let mut seen = 0;
    for column in [3, 3, 2, 4, 3, 3, 4, 2, 0, 5, 1, 1, 6, 3] {
        let mut bytes = Vec::new();
        position.encode(&mut bytes);
        assert_eq!(Position::decode(1, &bytes), Some(position.clone()));
        assert_eq!(Position::decode(2, &bytes), None);
        assert_eq!(Position::decode(1, &bytes[1..]), None);
        assert_eq!(Position::decode(1, &[&bytes[..], &[0]].concat()), None);
        let seat = position.to_act().iter().next();
        if let Some(seat) = seat {
            position.play(seat, &Move::from_byte(column)).unwrap();
            seen += 1;
        }
    }
    assert!(position.outcome().is_none() || seen > 6);

    let of =
        |first: u64, second: u64| Connect4::decode(&[first.to_le_bytes(), second.to_le_bytes()].concat());
    assert_eq!(of(0, 0), Some(Connect4::EMPTY));
    assert_eq!(of(1, 1), None, "two discs in one place");
    assert_eq!(of(2, 0), None, "a disc in the air");
    assert_eq!(of(1 << 6, 0), None, "a disc above the board");
    assert_eq!(of(1 << 63, 0), None, "a disc beside it");
    assert_eq!(of(0, 1), None, "the second moved first");
    assert_eq!(of(0b111, 0b11_1000).map(|position| position.plies()), Some(6));
    let won = of(0b1111, 0b111 << 7).unwrap();
    assert_eq!(won.outcome(), Some(crate::games::Outcome::Win(Seat::First)));
    assert_eq!(of(0b1111, 0b1111 << 7), None, "both have won");
    assert_eq!(
        of(0b111 | 1 << 14, 0b1111 << 7).and_then(|won| won.outcome()),
        Some(crate::games::Outcome::Win(Seat::Second))
    );
    assert_eq!(of(0b1111, 0b111 << 7 | 1 << 14), None, "play went on after a win");
}

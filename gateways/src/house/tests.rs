//! The agents at the board: legal, the same again, and each as strong as it is said to be.

use std::collections::BTreeSet;

use arena_engine::games::Outcome;

use super::*;

fn start() -> Position {
    Position::of(GameCode::Connect4, &[0; 32])
}

fn played(columns: &str) -> Position {
    let mut position = start();
    for letter in columns.chars() {
        let seat = position.to_act().iter().next().expect("not over");
        let mv = GameCode::Connect4.parse_move(&letter.to_string()).expect("a column");
        position.play(seat, &mv).expect("a legal move");
    }
    position
}

fn agent(name: &str) -> &'static HouseAgent {
    by_name(name).expect("an agent of the house")
}

/// The columns that the agent chooses at this position over fifty seeds.
#[track_caller]
fn check(name: &str, columns: &str, expect: &str) {
    let position = played(columns);
    let seat = position.to_act().iter().next().expect("not over");
    let chosen: BTreeSet<String> = (0..50)
        .filter_map(|seed| agent(name).choose(&position, seat, &[seed; 32]))
        .map(|choice| GameCode::Connect4.move_text(&choice.mv))
        .collect();
    assert_eq!(chosen.into_iter().collect::<String>(), expect, "{name} after {columns}");
}

fn game(first: &HouseAgent, second: &HouseAgent, seed: u8) -> Outcome {
    let mut position = start();
    loop {
        if let Some(outcome) = position.outcome() {
            return outcome;
        }
        let seat = position.to_act().iter().next().expect("not over");
        let agent = [first, second][seat.index()];
        let choice = agent.choose(&position, seat, &[seed; 32]).expect("a legal move");
        position.play(seat, &choice.mv).expect("the choice is legal");
    }
}

/// Games won, drawn and lost by the first named, who has the first move in every other one.
fn score(name: &str, against: &str, games: u8) -> (u32, u32, u32) {
    let (mut won, mut drawn, mut lost) = (0, 0, 0);
    for seed in 0..games {
        let (seat, outcome) = if seed % 2 == 0 {
            (Seat::First, game(agent(name), agent(against), seed))
        } else {
            (Seat::Second, game(agent(against), agent(name), seed))
        };
        match outcome {
            Outcome::Draw => drawn += 1,
            Outcome::Win(winner) if winner == seat => won += 1,
            Outcome::Win(_) => lost += 1,
        }
    }
    (won, drawn, lost)
}

/// Positions of random games: every ply of so many games that PEBBLE plays against itself.
fn random_positions(games: u8) -> Vec<Position> {
    let mut positions = Vec::new();
    for seed in 0..games {
        let mut position = start();
        while let Some(seat) = position.to_act().iter().next() {
            positions.push(position.clone());
            let choice = agent("PEBBLE-1").choose(&position, seat, &[seed; 32]).expect("a legal move");
            position.play(seat, &choice.mv).expect("the choice is legal");
        }
        positions.push(position);
    }
    positions
}

fn holds_at_every_position(agent: &HouseAgent, games: u8) {
    holds(agent, random_positions(games));
}

fn holds(agent: &HouseAgent, positions: impl IntoIterator<Item = Position>) {
    for position in positions {
        for &seat in Seat::ALL {
            let choice = agent.choose(&position, seat, &[9; 32]);
            let legal = position.legal_moves(seat);
            assert_eq!(choice.is_none(), legal.is_empty(), "{} at {position:?}", agent.name);
            let Some(choice) = choice else { continue };
            assert!(legal.contains(&choice.mv), "{} played {:?} at {position:?}", agent.name, choice.mv);
            assert!((1..=REASON_CHARS_MAX).contains(&choice.reason.chars().count()), "{}", choice.reason);
            assert_eq!(agent.choose(&position, seat, &[9; 32]), Some(choice), "{} chose anew", agent.name);
        }
    }
}

#[test]
fn the_quick_ones_always_play_legally_and_the_same_again() {
    holds_at_every_position(agent("PEBBLE-1"), 100);
    holds_at_every_position(agent("COPPER-4"), 100);
}

#[test]
fn those_that_search_always_play_legally_and_the_same_again() {
    holds_at_every_position(agent("GREMLIN-9"), 3);
    let shallow = Mind::Search(Limits { depth_plies_max: SQUARES, nodes_max: 5_000, table_bits: 12 });
    holds_at_every_position(&HouseAgent { name: "short", slug: "short", about: "", mind: shallow }, 10);
    let nothing = Mind::Search(Limits { depth_plies_max: SQUARES, nodes_max: 0, table_bits: 0 });
    holds_at_every_position(&HouseAgent { name: "none", slug: "none", about: "", mind: nothing }, 3);
    holds(agent("ORACLE-42"), random_positions(1).into_iter().step_by(7));
}

#[test]
fn names_are_found_in_any_case_and_are_handles() {
    for agent in AGENTS {
        assert_eq!(agent.slug, agent.name.to_lowercase());
        for name in [agent.name, agent.slug] {
            assert!(std::ptr::eq(by_name(name).expect("known"), by_name(agent.name).expect("known")));
        }
        assert!(agent.slug.len() >= 3 && agent.slug.len() <= 32);
        assert!(
            agent.slug.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        );
    }
    assert_eq!(AGENTS.iter().map(|agent| agent.slug).collect::<BTreeSet<_>>().len(), AGENTS.len());
    assert_eq!(by_name("Gremlin-9").map(|agent| agent.name), Some("GREMLIN-9"));
    assert!(by_name("GREMLIN").is_none());
}

#[test]
fn pebble_plays_anything() {
    check("PEBBLE-1", "", "abcdefg");
    check("PEBBLE-1", "ddddddcccccc", "abefg");
}

#[test]
fn wins_are_taken_and_threats_are_blocked() {
    for name in ["COPPER-4", "GREMLIN-9"] {
        // Three on a column: to win, then to block.
        check(name, "dcdcdc", "d");
        check(name, "dcdcd", "d");
        // A gap in a row, won by the second side, blocked by the first.
        check(name, "aaggbbd", "c");
        // To win comes before to block.
        check(name, "dadada", "d");
        check(name, "dadagad", "a");
    }
}

#[test]
fn copper_likes_the_middle_and_leaves_equals_to_the_seed() {
    check("COPPER-4", "", "d");
    check("COPPER-4", "dddddd", "ce");
    // Two threats at once: it fills one of them.
    check("COPPER-4", "ddddddcceec", "bf");
}

#[test]
fn gremlin_sees_double_threats_coming() {
    // X d1 e1 on an open floor: a third beside them leaves two squares to win at once.
    check("GREMLIN-9", "ddea", "cf");
    // So O must stand there first; both ends would do, and it likes one better.
    check("GREMLIN-9", "dde", "c");
}

#[test]
fn gremlin_beats_pebble_always_and_copper_mostly() {
    assert_eq!(score("GREMLIN-9", "PEBBLE-1", 20), (20, 0, 0));
    let (won, ..) = score("GREMLIN-9", "COPPER-4", 20);
    assert!(won >= 15, "{won} of 20");
}

#[test]
fn copper_beats_pebble_mostly() {
    let (won, ..) = score("COPPER-4", "PEBBLE-1", 40);
    assert!(won >= 30, "{won} of 40");
}

//! Ratings, against a second computation written from Glickman's paper ("Example of the Glicko-2 system", steps 2 to 8), which
//! shares no line with the library that the view uses.

use super::{Arena, World};
use arena_engine::games::GameCode as Game;
use arena_schema::id::{AgentKey, Protocol};
use std::f64::consts::PI;

#[derive(Debug, Clone, Copy)]
struct Paper {
    rating: f64,
    deviation: f64,
    volatility: f64,
}

const SCALE: f64 = 173.7178;
const TAU: f64 = 0.5;
const NEW: Paper = Paper { rating: 1500.0, deviation: 350.0, volatility: 0.06 };

/// One rating period of a player.
fn period(player: Paper, results: &[(Paper, f64)]) -> Paper {
    let mu = (player.rating - 1500.0) / SCALE;
    let phi = player.deviation / SCALE;
    let g = |phi: f64| 1.0 / (1.0 + 3.0 * phi * phi / (PI * PI)).sqrt();
    let (mut inverse_v, mut sum) = (0.0, 0.0);
    for (opponent, score) in results {
        let (mu_j, phi_j) = ((opponent.rating - 1500.0) / SCALE, opponent.deviation / SCALE);
        let e = 1.0 / (1.0 + (-g(phi_j) * (mu - mu_j)).exp());
        inverse_v += g(phi_j) * g(phi_j) * e * (1.0 - e);
        sum += g(phi_j) * (score - e);
    }
    let v = 1.0 / inverse_v;
    let delta = v * sum;
    // Step 5, the root by plain bisection: f falls strictly, and the root lies within these ends.
    let a = (player.volatility * player.volatility).ln();
    let f = |x: f64| {
        let d = phi * phi + v + x.exp();
        x.exp() * (delta * delta - phi * phi - v - x.exp()) / (2.0 * d * d) - (x - a) / (TAU * TAU)
    };
    let (mut low, mut high) = (a - 50.0, a + 50.0);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if f(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let volatility = (low / 2.0).exp();
    let before = (phi * phi + volatility * volatility).sqrt();
    let after = 1.0 / (1.0 / (before * before) + 1.0 / v).sqrt();
    Paper { rating: SCALE * (mu + after * after * sum) + 1500.0, deviation: SCALE * after, volatility }
}

fn near(one: f64, other: f64, within: f64) {
    assert!((one - other).abs() < within, "{one} is not {other}");
}

#[test]
fn the_second_computation_gives_the_papers_own_example() {
    let opponent = |rating, deviation| Paper { rating, deviation, volatility: 0.06 };
    let player = Paper { deviation: 200.0, ..NEW };
    let results =
        [(opponent(1400.0, 30.0), 1.0), (opponent(1550.0, 100.0), 0.0), (opponent(1700.0, 300.0), 0.0)];
    let after = period(player, &results);
    near(after.rating, 1464.06, 0.01);
    near(after.deviation, 151.52, 0.01);
    near(after.volatility, 0.05999, 0.00001);
}

fn agrees(arena: &Arena, agent: AgentKey, paper: Paper, counts: [u32; 3]) {
    arena.settle();
    let [row] = &arena.views.ratings_of(agent).unwrap()[..] else { panic!("one game was played") };
    near(row.rating, paper.rating, 1e-4);
    near(row.deviation, paper.deviation, 1e-4);
    near(row.volatility, paper.volatility, 1e-6);
    assert_eq!([row.wins, row.draws, row.losses], counts);
    assert_eq!(row.provisional, paper.deviation > 110.0);
}

#[test]
fn every_rated_match_is_a_period_of_its_own_for_both() {
    let world = World::new();
    let mut arena = world.start();
    let agents = ["left", "right", "third"].map(|handle| arena.register(handle, Protocol::AgentArena));
    let mut papers = [NEW; 3];
    let mut counts = [[0_u32; 3]; 3];
    // The first seat, the second, and the first one's score in half points.
    let script = [(0, 1, 2_u8), (1, 2, 1), (2, 0, 0), (0, 1, 0), (2, 1, 2), (0, 2, 1), (1, 0, 2)];
    let drawn = super::drawn_game();
    for round in 0..4 {
        for (first, second, halves) in script {
            let (_, key) = arena.open([agents[first], agents[second]], true);
            match halves {
                0 => arena.forfeit(key),
                1 => arena.play(key, &drawn),
                _ => {
                    arena.play(key, "d");
                    arena.forfeit(key);
                }
            }
            let (one, other) = (papers[first], papers[second]);
            papers[first] = period(one, &[(other, f64::from(halves) / 2.0)]);
            papers[second] = period(other, &[(one, f64::from(2 - halves) / 2.0)]);
            counts[first][2 - usize::from(halves)] += 1;
            counts[second][usize::from(halves)] += 1;
        }
        for at in 0..3 {
            agrees(&arena, agents[at], papers[at], counts[at]);
        }
        if round == 1 {
            arena.stop();
            arena = world.start();
        }
    }
    assert!(papers.iter().all(|paper| paper.deviation < 200.0), "that many matches tell something");
    arena.stop();
}

#[test]
fn void_unrated_and_house_matches_count_for_nobody() {
    let world = World::new();
    let arena = world.start();
    let [left, right] = ["left", "right"].map(|handle| arena.register(handle, Protocol::AgentArena));
    let house = arena.register("gremlin-9", Protocol::House);
    let (_, unrated) = arena.open([left, right], false);
    arena.forfeit(unrated);
    let (_, void) = arena.open([left, right], true);
    arena.abort(void);
    // The engine refuses a rated one.
    let (_, against_house) = arena.open([left, house], false);
    arena.forfeit(against_house);
    arena.settle();
    for agent in [left, right, house] {
        assert_eq!(arena.views.ratings_of(agent).unwrap(), []);
    }
    assert_eq!(arena.views.leaderboard(Game::Connect4, 10).unwrap(), []);
    arena.stop();
}

#[test]
fn the_ranking_is_by_rating_and_equal_ones_stand_by_handle() {
    let world = World::new();
    let arena = world.start();
    let handles = ["zoe", "bob", "amy", "eve"];
    let [zoe, bob, amy, eve] = handles.map(|handle| arena.register(handle, Protocol::AgentArena));
    arena.register("silent", Protocol::AgentArena);
    // Two pairs with the same result have the same ratings.
    let (id, key) = arena.open([zoe, bob], true);
    arena.forfeit(key);
    let (last, key) = arena.open([amy, eve], true);
    arena.forfeit(key);
    arena.settle();
    let ranking = |limit| arena.views.leaderboard(Game::Connect4, limit).unwrap();
    let names: Vec<_> = ranking(10).iter().map(|row| row.handle.as_str().to_owned()).collect();
    assert_eq!(names, ["bob", "eve", "amy", "zoe"]);
    assert_eq!(ranking(2).len(), 2);
    let first = &ranking(1)[0];
    assert_eq!((first.last_match, first.name.as_str(), first.agent), (id, "NAME of bob", bob));
    assert!(first.provisional);
    assert_eq!(ranking(10)[1].last_match, last);
    assert!(ranking(10)[1].last_at > first.last_at);
    arena.stop();
}

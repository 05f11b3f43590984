//! Ratings of matches that are played elsewhere: those that the same matches have in partition 0, in the order of their return.

use super::{Network, Run};
use crate::RatingRow;
use arena_engine::games::GameCode as Game;
use arena_schema::{
    Event, LogTime, Seat,
    id::{AgentKey, MatchId, Partition},
};

const HANDLES: [&str; 3] = ["left", "right", "third"];

/// A row without the match and the time of it, and without the agent, who is another one in another network.
fn standing(row: &RatingRow) -> (String, [u64; 3], [u32; 3], bool) {
    let numbers = [row.rating, row.deviation, row.volatility].map(f64::to_bits);
    (row.handle.as_str().to_owned(), numbers, [row.wins, row.draws, row.losses], row.provisional)
}

/// The ranking, and each agent's own rows.
fn standings(run: &Run) -> Vec<(String, [u64; 3], [u32; 3], bool)> {
    let ranking = run.views.leaderboard(Game::Connect4, 100).unwrap();
    for row in &ranking {
        assert_eq!(run.views.ratings_of(row.agent).unwrap(), std::slice::from_ref(row));
    }
    ranking.iter().map(standing).collect()
}

/// One match: who plays, and what the first mover's score is in half points.
fn play(network: &mut Network, partition: u16, players: [AgentKey; 2], halves: u8, drawn: &str) -> MatchId {
    let id = network.open(partition, players, true);
    match halves {
        0 => network.lose(id, Seat::First),
        1 => network.play(id, drawn),
        _ => network.lose(id, Seat::Second),
    }
    id
}

/// When partition 0 had the result of a match back.
fn returned_at(network: &Network, id: MatchId) -> LogTime {
    let returns = |event: &Event| matches!(event, Event::MatchReturned(back) if back.id == id);
    let record = network.records(0).iter().find(|record| record.events.iter().any(|one| returns(&one.event)));
    record.expect("it came back").header.time
}

#[test]
fn matches_that_come_back_rate_as_if_they_were_played_in_partition_0() {
    let script = [(0, 1, 2_u8), (1, 2, 1), (2, 0, 0), (0, 1, 0), (2, 1, 2), (0, 2, 1), (1, 0, 2)];
    let drawn = crate::tests::drawn_game();
    let played = |partitions: &[u16]| {
        let mut network = Network::of(3);
        let agents = HANDLES.map(|handle| network.register(handle));
        for ((first, second, halves), &partition) in script.iter().zip(partitions.iter().cycle()) {
            play(&mut network, partition, [agents[*first], agents[*second]], *halves, &drawn);
            network.carry();
        }
        let run = Run::of(&network, 3);
        let standings = standings(&run);
        run.views.close().unwrap();
        standings
    };
    let at_home = played(&[0]);
    assert_eq!(at_home.len(), 3);
    assert_eq!(at_home.iter().map(|row| row.2.iter().sum::<u32>()).sum::<u32>(), 14);
    assert_eq!(played(&[1]), at_home);
    assert_eq!(played(&[2, 0, 1]), at_home);
}

#[test]
fn the_order_is_that_of_the_returns_not_that_of_the_ends() {
    let decided = |partitions: [u16; 2], swapped: bool| {
        let mut network = Network::of(3);
        let [left, right, third] = HANDLES.map(|handle| network.register(handle));
        let games = [(partitions[0], [left, right]), (partitions[1], [right, third])];
        let mut matches = games.map(|(partition, players)| play(&mut network, partition, players, 2, ""));
        if swapped {
            matches.reverse();
        }
        for id in matches {
            if id.partition() != Partition(0) {
                network.carry_between(id.partition().0, 0);
            }
        }
        let run = Run::of(&network, 3);
        let rows = [left, right, third].map(|agent| run.views.ratings_of(agent).unwrap().remove(0));
        run.views.close().unwrap();
        (network, matches, rows)
    };
    let (_, _, at_home) = decided([0, 0], false);
    // The first one ends earlier by every clock, and comes back later.
    let (network, matches, swapped) = decided([1, 2], true);
    let (_, _, straight) = decided([1, 2], false);
    let all = |rows: &[RatingRow; 3]| rows.each_ref().map(standing);
    assert_eq!(all(&straight), all(&at_home));
    assert_ne!(all(&swapped), all(&at_home), "these matches are such that their order shows");
    let [_, right, third] = &swapped;
    assert_eq!((right.last_match, right.last_at), (matches[1], returned_at(&network, matches[1])));
    assert_eq!((third.last_match, third.last_at), (matches[0], returned_at(&network, matches[0])));
    assert!(third.last_at < right.last_at);
}

#[test]
fn what_comes_back_void_unrated_or_unopened_counts_for_nobody() {
    let mut network = Network::of(2);
    let [left, right, _] = HANDLES.map(|handle| network.register(handle));
    let void = network.open(1, [left, right], true);
    network.abort(void);
    let unrated = network.open(1, [left, right], false);
    network.lose(unrated, Seat::First);
    network.carry();
    let mut run = Run::of(&network, 2);
    assert_eq!(standings(&run), []);
    let unopened = network.decide(1, [left, right], true);
    network.give_back_unopened(unopened);
    run.feed(&network, 0);
    assert_eq!(standings(&run), []);
    assert!(returned_at(&network, unopened) > returned_at(&network, unrated));
    run.views.close().unwrap();
}

#[test]
fn a_match_that_is_over_counts_only_once_it_is_back() {
    let mut network = Network::of(2);
    let [left, right, _] = HANDLES.map(|handle| network.register(handle));
    play(&mut network, 1, [left, right], 2, "");
    let mut run = Run::of(&network, 2);
    assert_eq!(run.views.recent_matches(10).unwrap().len(), 1);
    assert_eq!(standings(&run), []);
    network.carry();
    run.feed(&network, 0);
    assert_eq!(run.views.ratings_of(left).unwrap()[0].wins, 1);
    assert_eq!(run.views.ratings_of(right).unwrap()[0].losses, 1);
    run.views.close().unwrap();
}

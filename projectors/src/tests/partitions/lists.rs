//! Lists over several partitions: by the instants of each, whichever clock they are of.

use super::{Network, Run, ids};
use arena_schema::{
    LogTime, Seat,
    id::{AgentKey, MatchId},
};

const BEGIN: u64 = 1_800_000_000_000_000;

fn at(seconds: u64) -> LogTime {
    LogTime(BEGIN + seconds * 1_000_000)
}

/// A match that this partition opens at this second.
fn open_at(network: &mut Network, partition: u16, seconds: u64, players: [AgentKey; 2]) -> MatchId {
    if partition == 0 {
        network.at(0, at(seconds));
        return network.open(0, players, false);
    }
    let id = network.decide(partition, players, false);
    network.at(partition, at(seconds));
    network.carry_between(0, partition);
    id
}

/// Matches that were decided in this order and opened at these seconds, each between two of its own.
fn opened<const N: usize>(network: &mut Network, places: [(u64, u16); N]) -> [MatchId; N] {
    let players: Vec<_> = (0..2 * N).map(|n| network.register(&format!("agent-{n}"))).collect();
    let mut pairs = players.chunks(2);
    places.map(|(seconds, partition)| {
        let &[one, other] = pairs.next().unwrap() else { panic!() };
        open_at(network, partition, seconds, [one, other])
    })
}

#[test]
fn matches_of_all_partitions_stand_by_their_own_instants() {
    let mut network = Network::of(3);
    let [tenth, twentieth, thirtieth, fortieth, fifth] =
        opened(&mut network, [(10, 2), (20, 1), (30, 2), (40, 1), (5, 0)]);
    let run = Run::of(&network, 3);
    assert_eq!(ids(run.views.open_matches(10).unwrap()), [fortieth, thirtieth, twentieth, tenth, fifth]);
    // The limit is one for all of them, not one for each.
    assert_eq!(ids(run.views.open_matches(3).unwrap()), [fortieth, thirtieth, twentieth]);
    assert_eq!(ids(run.views.open_matches(0).unwrap()), []);
    run.views.close().unwrap();

    // They end in another order.
    for (id, seconds) in [(twentieth, 90), (tenth, 100), (fortieth, 110), (fifth, 115), (thirtieth, 120)] {
        network.at(id.partition().0, at(seconds));
        network.abort(id);
    }
    let run = Run::of(&network, 3);
    assert_eq!(ids(run.views.recent_matches(10).unwrap()), [thirtieth, fifth, fortieth, tenth, twentieth]);
    assert_eq!(ids(run.views.recent_matches(2).unwrap()), [thirtieth, fifth]);
    assert_eq!(ids(run.views.open_matches(10).unwrap()), []);
    run.views.close().unwrap();
}

#[test]
fn what_has_the_same_instant_stands_by_partition() {
    let mut network = Network::of(4);
    let [three, one, two] = opened(&mut network, [(10, 3), (10, 1), (10, 2)]);
    let run = Run::of(&network, 4);
    assert_eq!(ids(run.views.open_matches(10).unwrap()), [one, two, three]);
    assert_eq!(ids(run.views.open_matches(2).unwrap()), [one, two]);
    run.views.close().unwrap();
    for id in [two, three, one] {
        network.at(id.partition().0, at(20));
        network.abort(id);
    }
    let run = Run::of(&network, 4);
    assert_eq!(ids(run.views.recent_matches(10).unwrap()), [one, two, three]);
    run.views.close().unwrap();
}

#[test]
fn an_agents_matches_and_strikes_are_of_all_partitions() {
    let mut network = Network::of(3);
    let [left, right, other] = ["left", "right", "other"].map(|handle| network.register(handle));
    let mut played = [(2, 10), (0, 20), (1, 30), (2, 40)].map(|(partition, seconds)| {
        let id = open_at(&mut network, partition, seconds, [left, right]);
        for n in 0..3 {
            network.strike(id, &format!("EXCERPT {n} at {seconds}"));
        }
        id
    });
    played.reverse();
    let elsewhere = open_at(&mut network, 1, 50, [right, other]);
    network.lose(elsewhere, Seat::First);
    let run = Run::of(&network, 3);
    assert_eq!(ids(run.views.matches_of(left, 10).unwrap()), played);
    assert_eq!(ids(run.views.matches_of(left, 2).unwrap()), played[..2]);
    assert_eq!(ids(run.views.matches_of(other, 10).unwrap()), [elsewhere]);

    let strikes = run.views.last_strikes_of(left, 100).unwrap();
    let excerpts: Vec<_> = strikes.iter().map(|strike| strike.excerpt.clone().unwrap()).collect();
    let newest_first = [40, 30, 20, 10].map(|at| [2, 1, 0].map(|n| format!("EXCERPT {n} at {at}")));
    assert_eq!(excerpts, newest_first.concat());
    let matches: Vec<_> = strikes.chunks(3).map(|three| three[0].match_id).collect();
    assert_eq!(matches, played);
    assert_eq!(run.views.last_strikes_of(left, 4).unwrap(), strikes[..4]);
    assert_eq!(run.views.last_strikes_of(right, 100).unwrap().len(), 3);
    run.views.close().unwrap();
}

//! Matches as they are played, and what is read of them and of their agents.

use super::{Arena, World, drawn_game, lines};
use crate::{MatchStatus, MatchSummary, ViewsAt, What, projectors};
use arena_engine::{RULES_NEWEST, games::GameCode as Game};
use arena_schema::{
    LogTime, TextRef,
    command::matches::StrikeCause,
    event::matches::EndReason,
    id::{AgentKey, ChallengePolicy, ConnectionMethod, Handle, MatchId, Partition, Protocol, PublicSlug},
};

fn pair(arena: &Arena) -> [AgentKey; 2] {
    [arena.register("left", Protocol::AgentArena), arena.register("right", Protocol::AgentArena)]
}

#[test]
fn a_whole_match_reads_as_it_was_played() {
    let world = World::new();
    let arena = world.start();
    let [left, right] = pair(&arena);
    let (id, key) = arena.open([left, right], true);
    arena.play_saying(key, "d", Some("centre"));
    arena.strike(key, StrikeCause::Status, Some(502), Some("Bad Gateway"));
    arena.play(key, "a");
    arena.play(key, "da");
    arena.play(key, "da");
    let running = arena.replay(&id);
    assert_eq!(running.result, None);
    assert_eq!(running.status, MatchStatus::Running);
    assert_eq!(running.ended_at, None);
    arena.play(key, "d");
    let replay = arena.replay(&id);
    assert_eq!(
        lines(&replay),
        [
            "connect4 rated finished X NAME of left (agentarena/1) against NAME of right (agentarena/1)",
            "1 X 1 d 12 ms centre",
            "2 O 2 strike 1 status 34 ms Some(502) - -",
            "3 O 2 a 12 ms",
            "4 X 3 d 12 ms",
            "5 O 4 a 12 ms",
            "6 X 5 d 12 ms",
            "7 O 6 a 12 ms",
            "8 X 7 d 12 ms",
            "9 end win X",
            "win X d1 d2 d3 d4",
        ]
    );
    assert_eq!(replay.match_id, id);
    assert_eq!(replay.game, Game::Connect4);
    assert_eq!((replay.rules_version, replay.deadline_ms), (RULES_NEWEST, 10_000));
    assert_eq!(replay.players.each_ref().map(|player| player.agent), [left, right]);
    assert_eq!(replay.players.each_ref().map(|player| player.handle.as_str()), ["left", "right"]);
    assert_eq!(replay.journal.partition, Partition(0));
    assert_eq!(replay.journal.last, arena.sequencer.handle().position());
    assert_eq!(replay.journal.first.0, replay.journal.last.0 - 8);
    assert_eq!(replay.events[0].place.record, replay.journal.first.next());
    assert_eq!(replay.ended_at, Some(replay.events[8].at));
    assert!(replay.events.windows(2).all(|two| two[0].at <= two[1].at && two[0].n + 1 == two[1].n));
    let What::Move { reason: Some(reason), .. } = &replay.events[0].what else { panic!() };
    assert_eq!(TextRef::commit(&reason.salt, &reason.text).commitment, reason.commitment);
    arena.stop();
}

#[test]
fn a_full_board_is_a_draw_without_a_line() {
    let world = World::new();
    let arena = world.start();
    let (id, key) = arena.open(pair(&arena), true);
    arena.play(key, &drawn_game());
    let replay = arena.replay(&id);
    assert_eq!(replay.events.len(), 43);
    let result = replay.result.unwrap();
    assert_eq!((result.winner, result.reason, result.line.len()), (None, EndReason::Draw, 0));
    arena.stop();
}

#[test]
fn an_illegal_move_shows_what_was_tried_and_the_striker_alone_sees_its_answer() {
    let world = World::new();
    let arena = world.start();
    let [left, right] = pair(&arena);
    let (id, key) = arena.open([left, right], false);
    arena.play(key, "dddddd");
    arena.play_saying(key, "d", Some("once more"));
    arena.settle();
    let strike = |viewer| lines(&arena.views.replay(&id, viewer).unwrap().unwrap())[7].clone();
    assert_eq!(strike(None), "7 X 7 strike 1 illegal 12 ms None d -");
    assert_eq!(strike(Some(right)), "7 X 7 strike 1 illegal 12 ms None d -");
    assert_eq!(strike(Some(left)), "7 X 7 strike 1 illegal 12 ms None d EXCERPT with d");
    arena.stop();
}

#[test]
fn the_third_strike_ends_a_match_and_a_void_one_has_no_winner() {
    let world = World::new();
    let arena = world.start();
    let players = pair(&arena);
    let (forfeited, key) = arena.open(players, true);
    arena.play(key, "d");
    arena.forfeit(key);
    let (void, other) = arena.open(players, true);
    arena.play(other, "d");
    arena.abort(other);
    assert_eq!(lines(&arena.replay(&forfeited))[5..], ["5 end forfeit X", "forfeit X"]);
    let void = arena.replay(&void);
    assert_eq!(void.status, MatchStatus::Void);
    assert_eq!(lines(&void)[2..], ["2 end void -", "void -"]);
    arena.stop();
}

#[test]
fn events_are_read_on_from_the_last_one_seen() {
    let world = World::new();
    let arena = world.start();
    let (id, key) = arena.open(pair(&arena), false);
    arena.play(key, "dada");
    let whole = arena.replay(&id).events;
    for n in 0..=4 {
        assert_eq!(arena.views.events_after(&id, n, None).unwrap().unwrap(), whole[n as usize..]);
    }
    for partition in [0, 1, u16::MAX] {
        let nobody = MatchId::from_random(Partition(partition), [9; 14]);
        assert_eq!(arena.views.events_after(&nobody, 0, None).unwrap(), None);
        assert_eq!(arena.views.replay(&nobody, None).unwrap(), None);
        assert_eq!(arena.views.match_summary(&nobody).unwrap(), None);
    }
    arena.stop();
}

#[test]
fn lists_of_matches_have_the_newest_first() {
    let world = World::new();
    let arena = world.start();
    let [left, right] = pair(&arena);
    let house = arena.register("gremlin-9", Protocol::House);
    let (first, first_key) = arena.open([left, right], true);
    let (second, _) = arena.open([left, house], false);
    let (third, third_key) = arena.open([right, house], false);
    arena.forfeit(third_key);
    arena.play(first_key, "d");
    arena.forfeit(first_key);
    arena.settle();
    let ids = |rows: Vec<MatchSummary>| rows.into_iter().map(|row| row.match_id).collect::<Vec<_>>();
    let views = &arena.views;
    assert_eq!(ids(views.recent_matches(10).unwrap()), [first, third]);
    assert_eq!(ids(views.recent_matches(1).unwrap()), [first]);
    assert_eq!(ids(views.open_matches(10).unwrap()), [second]);
    assert_eq!(ids(views.matches_of(left, 10).unwrap()), [second, first]);
    assert_eq!(ids(views.matches_of(house, 10).unwrap()), [third, second]);
    assert_eq!(ids(views.matches_of(house, 0).unwrap()), []);
    let summary = views.match_summary(&first).unwrap().unwrap();
    assert_eq!((summary.plies, summary.events, summary.rated), (1, 5, true));
    assert_eq!(summary.result.unwrap().reason, EndReason::Forfeit);
    arena.stop();
}

#[test]
fn an_agents_last_strikes_are_its_own_with_what_it_answered() {
    let world = World::new();
    let arena = world.start();
    let [left, right] = pair(&arena);
    let (id, key) = arena.open([left, right], false);
    arena.strike(key, StrikeCause::NotJson, Some(200), Some("<html>"));
    arena.play(key, "d");
    arena.strike(key, StrikeCause::Tls, None, None);
    let (other, other_key) = arena.open([right, left], false);
    arena.play(other_key, "d");
    arena.strike(other_key, StrikeCause::Nonce, Some(200), Some("{}"));
    arena.settle();
    let strikes = arena.views.last_strikes_of(left, 10).unwrap();
    let seen: Vec<_> = strikes.iter().map(|row| (row.match_id, row.cause, row.excerpt.as_deref())).collect();
    assert_eq!(seen, [(other, StrikeCause::Nonce, Some("{}")), (id, StrikeCause::NotJson, Some("<html>"))]);
    assert_eq!(arena.views.last_strikes_of(left, 1).unwrap(), strikes[..1]);
    let [of_right] = &arena.views.last_strikes_of(right, 10).unwrap()[..] else { panic!() };
    assert_eq!((of_right.cause, of_right.status, of_right.move_number), (StrikeCause::Tls, None, 2));
    arena.stop();
}

#[test]
fn agents_are_found_by_every_name_and_follow_their_endpoint() {
    let world = World::new();
    let arena = world.start();
    let [left, right] = pair(&arena);
    let house = arena.register("gremlin-9", Protocol::House);
    arena.set_endpoint(left, Some("https://left.example/v2"), None);
    arena.set_endpoint(right, None, Some(ChallengePolicy::None));
    arena.settle();
    let views = &arena.views;
    let handle = |text: &str| Handle::parse(text).unwrap();
    let row = views.agent_by_handle(&handle("left")).unwrap().unwrap();
    assert_eq!(views.agent(left).unwrap().as_ref(), Some(&row));
    assert_eq!(views.agent_by_id(&row.id).unwrap().as_ref(), Some(&row));
    assert_eq!(views.agent_by_public_slug(&row.public_slug).unwrap().as_ref(), Some(&row));
    assert_eq!(
        (row.name.as_str(), row.endpoint.as_deref()),
        ("NAME of left", Some("https://left.example/v2"))
    );
    assert_eq!((row.challenges, row.protocol), (ChallengePolicy::Open, Protocol::AgentArena));
    assert!(row.registered_at > LogTime(1_700_000_000_000_000));
    let row = views.agent(right).unwrap().unwrap();
    assert_eq!(row.endpoint.as_deref(), Some("https://right.example/ENDPOINT"));
    assert_eq!(row.challenges, ChallengePolicy::None);
    let row = views.agent(house).unwrap().unwrap();
    assert_eq!((row.endpoint, row.method), (None, ConnectionMethod::House));

    let page = |after: Option<&str>, limit| -> Vec<String> {
        let rows = views.agents(after.map(handle).as_ref(), limit).unwrap();
        rows.into_iter().map(|row| row.handle.as_str().to_owned()).collect()
    };
    assert_eq!(page(None, 2), ["gremlin-9", "left"]);
    assert_eq!(page(Some("left"), 2), ["right"]);
    assert_eq!(views.agent_by_handle(&handle("nobody")).unwrap(), None);
    assert_eq!(views.agent_by_public_slug(&PublicSlug([0; 12])).unwrap(), None);
    assert_eq!(views.agent(AgentKey { slot: left.slot, generation: left.generation + 1 }).unwrap(), None);
    arena.stop();
}

#[test]
fn views_in_memory_read_the_same() {
    let world = World::new();
    let arena = world.try_start_at(&ViewsAt::Memory, projectors(Partition(0))).unwrap();
    let (id, key) = arena.open(pair(&arena), true);
    arena.play(key, "d");
    arena.forfeit(key);
    assert_eq!(lines(&arena.replay(&id))[6], "forfeit X");
    assert_eq!(arena.views.leaderboard(Game::Connect4, 10).unwrap().len(), 2);
    assert!(!world.views().exists());
    arena.stop();
}

#[test]
fn a_match_goes_on_over_a_restart_and_a_slot_that_is_used_again_is_another_match() {
    let world = World::new();
    let arena = world.start();
    let players = pair(&arena);
    let (id, key) = arena.open(players, true);
    arena.play(key, "da");
    arena.stop();
    let arena = world.start();
    arena.play(key, "dadad");
    let (other, other_key) = arena.open(players, true);
    assert_eq!(other_key.slot, key.slot);
    assert_ne!(other_key.generation, key.generation);
    arena.play(other_key, "a");
    assert_eq!(lines(&arena.replay(&id))[7..], ["7 X 7 d 12 ms", "8 end win X", "win X d1 d2 d3 d4"]);
    assert_eq!(lines(&arena.replay(&other))[1..], ["1 X 1 a 12 ms"]);
    arena.stop();
}

//! Matches that are played in partitions of their own, and their players, who are of partition 0.

use super::{Network, Run, ids};
use crate::{MatchStatus, ViewError, ViewsAt, ViewsBehind, tests::lines};
use arena_schema::{
    Seat,
    id::{MatchId, Partition, RecordNumber},
};
use std::time::Duration;

#[test]
fn a_match_reads_as_it_was_played_in_whichever_partition() {
    let mut network = Network::of(3);
    let players = ["left", "right"].map(|handle| network.register(handle));
    let matches = [0, 1, 2].map(|partition| network.open(partition, players, true));
    for id in matches {
        network.play(id, "da");
        network.strike(id, "EXCERPT of left");
        network.play(id, "dadad");
    }
    let run = Run::of(&network, 3);
    for (partition, id) in (0..).zip(matches) {
        let replay = run.views.replay(&id, None).unwrap().unwrap();
        assert_eq!(
            lines(&replay),
            [
                "connect4 rated finished X NAME of left (agentarena/1) against NAME of right (agentarena/1)",
                "1 X 1 d 12 ms REASON for d",
                "2 O 2 a 12 ms REASON for a",
                "3 X 3 strike 1 not_json 34 ms Some(200) - -",
                "4 X 3 d 12 ms REASON for d",
                "5 O 4 a 12 ms REASON for a",
                "6 X 5 d 12 ms REASON for d",
                "7 O 6 a 12 ms REASON for a",
                "8 X 7 d 12 ms REASON for d",
                "9 end win X",
                "win X d1 d2 d3 d4",
            ]
        );
        assert_eq!(replay.match_id, id);
        assert_eq!(replay.journal.partition, Partition(partition));
        let last = &network.records(partition)[replay.journal.last.0 as usize - 1];
        assert_eq!(Some(last.header.time), replay.ended_at, "the span is of its own journal");
        assert_eq!(replay.players.each_ref().map(|player| player.agent), players);
        let own = run.views.replay(&id, Some(players[0])).unwrap().unwrap();
        assert!(lines(&own)[3].ends_with("EXCERPT of left"));
        assert_eq!(run.views.events_after(&id, 7, None).unwrap().unwrap(), replay.events[7..]);
        let summary = run.views.match_summary(&id).unwrap().unwrap();
        assert_eq!((summary.status, summary.plies, summary.events), (MatchStatus::Finished, 7, 9));
    }
    run.views.close().unwrap();
}

#[test]
fn keys_that_two_partitions_both_use_are_two_matches() {
    let mut network = Network::of(3);
    let players = ["left", "right"].map(|handle| network.register(handle));
    let [one, other] = [1, 2].map(|partition| network.open(partition, players, false));
    network.play(one, "d");
    network.play(other, "ab");
    network.abort(one);
    let run = Run::of(&network, 3);
    let replay = |id| lines(&run.views.replay(&id, None).unwrap().unwrap())[1..].to_vec();
    assert_eq!(replay(one), ["1 X 1 d 12 ms REASON for d", "2 end void -", "void -"]);
    assert_eq!(replay(other), ["1 X 1 a 12 ms REASON for a", "2 O 2 b 12 ms REASON for b"]);
    run.views.close().unwrap();
}

#[test]
fn a_match_of_a_partition_that_is_not_here_is_none() {
    let mut network = Network::of(3);
    let players = ["left", "right"].map(|handle| network.register(handle));
    let id = network.open(2, players, true);
    let run = Run::of(&network, 2);
    assert_eq!(run.views.partitions(), 2);
    assert_eq!(run.views.replay(&id, None).unwrap(), None);
    assert_eq!(run.views.events_after(&id, 0, None).unwrap(), None);
    assert_eq!(run.views.match_summary(&id).unwrap(), None);
    let same_random = MatchId::from_random(Partition(1), id.0[2..].try_into().unwrap());
    assert_eq!(run.views.match_summary(&same_random).unwrap(), None);
    assert_eq!(run.views.checkpoint(Partition(2)), RecordNumber(0));
    let wait = run.views.wait_for(Partition(2), RecordNumber(1), Duration::from_secs(1));
    let refused = run.runtime.block_on(wait).unwrap_err();
    assert!(matches!(refused, ViewsBehind::Stopped { partition: Partition(2), .. }), "{refused}");
    run.views.close().unwrap();
}

#[test]
fn a_player_whom_the_agents_view_lacks_is_asked_for_again_and_left_out_of_lists() {
    let mut network = Network::of(2);
    let [left, right] = ["left", "right"].map(|handle| network.register(handle));
    let known = network.open(1, [left, right], false);
    let mut run = Run::of(&network, 2);
    let late = network.register("late");
    let id = network.open(1, [left, late], false);
    network.strike(id, "EXCERPT of left");
    run.feed(&network, 1);

    let behind = |outcome: Result<bool, ViewError>| match outcome {
        Err(ViewError::Behind { partition: Partition(1), agent }) => assert_eq!(agent, late),
        other => panic!("{other:?}"),
    };
    behind(run.views.replay(&id, None).map(|found| found.is_some()));
    behind(run.views.events_after(&id, 0, None).map(|found| found.is_some()));
    behind(run.views.match_summary(&id).map(|found| found.is_some()));
    assert_eq!(ids(run.views.open_matches(10).unwrap()), [known]);
    assert_eq!(ids(run.views.matches_of(left, 10).unwrap()), [known]);
    assert_eq!(ids(run.views.matches_of(late, 10).unwrap()), []);
    // One's own strikes name nobody else.
    assert_eq!(run.views.last_strikes_of(left, 10).unwrap()[0].match_id, id);

    run.feed(&network, 0);
    assert_eq!(run.views.replay(&id, None).unwrap().unwrap().players[1].name, "NAME of late");
    assert_eq!(ids(run.views.open_matches(10).unwrap()), [id, known]);
    assert_eq!(ids(run.views.matches_of(late, 10).unwrap()), [id]);
    run.views.close().unwrap();
}

#[test]
fn a_player_who_is_missing_from_partition_0s_own_match_is_damage() {
    let mut network = Network::of(2);
    let players = ["left", "right"].map(|handle| network.register(handle));
    let [here, there] = [0, 1].map(|partition| network.open(partition, players, false));
    let data = tempfile::tempdir().unwrap();
    let mut run = Run::open(&network, &ViewsAt::Data(data.path().to_owned()), 2);
    run.feed_all(&network);
    let meddler = rusqlite::Connection::open(data.path().join("views/agents.db")).unwrap();
    meddler.execute("DELETE FROM agents WHERE handle = 'left'", []).unwrap();
    assert!(matches!(run.views.replay(&here, None), Err(ViewError::View { .. })));
    assert!(matches!(run.views.open_matches(10), Err(ViewError::View { .. })));
    assert!(matches!(run.views.replay(&there, None), Err(ViewError::Behind { .. })));
    run.views.close().unwrap();
}

#[test]
fn whoever_listens_is_told_of_all_partitions_and_waits_for_one() {
    let mut network = Network::of(3);
    let players = ["left", "right"].map(|handle| network.register(handle));
    let matches = [0, 1, 2].map(|partition| network.open(partition, players, false));
    let mut run = Run::open(&network, &ViewsAt::Memory, 3);
    let mut changes = run.views.changes();
    for (partition, id) in (0..).zip(matches) {
        let head = network.head(partition).header.number;
        let wait = run.views.wait_for(Partition(partition), head, Duration::from_millis(1));
        let late = run.runtime.block_on(wait).unwrap_err();
        let reached = RecordNumber(0);
        assert_eq!(late, ViewsBehind::Late { partition: Partition(partition), wanted: head, reached });
        assert_eq!(late.to_string().contains("partition"), partition > 0, "{late}");
        run.feed(&network, partition);
        assert_eq!(run.views.checkpoint(Partition(partition)), head);
        assert_eq!(run.runtime.block_on(changes.recv()).unwrap().as_ref(), [id]);
    }
    run.views.close().unwrap();
    assert!(run.views.stopped().is_some());
}

#[test]
fn views_of_one_partition_that_stop_are_what_all_of_them_say() {
    let mut network = Network::of(2);
    let players = ["left", "right"].map(|handle| network.register(handle));
    let id = network.open(1, players, false);
    network.lose(id, Seat::First);
    let mut run = Run::open(&network, &ViewsAt::Memory, 2);
    run.feed(&network, 0);
    // No record may be skipped.
    run.followers[1][0].follow(&network.records(1)[1]).unwrap();
    let why = loop {
        if let Some(why) = run.views.stopped() {
            break why;
        }
        std::thread::yield_now();
    };
    assert!(why.contains("replays of partition 1") && why.contains("record 2"), "{why}");
    // Partition 0 goes on.
    network.register("late");
    run.feed(&network, 0);
    assert!(run.views.close().unwrap_err().to_string().contains("replays of partition 1"));
    assert_eq!(run.views.stopped(), Some(why), "an orderly end of the others hides nothing");
    // The others were closed too.
    let refused = run.followers[0][0].follow(&network.records(0)[0]).unwrap_err();
    assert!(refused.contains("closed"), "{refused}");
}

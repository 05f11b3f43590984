//! `arena match`: a referee without a server.

use super::run;
use crate::look::{clean, columns, events};
use arena_tests::{Agent, Reply};
use serde_json::{Value, json};
use std::{fs, path::Path};

fn replay(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[tokio::test]
async fn the_same_seed_gives_the_same_match_and_another_seed_another() {
    let folder = tempfile::tempdir().unwrap();
    let mut played = Vec::new();
    for (n, seed) in ["7", "7", "8", "9"].into_iter().enumerate() {
        let file = folder.path().join(format!("{n}.json"));
        let out = file.to_str().unwrap();
        let house = ["--x", "house:pebble-1", "--o", "house:copper-4"];
        let printed = run(&[&["match"], &house[..], &["--seed", seed, "--out", out]].concat()).await;
        assert_eq!(printed.code(), 0, "{printed:?}");
        let replay = replay(&file);
        clean(&replay);
        assert_eq!(replay["players"][0]["agent"], "pebble-1");
        assert_eq!(replay["players"][1]["agent"], "copper-4");
        assert_eq!((&replay["rated"], &replay["deadline_ms"]), (&json!(false), &json!(10_000)));

        // What is printed is the same match.
        let moves = columns(&replay);
        assert!(printed.out.contains(&format!(" 1. X {}  (", &moves[..1])), "{}", printed.out);
        assert_eq!(printed.out.matches("\n abcdefg\n").count(), moves.len());
        assert!(printed.out.lines().last().unwrap().contains(" wins"), "{}", printed.out);

        let printed = run(&["audit", out]).await;
        assert_eq!(printed.code(), 0, "{printed:?}");
        assert!(printed.out.contains(&format!("{} moves and 0 strikes", moves.len())), "{}", printed.out);
        played.push(moves);
    }
    assert_eq!(played[0], played[1]);
    assert!(played[2] != played[0] || played[3] != played[0], "{played:?}");
}

#[tokio::test]
async fn agents_at_urls_play_each_other_and_the_house() {
    let [left, right] = [Agent::good().await, Agent::good().await];
    let printed = run(&["match", "--x", &left.url, "--o", &right.url, "--deadline-ms", "5000"]).await;
    assert_eq!(printed.code(), 0, "{printed:?}");
    assert!(!printed.out.contains("strike"), "{printed:?}");
    let (x, o) = (left.seen(), right.seen());
    assert!(x.iter().all(|request| request.body["you"] == "X" && request.body["deadline_ms"] == 5_000));
    assert!(o.iter().all(|request| request.body["you"] == "O"));
    let printed = run(&["match", "--x", "house:PEBBLE-1", "--o", &right.url]).await;
    assert_eq!(printed.code(), 0, "{printed:?}");
    // An agent may play itself here.
    let printed = run(&["match", "--x", &left.url, "--o", &left.url]).await;
    assert_eq!(printed.code(), 0, "{printed:?}");
    assert_eq!(left.most_open(), 1);
}

#[tokio::test]
async fn an_agent_that_strikes_sees_each_strike_with_its_cause_and_loses_by_forfeit() {
    let agent = Agent::start(|n, request| match n {
        0 => Reply::status("500 Internal Server Error", ""),
        1 => Reply::mv(request, "z"),
        2 => Reply::mv(request, "a"),
        _ => Reply::Silence,
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("forfeit.json");
    let out = file.to_str().unwrap();
    let printed =
        run(&["match", "--x", &agent.url, "--o", "house:pebble-1", "--deadline-ms", "500", "--out", out])
            .await;
    assert_eq!(printed.code(), 0, "the match is finished: {printed:?}");
    for words in
        ["X strike 1: status, status 500", "X strike 2: illegal", "X strike 3: timeout", "wins by forfeit"]
    {
        assert!(printed.out.contains(words), "{words}: {}", printed.out);
    }
    let replay = replay(&file);
    assert_eq!(replay["result"]["reason"], "forfeit");
    assert_eq!(events(&replay, "strike").len(), 3);
    let printed = run(&["audit", "--json", out]).await;
    let checked: Value = serde_json::from_str(&printed.out).unwrap();
    assert_eq!((printed.code(), &checked["holds"], &checked["strikes"]), (0, &json!(true), &json!(3)));
}

#[tokio::test]
async fn what_the_caller_has_to_mend_exits_2_and_says_what() {
    for (arguments, says) in [
        (&["match"][..], "--x"),
        (&["match", "--x", "house:pebble-1"], "--o"),
        (
            &["match", "--x", "house:nobody", "--o", "house:pebble-1"],
            "pebble-1, copper-4, gremlin-9, oracle-42",
        ),
        (&["match", "--x", "house:pebble-1", "--o", "house:pebble-1"], "does not play against itself"),
        (&["match", "--x", "nonsense", "--o", "house:pebble-1"], "--x"),
        (&["match", "--x", "house:pebble-1", "--o", "http://10.0.0.1/"], "--o"),
        (&["match", "--x", "house:pebble-1", "--o", "house:copper-4", "--game", "go"], "\"go\""),
        (&["match", "--x", "house:pebble-1", "--o", "house:copper-4", "--seed", "x"], "--seed"),
        (&["match", "--x", "house:pebble-1", "--o", "house:copper-4", "--deadline-ms", "1"], "500 to 60000"),
        (&["duel"], "duel"),
        (&["serve", "--port", "80"], "--port"),
        (&["audit", "a.json", "--data", "b"], "--data"),
    ] {
        let printed = run(arguments).await;
        assert_eq!(printed.code(), 2, "{arguments:?}: {printed:?}");
        assert!(printed.err.contains(says), "{arguments:?} says {says}: {}", printed.err);
        assert!(printed.out.is_empty(), "{arguments:?}: {}", printed.out);
    }
}

#[tokio::test]
async fn a_replay_that_cannot_be_written_is_a_failure_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("missing/replay.json");
    let out = file.to_str().unwrap();
    let printed = run(&["match", "--x", "house:pebble-1", "--o", "house:copper-4", "--out", out]).await;
    assert_eq!(printed.code(), 1, "{printed:?}");
    assert!(printed.err.contains(out), "{}", printed.err);
}

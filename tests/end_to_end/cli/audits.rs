//! `arena audit` and `arena journal`: what holds is said to hold, what was altered is refused.

use super::run;
use arena_tests::{Agent, Reply, Served};
use serde_json::{Value, json};
use std::fs;

/// A served arena's replay of a match that has moves, a strike and a winner, and its id.
async fn played(arena: &Served) -> (Value, String) {
    let left = Agent::start(|n, request| if n == 1 { Reply::Silence } else { Reply::mv(request, "d") }).await;
    let right = Agent::start(|_, request| Reply::mv(request, "a")).await;
    let me = arena.register("left", &left.url).await;
    arena.register("right", &right.url).await;
    let further = json!({"rated": false, "first": "left", "deadline_ms": 500});
    let id = arena.challenge(&me, "right", further).await;
    (arena.finished(&id).await, id)
}

#[tokio::test]
async fn a_replay_is_audited_by_its_url_with_or_without_json() {
    let arena = Served::start();
    let (_, id) = played(&arena).await;
    for url in [format!("{}/m/{id}", arena.url), format!("{}/m/{id}.json", arena.url)] {
        let printed = run(&["audit", &url]).await;
        assert_eq!(printed.code(), 0, "{printed:?}");
        assert!(printed.out.contains("7 moves and 1 strikes re-run to X wins"), "{}", printed.out);
    }
    for (url, says) in [
        (format!("{}/m/9f2c1a44-0000-8000-8000-000000000001", arena.url), "not_found"),
        (arena.url.clone(), "no /m/ID"),
        ("http://127.0.0.1:1/m/9f2c1a44-0000-8000-8000-000000000001".to_owned(), "does not answer"),
    ] {
        let printed = run(&["audit", &url]).await;
        assert_eq!(printed.code(), 1, "{printed:?}");
        assert!(printed.err.contains(says), "{url}: {}", printed.err);
    }
}

/// What is done to a replay.
type Alteration = fn(&mut Value);

#[tokio::test]
async fn an_altered_replay_is_refused_whatever_was_altered() {
    let arena = Served::start();
    let (replay, _) = played(&arena).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("replay.json");
    let path = file.to_str().unwrap();
    fs::write(&file, replay.to_string()).unwrap();
    assert_eq!(run(&["audit", path]).await.code(), 0);

    // Events: 1 X d, 2 O a, 3 X strikes, 4 X d, 5 O a, 6 X d, 7 O a, 8 X d, 9 the end.
    let alterations: &[(&str, Alteration)] = &[
        ("another move", |replay| replay["events"][3]["move"] = json!("e")),
        ("no column", |replay| replay["events"][3]["move"] = json!("z")),
        ("another seat", |replay| replay["events"][1]["seat"] = json!("X")),
        ("another number", |replay| replay["events"][1]["n"] = json!(3)),
        ("another move_number", |replay| replay["events"][1]["move_number"] = json!(4)),
        ("an event left out", |replay| drop(replay["events"].as_array_mut().unwrap().remove(1))),
        ("the end left out", |replay| drop(replay["events"].as_array_mut().unwrap().pop())),
        ("a strike more", |replay| replay["events"][2]["strikes"] = json!(2)),
        ("a strike of the other", |replay| replay["events"][2]["seat"] = json!("O")),
        ("a cause that is none", |replay| replay["events"][2]["cause"] = json!("rain")),
        ("another winner", |replay| replay["result"]["winner"] = json!("O")),
        ("another winner at the end", |replay| replay["events"][8]["winner"] = json!("O")),
        ("another reason", |replay| replay["result"]["reason"] = json!("draw")),
        ("another line", |replay| replay["result"]["line"][0] = json!("c1")),
        ("no result", |replay| replay["result"] = Value::Null),
        ("another status", |replay| replay["status"] = json!("running")),
        ("another game", |replay| replay["game"] = json!("go")),
        ("a time that runs back", |replay| replay["events"][4]["at"] = json!("2001-01-01T00:00:00.000Z")),
        ("no events", |replay| replay["events"] = json!([])),
        ("nothing", |replay| *replay = json!({})),
    ];
    for (what, alter) in alterations {
        let mut altered = replay.clone();
        alter(&mut altered);
        assert_ne!(altered, replay, "{what}");
        fs::write(&file, altered.to_string()).unwrap();
        let printed = run(&["audit", path]).await;
        assert_eq!(printed.code(), 1, "{what}: {printed:?}");
        assert!(printed.out.starts_with("the replay does not hold: "), "{what}: {printed:?}");
    }
    fs::write(&file, "{").unwrap();
    let printed = run(&["audit", path]).await;
    assert_eq!(printed.code(), 1);
    assert!(printed.err.contains("is no JSON"), "{}", printed.err);
}

#[tokio::test]
async fn a_journal_is_audited_verified_and_described() {
    let arena = Served::start();
    played(&arena).await;
    let stopped = arena.stop();
    let data = stopped.data.to_str().unwrap();
    let mut heads = Vec::new();
    for command in [&["audit"][..], &["journal", "info"], &["journal", "verify"]] {
        let printed = run(&[command, &["--json", "--data", data]].concat()).await;
        assert_eq!(printed.code(), 0, "{command:?}: {printed:?}");
        let report: Value = serde_json::from_str(&printed.out).unwrap();
        assert!(report["records"].as_u64().unwrap() > 10, "{report}");
        heads.push((report["records"].clone(), report["head"].clone()));
        let head = report["head"].as_str().unwrap();
        let printed = run(&[command, &["--data", data]].concat()).await;
        assert!(printed.code() == 0 && printed.out.contains(head), "{command:?}: {printed:?}");
    }
    assert!(heads.iter().all(|head| *head == heads[0]), "{heads:?}");

    let none = tempfile::tempdir().unwrap();
    let none = none.path().to_str().unwrap();
    for command in [&["audit"][..], &["journal", "info"], &["journal", "verify"]] {
        let printed = run(&[command, &["--data", none]].concat()).await;
        assert_eq!(printed.code(), 1, "{printed:?}");
        assert!(printed.err.contains("there is no journal in"), "{}", printed.err);
    }
}

#[tokio::test]
async fn the_journal_of_a_running_arena_can_be_audited_beside_it() {
    let arena = Served::start();
    played(&arena).await;
    let data = arena.data.to_str().unwrap();
    for command in [&["audit"][..], &["journal", "info"], &["journal", "verify"]] {
        let printed = run(&[command, &["--data", data]].concat()).await;
        assert_eq!(printed.code(), 0, "{command:?}: {printed:?}");
    }
    arena.register("third", "http://127.0.0.1:9/play").await;
}

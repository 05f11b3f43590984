//! How strikes count: over the whole match, each side's own, and the third ends it.

use crate::look::{clean, columns, events, of_match};
use arena_tests::{Agent, Registered, Reply, Served};
use serde_json::{Value, json};

/// Two agents; the first plays X of an unrated match when asked to.
struct Pair {
    arena: Served,
    left: Agent,
    right: Agent,
    me: Registered,
}

impl Pair {
    async fn new(left: Agent, right: Agent) -> Self {
        let arena = Served::start();
        let me = arena.register("Left-1", &left.url).await;
        arena.register("Right-1", &right.url).await;
        Self { arena, left, right, me }
    }

    async fn open(&self) -> String {
        self.arena.challenge(&self.me, "right-1", json!({"rated": false, "first": "left-1"})).await
    }

    async fn play(&self) -> (String, Value) {
        let id = self.open().await;
        let replay = self.arena.finished(&id).await;
        (id, replay)
    }
}

fn field(seen: &[arena_tests::Seen], name: &str) -> Vec<Value> {
    seen.iter().map(|request| request.body[name].clone()).collect()
}

/// Fails where `fails` says so of the request's number, and plays the first legal column otherwise.
async fn failing(fails: impl Fn(usize, &Value) -> bool + Send + Sync + 'static) -> Agent {
    Agent::start(move |n, request| {
        if fails(n, request) {
            Reply::status("500 Internal Server Error", "")
        } else {
            Reply::mv(request, request["legal"][0].as_str().unwrap())
        }
    })
    .await
}

#[tokio::test]
async fn strikes_add_up_over_the_match_and_good_moves_between_do_not_reset_them() {
    let left = failing(|n, _| matches!(n, 0 | 2 | 5)).await;
    let right = Agent::start(|_, request| Reply::mv(request, "g")).await;
    let pair = Pair::new(left, right).await;
    let (id, replay) = pair.play().await;
    let told: Vec<Value> = replay["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| json!([event["kind"], event["seat"], event["move_number"], event["strikes"]]))
        .collect();
    let expected = json!([
        ["strike", "X", 1, 1],
        ["move", "X", 1, null],
        ["move", "O", 2, null],
        ["strike", "X", 3, 2],
        ["move", "X", 3, null],
        ["move", "O", 4, null],
        ["move", "X", 5, null],
        ["move", "O", 6, null],
        ["strike", "X", 7, 3],
        ["end", null, null, null],
    ]);
    assert_eq!(json!(told), expected);
    assert_eq!(replay["result"], json!({"winner": "O", "reason": "forfeit", "line": []}));
    assert_eq!(json!(field(&of_match(&pair.left, &id), "strikes")), json!([0, 1, 1, 2, 2, 2]));
    assert_eq!(json!(field(&of_match(&pair.left, &id), "move_number")), json!([1, 1, 3, 3, 5, 7]));
    let right = of_match(&pair.right, &id);
    assert_eq!(json!(field(&right, "strikes")), json!([0, 0, 0]), "only one's own");
}

#[tokio::test]
async fn each_side_sees_its_own_strikes_and_both_may_have_two_to_the_end() {
    let left = failing(|n, _| matches!(n, 0 | 2)).await;
    let right =
        Agent::start(|n, request| if n < 2 { Reply::Body("{}".into()) } else { Reply::mv(request, "g") })
            .await;
    let pair = Pair::new(left, right).await;
    let (id, replay) = pair.play().await;
    assert_eq!(replay["result"]["reason"], "win", "{replay}");
    assert_eq!(events(&replay, "strike").len(), 4);
    assert_eq!(json!(field(&of_match(&pair.left, &id), "strikes")), json!([0, 1, 1, 2, 2, 2]));
    assert_eq!(json!(field(&of_match(&pair.right, &id), "strikes")), json!([0, 1, 2, 2, 2]));
    let (_, state) = pair.arena.get(&format!("/api/v1/matches/{id}"), None).await;
    assert_eq!(state["strikes"], json!({"X": 2, "O": 2}));
}

#[tokio::test]
async fn the_third_strike_is_followed_by_no_request_to_either_side() {
    let left = failing(|n, _| n < 3).await;
    let pair = Pair::new(left, Agent::good().await).await;
    let (id, replay) = pair.play().await;
    assert_eq!(replay["result"]["reason"], "forfeit");
    // Another match after it, to its end: whatever was on its way to the agents has come by then.
    let (next, replay) = pair.play().await;
    clean(&replay);
    assert_eq!(of_match(&pair.left, &id).len(), 3);
    assert_eq!(of_match(&pair.right, &id).len(), 0);
    let strikes = field(&of_match(&pair.left, &next), "strikes");
    assert!(strikes.iter().all(|strikes| strikes == 0), "a match begins without any: {strikes:?}");
}

#[tokio::test]
async fn a_strike_in_one_match_counts_in_no_other() {
    let pair = Pair::new(
        failing(|_, request| request["move_number"] == 5 && request["strikes"] != 2).await,
        Agent::good().await,
    )
    .await;
    let ids = [pair.open().await, pair.open().await, pair.open().await];
    for id in &ids {
        let replay = pair.arena.finished(id).await;
        assert_eq!(events(&replay, "strike").len(), 2, "{replay}");
        assert_ne!(replay["result"]["reason"], "forfeit");
    }
}

#[tokio::test]
async fn a_full_column_is_illegal_and_the_replay_names_the_move() {
    let plays_a = |_: usize, request: &Value| Reply::mv(request, "a");
    let pair = Pair::new(Agent::start(plays_a).await, Agent::start(plays_a).await).await;
    let (id, replay) = pair.play().await;
    assert_eq!(columns(&replay), "aaaaaa");
    let strikes: Vec<Value> = events(&replay, "strike")
        .iter()
        .map(|strike| {
            json!([strike["seat"], strike["move_number"], strike["move"], strike["cause"], strike["strikes"]])
        })
        .collect();
    assert_eq!(
        json!(strikes),
        json!([["X", 7, "a", "illegal", 1], ["X", 7, "a", "illegal", 2], ["X", 7, "a", "illegal", 3]])
    );
    let last = of_match(&pair.left, &id).pop().unwrap();
    assert_eq!(last.body["legal"], json!(["b", "c", "d", "e", "f", "g"]));
}

#[tokio::test]
async fn strikes_are_public_in_the_state_the_replay_and_the_page() {
    let pair = Pair::new(failing(|_, _| true).await, Agent::good().await).await;
    let (id, _) = pair.play().await;
    let (_, state) = pair.arena.get(&format!("/api/v1/matches/{id}"), None).await;
    assert_eq!(state["strikes"], json!({"X": 3, "O": 0}));
    assert_eq!(state["to_move"], json!([]));
    let page = pair.arena.client().get(format!("{}/m/{id}", pair.arena.url)).send().await.unwrap();
    let page = page.text().await.unwrap();
    for words in ["strike 1: status", "strike 3: status", "(status 500)", "Right-1 (O) wins by forfeit"] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

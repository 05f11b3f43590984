//! Ratings: what counts, and where they show.

use arena_tests::{Agent, Registered, Reply, Served};
use serde_json::{Value, json};

/// A pair of which the one plays up a column and the other lets it.
struct Pair {
    arena: Served,
    strong: Registered,
    weak: Registered,
    _agents: [Agent; 2],
}

impl Pair {
    async fn new() -> Self {
        let arena = Served::start();
        let agents = [
            Agent::start(|_, request| Reply::mv(request, "d")).await,
            Agent::start(|n, request| Reply::mv(request, ["a", "g"][n % 2])).await,
        ];
        let strong = arena.register("Strong", &agents[0].url).await;
        let weak = arena.register("Weak", &agents[1].url).await;
        Self { arena, strong, weak, _agents: agents }
    }

    async fn play(&self, further: Value) -> Value {
        let id = self.arena.challenge(&self.weak, "strong", further).await;
        let replay = self.arena.finished(&id).await;
        let winner = replay["players"]
            .as_array()
            .unwrap()
            .iter()
            .find(|player| player["seat"] == replay["result"]["winner"]);
        assert_eq!(winner.unwrap()["agent"], "strong", "{replay}");
        replay
    }

    async fn ratings(&self, slug: &str) -> Value {
        let (_, profile) = self.arena.get(&format!("/api/v1/agents/{slug}"), None).await;
        profile["ratings"].clone()
    }

    async fn first_page(&self) -> String {
        self.arena.client().get(&self.arena.url).send().await.unwrap().text().await.unwrap()
    }
}

#[tokio::test]
async fn a_rated_match_moves_both_by_glicko_2_and_shows_in_profiles_and_on_the_first_page() {
    let pair = Pair::new().await;
    let replay = pair.play(json!({})).await;
    assert_eq!(replay["rated"], true, "a challenge between agents is rated unless it says otherwise");
    // By hand from Glickman's paper, both at 1500/350/0.06 and tau 0.5: 162 points, and a deviation of 290.
    let [strong, weak] = [pair.ratings("strong").await, pair.ratings("weak").await];
    for (rating, expected, [wins, losses]) in [(&strong[0], 1662.0, [1, 0]), (&weak[0], 1338.0, [0, 1])] {
        assert_eq!(rating["game"], "connect4", "{rating}");
        assert_eq!([&rating["rating"], &rating["deviation"]], [&json!(expected), &json!(290.0)], "{rating}");
        assert_eq!(rating["provisional"], true, "{rating}");
        assert_eq!(
            [&rating["wins"], &rating["draws"], &rating["losses"]],
            [&json!(wins), &json!(0), &json!(losses)]
        );
    }
    let page = pair.first_page().await;
    let (strong, weak) = (page.find("<td>Strong").unwrap(), page.find("<td>Weak").unwrap());
    assert!(strong < weak, "the better one stands above: {page}");
    assert!(page.contains("1662") && page.contains("1338"), "{page}");

    pair.play(json!({"rated": true})).await;
    assert_eq!(pair.ratings("strong").await[0]["wins"], 2);
    assert!(pair.ratings("strong").await[0]["rating"].as_f64() > Some(1700.0));
}

#[tokio::test]
async fn practice_house_and_unrated_matches_count_for_nothing() {
    let pair = Pair::new().await;
    pair.play(json!({"rated": false})).await;
    pair.play(json!({"first": "weak"})).await;
    pair.play(json!({"first": "strong", "rated": false})).await;
    for id in [
        pair.arena.practice(&pair.strong, "pebble-1").await,
        pair.arena.challenge(&pair.strong, "copper-4", json!({})).await,
        pair.arena.challenge(&pair.strong, "copper-4", json!({"rated": false})).await,
    ] {
        let replay = pair.arena.finished(&id).await;
        assert_eq!(replay["rated"], false);
    }
    for slug in ["strong", "weak", "pebble-1", "copper-4"] {
        assert_eq!(pair.ratings(slug).await, json!([]), "{slug}");
    }
    assert!(pair.first_page().await.contains("No rated match has been played yet."));
}

#[tokio::test]
async fn a_forfeit_is_a_loss_and_is_rated() {
    let arena = Served::start();
    let good = Agent::good().await;
    let bad = Agent::start(|_, _| Reply::Body("resign".to_owned())).await;
    arena.register("good", &good.url).await;
    let me = arena.register("bad", &bad.url).await;
    let id = arena.challenge(&me, "good", json!({})).await;
    assert_eq!(arena.finished(&id).await["result"]["reason"], "forfeit");
    for (slug, wins, losses) in [("good", 1, 0), ("bad", 0, 1)] {
        let (_, profile) = arena.get(&format!("/api/v1/agents/{slug}"), None).await;
        let rating = &profile["ratings"][0];
        assert_eq!((&rating["wins"], &rating["losses"]), (&json!(wins), &json!(losses)), "{profile}");
    }
}

#[tokio::test]
async fn ratings_are_the_same_after_the_views_are_made_anew() {
    let pair = Pair::new().await;
    for _ in 0..3 {
        pair.play(json!({})).await;
    }
    let before = [pair.ratings("strong").await, pair.ratings("weak").await];
    let stopped = pair.arena.stop();
    std::fs::remove_dir_all(stopped.data.join("views")).unwrap();
    let arena = stopped.start();
    for (slug, before) in ["strong", "weak"].into_iter().zip(before) {
        let (_, profile) = arena.get(&format!("/api/v1/agents/{slug}"), None).await;
        assert_eq!(profile["ratings"], before);
    }
}

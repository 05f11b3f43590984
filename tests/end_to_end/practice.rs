//! A registered agent plays the house.

use arena_tests::{Agent, Served};

#[tokio::test]
async fn a_registered_agent_plays_each_house_agent_to_the_end() {
    let arena = Served::start();
    let agent = Agent::good().await;
    let me = arena.register("Left-1", &agent.url).await;
    for opponent in ["pebble-1", "copper-4", "gremlin-9"] {
        let id = arena.practice(&me, opponent).await;
        let replay = arena.finished(&id).await;
        assert_eq!(replay["status"], "finished", "{replay}");
        assert_eq!(replay["rated"], false);
    }
    assert_eq!(agent.most_open(), 1);
}

//! A restart in the middle of a match.

use arena_tests::{Agent, Reply, Served};

#[tokio::test]
async fn a_match_goes_on_where_it_stood_after_a_kill_and_nobody_pays_for_it() {
    let arena = Served::start();
    // The fourth request gets no answer until the arena is gone.
    let agent = Agent::start(|n, request| if n == 3 { Reply::Silence } else { Reply::middle(request) }).await;
    let me = arena.register("Left-1", &agent.url).await;
    let id = arena.practice(&me, "pebble-1").await;
    while agent.seen().len() < 4 {
        arena_tests::served::poll_async().await;
    }
    let stopped = arena.kill();
    let arena = stopped.start();
    let replay = arena.finished(&id).await;
    assert!(replay["events"].as_array().unwrap().iter().all(|event| event["kind"] != "strike"), "{replay}");
    let seen = agent.seen();
    assert_eq!(seen[3].body["move_number"], seen[4].body["move_number"]);
    assert_eq!(seen[3].body["board"], seen[4].body["board"]);
    assert_ne!(seen[3].body["nonce"], seen[4].body["nonce"]);
    let audit = arena.stop().audit();
    assert_eq!(audit["holds"], true, "{audit}");
}

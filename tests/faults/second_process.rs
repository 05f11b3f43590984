//! Two processes on one data folder.

use crate::refusal::serve_refused;
use arena_tests::{Agent, Served};

#[tokio::test]
async fn a_second_process_on_a_data_folder_says_who_has_it_and_harms_nothing() {
    let arena = Served::start();
    let agent = Agent::good().await;
    let me = arena.register("Left-1", &agent.url).await;
    let id = arena.practice(&me, "pebble-1").await;
    let refusal = serve_refused(&arena.data);
    let process = format!("process {}", arena.id());
    refusal.assert_says(&["is in use by another arena", &process, arena.data.to_str().unwrap()]);
    let replay = arena.finished(&id).await;
    assert_eq!(replay["status"], "finished", "{replay}");
    arena.register("Left-2", &agent.url).await;
    let stopped = arena.stop();
    let audit = stopped.audit();
    assert_eq!(audit["holds"], true, "{audit}");
    // The folder is free as soon as its process has ended.
    stopped.start().stop();
}

#[tokio::test]
async fn an_audit_beside_a_running_arena_reads_what_is_durable() {
    let arena = Served::start();
    let agent = Agent::good().await;
    let me = arena.register("Left-1", &agent.url).await;
    for _ in 0..3 {
        let id = arena.practice(&me, "pebble-1").await;
        let audit = arena_tests::served::audit(&arena.data);
        assert_eq!(audit["holds"], true, "{audit}");
        arena.finished(&id).await;
    }
    arena.stop();
}

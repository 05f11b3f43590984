//! A process that has no more file descriptors, taken by clients that keep their connections open: no agent pays for it.

use arena_tests::{Agent, Registered, Reply, ServeOptions, Served, served::poll_async};
use serde_json::{Value, json};
use tokio::net::TcpStream;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_agent_is_struck_where_clients_keep_all_the_connections_that_there_are() {
    play_with(72).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_agent_is_struck_where_the_arena_has_no_descriptor_left_to_ask_it() {
    // Hardly more than its own files need.
    play_with(56).await;
}

async fn play_with(descriptors: usize) {
    let through =
        ["/bin/sh", "-c", &format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"")].map(str::to_owned);
    let arena = Served::with(ServeOptions { through: through.to_vec(), ..ServeOptions::default() });
    let mut agents: Vec<(Agent, Registered)> = Vec::new();
    for n in 0..4 {
        // Each answer ends its connection, so that each question needs a new one.
        let agent = Agent::start(|_, request| {
            let body = json!({"move": request["legal"][0], "nonce": request["nonce"]});
            Reply::status("200 OK", &body.to_string())
        })
        .await;
        let registered = arena.register(&format!("Player-{n}"), &agent.url).await;
        agents.push((agent, registered));
    }
    let mut matches = Vec::new();
    for (_, agent) in &agents {
        for _ in 0..4 {
            matches.push(arena.practice(agent, "pebble-1").await);
        }
    }
    let address = arena.url.strip_prefix("http://").unwrap().to_owned();
    let mut idle = Vec::new();
    // Some are let in, the others wait where the system lets them.
    for _ in 0..descriptors {
        idle.push(TcpStream::connect(&address).await.unwrap());
    }
    // A while in which everyone plays, or cannot.
    let asked = || agents.iter().map(|(agent, _)| agent.seen().len()).sum::<usize>();
    let enough = asked() + 40;
    for _ in 0..300 {
        if asked() >= enough {
            break;
        }
        poll_async().await;
    }
    drop(idle);
    for id in &matches {
        let replay = arena.finished(id).await;
        let strikes: Vec<&Value> =
            replay["events"].as_array().unwrap().iter().filter(|event| event["kind"] == "strike").collect();
        assert_eq!(strikes, [&Value::Null; 0], "{replay}");
    }
    // It takes connections again.
    let id = arena.challenge(&agents[0].1, &agents[1].1.slug, json!({})).await;
    assert_eq!(arena.finished(&id).await["status"], "finished");
    assert_eq!(arena.stop().audit()["holds"], true);
}

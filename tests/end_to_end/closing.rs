//! Agents that close their connections after a good reply without a word of it, as they may: in a match that is no fault.

use crate::look::clean;
use arena_tests::{Registered, Reply, Seen, Served, agent::read_request};
use serde_json::json;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};
use tokio::{io::AsyncWriteExt, net::TcpListener, task::JoinHandle};

/// When a connection is closed that has borne one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closes {
    /// At once, so that it is chance whether the arena has noticed when its next request is due.
    AfterReply,
    /// Once the next request has come, which gets no answer there: the worst of chances.
    UponNext,
    /// The same with a reset.
    UponNextByReset,
}

/// An agent that plays well and promises to keep its connections.
struct Closing {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Closing {
    async fn start(closes: Closes, column: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/play", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let all = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let seen = Arc::clone(&all);
                tokio::spawn(async move {
                    let Some(request) = read_request(&mut stream).await else { return };
                    seen.lock().unwrap().push(request.clone());
                    let legal = request.body["legal"].as_array().unwrap();
                    let Reply::Body(body) =
                        Reply::mv(&request.body, legal[column % legal.len()].as_str().unwrap())
                    else {
                        unreachable!("a move is a body");
                    };
                    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
                    if closes == Closes::AfterReply {
                        return;
                    }
                    if let Some(unanswered) = read_request(&mut stream).await {
                        seen.lock().unwrap().push(unanswered);
                    }
                    if closes == Closes::UponNextByReset {
                        stream.set_zero_linger().unwrap();
                    }
                });
            }
        });
        Self { url, seen, task }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn agents_that_close_after_a_reply_without_saying_so_get_no_strike() {
    const AGENTS: usize = 24;
    let arena = Served::start();
    let mut agents: Vec<(Closing, Registered)> = Vec::new();
    for n in 0..AGENTS {
        let closes = [Closes::AfterReply, Closes::UponNext, Closes::UponNextByReset][n % 3];
        let agent = Closing::start(closes, n).await;
        let registered = arena.register(&format!("closing-{n}"), &agent.url).await;
        agents.push((agent, registered));
    }
    let mut ids = Vec::new();
    for further in [1, 5] {
        for n in 0..AGENTS {
            let opponent = &agents[(n + further) % AGENTS].1.slug;
            ids.push(arena.challenge(&agents[n].1, opponent, json!({"deadline_ms": 60_000})).await);
        }
    }
    for id in &ids {
        clean(&arena.finished(id).await);
    }
    assert_eq!(ids.len(), 48);
    let twice: usize = agents.iter().map(|(agent, _)| repeated(&agent.seen.lock().unwrap())).sum();
    assert!(twice > 0, "no request met the end of a kept connection, and nothing was tried");
    let audit = arena.stop().audit();
    assert_eq!(audit["holds"], true, "{audit}");
}

/// How many requests came twice; that none came a third time, and that the second is the first byte for byte.
#[track_caller]
fn repeated(seen: &[Seen]) -> usize {
    let (mut once, mut twice) = (HashSet::new(), HashSet::new());
    for Seen { head, text, .. } in seen {
        assert!(once.insert((head, text)) || twice.insert((head, text)), "came a third time: {head}{text}");
    }
    let nonces: HashSet<&str> = seen.iter().filter_map(|seen| seen.body["nonce"].as_str()).collect();
    assert_eq!(nonces.len(), once.len(), "each nonce stands in one text");
    twice.len()
}

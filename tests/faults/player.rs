//! An agent that always answers right, never twice the same for certain, and remembers what it was asked and what it said.

use crate::dice::Dice;
use arena_tests::agent::read_request;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// What it was asked, and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Which arena asked: where its replays stand.
    pub(crate) arena: String,
    pub(crate) match_id: String,
    pub(crate) move_number: u64,
    pub(crate) nonce: String,
    pub(crate) strikes: u64,
    pub(crate) board: String,
    pub(crate) answer: String,
}

#[derive(Default)]
struct Memory {
    asked: Vec<Asked>,
    open: HashMap<String, usize>,
    /// More than one request at once of one arena's process; those of a process that was killed are over.
    overlaps: usize,
    answered: usize,
}

/// The answer of this number (from 0) is held back until the gate is opened.
#[derive(Clone)]
struct Gate {
    at: usize,
    open: watch::Receiver<bool>,
}

/// The agent's server.
pub(crate) struct Player {
    pub(crate) url: String,
    memory: Arc<Mutex<Memory>>,
    task: JoinHandle<()>,
}

impl Player {
    /// One that thinks for less than `think_ms` at a turn.
    pub(crate) async fn start(dice: Dice, think_ms: usize) -> Self {
        Self::with(dice, think_ms, None).await
    }

    /// One that holds its answer of this number (from 0) back until it is sent `true`.
    pub(crate) async fn held(dice: Dice, at: usize) -> (Self, watch::Sender<bool>) {
        let (sender, open) = watch::channel(false);
        (Self::with(dice, 1, Some(Gate { at, open })).await, sender)
    }

    async fn with(dice: Dice, think_ms: usize, gate: Option<Gate>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/play", listener.local_addr().unwrap());
        let memory = Arc::<Mutex<Memory>>::default();
        let dice = Arc::new(Mutex::new(dice));
        let task = tokio::spawn({
            let memory = Arc::clone(&memory);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let (memory, dice, gate) = (Arc::clone(&memory), Arc::clone(&dice), gate.clone());
                    tokio::spawn(converse(stream, memory, dice, think_ms, gate));
                }
            }
        });
        Self { url, memory, task }
    }

    /// Everything that it was asked, in order.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.memory.lock().unwrap().asked.clone()
    }

    pub(crate) fn asked_count(&self) -> usize {
        self.memory.lock().unwrap().asked.len()
    }

    /// How many answers it has sent.
    pub(crate) fn answered(&self) -> usize {
        self.memory.lock().unwrap().answered
    }

    pub(crate) fn overlaps(&self) -> usize {
        self.memory.lock().unwrap().overlaps
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(
    mut stream: TcpStream,
    memory: Arc<Mutex<Memory>>,
    dice: Arc<Mutex<Dice>>,
    think_ms: usize,
    gate: Option<Gate>,
) {
    while let Some(request) = read_request(&mut stream).await {
        let text = |key: &str| request.body[key].as_str().unwrap_or_default().to_owned();
        let legal: Vec<&str> = request.body["legal"]
            .as_array()
            .map(|legal| legal.iter().filter_map(|mv| mv.as_str()).collect())
            .unwrap_or_default();
        let (answer, think) = {
            let mut dice = dice.lock().unwrap();
            ((*dice.pick(&legal)).to_owned(), dice.below(think_ms.max(1)) as u64)
        };
        let arena = text("replay_url").split("/m/").next().unwrap_or_default().to_owned();
        let number = {
            let mut memory = memory.lock().unwrap();
            let open = memory.open.entry(arena.clone()).or_default();
            *open += 1;
            let overlaps = *open > 1;
            memory.overlaps += usize::from(overlaps);
            memory.asked.push(Asked {
                arena: arena.clone(),
                match_id: text("match_id"),
                move_number: request.body["move_number"].as_u64().unwrap_or_default(),
                nonce: text("nonce"),
                strikes: request.body["strikes"].as_u64().unwrap_or_default(),
                board: text("board"),
                answer: answer.clone(),
            });
            memory.asked.len() - 1
        };
        if let Some(Gate { mut open, .. }) = gate.clone().filter(|gate| gate.at == number) {
            // Where whoever holds it is gone, the test is over.
            let _ = open.wait_for(|open| *open).await;
        }
        tokio::time::sleep(Duration::from_millis(think)).await;
        let body = serde_json::json!({
            "move": answer, "nonce": request.body["nonce"], "reason": format!("because of {answer}"),
        })
        .to_string();
        // It stops being open before its last byte is on its way.
        *memory.lock().unwrap().open.entry(arena).or_default() -= 1;
        let reply = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
        memory.lock().unwrap().answered += 1;
    }
}

//! Agents that answer as a test wants them to: a server on raw TCP, so that it can misbehave in every way, which notes every
//! request that it sees and how many were open at once.

use serde_json::Value;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
    sync::Semaphore,
    task::JoinHandle,
};

/// What an agent does with a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Status 200 with this body.
    Body(String),
    /// Exactly these bytes, after which the connection is closed.
    Raw(Vec<u8>),
    /// These bytes, each after a pause.
    Drip(Vec<u8>, Duration),
    /// Nothing for this long, then status 200 with this body.
    Late(Duration, String),
    /// Closes the connection with a reset.
    Reset,
    /// Never anything.
    Silence,
    /// These parts, each after its pause; then the connection is closed.
    Parts(Vec<(Duration, Vec<u8>)>),
    /// The first bytes, then the second ones over and over until the other side has had enough.
    Endless(Vec<u8>, Vec<u8>),
    /// Status 200 with this body, once a permit is there for it.
    Held(Arc<Semaphore>, String),
}

impl Reply {
    /// The move with the request's nonce.
    pub fn mv(request: &Value, mv: &str) -> Self {
        Self::Body(serde_json::json!({"move": mv, "nonce": request["nonce"]}).to_string())
    }

    /// The middle one of the legal moves.
    pub fn middle(request: &Value) -> Self {
        let legal = request["legal"].as_array().expect("a list");
        Self::mv(request, legal[legal.len() / 2].as_str().expect("a letter"))
    }

    /// Status and body as a plain reply.
    pub fn status(line: &str, body: &str) -> Self {
        Self::Raw(
            format!("HTTP/1.1 {line}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
                .into_bytes(),
        )
    }
}

/// A request as an agent saw it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The request line and the header lines.
    pub head: String,
    /// The body.
    pub body: Value,
    /// The body's very text, in which the fields stand in their order.
    pub text: String,
}

/// An agent at an address of loopback.
pub struct Agent {
    /// Its URL.
    pub url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    open: Arc<AtomicUsize>,
    most_open: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Agent {
    /// Starts one that answers its n-th request (from 0) as `decide` says.
    pub async fn start(decide: impl Fn(usize, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/play", listener.local_addr().expect("it is bound"));
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (open, most_open): (Arc<AtomicUsize>, Arc<AtomicUsize>) = Default::default();
        let task = {
            let (seen, open, most_open) = (Arc::clone(&seen), Arc::clone(&open), Arc::clone(&most_open));
            let decide = Arc::new(decide);
            tokio::spawn(async move {
                loop {
                    let Ok((stream, _)) = listener.accept().await else { return };
                    let (seen, open, most_open) =
                        (Arc::clone(&seen), Arc::clone(&open), Arc::clone(&most_open));
                    let decide = Arc::clone(&decide);
                    tokio::spawn(async move {
                        let mut stream = stream;
                        loop {
                            let Some(request) = read_request(&mut stream).await else { return };
                            let now = open.fetch_add(1, Ordering::SeqCst) + 1;
                            most_open.fetch_max(now, Ordering::SeqCst);
                            let number = {
                                let mut seen = seen.lock().expect("no test panics with it");
                                seen.push(request.clone());
                                seen.len() - 1
                            };
                            let reply = decide(number, &request.body);
                            if matches!(reply, Reply::Reset) {
                                let _ = stream.set_zero_linger();
                                open.fetch_sub(1, Ordering::SeqCst);
                                return;
                            }
                            let keeps = send(&mut stream, reply, &open).await;
                            if !keeps {
                                return;
                            }
                        }
                    });
                }
            })
        };
        Self { url, seen, open, most_open, task }
    }

    /// One that always plays the middle one of its legal moves.
    pub async fn good() -> Self {
        Self::start(|_, request| Reply::middle(request)).await
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no test panics with it").clone()
    }

    /// How many requests were open at once at the most.
    pub fn most_open(&self) -> usize {
        self.most_open.load(Ordering::SeqCst)
    }

    /// How many requests are open now.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads one request with its body; none at the connection's end.
pub async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Seen> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            break at + 4;
        }
        let mut part = [0; 4096];
        let count = stream.read(&mut part).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&part[..count]);
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())
        .unwrap_or(0);
    while bytes.len() < head_end + length {
        let mut part = [0; 4096];
        let count = stream.read(&mut part).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&part[..count]);
    }
    let text = String::from_utf8_lossy(&bytes[head_end..head_end + length]).into_owned();
    let body = serde_json::from_str(&text).unwrap_or_default();
    Some(Seen { head, body, text })
}

/// Whether the connection goes on. The request stops being open before its last byte is sent.
async fn send(stream: &mut (impl AsyncWrite + AsyncRead + Unpin), reply: Reply, open: &AtomicUsize) -> bool {
    let done = || open.fetch_sub(1, Ordering::SeqCst);
    let ok = |body: &str| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    match reply {
        Reply::Body(body) => {
            done();
            stream.write_all(ok(&body).as_bytes()).await.is_ok()
        }
        Reply::Late(pause, body) => {
            let slept = tokio::time::timeout(pause, gone(stream)).await;
            done();
            slept.is_err() && stream.write_all(ok(&body).as_bytes()).await.is_ok()
        }
        Reply::Raw(bytes) => {
            done();
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
            false
        }
        Reply::Drip(bytes, pause) => {
            for byte in bytes {
                if stream.write_all(&[byte]).await.is_err() {
                    break;
                }
                tokio::time::sleep(pause).await;
            }
            done();
            false
        }
        Reply::Silence => {
            gone(stream).await;
            done();
            false
        }
        Reply::Parts(parts) => {
            for (pause, bytes) in parts {
                tokio::time::sleep(pause).await;
                if stream.write_all(&bytes).await.is_err() {
                    break;
                }
            }
            done();
            false
        }
        Reply::Held(permits, body) => {
            let permit = permits.acquire().await;
            done();
            permit.expect("nobody closes it").forget();
            stream.write_all(ok(&body).as_bytes()).await.is_ok()
        }
        Reply::Endless(first, again) => {
            let mut sent = stream.write_all(&first).await;
            while sent.is_ok() {
                sent = stream.write_all(&again).await;
            }
            done();
            false
        }
        Reply::Reset => false,
    }
}

/// Until the other side closes.
async fn gone(stream: &mut (impl AsyncRead + Unpin)) {
    let mut part = [0; 64];
    while stream.read(&mut part).await.is_ok_and(|count| count > 0) {}
}

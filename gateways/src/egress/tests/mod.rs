//! Servers that misbehave on purpose, and the few calls through which all tests reach the doors.

mod addresses;
mod doors;
mod encodings;
mod faults;
mod kept;
mod lines;
mod names;
mod replies;
mod tls;
mod urls;

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{Egress, EgressOptions, EndpointUrl, Exchange, Fault, Outcome, Resolve, Slot, UrlPolicy};

/// Long enough that no test meets it but by being broken.
const LONG: Duration = Duration::from_secs(30);
const CAP: usize = 16_384;

fn dev() -> Egress {
    Egress::new(EgressOptions { dev: true, ..EgressOptions::default() }).unwrap()
}

fn dev_resolving(resolver: &Arc<Scripted>) -> Egress {
    let resolver: Arc<dyn Resolve> = Arc::clone(resolver) as _;
    Egress::new(EgressOptions { dev: true, resolver: Some(resolver), ..EgressOptions::default() }).unwrap()
}

fn url(text: &str) -> EndpointUrl {
    EndpointUrl::parse(text, UrlPolicy::Dev).unwrap()
}

async fn post(egress: &Egress, text: &str) -> Exchange {
    post_within(egress, text, LONG).await
}

async fn post_within(egress: &Egress, text: &str, deadline: Duration) -> Exchange {
    let headers = [("content-type", "application/json".to_owned())];
    egress.untrusted().post(&url(text), &headers, "{}", deadline, CAP).await
}

#[track_caller]
fn reply(exchange: Exchange) -> (u16, Vec<u8>, bool) {
    match exchange.outcome {
        Outcome::Reply { status, body, too_large } => (status, body, too_large),
        fault @ Outcome::Fault { .. } => panic!("expected a reply, came {fault:?}"),
    }
}

#[track_caller]
fn fault(exchange: Exchange) -> Fault {
    match exchange.outcome {
        Outcome::Fault { fault, .. } => fault,
        reply @ Outcome::Reply { .. } => panic!("expected a fault, came {reply:?}"),
    }
}

/// Waits until it holds; the test's own limit is [`LONG`].
async fn until(mut condition: impl FnMut() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.expect("the condition never came to hold");
}

/// A server on loopback that counts who comes and keeps what they said.
struct Server {
    address: SocketAddr,
    seen: Arc<Seen>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    ended: AtomicUsize,
    requests: Mutex<Vec<String>>,
}

impl Seen {
    /// The next request on this connection, headers and body, or `None` at its end.
    async fn request(&self, stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
        let mut bytes = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                    self.requests.lock().unwrap().push(text.clone());
                    return Some(text);
                }
            }
            match stream.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

impl Server {
    /// Runs `conversation` once for each connection.
    async fn talking<F>(conversation: impl Fn(TcpStream, Arc<Seen>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Seen::default());
        let shared = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let (talk, shared) = (conversation(stream, Arc::clone(&shared)), Arc::clone(&shared));
                tokio::spawn(async move {
                    talk.await;
                    shared.ended.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, seen, task }
    }

    /// Answers each request of each connection with these bytes, and keeps the connection.
    async fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes: Arc<[u8]> = bytes.into().into();
        Self::talking(move |mut stream, seen| {
            let bytes = Arc::clone(&bytes);
            async move {
                while seen.request(&mut stream).await.is_some() {
                    if stream.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
            }
        })
        .await
    }

    /// Answers the first request of each connection with these bytes, then closes it.
    async fn closing(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes: Arc<[u8]> = bytes.into().into();
        Self::talking(move |mut stream, seen| {
            let bytes = Arc::clone(&bytes);
            async move {
                if seen.request(&mut stream).await.is_some() {
                    stream.write_all(&bytes).await.ok();
                }
            }
        })
        .await
    }

    fn url(&self) -> String {
        format!("http://{}/play", self.address)
    }

    fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    fn ended(&self) -> usize {
        self.seen.ended.load(Ordering::SeqCst)
    }

    fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A whole answer with a length.
fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    [format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n").as_bytes(), body].concat()
}

/// A resolver with its answers written down, one for each question; the last is repeated.
struct Scripted {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Scripted {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parsed = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self {
            answers: Mutex::new(answers.iter().map(parsed).collect()),
            asked: AtomicUsize::new(0),
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Resolve for Scripted {
    fn resolve<'a>(&'a self, _host: &'a str, _slot: Slot) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        let answer = answer.ok_or_else(|| io::Error::other("no such name"));
        Box::pin(std::future::ready(answer))
    }
}

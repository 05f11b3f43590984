//! The way in: how many connections are open at once, and how long one may be silent. What never belongs here: what is asked
//! over them.
//!
//! Whoever keeps connections open takes room from others at this door, and from nobody else: descriptors remain for the journal,
//! the views and the agents that are asked.

use axum::serve::Listener;
use std::{
    fs, io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, Sleep, sleep_until},
};

/// How many connections are open at once, where the system gives descriptors for twice as many.
pub const CONNECTIONS_MAX: usize = 4_096;
/// How many descriptors a process has where the system does not say.
const DESCRIPTORS_ASSUMED: usize = 1_024;
/// How long a connection may be silent both ways; longer than any answer waits, and what streams says something more often.
pub const SILENCE_MAX: Duration = Duration::from_secs(75);

/// A listener with so much room. Who comes when it is full waits for who goes.
pub struct Door {
    listener: TcpListener,
    room: Arc<Semaphore>,
    silence_max: Duration,
}

impl Door {
    /// With the room that this process has.
    pub fn new(listener: TcpListener) -> Self {
        let descriptors = descriptors_max().unwrap_or(DESCRIPTORS_ASSUMED);
        Self::with(listener, CONNECTIONS_MAX.min(descriptors / 2), SILENCE_MAX)
    }

    fn with(listener: TcpListener, room: usize, silence_max: Duration) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(room)), silence_max }
    }
}

/// The soft limit of open files, where the system shows it.
fn descriptors_max() -> Option<usize> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

impl Listener for Door {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let room = Arc::clone(&self.room).acquire_owned().await.expect("nobody closes the door's semaphore");
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let heard = Instant::now();
        let silence = Box::pin(sleep_until(heard + self.silence_max));
        (Connection { stream, silence, heard, silence_max: self.silence_max, _room: room }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that holds its room until it is dropped.
pub struct Connection {
    stream: TcpStream,
    silence: Pin<Box<Sleep>>,
    heard: Instant,
    silence_max: Duration,
    _room: OwnedSemaphorePermit,
}

impl Connection {
    /// Whether nothing went either way for too long; if not yet, the task is woken then.
    fn is_silent(&mut self, context: &mut Context<'_>) -> bool {
        while self.silence.as_mut().poll(context).is_ready() {
            let end = self.heard + self.silence_max;
            if end <= Instant::now() {
                return true;
            }
            self.silence.as_mut().reset(end);
        }
        false
    }

    fn went<T>(&mut self, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if matches!(outcome, Poll::Ready(Ok(_))) {
            self.heard = Instant::now();
        }
        outcome
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_pending() && self.is_silent(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        self.went(read)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if written.is_pending() && self.is_silent(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        self.went(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        if written.is_pending() && self.is_silent(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        self.went(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{Router, routing::get};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: here\r\n\r\n";

    async fn open(room: usize, silence_ms: u64) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let door = Door::with(listener, room, Duration::from_millis(silence_ms));
        let router: Router = Router::new().route("/", get(|| async { "here" }));
        tokio::spawn(async move { axum::serve(door, router).await });
        address
    }

    async fn answered(stream: &mut TcpStream) -> String {
        let mut part = [0; 1_024];
        let count = stream.read(&mut part).await.unwrap();
        String::from_utf8_lossy(&part[..count]).into_owned()
    }

    #[tokio::test]
    async fn a_silent_connection_ends_and_one_that_is_used_goes_on() {
        let address = open(8, 400).await;
        let mut silent = Vec::new();
        for begun in [&b""[..], b"GET / HT", b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n12"] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(begun).await.unwrap();
            silent.push(stream);
        }
        let mut used = TcpStream::connect(address).await.unwrap();
        let used = tokio::spawn(async move {
            for _ in 0..10 {
                used.write_all(REQUEST).await.unwrap();
                assert!(answered(&mut used).await.ends_with("here"));
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        for mut stream in silent {
            let mut rest = Vec::new();
            let ended = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut rest)).await;
            assert!(ended.is_ok(), "it is kept for ever");
        }
        used.await.unwrap();
    }

    #[tokio::test]
    async fn who_comes_when_it_is_full_waits_for_who_goes() {
        let address = open(2, 60_000).await;
        let mut first = TcpStream::connect(address).await.unwrap();
        first.write_all(REQUEST).await.unwrap();
        assert!(answered(&mut first).await.ends_with("here"));
        let mut second = TcpStream::connect(address).await.unwrap();
        second.write_all(REQUEST).await.unwrap();
        assert!(answered(&mut second).await.ends_with("here"));
        let mut third = TcpStream::connect(address).await.unwrap();
        third.write_all(REQUEST).await.unwrap();
        let early = tokio::time::timeout(Duration::from_millis(200), answered(&mut third)).await;
        assert!(early.is_err(), "there is no room for it: {early:?}");
        drop(first);
        assert!(answered(&mut third).await.ends_with("here"));
    }

    #[test]
    fn the_system_says_how_many_descriptors_there_are() {
        assert!(!cfg!(target_os = "linux") || descriptors_max().is_some_and(|max| max > 0));
    }
}

//! The way in: how many connections are open at once, and how long one may be silent. What never belongs here: what is asked
//! over them.
//!
//! Whoever keeps connections open takes room from others at this door, and from nobody else: descriptors remain for the journal,
//! the views and the agents that are asked. A connection on which a request waits for what others do is held, and may be silent.

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, Sleep, sleep_until},
};

/// How many descriptors a process has where the system does not say.
const DESCRIPTORS_ASSUMED: usize = 1_024;
/// How many descriptors are asked of the system, within what it allows a process.
const DESCRIPTORS_WANTED: u64 = 65_536;
/// How many are left for all else, where a process has many.
const DESCRIPTORS_LEFT: usize = 1_024;
/// How many connections the system keeps that are yet to be let in, within what it allows; all whom one entry wakes may come again
/// at once, and who finds no place is cut off.
const BACKLOG: u32 = 4_096;
/// How long a connection may be silent both ways; longer than any answer waits, and what streams says something more often.
pub const SILENCE_MAX: Duration = Duration::from_secs(75);

/// Listens at an address, with room for many who come at once.
///
/// # Errors
/// What the system says.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // So that the same address can be taken again right after a stop.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A listener with so much room. Who comes when it is full waits for who goes.
pub struct Door {
    listener: TcpListener,
    room: Arc<Semaphore>,
    silence_max: Duration,
}

impl Door {
    /// With the room that this process has.
    pub fn new(listener: TcpListener) -> Self {
        let descriptors = raise_descriptors();
        let room = (descriptors / 2).max(descriptors.saturating_sub(DESCRIPTORS_LEFT));
        tracing::info!(descriptors, connections = room, "the door is open");
        Self::with(listener, room, SILENCE_MAX)
    }

    fn with(listener: TcpListener, room: usize, silence_max: Duration) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(room)), silence_max }
    }
}

/// Raises this process's soft limit of open files as far as the system lets it; gives what it has then.
fn raise_descriptors() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.unwrap_or(DESCRIPTORS_WANTED).min(DESCRIPTORS_WANTED);
    if current.is_some_and(|current| current < wanted)
        && let Err(why) = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum })
    {
        tracing::warn!(%why, "the limit of open files cannot be raised");
    }
    let current = getrlimit(Resource::Nofile).current.unwrap_or(DESCRIPTORS_WANTED);
    usize::try_from(current).unwrap_or(DESCRIPTORS_ASSUMED)
}

/// A connection as its requests know it: who is at its other end, and how many of its requests wait for what others do. A clone
/// counts with it.
#[derive(Debug, Clone, Default)]
pub struct Held {
    waiting: Arc<AtomicUsize>,
    peer: Option<IpAddr>,
}

impl Held {
    /// Holds the connection until what this gives is dropped.
    pub fn hold(&self) -> Holding {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        Holding(self.clone())
    }

    /// Who is at the other end.
    pub fn peer(&self) -> Option<IpAddr> {
        self.peer
    }

    fn is_held(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }
}

/// A request that waits.
#[derive(Debug)]
pub struct Holding(Held);

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Connected<IncomingStream<'_, Door>> for Held {
    fn connect_info(stream: IncomingStream<'_, Door>) -> Self {
        stream.io().held.clone()
    }
}

impl Listener for Door {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let room = Arc::clone(&self.room).acquire_owned().await.expect("nobody closes the door's semaphore");
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let heard = Instant::now();
        let silence = Box::pin(sleep_until(heard + self.silence_max));
        let held = Held { peer: Some(address.ip()), ..Held::default() };
        (Connection { stream, silence, heard, silence_max: self.silence_max, held, _room: room }, address)
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
    held: Held,
    _room: OwnedSemaphorePermit,
}

impl Connection {
    /// Whether nothing went either way for too long; if not yet, the task is woken then.
    fn is_silent(&mut self, context: &mut Context<'_>) -> bool {
        while self.silence.as_mut().poll(context).is_ready() {
            if self.held.is_held() {
                self.heard = Instant::now();
            }
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
    use axum::{Router, extract::ConnectInfo, routing::get};
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

    #[tokio::test]
    async fn a_connection_whose_request_waits_may_be_silent() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router: Router = Router::new().route(
            "/",
            get(|ConnectInfo(held): ConnectInfo<Held>| async move {
                let _holding = held.hold();
                tokio::time::sleep(Duration::from_millis(1_200)).await;
                "here"
            }),
        );
        let door = Door::with(listener, 8, Duration::from_millis(300));
        let service = router.into_make_service_with_connect_info::<Held>();
        tokio::spawn(async move { axum::serve(door, service).await });
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(REQUEST).await.unwrap();
        assert!(answered(&mut stream).await.ends_with("here"));
        // And from then on no longer.
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "it is kept for ever");
    }

    #[test]
    fn the_limit_of_open_files_is_raised_as_far_as_it_goes() {
        let descriptors = raise_descriptors();
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        assert_eq!(current, Some(descriptors as u64));
        assert!(maximum.is_none_or(|maximum| descriptors as u64 >= maximum.min(DESCRIPTORS_WANTED)));
    }
}

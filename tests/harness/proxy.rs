//! A proxy before a server that loses what it is told to: answers, whole connections, the rest of a message. Two crates
//! include this file, so it leans on nothing of either.

#![allow(dead_code, unreachable_pub, reason = "each crate that includes it uses a part of it")]

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

/// It cuts all connections when dropped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    server: String,
    /// Whether what the server says is thrown away.
    swallows: AtomicBool,
    /// Whether new connections are closed at once.
    closed: AtomicBool,
    /// How many more bytes of the client pass before all is cut.
    passes: AtomicUsize,
    ends: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

impl Proxy {
    /// Before the server at this address.
    ///
    /// # Panics
    /// Where there is no free port.
    pub fn before(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared {
            server,
            swallows: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            passes: AtomicUsize::new(usize::MAX),
            ends: AtomicBool::new(false),
            open: Mutex::default(),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accepting.accept(&listener));
        Self { port, shared }
    }

    /// Where clients find it.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// From now on the server's bytes are thrown away, or no more.
    pub fn swallow(&self, swallows: bool) {
        self.shared.swallows.store(swallows, Ordering::SeqCst);
    }

    /// Cuts all connections, and lets new ones through or not.
    pub fn cut(&self, closed: bool) {
        self.shared.closed.store(closed, Ordering::SeqCst);
        self.shared.cut();
    }

    /// Lets new connections through again.
    pub fn open(&self) {
        self.shared.passes.store(usize::MAX, Ordering::SeqCst);
        self.shared.closed.store(false, Ordering::SeqCst);
    }

    /// After so many more bytes of the client all connections are cut, and new ones closed until [`Proxy::open`].
    pub fn cut_after(&self, bytes: usize) {
        self.shared.passes.store(bytes, Ordering::SeqCst);
    }

    /// Whether it has cut by itself.
    pub fn has_cut(&self) -> bool {
        self.shared.closed.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        self.cut(true);
        // Wakes the one who accepts.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for client in listener.incoming() {
            if self.ends.load(Ordering::SeqCst) {
                return;
            }
            let Ok(client) = client else { continue };
            let mut open = self.open.lock().expect("no test panics with it");
            if self.closed.load(Ordering::SeqCst) {
                continue;
            }
            let Ok(server) = TcpStream::connect(&self.server) else { continue };
            open.extend([
                client.try_clone().expect("there is a descriptor"),
                server.try_clone().expect("there is a descriptor"),
            ]);
            drop(open);
            let (this, from, to) = (
                Arc::clone(self),
                client.try_clone().expect("there is a descriptor"),
                server.try_clone().expect("there is a descriptor"),
            );
            thread::spawn(move || this.pass(from, to, Self::client_says));
            let this = Arc::clone(self);
            thread::spawn(move || this.pass(server, client, Self::server_says));
        }
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream, says: fn(&Self, &mut TcpStream, &[u8]) -> bool) {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(count) = from.read(&mut bytes) {
            if count == 0 || !says(self, &mut to, &bytes[..count]) {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }

    fn server_says(&self, client: &mut TcpStream, bytes: &[u8]) -> bool {
        self.swallows.load(Ordering::SeqCst) || client.write_all(bytes).is_ok()
    }

    fn client_says(&self, server: &mut TcpStream, bytes: &[u8]) -> bool {
        let less = |left: usize| Some(left.saturating_sub(bytes.len()));
        let left = self
            .passes
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
            .expect("it always gives a number");
        if left > bytes.len() {
            return server.write_all(bytes).is_ok();
        }
        let _ = server.write_all(&bytes[..left]);
        self.closed.store(true, Ordering::SeqCst);
        self.cut();
        false
    }

    fn cut(&self) {
        for stream in self.open.lock().expect("no test panics with it").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

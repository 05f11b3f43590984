//! What the relay of agentwire can do over loopback HTTP: sends beside a bare handler that discards the same bodies, what a receive
//! that waits costs, and how soon one entry is at all who wait for it. The relay keeps all in a folder on disk, as ever.

use super::{BenchError, Figure, Report, Target, per_second};
use crate::{arena::Arena, door, metrics, server, settings::Settings};
use axum::{Router, routing::post};
use bytes::Bytes;
use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    time::{ClockId, clock_gettime},
};
use std::{
    io::{BufRead, Write},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
    sync::oneshot,
    task::JoinSet,
};

/// What is sent.
const BODY: &str = "A short line, as people and their agents write them.";
/// Participants of one of the sessions in which many send, or wait.
const PEOPLE_A_SESSION: usize = 100;
/// Descriptors of a process that are not its clients' connections.
const DESCRIPTORS_BESIDE: usize = 1_200;
/// Clients that are made ready at once.
const READY_AT_ONCE: usize = 64;
/// How long those who are to wait may take until they do.
const PATIENCE: Duration = Duration::from_secs(120);

/// How much is measured, and where.
#[derive(Debug, Clone)]
pub struct AgentWireOptions {
    /// In which folder the relay keeps its data; it is removed at the end.
    pub folder: PathBuf,
    /// Connections over which is sent at once.
    pub senders: usize,
    /// Sends over each of them in one run.
    pub sends_each: usize,
    /// Receives that wait at once, or fewer where the process may not have as many open files.
    pub waiting: usize,
    /// The arena's program, which holds the other ends of those that wait in a process of its own; without it this process holds
    /// them too, and they count.
    pub holder: Option<PathBuf>,
    /// How long nothing happens while they wait.
    pub idle: Duration,
    /// Receivers of one session that one entry wakes.
    pub woken: usize,
    /// Runs of each kind but the receives that wait, which have one.
    pub runs: usize,
}

impl AgentWireOptions {
    /// In this folder.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            senders: 256,
            sends_each: 40,
            waiting: 18_000,
            holder: None,
            idle: Duration::from_secs(5),
            woken: 1_000,
            runs: 7,
        }
    }
}

/// Measures the relay.
///
/// # Errors
/// [`BenchError`].
pub fn agentwire(options: &AgentWireOptions) -> Result<Report, BenchError> {
    let folder = tempfile::tempdir_in(&options.folder)?;
    let clients = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let report = measure(options, folder.path(), &runtime, &clients);
    clients.shutdown_timeout(Duration::from_secs(5));
    runtime.shutdown_timeout(Duration::from_secs(5));
    report
}

fn void(why: impl std::fmt::Display) -> BenchError {
    BenchError::Void(why.to_string())
}

fn measure(
    options: &AgentWireOptions,
    folder: &Path,
    runtime: &Runtime,
    clients: &Runtime,
) -> Result<Report, BenchError> {
    let settings = Settings { dev: true, data: folder.join("data"), ..Settings::default() };
    let relay = runtime.block_on(Served::start(settings))?;
    let bare = runtime.block_on(serve_bare())?;
    let measured = figures(options, clients, relay.address, bare);
    let stopped = runtime.block_on(relay.stop());
    let figures = measured?;
    stopped?;
    Ok(Report { title: "agentwire: a relay over loopback HTTP", figures })
}

fn figures(
    options: &AgentWireOptions,
    clients: &Runtime,
    relay: SocketAddr,
    bare: SocketAddr,
) -> Result<Vec<Figure>, BenchError> {
    // First, while no memory is free that others left.
    let mut figures = waiting(options, clients, relay)?;
    figures.extend(clients.block_on(sends(options, relay, bare))?);
    figures.extend(clients.block_on(wakes(options, relay))?);
    Ok(figures)
}

/// A relay that answers.
struct Served {
    arena: Arena,
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: tokio::task::JoinHandle<anyhow::Result<()>>,
}

impl Served {
    async fn start(mut settings: Settings) -> Result<Self, BenchError> {
        settings.agentwire.sessions_per_client_max = None;
        let listener = door::listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = listener.local_addr()?;
        let keeping = Arena::take_folder(&settings.data).map_err(void)?;
        let arena = Arena::open(settings, format!("http://{address}"), keeping).await.map_err(void)?;
        let (stop, stopped) = oneshot::channel();
        let served = arena.clone();
        let serving = tokio::spawn(async move {
            let stop = async move {
                // Where the other end is gone it stops too.
                let _ = stopped.await;
            };
            server::serve(&served, listener, stop).await
        });
        Ok(Self { arena, address, stop, serving })
    }

    async fn stop(self) -> Result<(), BenchError> {
        self.arena.begin_stop();
        // Where it does not serve any more, what follows says why.
        let _ = self.stop.send(());
        self.serving.await.map_err(void)?.map_err(void)?;
        self.arena.close().await.map_err(void)
    }
}

/// A handler that takes a body and answers a number, with nothing around it.
async fn serve_bare() -> Result<SocketAddr, BenchError> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let discard = |body: Bytes| async move {
        drop(body);
        ([("content-type", "application/json")], "{\"n\":1}\n")
    };
    let router: Router = Router::new().route("/send", post(discard));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(address)
}

/// A client's connection.
struct Client {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Client {
    async fn open(address: SocketAddr) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, bytes: Vec::new() })
    }

    /// Asks, waits for the whole answer, and gives its body.
    async fn ask(&mut self, request: &[u8]) -> Result<&[u8], BenchError> {
        self.stream.write_all(request).await?;
        self.answer().await
    }

    /// Waits for the whole answer of what was asked, and gives its body.
    async fn answer(&mut self) -> Result<&[u8], BenchError> {
        self.bytes.clear();
        let (head, length) = loop {
            self.more().await?;
            if let Some(ends) = ends(&self.bytes)? {
                break ends;
            }
        };
        while self.bytes.len() < head + length {
            self.more().await?;
        }
        Ok(&self.bytes[head..head + length])
    }

    async fn more(&mut self) -> Result<(), BenchError> {
        match self.stream.read_buf(&mut self.bytes).await? {
            0 => Err(void("the relay ended a connection")),
            _ => Ok(()),
        }
    }

    async fn json(&mut self, request: &[u8]) -> Result<serde_json::Value, BenchError> {
        let body = self.ask(request).await?;
        let last = body.split(|&byte| byte == b'\n').rfind(|line| !line.is_empty()).unwrap_or_default();
        serde_json::from_slice(last).map_err(void)
    }
}

/// How long an answer's head is, and its body, once the head is there; only what went well is an answer.
fn ends(bytes: &[u8]) -> Result<Option<(usize, usize)>, BenchError> {
    let Some(head) = bytes.windows(4).position(|part| part == b"\r\n\r\n") else { return Ok(None) };
    let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
    if !text.starts_with("http/1.1 200") {
        let said = String::from_utf8_lossy(&bytes[head..]).trim().to_owned();
        return Err(void(format!("{}: {said}", text.lines().next().unwrap_or_default())));
    }
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    Ok(Some((head + 4, length.ok_or_else(|| void("an answer does not say how long it is"))?)))
}

fn send_to(path: &str) -> Vec<u8> {
    let length = BODY.len();
    format!("POST {path} HTTP/1.1\r\nhost: relay\r\ncontent-length: {length}\r\n\r\n{BODY}").into_bytes()
}

fn post_to(path: &str) -> Vec<u8> {
    format!("POST {path} HTTP/1.1\r\nhost: relay\r\ncontent-length: 0\r\n\r\n").into_bytes()
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: relay\r\n\r\n").into_bytes()
}

/// The path of a link.
fn path_of(link: &str) -> Result<String, BenchError> {
    let at = link.find("/v2/").ok_or_else(|| void("a link leads elsewhere"))?;
    Ok(link[at..].trim_end().to_owned())
}

/// A session, and the paths of all who joined it.
struct Session {
    path: String,
    people: Vec<String>,
}

impl Session {
    /// Creates one that so many join.
    async fn of(address: SocketAddr, people: usize) -> Result<Self, BenchError> {
        let mut client = Client::open(address).await?;
        let link = String::from_utf8_lossy(client.ask(&post_to("/v2/s")).await?).into_owned();
        let path = path_of(&link)?;
        let mut joined = Vec::new();
        for number in 0..people {
            let said = client.json(&post_to(&format!("{path}/join?as=p{number}"))).await?;
            joined.push(path_of(said["link"].as_str().ok_or_else(|| void("a join gave no link"))?)?);
        }
        Ok(Self { path, people: joined })
    }

    /// As many as it takes for so many people.
    async fn several(address: SocketAddr, people: usize) -> Result<Vec<Self>, BenchError> {
        let (mut making, mut made) = (JoinSet::new(), Vec::new());
        let mut left = people;
        while left > 0 || !making.is_empty() {
            if left > 0 && making.len() < READY_AT_ONCE {
                let here = left.min(PEOPLE_A_SESSION);
                left -= here;
                making.spawn(Self::of(address, here));
            } else if let Some(session) = making.join_next().await {
                made.push(session.map_err(void)??);
            }
        }
        Ok(made)
    }

    /// Waits until so many of it are receiving.
    async fn receiving(&self, address: SocketAddr, count: usize) -> Result<(), BenchError> {
        let begun = Instant::now();
        let mut client = Client::open(address).await?;
        let request = get(&format!("{}/log?after={}&wait=0", self.path, u32::MAX));
        loop {
            let said = client.json(&request).await?;
            let people = said["presence"].as_object().ok_or_else(|| void("a read gave no presence"))?;
            let receiving = people.values().filter(|one| one["receiving"] == true).count();
            if receiving == count {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err(void(format!("{receiving} of {count} are receiving")));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Sends over many connections, to the relay and to the bare handler in turns.
async fn sends(
    options: &AgentWireOptions,
    relay: SocketAddr,
    bare: SocketAddr,
) -> Result<Vec<Figure>, BenchError> {
    let sessions = Session::several(relay, options.senders).await?;
    let ours: Vec<_> =
        sessions.iter().flat_map(|session| &session.people).map(|path| send_to(path)).collect();
    let theirs = vec![send_to("/send"); ours.len()];
    let (mut to_relay, mut to_bare) = (connect(relay, ours).await?, connect(bare, theirs).await?);
    let (mut relayed, mut discarded, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let count = (options.senders * options.sends_each) as u64;
    // The first of each is a warm-up.
    for run in 0..=options.runs {
        let (theirs, ours);
        (to_bare, theirs) = sent(to_bare, options.sends_each).await?;
        (to_relay, ours) = sent(to_relay, options.sends_each).await?;
        if run > 0 {
            discarded.push(per_second(count, theirs));
            relayed.push(per_second(count, ours));
            ratios.push(theirs.as_secs_f64() / ours.as_secs_f64());
        }
    }
    Ok(vec![
        Figure::greatest("sends, durable", "sends/s", &relayed),
        Figure::greatest("bodies to a bare handler", "bodies/s", &discarded),
        Figure::greatest("sends to bare", "ratio", &ratios).should(Target::AtLeast(0.5)),
    ])
}

/// A connection and what is asked over it.
type Asking = (Client, Vec<u8>);

async fn connect(address: SocketAddr, requests: Vec<Vec<u8>>) -> Result<Vec<Asking>, BenchError> {
    let mut asking = Vec::new();
    for request in requests {
        asking.push((Client::open(address).await?, request));
    }
    Ok(asking)
}

/// Each asks so often, all at once.
async fn sent(asking: Vec<Asking>, each: usize) -> Result<(Vec<Asking>, Duration), BenchError> {
    let begun = Instant::now();
    let mut loops = JoinSet::new();
    for (mut client, request) in asking {
        loops.spawn(async move {
            for _ in 0..each {
                client.ask(&request).await?;
            }
            Ok::<_, BenchError>((client, request))
        });
    }
    let mut back = Vec::new();
    while let Some(one) = loops.join_next().await {
        back.push(one.map_err(void)??);
    }
    Ok((back, begun.elapsed()))
}

/// One entry wakes all receivers of a session, again and again.
async fn wakes(options: &AgentWireOptions, relay: SocketAddr) -> Result<Vec<Figure>, BenchError> {
    // One of them sends.
    let session = Session::of(relay, options.woken + 1).await?;
    let [sender, receivers @ ..] = session.people.as_slice() else { return Err(void("nobody joined")) };
    let (mut sending, send) = (Client::open(relay).await?, send_to(sender));
    let mut last = session.people.len() as u64;
    let mut clients = Vec::new();
    for path in receivers {
        clients.push((Client::open(relay).await?, path.clone()));
    }
    let mut percentiles = Vec::new();
    for run in 0..=options.runs {
        let mut waiting = JoinSet::new();
        for (mut client, path) in clients.drain(..) {
            let request = get(&format!("{path}?after={last}"));
            waiting.spawn(async move {
                client.ask(&request).await?;
                Ok::<_, BenchError>((Instant::now(), client, path))
            });
        }
        session.receiving(relay, options.woken).await?;
        let begun = Instant::now();
        last = sending.json(&send).await?["n"].as_u64().ok_or_else(|| void("a send gave no number"))?;
        let mut took = Vec::new();
        while let Some(one) = waiting.join_next().await {
            let (ended, client, path) = one.map_err(void)??;
            took.push((ended - begun).as_secs_f64() * 1e3);
            clients.push((client, path));
        }
        took.sort_by(f64::total_cmp);
        if run > 0 {
            percentiles.push(took[(took.len() * 99).div_ceil(100).saturating_sub(1)]);
        }
    }
    let name = "from a send to the last byte at all whom it wakes, p99";
    Ok(vec![Figure::least(name, "ms", &percentiles).should(Target::AtMost(150.0))])
}

#[allow(clippy::cast_precision_loss)]
fn each(total: u64, count: usize) -> f64 {
    total as f64 / count as f64
}

/// What receives cost that wait: in memory, and in time while nothing happens.
fn waiting(
    options: &AgentWireOptions,
    clients: &Runtime,
    relay: SocketAddr,
) -> Result<Vec<Figure>, BenchError> {
    let ends = if options.holder.is_some() { 1 } else { 2 };
    let count = options.waiting.min(descriptors().saturating_sub(DESCRIPTORS_BESIDE) / ends);
    let sessions = clients.block_on(Session::several(relay, count))?;
    let paths: Vec<String> = sessions
        .iter()
        .flat_map(|session| {
            // They have read all that there is.
            session.people.iter().map(|path| format!("{path}?after={}", session.people.len()))
        })
        .collect();
    let resident =
        || metrics::resident_bytes().ok_or_else(|| void("the system does not say how much memory"));
    let before = resident()?;
    let holding = match &options.holder {
        Some(program) => Holding::Apart(Holder::start(program, relay, &paths)?),
        None => Holding::Here(clients.block_on(hold(relay, paths.into_iter().map(Ok)))?),
    };
    clients.block_on(async {
        for session in &sessions {
            session.receiving(relay, session.people.len()).await?;
        }
        Ok::<_, BenchError>(())
    })?;
    let after = resident()?;
    let begun = cpu_time();
    std::thread::sleep(options.idle);
    let idled = cpu_time().saturating_sub(begun);
    holding.end()?;
    let memory = each(after.saturating_sub(before), count) / 1024.0;
    let per_second = idled.as_secs_f64() * 1e3 / options.idle.as_secs_f64();
    Ok(vec![
        Figure::greatest("receives that wait at once", "receives", &[each(count as u64, 1)]),
        Figure::least("memory of one that waits", "KB", &[memory]).should(Target::AtMost(12.0)),
        Figure::least("CPU time while all wait", "ms/s", &[per_second]).should(Target::AtMost(10.0)),
    ])
}

/// How much time this process has had of all processors.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// How many files this process may have open, once it has asked for as many as it is allowed.
fn descriptors() -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Where it is refused the current limit is what counts.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let current = getrlimit(Resource::Nofile).current;
    current.and_then(|current| usize::try_from(current).ok()).unwrap_or(usize::MAX)
}

/// The other ends of receives that wait.
enum Holding {
    Here(Vec<TcpStream>),
    Apart(Holder),
}

impl Holding {
    fn end(self) -> Result<(), BenchError> {
        match self {
            Self::Here(streams) => {
                drop(streams);
                Ok(())
            }
            Self::Apart(holder) => holder.end(),
        }
    }
}

/// A process that holds them.
struct Holder(Child);

impl Holder {
    fn start(program: &Path, relay: SocketAddr, paths: &[String]) -> Result<Self, BenchError> {
        let mut command = Command::new(program);
        command.args(["bench", "agentwire-holder"]).arg(relay.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let mut stdin = child.stdin.take().ok_or_else(|| void("the holder has no input"))?;
        let holder = Self(child);
        for path in paths {
            writeln!(stdin, "{path}")?;
        }
        // An empty line is the last; it holds them until its input ends.
        writeln!(stdin)?;
        let mut holder = holder;
        holder.0.stdin = Some(stdin);
        Ok(holder)
    }

    fn end(mut self) -> Result<(), BenchError> {
        drop(self.0.stdin.take());
        match self.0.wait()? {
            status if status.success() => Ok(()),
            status => Err(void(format!("what held the receives ended with {status}"))),
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // Where it has ended already there is nothing to end.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks for each path and reads nothing.
async fn hold(
    relay: SocketAddr,
    paths: impl Iterator<Item = std::io::Result<String>>,
) -> Result<Vec<TcpStream>, BenchError> {
    let mut held = Vec::new();
    for path in paths {
        let mut stream = TcpStream::connect(relay).await?;
        stream.write_all(&get(&path?)).await?;
        held.push(stream);
    }
    Ok(held)
}

/// What the process does that holds receives for [`agentwire`]: their paths come as lines, up to an empty one, and they are held
/// until there is no more to read.
///
/// # Errors
/// [`BenchError`].
pub fn agentwire_holder(relay: SocketAddr, mut lines: impl BufRead) -> Result<(), BenchError> {
    descriptors();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let paths = lines.by_ref().lines().take_while(|line| !line.as_ref().is_ok_and(String::is_empty));
    let held = runtime.block_on(hold(relay, paths))?;
    std::io::copy(&mut lines, &mut std::io::sink())?;
    drop(held);
    Ok(())
}

//! What a turn costs the referee beside a bare loop of the same exchanges: the same bodies to the same agents over loopback, as
//! many at once, in one run, in turns. The referee's turns are journalled on disk, reduced and projected besides.

use super::{BenchError, Figure, Report, Target};
use crate::{
    agentarena::{self, Asked, MoveRequest},
    arena::Arena,
    registration::NewAgent,
    settings::Settings,
};
use arena_engine::games::{GameCode, Position, Seat};
use arena_journal::{Submission, vault::random};
use arena_schema::{
    Event,
    command::matches::{First, OpenMatch},
    id::{
        self, AgentKey, ChallengePolicy, ConnectionMethod, Handle, MatchId, Nonce, Partition, Protocol, Seed,
    },
};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
    task::JoinSet,
};

/// Turns of one match between two of the benchmark's agents: both take the first legal column, and X wins in the fourth.
const PLIES_A_MATCH: usize = 19;
/// Matches that each pair has open at once, so that every agent has a turn waiting nearly all the time.
const MATCHES_A_PAIR: usize = 3;
/// Exchanges of one bare loop, about as many as an agent has turns.
const EXCHANGES_A_LOOP: usize = PLIES_A_MATCH * MATCHES_A_PAIR / 2;

/// How much is measured, and where.
#[derive(Debug, Clone)]
pub struct RefereeOptions {
    /// In which folder the journal is made; it is removed at the end.
    pub folder: PathBuf,
    /// Agents that are asked, and exchanges, at once; an even number.
    pub at_once: usize,
    /// Runs of each kind.
    pub runs: usize,
}

impl RefereeOptions {
    /// In this folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), at_once: 256, runs: 7 }
    }
}

/// Measures turns.
///
/// # Errors
/// [`BenchError`].
pub fn referee(options: &RefereeOptions) -> Result<Report, BenchError> {
    let folder = tempfile::tempdir_in(&options.folder)?;
    let agents = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let listener = agents.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let url = format!("http://{}/play", listener.local_addr()?);
    agents.spawn(serve(listener));
    let report = runtime.block_on(measure(options, folder.path(), &url));
    end(runtime);
    end(agents);
    report
}

fn end(runtime: Runtime) {
    runtime.shutdown_timeout(Duration::from_secs(5));
}

async fn measure(options: &RefereeOptions, folder: &Path, url: &str) -> Result<Report, BenchError> {
    let void = |why: &dyn std::fmt::Display| BenchError::Void(why.to_string());
    let settings = Settings { dev: true, data: folder.join("data"), ..Settings::default() };
    let keeping = Arena::take_folder(&settings.data).map_err(|why| void(&why))?;
    let arena =
        Arena::open(settings, "http://127.0.0.1".to_owned(), keeping).await.map_err(|why| void(&why))?;
    let mut players = Vec::new();
    for number in 0..options.at_once.next_multiple_of(2) {
        players.push(register(&arena, url, number).await?);
    }
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .tls_backend_preconfigured(no_tls()?)
        .build()
        .map_err(|why| void(&why))?;

    let turns = players.len() / 2 * MATCHES_A_PAIR * PLIES_A_MATCH;
    let exchanges = players.len() * EXCHANGES_A_LOOP;
    let (mut bare_us, mut referee_us, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    // The first of each is a warm-up: connections are opened, agents looked up.
    for run in 0..=options.runs {
        let bare = us_each(bare(&client, url, players.len()).await?, exchanges)?;
        let refereed = us_each(refereed(&arena, &players).await?, turns)?;
        if run > 0 {
            bare_us.push(bare);
            referee_us.push(refereed);
            ratios.push(refereed / bare);
        }
    }
    arena.close().await.map_err(|why| void(&why))?;
    Ok(Report {
        title: "referee: turns over loopback HTTP, many at once",
        figures: vec![
            Figure::least("a bare exchange", "µs", &bare_us),
            Figure::least("a refereed turn", "µs", &referee_us),
            Figure::least("refereed to bare", "ratio", &ratios).should(Target::AtMost(2.0)),
        ],
    })
}

fn us_each(took: Duration, count: usize) -> Result<f64, BenchError> {
    let count = u32::try_from(count).map_err(|why| BenchError::Void(why.to_string()))?;
    Ok(took.as_secs_f64() * 1e6 / f64::from(count))
}

fn no_tls() -> Result<rustls::ClientConfig, BenchError> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| BenchError::Void(why.to_string()))?;
    Ok(config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

async fn register(arena: &Arena, url: &str, number: usize) -> Result<AgentKey, BenchError> {
    let void = |why: &dyn std::fmt::Display| BenchError::Void(why.to_string());
    let new = NewAgent {
        handle: Handle::parse(&format!("bench-{number}")).ok_or_else(|| void(&"the handle is none"))?,
        name: None,
        protocol: Protocol::AgentArena,
        method: ConnectionMethod::RemoteEndpoint,
        endpoint: Some(url),
        challenges: ChallengePolicy::Open,
        credentials: Vec::new(),
    };
    let (_, submission) = new.submission(arena.texts(), Partition(0)).map_err(|why| void(&why))?;
    let pending = arena.producer().submit(vec![submission]).await?;
    match pending.outcome().await?.result.map_err(|why| void(&why))?.first() {
        Some(Event::AgentRegistered(registered)) => Ok(registered.agent),
        _ => Err(void(&"an agent was not registered")),
    }
}

/// Matches between each two players, from the first opening to the last end.
async fn refereed(arena: &Arena, players: &[AgentKey]) -> Result<Duration, BenchError> {
    let begun = Instant::now();
    let mut opened = Vec::new();
    for pair in players.chunks_exact(2).cycle().take(players.len() / 2 * MATCHES_A_PAIR) {
        let open = OpenMatch {
            id: MatchId::from_random(Partition(0), random()),
            game: id::GameCode(GameCode::Connect4.as_u16()),
            players: [pair[0], pair[1]],
            first: First::Challenger,
            rated: false,
            deadline_ms: 10_000,
            seed: Seed(random()),
        };
        opened.push(arena.producer().submit(vec![Submission::new(open)]).await?);
    }
    for pending in opened {
        pending.outcome().await?.result.map_err(|why| BenchError::Void(why.to_string()))?;
    }
    let mut changes = arena.views().changes();
    while !arena.handle().state().matches().open().is_empty() {
        // A lag is a change too.
        let _ = tokio::time::timeout(Duration::from_millis(5), changes.recv()).await;
    }
    Ok(begun.elapsed())
}

/// As many exchanges, as many at once, with nothing around them.
async fn bare(client: &reqwest::Client, url: &str, at_once: usize) -> Result<Duration, BenchError> {
    let position = Position::of(GameCode::Connect4, &[0; 32]);
    let begun = Instant::now();
    let mut loops = JoinSet::new();
    for _ in 0..at_once {
        let (client, url, position) = (client.clone(), url.to_owned(), position.clone());
        loops.spawn(async move {
            for _ in 0..EXCHANGES_A_LOOP {
                let request = MoveRequest::new(&Asked {
                    match_id: MatchId::from_random(Partition(0), [0; 14]),
                    position: &position,
                    seat: Seat::First,
                    opponent: "bench-0",
                    ply: 1,
                    strikes: 0,
                    deadline_ms: 10_000,
                    nonce: Nonce([7; 16]),
                    public_url: "http://127.0.0.1",
                });
                let mut post = client.post(&url).body(request.to_body());
                for (name, value) in agentarena::headers() {
                    post = post.header(name, value);
                }
                let reply = post.send().await?.bytes().await?;
                serde_json::from_slice::<serde_json::Value>(&reply).map_err(anyhow::Error::from)?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = loops.join_next().await {
        let done = done.map_err(|why| BenchError::Void(why.to_string()))?;
        done.map_err(|why| BenchError::Void(why.to_string()))?;
    }
    Ok(begun.elapsed())
}

/// Agents at their simplest: the first legal column and the nonce, cut out of the body as text.
async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(answer(stream));
    }
}

async fn answer(mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let Some(length) = whole_request(&bytes) else {
            match stream.read(&mut part).await {
                Ok(count) if count > 0 => bytes.extend_from_slice(&part[..count]),
                _ => return,
            }
            continue;
        };
        let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
        bytes.drain(..length);
        let mv = between(&request, "\"legal\":[\"", "\"").unwrap_or("a");
        let nonce = between(&request, "\"nonce\":\"", "\"").unwrap_or_default();
        let body = format!("{{\"move\":\"{mv}\",\"nonce\":\"{nonce}\"}}");
        let reply = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// How long the first request in these bytes is, if it is all there.
fn whole_request(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|part| part == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).ok()?.to_ascii_lowercase();
    let length: usize =
        between(&text, "content-length:", "\r").and_then(|length| length.trim().parse().ok())?;
    (bytes.len() >= head + length).then_some(head + length)
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let begin = text.find(before)? + before.len();
    let rest = &text[begin..];
    Some(&rest[..rest.find(after)?])
}

//! What an arena on NATS can do, beside what the same client reaches on the same servers with one message a command: commands
//! through two gateways and an engine, each with its own state, from submission to outcome; and how long one alone takes.

use super::{
    BenchError, Figure, Report, Target,
    journal::play,
    per_second,
    workload::{AGENTS, Dice, pair, register_agent},
};
use arena_journal::{
    Clock, ERA_BYTES, Nats, NatsOptions, Submission,
    replicated::{Gateway, Node, NodeOptions, Peers},
    vault::random,
};
use arena_schema::{
    id::{Era, Partition},
    subject::{LEASES_BUCKET, records_stream, texts_stream},
};
use async_nats::jetstream::stream::{self, StorageType};
use bytes::Bytes;
use futures::StreamExt;
use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::runtime::{Builder, Runtime};

/// A partition that no arena uses: all that is made for it is removed at the end.
const PARTITION: Partition = Partition(u16::MAX);
/// The stream of bare messages.
const BARE: &str = "ARENA_BENCH";
/// How long a command is in a record, about; so are the bare messages.
const MESSAGE_BYTES: usize = 96;
/// How many bare messages are in flight.
const IN_FLIGHT: usize = 512;

/// How much is measured, and where.
#[derive(Debug, Clone)]
pub struct NatsBenchOptions {
    /// The servers.
    pub nats: NatsOptions,
    /// Where the local copies are made; they are removed at the end.
    pub folder: PathBuf,
    /// Submitters at once on each of the two gateways.
    pub submitters: usize,
    /// Commands that each of them submits in one run.
    pub commands_each: usize,
    /// Bare messages of one run.
    pub messages: usize,
    /// Commands of the lone client in one run.
    pub alone: usize,
    /// Runs of each kind.
    pub runs: usize,
}

impl NatsBenchOptions {
    /// On these servers.
    pub fn new(nats: NatsOptions, folder: &Path) -> Self {
        Self {
            nats,
            folder: folder.to_owned(),
            submitters: 1_000,
            commands_each: 100,
            messages: 20_000,
            alone: 400,
            runs: 5,
        }
    }
}

/// Submits through two gateways, and publishes bare messages, in turns.
///
/// # Errors
/// [`BenchError`].
pub fn nats(options: &NatsBenchOptions) -> Result<Report, BenchError> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let folder = tempfile::tempdir_in(&options.folder)?;
    let nats = connect(&runtime, options)?;
    runtime.block_on(clean(&nats))?;
    let measured = measure(&runtime, options, &nats, folder.path());
    let cleaned = runtime.block_on(clean(&nats));
    let report = measured?;
    cleaned?;
    Ok(report)
}

fn connect(runtime: &Runtime, options: &NatsBenchOptions) -> Result<Nats, BenchError> {
    runtime.block_on(Nats::connect(&options.nats)).map_err(|why| void(&why))
}

fn void(why: &dyn std::fmt::Display) -> BenchError {
    BenchError::Nats(why.to_string())
}

/// Removes what another run left.
async fn clean(nats: &Nats) -> Result<(), BenchError> {
    for name in [BARE.to_owned(), records_stream(PARTITION, Era(1)), texts_stream(PARTITION)] {
        if nats.jetstream().get_stream(&name).await.is_ok() {
            nats.jetstream().delete_stream(&name).await.map_err(|why| void(&why))?;
        }
    }
    if let Ok(leases) = nats.jetstream().get_key_value(LEASES_BUCKET).await {
        leases.purge(format!("leader.{}", PARTITION.0)).await.map_err(|why| void(&why))?;
    }
    Ok(())
}

fn measure(
    runtime: &Runtime,
    options: &NatsBenchOptions,
    nats: &Nats,
    folder: &Path,
) -> Result<Report, BenchError> {
    let node = |name: &str, may_lead: bool| -> Result<Node, BenchError> {
        let data = folder.join(name);
        std::fs::create_dir_all(&data)?;
        Ok(Node::start(NodeOptions {
            nats: connect(runtime, options)?,
            partition: PARTITION,
            clock: Clock::System,
            data,
            snapshots: None,
            followers: Vec::new(),
            behind: Vec::new(),
            era_bytes_max: ERA_BYTES,
            may_lead,
            gateway: (!may_lead).then(|| Gateway::new(PARTITION)),
            peers: Peers::of(1),
        })?)
    };
    let engine = node("engine", true)?;
    let gateways = [node("left", false)?, node("right", false)?];
    let bare = runtime.block_on(bare_stream(nats, options.nats.replicas))?;

    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let (mut alone, mut bare_alone, mut latencies) = (Vec::new(), Vec::new(), Vec::new());
    let measured = runtime.block_on(async {
        let producer = gateways[0].producer().ok_or_else(|| void(&"it is no gateway"))?;
        let mut dice = Dice(3);
        for at in 0..AGENTS {
            let register = Submission::new(register_agent(at, &mut dice));
            producer.submit(vec![register]).await?.outcome().await?;
        }
        for _ in 0..options.runs {
            let commands = options.submitters * options.commands_each * gateways.len();
            let ours_now = per_second(commands as u64, submitted(options, &gateways).await?);
            let theirs_now = per_second(options.messages as u64, published(nats, options.messages).await?);
            ours.push(ours_now);
            theirs.push(theirs_now);
            ratios.push(ours_now / theirs_now);

            let alone_now = one_by_one(&gateways, options.alone).await?;
            let bare_now = bare_one_by_one(nats, options.alone).await?;
            alone.push(alone_now);
            bare_alone.push(bare_now);
            latencies.push(alone_now / bare_now);
        }
        Ok::<_, BenchError>(())
    });
    drop(bare);
    for gateway in gateways {
        gateway.stop()?;
    }
    engine.stop()?;
    measured?;
    let (title, least) = if options.nats.replicas > 1 {
        ("nats: two gateways and an engine on a replicated stream", 2.0)
    } else {
        ("nats: two gateways and an engine on one server", 5.0)
    };
    Ok(Report {
        title,
        figures: vec![
            Figure::greatest("commands, submission to outcome", "commands/s", &ours),
            Figure::greatest("bare messages, 512 in flight", "messages/s", &theirs),
            Figure::greatest("ratio of the two", "", &ratios).should(Target::AtLeast(least)),
            Figure::least("one client's command", "µs", &alone),
            Figure::least("a bare publish with its ack, and a request", "µs", &bare_alone),
            Figure::least("ratio of the two", "", &latencies).should(Target::AtMost(2.0)),
        ],
    })
}

/// From the first submission to the last outcome, on both gateways at once.
async fn submitted(options: &NatsBenchOptions, gateways: &[Node]) -> Result<Duration, BenchError> {
    let begin = Instant::now();
    let mut submitters = Vec::new();
    let mut producers: Vec<_> = gateways.iter().filter_map(Node::producer).collect();
    for first in (0..gateways.len() as u32).map(|gateway| gateway * options.submitters as u32) {
        // Each opens its matches through another one.
        producers.rotate_left(1);
        for at in first..first + options.submitters as u32 {
            let dice = Dice(u64::from_le_bytes(random()));
            let playing = play(producers.clone(), pair(at, AGENTS), dice, options.commands_each);
            submitters.push(tokio::spawn(playing));
        }
    }
    for submitter in submitters {
        submitter.await.map_err(|why| void(&why))??;
    }
    Ok(begin.elapsed())
}

async fn bare_stream(nats: &Nats, replicas: usize) -> Result<stream::Stream, BenchError> {
    nats.jetstream()
        .create_stream(stream::Config {
            name: BARE.to_owned(),
            subjects: vec![BARE.to_owned()],
            storage: StorageType::File,
            num_replicas: replicas,
            ..stream::Config::default()
        })
        .await
        .map_err(|why| void(&why))
}

/// Bare messages, each awaited, so many in flight.
async fn published(nats: &Nats, messages: usize) -> Result<Duration, BenchError> {
    let payload = Bytes::from_static(&[7; MESSAGE_BYTES]);
    let begin = Instant::now();
    let mut acks = VecDeque::new();
    for _ in 0..messages {
        if acks.len() >= IN_FLIGHT
            && let Some(ack) = acks.pop_front()
        {
            let ack: async_nats::jetstream::context::PublishAckFuture = ack;
            ack.await.map_err(|why| void(&why))?;
        }
        acks.push_back(nats.jetstream().publish(BARE, payload.clone()).await.map_err(|why| void(&why))?);
    }
    for ack in acks {
        ack.await.map_err(|why| void(&why))?;
    }
    Ok(begin.elapsed())
}

/// The median time of one command after the other, in microseconds.
async fn one_by_one(gateways: &[Node], count: usize) -> Result<f64, BenchError> {
    let producers: Vec<_> = gateways.iter().filter_map(Node::producer).collect();
    let mut board = super::workload::Board::default();
    let mut dice = Dice(u64::from_le_bytes(random()));
    let mut took = Vec::new();
    for _ in 0..count {
        let command = board.next(pair(0, AGENTS), &mut dice);
        let home = producers.iter().find(|producer| producer.id() == board.home());
        let producer = home.or(producers.first()).ok_or_else(|| void(&"there is no gateway"))?;
        let begin = Instant::now();
        let answered = producer.submit(vec![Submission::new(command)]).await?.answered().await?;
        took.push(begin.elapsed().as_secs_f64() * 1e6);
        match answered.events(0) {
            Ok(events) => events.for_each(|event| board.see(event)),
            Err(rejection) => return Err(BenchError::Void(format!("a command was refused: {rejection}"))),
        }
    }
    Ok(super::median(&took))
}

/// The same of a publish with its ack, and a request with its reply.
async fn bare_one_by_one(nats: &Nats, count: usize) -> Result<f64, BenchError> {
    let subject = "arena.bench.echo";
    let mut asked = nats.client().subscribe(subject).await.map_err(|why| void(&why))?;
    nats.client().flush().await.map_err(|why| void(&why))?;
    let client = nats.client().clone();
    let echo = tokio::spawn(async move {
        while let Some(message) = asked.next().await {
            if let Some(to) = message.reply {
                // Who asked sees that nothing came.
                let _ = client.publish(to, message.payload).await;
            }
        }
    });
    let payload = Bytes::from_static(&[7; MESSAGE_BYTES]);
    let mut took = Vec::new();
    for _ in 0..count {
        let begin = Instant::now();
        let ack = nats.jetstream().publish(BARE, payload.clone()).await.map_err(|why| void(&why))?;
        ack.await.map_err(|why| void(&why))?;
        nats.client().request(subject, payload.clone()).await.map_err(|why| void(&why))?;
        took.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    echo.abort();
    Ok(super::median(&took))
}

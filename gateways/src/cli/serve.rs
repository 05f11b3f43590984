//! `arena serve`: everything in one process.

use super::{ServeArgs, runtime, terminal::say};
use crate::{
    arena::Arena,
    door,
    engine::Engine,
    house,
    place::Keeping,
    server,
    settings::{Registration, Role, Settings},
};
use anyhow::{Context, Result};
use arena_journal::DataDir;
use futures::{FutureExt, future::BoxFuture};
use std::{net::SocketAddr, process::ExitCode, sync::Arc};
use tokio::{
    net::TcpListener,
    signal::unix::SignalKind,
    sync::{Notify, watch},
};
use tracing_subscriber::EnvFilter;

pub(super) fn run(args: &ServeArgs) -> Result<ExitCode> {
    let settings = args.settings()?;
    if args.print_config {
        say!("{}", settings.to_toml_redacted().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    start_log();
    let runtime = runtime()?;
    let result = runtime.block_on(serve(settings));
    // A look-up of a host that hangs in the system's resolver is not waited for.
    runtime.shutdown_background();
    result
}

/// Log lines go to stderr; `RUST_LOG` says which.
fn start_log() {
    let filter = EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| EnvFilter::new("warn,arena_gateways=info,arena_journal=info,async_nats=error"));
    let colour =
        std::env::var_os("NO_COLOR").is_none() && std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colour).with_writer(std::io::stderr).init();
}

async fn serve(settings: Settings) -> Result<ExitCode> {
    let stop = stop_signal()?;
    let data = DataDir::take(&settings.data)?;
    let listener = door::listen(settings.listen).with_context(|| {
        format!("cannot listen on {}: is something else there? give another --listen", settings.listen)
    })?;
    let bound = listener.local_addr()?;
    if settings.role == Role::Engine {
        return serve_engine(&settings, data, listener, stop).await;
    }
    let keeping = Keeping::Folder(data);
    let public_url = settings.public_url_at(bound).as_str().to_owned();
    // A gateway waits for an engine, however long that takes.
    let arena = tokio::select! {
        arena = Arena::open(settings, public_url, keeping) => arena?,
        () = stop.notified() => return stopped_early(),
    };
    greet(&arena, bound);

    let ending = arena.clone();
    let stopping = Stopping {
        asked: stop,
        stopped: arena.stopped(),
        words: "taking in what is on its way",
        done: move || ending.begin_stop(),
    };
    stopping.serve(|stop| server::serve(&arena, listener, stop)).await?;
    arena.close().await?;
    Ok(ExitCode::SUCCESS)
}

/// Nothing was taken in yet, and what was written is as a kill would leave it.
#[allow(clippy::unnecessary_wraps, reason = "it is how its callers end")]
fn stopped_early() -> Result<ExitCode> {
    tracing::info!("stopped before it was ready");
    Ok(ExitCode::SUCCESS)
}

/// A process that follows and may lead.
async fn serve_engine(
    settings: &Settings,
    data: DataDir,
    listener: TcpListener,
    stop: Arc<Notify>,
) -> Result<ExitCode> {
    let bound = listener.local_addr()?;
    let engine = tokio::select! {
        engine = Engine::open(settings, data) => engine?,
        () = stop.notified() => return stopped_early(),
    };
    eprintln!("arena {} · an engine: it follows, and leads when it is its turn", env!("CARGO_PKG_VERSION"));
    eprintln!("listening on http://{bound}");
    let stopping =
        Stopping { asked: stop, stopped: engine.stopped(), words: "giving up the lead", done: || {} };
    stopping.serve(|stop| engine.serve(listener, stop)).await?;
    engine.close().await?;
    Ok(ExitCode::SUCCESS)
}

/// What ends a listener: that it is asked to, or that the process can follow no more.
struct Stopping<F> {
    asked: Arc<Notify>,
    stopped: watch::Receiver<Option<String>>,
    /// What is said when it is asked to.
    words: &'static str,
    /// What is done when it comes.
    done: F,
}

impl<F: FnOnce() + Send + 'static> Stopping<F> {
    /// Serves until then, and what is being answered a while longer. Clients that keep their connections open are not waited for.
    async fn serve<S: Future<Output = Result<()>>>(
        self,
        serve: impl FnOnce(BoxFuture<'static, ()>) -> S,
    ) -> Result<()> {
        let Self { asked, mut stopped, words, done } = self;
        let ended = Arc::new(Notify::new());
        let told = Arc::clone(&ended);
        let stop = async move {
            tokio::select! {
                () = asked.notified() => tracing::info!("stopping: {words}"),
                _ = stopped.wait_for(Option::is_some) => {}
            }
            done();
            told.notify_one();
        };
        let grace = async {
            ended.notified().await;
            tokio::time::sleep(server::STOP_WAIT).await;
        };
        tokio::select! {
            served = serve(stop.boxed()) => served,
            () = grace => Ok(()),
        }
    }
}

/// Tells the first interrupt or termination; a second one ends the process at once.
fn stop_signal() -> Result<Arc<Notify>> {
    let mut interrupt = tokio::signal::unix::signal(SignalKind::interrupt())?;
    let mut terminate = tokio::signal::unix::signal(SignalKind::terminate())?;
    let stop = Arc::new(Notify::new());
    let told = Arc::clone(&stop);
    tokio::spawn(async move {
        for turn in 0.. {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if turn > 0 {
                std::process::exit(130);
            }
            told.notify_one();
        }
    });
    Ok(stop)
}

/// Where it is, how to try it, what is missing and what that turns off; then the line that scripts wait for.
fn greet(arena: &Arena, bound: SocketAddr) {
    let settings = arena.settings();
    let url = arena.public_url();
    let names: Vec<&str> = house::AGENTS.iter().map(|agent| agent.name).collect();
    eprintln!("arena {} · data in {} · {url}", env!("CARGO_PKG_VERSION"), settings.data.display());
    if let Some(nats) = &settings.nats.url {
        eprintln!(
            "the journal is on {nats}; this process is {}",
            match settings.role {
                Role::Gateway => "a gateway",
                Role::All | Role::Engine => "a gateway, and leads when it is its turn",
            }
        );
    }
    if settings.dev {
        eprintln!(
            "--dev: endpoints may be http and on this machine, and /dev/* answers. NEVER open this to others."
        );
    }
    eprintln!("house agents: {}", names.join(", "));
    eprintln!("try it:");
    if settings.dev {
        eprintln!(
            "  cargo run --release --example connect4-agent     an agent on http://127.0.0.1:8080/play"
        );
    } else {
        eprintln!(
            "  agents need an https URL that is not on this machine; to try with one that is, start with --dev"
        );
    }
    eprintln!("  arena agent register --server {url} --name me --endpoint URL");
    eprintln!("  curl -X POST -H 'authorization: Bearer API_KEY' {url}/practice");
    let mut off = vec!["ludux/1, evalduel-agent-v0 and DealArena (not in this build)".to_owned()];
    match settings.registration {
        Registration::Open => {}
        Registration::Invite => off.push("registration without an invitation".to_owned()),
        Registration::Closed => off.push("registration (closed)".to_owned()),
    }
    eprintln!("off: {}", off.join("; "));
    eprintln!("listening on http://{bound}");
}

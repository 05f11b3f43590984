//! `arena match`: one match refereed here, without a server and without a trace: the journal is in memory.

use super::{
    runtime,
    terminal::{plain, say},
};
use crate::{
    arena::Arena,
    boards,
    egress::EndpointUrl,
    house,
    place::Keeping,
    registration::NewAgent,
    settings::{DEADLINE_MS, Settings},
    web::replay::{ReplayJson, wins},
};
use anyhow::{Context, Result, anyhow, bail};
use arena_engine::games::{GameCode, Position, Seat};
use arena_journal::{Submission, vault::random};
use arena_projectors::{MatchStatus, Replay, What};
use arena_schema::{
    Event,
    command::matches::{First, OpenMatch},
    id::{self, AgentKey, ChallengePolicy, ConnectionMethod, Handle, MatchId, Protocol, Seed},
};
use clap::Args;
use std::{fs, io::IsTerminal, path::PathBuf, process::ExitCode};

/// Exit code for what the caller has to mend.
const USAGE: u8 = 2;

#[derive(Args)]
pub(super) struct MatchArgs {
    /// Who moves first: an agent's URL, or house:NAME.
    #[arg(long, value_name = "AGENT")]
    x: String,
    /// Who moves second.
    #[arg(long, value_name = "AGENT")]
    o: String,
    /// What is played.
    #[arg(long, default_value = "connect4")]
    game: String,
    /// Where the house's choices come from; the same number gives the same choices.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// How long an agent has for a turn.
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    deadline_ms: u64,
    /// Draw the board in place, on a terminal.
    #[arg(long)]
    view: bool,
    /// Write the replay here.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &MatchArgs) -> Result<ExitCode> {
    let runtime = runtime()?;
    let played = runtime.block_on(play(args));
    runtime.shutdown_background();
    match played {
        Ok(MatchStatus::Finished) => Ok(ExitCode::SUCCESS),
        Ok(_) => Ok(ExitCode::FAILURE),
        Err(Failed::Usage(error)) => {
            eprintln!("arena match: {error:#}");
            Ok(ExitCode::from(USAGE))
        }
        Err(Failed::Referee(error)) => Err(error),
    }
}

/// Whose fault it is.
enum Failed {
    Usage(anyhow::Error),
    Referee(anyhow::Error),
}

impl From<anyhow::Error> for Failed {
    fn from(error: anyhow::Error) -> Self {
        Self::Referee(error)
    }
}

async fn play(args: &MatchArgs) -> Result<MatchStatus, Failed> {
    let usage = |error: anyhow::Error| Failed::Usage(error);
    let game =
        GameCode::from_name(&args.game).ok_or_else(|| usage(anyhow!("there is no game {:?}", args.game)))?;
    if !DEADLINE_MS.contains(&args.deadline_ms) {
        return Err(usage(anyhow!("--deadline-ms is {} to {}", DEADLINE_MS.start(), DEADLINE_MS.end())));
    }
    if args.x.eq_ignore_ascii_case(&args.o) && args.x.starts_with("house:") {
        return Err(usage(anyhow!("{} does not play against itself: name another for one side", args.x)));
    }
    // An author's agent is on the author's own machine more often than not.
    let settings = Settings { dev: true, ..Settings::default() };
    let arena = Arena::open(settings, "http://arena.invalid".to_owned(), Keeping::Memory).await?;
    let x = player(&arena, &args.x, "player-x").await.map_err(|why| usage(why.context("--x")))?;
    let o = player(&arena, &args.o, "player-o").await.map_err(|why| usage(why.context("--o")))?;

    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&args.seed.unwrap_or_else(|| u64::from_le_bytes(random())).to_le_bytes());
    let id = MatchId::from_random(arena.match_partition(), random());
    let open = OpenMatch {
        id,
        game: id::GameCode(game.as_u16()),
        players: [x, o],
        first: First::Challenger,
        rated: false,
        deadline_ms: u32::try_from(args.deadline_ms).unwrap_or(u32::MAX),
        seed: Seed(seed),
    };
    let mut changes = arena.views().changes();
    arena
        .submit(Submission::new(open))
        .await
        .map_err(|why| anyhow!("the match cannot be opened: {}", why.code()))?;

    let mut drawn = Drawn::new(args, game);
    let replay = loop {
        let read =
            arena.read_own_writes().await.map_err(|why| anyhow!("the views are behind: {}", why.code()));
        read?;
        let replay = arena.read_views(move |views| views.replay(&id, None)).await;
        let replay = replay.map_err(|why| anyhow!("the match cannot be read: {}", why.code()))?;
        let replay = replay.context("the match is not in the views")?;
        drawn.show(&replay);
        if replay.status != MatchStatus::Running {
            break replay;
        }
        // A lag is a change too.
        let _ = changes.recv().await;
    };
    print_result(&replay);
    if let Some(path) = &args.out {
        let text = serde_json::to_string_pretty(&ReplayJson::from(&replay)).context("a replay is JSON")?;
        fs::write(path, text + "\n").with_context(|| format!("{} cannot be written", path.display()))?;
    }
    arena.close().await?;
    Ok(replay.status)
}

/// A house agent, or an agent at a URL under a name for this match.
async fn player(arena: &Arena, named: &str, handle: &'static str) -> Result<AgentKey> {
    if let Some(name) = named.strip_prefix("house:") {
        let names: Vec<&str> = house::AGENTS.iter().map(|agent| agent.slug).collect();
        let agent = house::by_name(name)
            .ok_or_else(|| anyhow!("the house has {}, not {name:?}", names.join(", ")))?;
        let handle = Handle::parse(agent.slug).context("a house agent's slug is a handle")?;
        let key = arena.handle().state().registry().by_handle(&handle);
        return key.context("the house is registered at the start");
    }
    let url = EndpointUrl::parse(named, arena.egress().policy())?;
    arena.egress().untrusted().check(&url).await?;
    let new = NewAgent {
        handle: Handle::parse(handle).context("the name is a handle")?,
        name: Some(handle),
        protocol: Protocol::AgentArena,
        method: ConnectionMethod::RemoteEndpoint,
        endpoint: Some(url.as_str()),
        challenges: ChallengePolicy::Open,
        credentials: Vec::new(),
    };
    let (_, submission) = new.submission(arena.texts(), arena.partition())?;
    let events =
        arena.submit(submission).await.map_err(|why| anyhow!("it cannot be registered: {}", why.code()))?;
    match events.first() {
        Some(Event::AgentRegistered(registered)) => Ok(registered.agent),
        _ => bail!("it was not registered"),
    }
}

/// What was printed so far.
struct Drawn {
    position: Position,
    events: usize,
    in_place: bool,
}

impl Drawn {
    fn new(args: &MatchArgs, game: GameCode) -> Self {
        let in_place = args.view && std::io::stdout().is_terminal();
        Self { position: Position::of(game, &[0; 32]), events: 0, in_place }
    }

    fn show(&mut self, replay: &Replay) {
        for event in &replay.events[self.events.min(replay.events.len())..] {
            self.events += 1;
            match &event.what {
                What::Move { seat, move_number, mv, reason, latency_ms } => {
                    if let Some(mv) = replay.game.parse_move(mv) {
                        // What is in a replay was legal.
                        let _ = self.position.play(*seat, &mv);
                    }
                    if self.in_place {
                        print!("\x1b[2J\x1b[H");
                    }
                    let reason = reason
                        .as_ref()
                        .map(|reason| format!("  “{}”", plain(&reason.text)))
                        .unwrap_or_default();
                    say!("{move_number:>2}. {seat} {mv}  ({latency_ms} ms){reason}");
                    say!("{}\n", boards::plain(&self.position));
                }
                What::Strike { seat, move_number, cause, strikes, status, mv, latency_ms, .. } => {
                    let status = status.map(|status| format!(", status {status}")).unwrap_or_default();
                    let mv = mv.as_ref().map(|mv| format!(", {mv}")).unwrap_or_default();
                    say!("{move_number:>2}. {seat} strike {strikes}: {cause}{mv}{status}  ({latency_ms} ms)");
                }
                What::End { .. } => {}
            }
        }
    }
}

fn print_result(replay: &Replay) {
    let player = |seat: Seat| plain(&replay.players[seat.index()].name);
    match &replay.result {
        Some(result) => match result.winner {
            Some(seat) => {
                let line = if result.line.is_empty() {
                    String::new()
                } else {
                    format!(": {}", result.line.join(" "))
                };
                say!("{seat} ({}) {}{line}", player(seat), wins(result.reason));
            }
            None => say!("{}", result.reason),
        },
        None => say!("no result"),
    }
}

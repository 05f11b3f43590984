//! `arena bench`: the figures of the README, measured on this machine.

use super::terminal::say;
use crate::{
    bench::{
        self, AgentWireOptions, EngineOptions, JournalOptions, NatsBenchOptions, RefereeOptions, Report,
    },
    place,
    settings::Settings,
};
use anyhow::Result;
use clap::{Args, Subcommand};
use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

#[derive(Subcommand)]
pub(super) enum BenchCommand {
    /// Deciding and evolving moves.
    Engine(Common),
    /// Replaying a journal, and durable appends beside a bare loop of inserts.
    Journal(InFolder),
    /// Turns over loopback HTTP, beside a bare loop of the same exchanges.
    Referee(Referee),
    /// A relay of agentwire: sends beside a bare handler of the same bodies, receives that wait, and how soon they are woken.
    #[command(name = "agentwire")]
    AgentWire(AgentWire),
    /// Holds receives for the one above.
    #[command(name = "agentwire-holder", hide = true)]
    AgentWireHolder { relay: SocketAddr },
    /// Commands through two gateways and an engine on NATS, beside one message a command. The servers are those of the
    /// settings (arena.toml, `ARENA_NATS__URL`, `ARENA_NATS__REPLICAS`); a partition of its own is made and removed there.
    Nats(InFolder),
}

#[derive(Args)]
pub(super) struct Common {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct InFolder {
    /// Where the files are made, on the disk that is to be measured; they are removed at the end.
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub(super) struct Referee {
    #[command(flatten)]
    at: InFolder,
    /// Agents that are asked, and bare exchanges, at once.
    #[arg(long, value_name = "N", default_value_t = 256)]
    at_once: usize,
}

#[derive(Args)]
pub(super) struct AgentWire {
    #[command(flatten)]
    at: InFolder,
    /// Receives that wait at once, or fewer where the process may not have as many open files.
    #[arg(long, value_name = "N", default_value_t = 18_000)]
    waiting: usize,
}

pub(super) fn run(command: &BenchCommand) -> Result<ExitCode> {
    match command {
        BenchCommand::Engine(common) => show(common, &bench::engine(&EngineOptions::default())?),
        BenchCommand::Journal(at) => show(&at.common, &bench::journal(&JournalOptions::new(&at.folder))?),
        BenchCommand::Nats(at) => {
            let settings = Settings::load(None, std::env::vars_os(), &[])?;
            let options = NatsBenchOptions::new(place::options(&settings)?, &at.folder);
            show(&at.common, &bench::nats(&options)?);
        }
        BenchCommand::AgentWire(args) => {
            let options = AgentWireOptions {
                waiting: args.waiting,
                holder: Some(std::env::current_exe()?),
                ..AgentWireOptions::new(&args.at.folder)
            };
            show(&args.at.common, &bench::agentwire(&options)?);
        }
        BenchCommand::AgentWireHolder { relay } => bench::agentwire_holder(*relay, std::io::stdin().lock())?,
        BenchCommand::Referee(args) => {
            let options = RefereeOptions { at_once: args.at_once, ..RefereeOptions::new(&args.at.folder) };
            show(&args.at.common, &bench::referee(&options)?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(common: &Common, report: &Report) {
    if common.json {
        say!("{}", report.to_json());
    } else {
        say!("{}", report.to_string().trim_end());
    }
}

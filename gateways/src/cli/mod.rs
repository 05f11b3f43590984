//! The command line of SURFACE.md. What belongs here: flags, what is printed, exit codes. What never does: the work itself.

mod agent;
mod archive;
mod audit;
mod bench;
mod client;
mod doctor;
mod journal;
mod local_match;
mod removal;
mod serve;
mod stored;
mod terminal;

use crate::settings::{Flag, Settings};
use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use std::{path::PathBuf, process::ExitCode};

/// An arena in which AI agents play, duel, talk and are ranked.
#[derive(Parser)]
#[command(name = "arena", version, about, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve an arena (what `arena` alone does too).
    Serve(ServeArgs),
    /// Referee one match here, without a server.
    Match(local_match::MatchArgs),
    /// Register and look after agents of a served arena.
    #[command(subcommand)]
    Agent(agent::AgentCommand),
    /// Re-run a journal or a replay and compare everything that can be compared.
    Audit(audit::AuditArgs),
    /// Look at a journal, move it, archive it.
    #[command(subcommand)]
    Journal(journal::JournalCommand),
    /// Check settings, disk, clock, vault key and NATS, and say what to do.
    Doctor(doctor::DoctorArgs),
    /// Write a settings' file with every setting as a comment.
    Init(doctor::InitArgs),
    /// Measure.
    #[command(subcommand)]
    Bench(bench::BenchCommand),
}

/// The flags of `arena serve`; each stands for a setting.
#[derive(Args, Default)]
struct ServeArgs {
    /// The settings' file; arena.toml where there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder of the journal, the views and the vault [default: ./arena-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// The address to listen on [default: 127.0.0.1:7171]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Where clients reach this arena [default: http:// and the address]
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// The journal on NATS JetStream instead of in the data folder; several servers with commas between.
    #[arg(long, value_name = "URL")]
    nats: Option<String>,
    /// What this process does for an arena on NATS: all, engine or gateway [default: all]
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Over how many partitions new matches are spread, for an arena on NATS [default: 1]
    #[arg(long, value_name = "N")]
    partitions: Option<String>,
    /// For trying and testing on one machine: endpoints may be http and loopback.
    #[arg(long)]
    dev: bool,
    /// The journal's clock stands still and is moved by /dev/clock; with --dev.
    #[arg(long)]
    test_clock: bool,
    /// Print the settings in effect, secrets hidden, and end.
    #[arg(long)]
    print_config: bool,
}

impl ServeArgs {
    fn settings(&self) -> Result<Settings> {
        let mut flags = Vec::new();
        let texts = [
            ("--data", "data", &self.data),
            ("--listen", "listen", &self.listen),
            ("--public-url", "public_url", &self.public_url),
            ("--nats", "nats.url", &self.nats),
            ("--role", "role", &self.role),
            ("--partitions", "partitions", &self.partitions),
        ];
        for (name, key, text) in texts {
            flags.extend(text.as_ref().map(|text| Flag::new(name, key, text)));
        }
        if self.dev {
            flags.push(Flag::new("--dev", "dev", "true"));
        }
        if self.test_clock {
            flags.push(Flag::new("--test-clock", "test_clock", "true"));
        }
        Ok(Settings::load(self.config.as_deref(), std::env::vars_os(), &flags)?)
    }
}

/// Reads the command line, does what it says, and gives the exit code: 0 done, 1 it failed or found something, 2 usage.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        None => serve::run(&ServeArgs::default()),
        Some(Command::Serve(args)) => serve::run(&args),
        Some(Command::Match(args)) => local_match::run(&args),
        Some(Command::Agent(command)) => agent::run(&command),
        Some(Command::Audit(args)) => audit::run(&args),
        Some(Command::Journal(command)) => journal::run(&command),
        Some(Command::Doctor(args)) => doctor::run(&args),
        Some(Command::Init(args)) => doctor::init(&args),
        Some(Command::Bench(command)) => bench::run(&command),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("arena: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// A runtime for the commands that connect.
fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

//! `arena doctor`: what would keep an arena from starting or serving well, and what to do. `arena init`: a settings' file to
//! begin with.

use super::{
    runtime,
    terminal::{plain, say},
};
use crate::{
    doctor::{Check, Verdict, examine, unsettled},
    settings::{DEFAULT_FILE, Flag, Settings},
};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write},
    path::PathBuf,
    process::ExitCode,
};

#[derive(Args)]
pub(super) struct DoctorArgs {
    /// The data folder [default: what the settings say, else ./arena-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// The journal on NATS.
    #[arg(long, value_name = "URL")]
    nats: Option<String>,
    /// The settings' file; arena.toml where there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct InitArgs {
    /// The file to write.
    #[arg(long, value_name = "FILE", default_value = DEFAULT_FILE)]
    config: PathBuf,
}

pub(super) fn run(args: &DoctorArgs) -> Result<ExitCode> {
    let mut flags = Vec::new();
    flags.extend(args.data.as_ref().map(|data| Flag::new("--data", "data", data)));
    flags.extend(args.nats.as_ref().map(|url| Flag::new("--nats", "nats.url", url)));
    let checks = match Settings::load(args.config.as_deref(), std::env::vars_os(), &flags) {
        Ok(settings) => examine(&settings, &runtime()?),
        Err(why) => unsettled(&why),
    };
    let worst = checks.iter().map(|check| check.verdict).max().unwrap_or(Verdict::Fine);
    if args.json {
        let shown = checks.iter().map(|check| {
            json!({"what": check.what, "verdict": check.verdict.as_str(), "says": check.says, "next": check.next})
        });
        say!("{}", json!({"starts": worst != Verdict::Refuses, "checks": shown.collect::<Vec<_>>()}));
    } else {
        for Check { what, verdict, says, next } in &checks {
            say!("{:8} {what:14} {}", verdict.as_str(), plain(says));
            if let Some(next) = next {
                say!("{:8} {:14} → {}", "", "", plain(next));
            }
        }
        say!(
            "{}",
            match worst {
                Verdict::Fine => "all is well",
                Verdict::Note => "an arena starts; see the notes",
                Verdict::Refuses => "an arena would not start",
            }
        );
    }
    Ok(if worst == Verdict::Refuses { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

pub(super) fn init(args: &InitArgs) -> Result<ExitCode> {
    let path = &args.config;
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = match file {
        Err(why) if why.kind() == ErrorKind::AlreadyExists => {
            bail!("{} is there already and is left as it is: name another file with --config", path.display())
        }
        file => file.with_context(|| format!("{} cannot be written", path.display()))?,
    };
    file.write_all(Settings::template().as_bytes())
        .with_context(|| format!("{} cannot be written", path.display()))?;
    say!(
        "{} has every setting with its default, each as a comment; `arena doctor` checks what you make of it",
        path.display()
    );
    Ok(ExitCode::SUCCESS)
}

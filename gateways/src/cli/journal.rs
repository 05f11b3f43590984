//! `arena journal`: an operator's look at the records.

use super::terminal::say;
use anyhow::{Context, Result, bail};
use arena_journal::{SqliteJournal, Visit, audit};
use arena_schema::{
    id::{Era, Partition, RecordNumber},
    record::{Header, RecordView},
};
use clap::{Args, Subcommand};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::times::rfc3339_ms;

#[derive(Subcommand)]
pub(super) enum JournalCommand {
    /// How far it goes and what is in it.
    Info(Where),
    /// Check every record, the chain and every sealed text; `arena audit` re-runs the commands too and asks the views.
    Verify(Where),
}

#[derive(Args)]
pub(super) struct Where {
    /// The data folder.
    #[arg(long, value_name = "DIR", default_value = "./arena-data")]
    data: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The one journal of a data folder.
pub(super) fn path_in(data: &Path) -> Result<PathBuf> {
    let path = SqliteJournal::path_in(data, Partition(0), Era(1));
    if !path.is_file() {
        bail!("there is no journal in {}: {} is missing", data.display(), path.display());
    }
    Ok(path)
}

pub(super) fn run(command: &JournalCommand) -> Result<ExitCode> {
    match command {
        JournalCommand::Info(at) => info(at),
        JournalCommand::Verify(at) => verify(at),
    }
}

#[derive(Default)]
struct Seen {
    records: u64,
    commands: u64,
    bytes: u64,
    texts_bytes: u64,
    first: Option<Header>,
    last: Option<(Header, String)>,
}

fn info(at: &Where) -> Result<ExitCode> {
    let path = path_in(&at.data)?;
    let mut reader = SqliteJournal::open_reader(&path)?;
    let mut seen = Seen::default();
    let mut failed = None;
    reader.read(RecordNumber(1), &mut |stored| match RecordView::parse(stored.bytes) {
        Ok(view) => {
            seen.records += 1;
            seen.commands += view.commands().count() as u64;
            seen.bytes += stored.bytes.len() as u64;
            seen.texts_bytes += stored.texts.len() as u64;
            seen.first.get_or_insert_with(|| view.header.clone());
            seen.last = Some((view.header, view.hash.to_string()));
            Visit::Next
        }
        Err(why) => {
            failed = Some((stored.number, why));
            Visit::Enough
        }
    })?;
    if let Some((record, why)) = failed {
        bail!("record {record} does not hold: {why}");
    }
    let (Some(first), Some((last, hash))) = (seen.first, seen.last) else {
        bail!("the journal {} is empty", path.display());
    };
    let lineage = first.lineage.to_string();
    if at.json {
        let value = json!({
            "journal": path.display().to_string(), "lineage": lineage, "partition": last.partition.0, "era": last.era.0,
            "records": seen.records, "commands": seen.commands, "bytes": seen.bytes, "texts_bytes": seen.texts_bytes,
            "epoch": last.epoch.0, "rules_version": last.rules.0, "first_at": rfc3339_ms(first.time),
            "last_at": rfc3339_ms(last.time), "head": hash,
        });
        say!("{value}");
    } else {
        say!("journal    {}", path.display());
        say!("lineage    {lineage}, partition {}, era {}", last.partition.0, last.era.0);
        say!(
            "records    {} ({} bytes, {} bytes of sealed texts beside them)",
            seen.records,
            seen.bytes,
            seen.texts_bytes
        );
        say!("commands   {}", seen.commands);
        say!("epoch      {}, rules {}", last.epoch.0, last.rules.0);
        say!("from       {} to {}", rfc3339_ms(first.time), rfc3339_ms(last.time));
        say!("head       {hash}");
    }
    Ok(ExitCode::SUCCESS)
}

fn verify(at: &Where) -> Result<ExitCode> {
    let path = path_in(&at.data)?;
    let mut reader = SqliteJournal::open_reader(&path)?;
    let report = audit(reader.as_mut(), Partition(0), &[]).context("the journal does not hold")?;
    if at.json {
        say!(
            "{}",
            json!({"records": report.records, "texts": report.texts, "bytes": report.bytes, "head": report.head.to_string()})
        );
    } else {
        say!(
            "{} records ({} bytes) and {} texts match their hashes, and each record names the one before; head {}",
            report.records,
            report.bytes,
            report.texts,
            report.head
        );
    }
    Ok(ExitCode::SUCCESS)
}

//! `arena journal`: an operator's look at the records.

use super::{
    archive,
    stored::{At, Stored, Target},
    terminal::{Progress, say},
};
use anyhow::{Context, Result, bail};
use arena_journal::{Visit, audit};
use arena_schema::{
    id::{Partition, RecordNumber},
    record::{Header, RecordView},
};
use clap::{Args, Subcommand};
use serde_json::json;
use std::{path::PathBuf, process::ExitCode};

use crate::times::rfc3339_ms;

#[derive(Subcommand)]
pub(super) enum JournalCommand {
    /// How far it goes and what is in it.
    Info(Where),
    /// Check every record, the chain and every sealed text; `arena audit` re-runs the commands too and asks the views.
    Verify(Where),
    /// Copy a journal to another place, its bytes unchanged, and check all of it on the way. The vault is not copied. A copy
    /// that was interrupted goes on where it ended when it is repeated.
    Copy(CopyArgs),
    /// Write eras that are closed as files of their own, and with --remove free what they took.
    Archive(archive::ArchiveArgs),
}

#[derive(Args)]
pub(super) struct Where {
    #[command(flatten)]
    at: At,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct CopyArgs {
    /// The journal to copy: a data folder, or the URL of a NATS server.
    #[arg(long, value_name = "DIR|URL")]
    from: String,
    /// Where to: a data folder, or the URL of a NATS server; nobody else may write there meanwhile.
    #[arg(long, value_name = "DIR|URL")]
    to: String,
    /// A folder with eras of it that were archived; may be given again.
    #[arg(long, value_name = "DIR")]
    archive: Vec<PathBuf>,
    /// Which partition's, where the arena has several.
    #[arg(long, value_name = "P", default_value_t = 0)]
    partition: u16,
    /// The settings' file; arena.toml where there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(command: &JournalCommand) -> Result<ExitCode> {
    match command {
        JournalCommand::Info(at) => info(at),
        JournalCommand::Verify(at) => verify(at),
        JournalCommand::Copy(args) => copy_journal(args),
        JournalCommand::Archive(args) => archive::run(args),
    }
}

/// What a copy does not bring along.
const NOT_COPIED: &str =
    "the vault is not copied: bring its file and key too, without them no text can be opened";

fn copy_journal(args: &CopyArgs) -> Result<ExitCode> {
    let (config, partition) = (args.config.as_deref(), Partition(args.partition));
    let from = Stored::named(&args.from, partition, config, &args.archive)?;
    let mut reader = from.reader()?;
    let mut target = Target::named(&args.to, partition, config)?;
    let mut progress = Progress::new("records", reader.last()?.unwrap_or_default().0);
    let report = arena_journal::copy(reader.as_mut(), target.journal.as_mut(), partition, &mut |number| {
        progress.at(number.0);
    });
    progress.end();
    let report = report?;
    let (source, name) = (&from.name, target.journal.name());
    if args.json {
        let value = json!({
            "from": source, "to": name, "found": report.found, "copied": report.copied,
            "records": report.found + report.copied, "texts": report.texts, "bytes": report.bytes,
            "head": report.head.to_string(), "digest": report.digest.to_string(), "vault": false,
        });
        say!("{value}");
    } else {
        say!("{} records ({} bytes) and {} sealed texts copied", report.copied, report.bytes, report.texts);
        if report.found > 0 {
            say!("  {} records were there already, byte for byte the same", report.found);
        }
        say!("  from   {source}");
        say!("  to     {name}");
        say!("  head   {}", report.head);
        say!("  digest {}", report.digest);
        say!("{NOT_COPIED}");
    }
    Ok(ExitCode::SUCCESS)
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
    let stored = at.at.open()?;
    let name = &stored.name;
    let mut reader = stored.reader()?;
    let mut seen = Seen::default();
    let mut failed = None;
    let first_here = reader.first()?;
    reader.read(first_here, &mut |stored| match RecordView::parse(stored.bytes) {
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
        bail!("the journal {name} is empty");
    };
    let lineage = first.lineage.to_string();
    if at.json {
        let value = json!({
            "journal": name, "lineage": lineage, "partition": last.partition.0, "era": last.era.0,
            "first_era": first.era.0, "first_record": first.number.0, "last_record": last.number.0,
            "records": seen.records, "commands": seen.commands, "bytes": seen.bytes, "texts_bytes": seen.texts_bytes,
            "epoch": last.epoch.0, "rules_version": last.rules.0, "first_at": rfc3339_ms(first.time),
            "last_at": rfc3339_ms(last.time), "head": hash,
        });
        say!("{value}");
    } else {
        say!("journal    {name}");
        say!("lineage    {lineage}, partition {}, era {}", last.partition.0, last.era.0);
        if first.number > RecordNumber(1) {
            say!("archived   {} eras, up to record {}", first.era.0 - 1, first.number.0 - 1);
        }
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
    let stored = at.at.open()?;
    let mut reader = stored.reader()?;
    let report = audit(reader.as_mut(), stored.partition, &[]).context("the journal does not hold")?;
    if at.json {
        say!(
            "{}",
            json!({"journal": stored.name, "records": report.records, "texts": report.texts, "bytes": report.bytes, "head": report.head.to_string()})
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

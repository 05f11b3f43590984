//! `arena audit`: re-runs a journal through the engine and compares every digest and the chain, with what the views remember.
//! A single replay's moves are re-run through the rules of its game.

use super::{
    client::Client,
    runtime,
    stored::At,
    terminal::{plain, say},
};
use crate::{times::rfc3339_ms, web::replay_check};
use anyhow::{Context, Result};
use arena_journal::{Mark, audit};
use clap::Args;
use serde_json::{Value, json};
use std::{fs, process::ExitCode, time::Instant};

#[derive(Args)]
pub(super) struct AuditArgs {
    /// A replay instead of a journal: a file, or its URL (http://…/m/ID).
    #[arg(value_name = "FILE|URL", conflicts_with_all = ["data", "nats", "archive"])]
    replay: Option<String>,
    #[command(flatten)]
    at: At,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &AuditArgs) -> Result<ExitCode> {
    match &args.replay {
        Some(replay) => audit_replay(args, replay),
        None => audit_journal(args),
    }
}

fn audit_journal(args: &AuditArgs) -> Result<ExitCode> {
    let stored = args.at.open()?;
    let name = &stored.name;
    let marks: Vec<Mark> = stored.marks();
    let mut reader = stored.reader()?;
    let begun = Instant::now();
    let report = match audit(reader.as_mut(), stored.partition, &marks) {
        Ok(report) => report,
        Err(finding) => {
            if args.json {
                say!("{}", json!({"holds": false, "finding": finding.to_string()}));
            } else {
                say!("{name}: {finding}");
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let seconds = begun.elapsed().as_secs_f64();
    if args.json {
        let value = json!({
            "holds": true, "journal": name, "records": report.records, "commands": report.commands, "events": report.events,
            "rejections": report.rejections, "texts": report.texts, "digests": report.digests, "bytes": report.bytes,
            "marks": marks.len(), "head": report.head.to_string(), "digest": report.digest.to_string(),
            "last_at": rfc3339_ms(report.time), "seconds": seconds,
        });
        say!("{value}");
    } else {
        say!("{name} holds");
        say!("  {} records: each matches its hash and names the one before", report.records);
        say!(
            "  {} commands re-run to {} events ({} refusals); {} running digests compared",
            report.commands,
            report.events,
            report.rejections,
            report.digests
        );
        say!(
            "  {} sealed texts match their hashes; {} views remember records that are here",
            report.texts,
            marks.len()
        );
        say!("  head   {}", report.head);
        say!("  digest {} at {}", report.digest, rfc3339_ms(report.time));
        say!("  {} bytes in {seconds:.2} s", report.bytes);
    }
    Ok(ExitCode::SUCCESS)
}

fn audit_replay(args: &AuditArgs, replay: &str) -> Result<ExitCode> {
    let value: Value = if replay.starts_with("http://") || replay.starts_with("https://") {
        let url = replay.strip_suffix(".json").unwrap_or(replay);
        let at = url.find("/m/").with_context(|| format!("{replay} is no replay's URL: it has no /m/ID"))?;
        let (server, path) = url.split_at(at);
        runtime()?.block_on(async { Client::new(server)?.get(&format!("{path}.json"), None).await })?
    } else {
        let text = fs::read_to_string(replay).with_context(|| format!("{replay} cannot be read"))?;
        serde_json::from_str(&text).with_context(|| format!("{replay} is no JSON"))?
    };
    let checked = replay_check::check(&value);
    if args.json {
        let value = match &checked {
            Ok(checked) => {
                json!({"holds": true, "moves": checked.moves, "strikes": checked.strikes, "result": checked.result})
            }
            Err(why) => json!({"holds": false, "finding": why}),
        };
        say!("{value}");
    } else {
        match &checked {
            Ok(checked) => {
                say!(
                    "the moves hold: {} moves and {} strikes re-run to {}",
                    checked.moves,
                    checked.strikes,
                    checked.result
                );
                say!("not shown by this file: that the arena played these moves; audit the journal for that");
            }
            Err(why) => say!("the replay does not hold: {}", plain(why)),
        }
    }
    Ok(if checked.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

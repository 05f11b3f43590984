//! `arena journal archive`: closed eras as files of their own, and the room that they took given back.

use super::{
    removal,
    stored::{At, Place},
    terminal::{Progress, say},
};
use anyhow::Result;
use arena_journal::{DataDir, archive};
use clap::Args;
use serde_json::json;
use std::{path::PathBuf, process::ExitCode};

#[derive(Args)]
pub(super) struct ArchiveArgs {
    #[command(flatten)]
    at: At,
    /// The folder for the archives.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Remove each era that was archived and verified where it lived: its file, or on NATS its stream and its texts'
    /// messages. A start needs a snapshot behind them then, and who wants their records the archive.
    #[arg(long)]
    remove: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ArchiveArgs) -> Result<ExitCode> {
    let stored = args.at.open()?;
    // Held until the files are gone: nobody opens the journal meanwhile.
    let _folder = match &stored.place {
        Place::Files { data, .. } if args.remove => Some(DataDir::take(data)?),
        _ => None,
    };
    let mut reader = stored.reader()?;
    let mut progress = Progress::new("records", reader.last()?.unwrap_or_default().0);
    let eras = archive(reader.as_mut(), &args.to, &mut |number| progress.at(number.0));
    progress.end();
    let eras = eras?;
    drop(reader);
    let mut texts = 0;
    if args.remove {
        match &stored.place {
            Place::Files { records, data } => {
                removal::of_files(records, data, args.at.config.as_deref(), stored.partition, &eras)?;
            }
            Place::Nats { journal, nats, runtime } => {
                texts = removal::of_streams(nats, journal, runtime, stored.partition, &eras)?;
            }
        }
    }
    if args.json {
        let shown = eras.iter().map(|era| {
            json!({
                "era": era.era.0, "first": era.first.0, "last": era.last.0, "hash": era.hash.to_string(),
                "digest": era.digest.to_string(), "file": era.file.display().to_string(),
                "blake3": era.blake3.to_string(), "written": era.written, "removed": args.remove,
            })
        });
        say!(
            "{}",
            json!({"journal": stored.name, "archived": shown.collect::<Vec<_>>(), "texts_removed": texts})
        );
        return Ok(ExitCode::SUCCESS);
    }
    for era in &eras {
        let did = match (era.written, args.remove) {
            (true, false) => "archived and verified",
            (true, true) => "archived, verified and removed",
            (false, false) => "was archived before; verified",
            (false, true) => "was archived before; verified and removed",
        };
        say!("era {}: records {} to {} {did}: {}", era.era.0, era.first, era.last, era.file.display());
    }
    if texts > 0 {
        say!("{texts} messages of texts that belong to them alone were removed; the archive has them");
    }
    if eras.is_empty() {
        say!("{} has no closed era with a record behind it: nothing to archive", stored.name);
    } else {
        say!("the vault is not archived: without it no text in these files can be opened");
    }
    Ok(ExitCode::SUCCESS)
}

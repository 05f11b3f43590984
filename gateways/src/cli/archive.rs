//! `arena journal archive`: closed eras as files of their own, and the room that they took given back.

use super::{
    stored::{At, Place},
    terminal::{Progress, say},
};
use anyhow::{Context, Result, bail};
use arena_journal::{
    ArchivedEra, DataDir, FolderSnapshots, JetStreamJournal, Snapshots, SqliteJournal, archive,
};
use arena_schema::id::{Partition, RecordNumber};
use clap::Args;
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

#[derive(Args)]
pub(super) struct ArchiveArgs {
    #[command(flatten)]
    at: At,
    /// The folder for the archives.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Remove each era that was archived and verified where it lived: its file, or on NATS its stream (the texts' stream keeps
    /// all texts). A start needs a snapshot behind them then, and who wants their records the archive.
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
    if args.remove {
        match &stored.place {
            Place::Files { records, data } => remove_files(records, data, stored.partition, &eras)?,
            Place::Nats { journal, runtime, .. } => runtime.block_on(remove_streams(journal, &eras))?,
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
        say!("{}", json!({"journal": stored.name, "archived": shown.collect::<Vec<_>>()}));
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
    if eras.is_empty() {
        say!("{} has no closed era with a record behind it: nothing to archive", stored.name);
    } else {
        say!("the vault is not archived: without it no text in these files can be opened");
    }
    Ok(ExitCode::SUCCESS)
}

/// That a start finds where to go on behind what is removed.
fn check_goes_on(data: &Path, partition: Partition, last: RecordNumber) -> Result<()> {
    let snapshots = FolderSnapshots::in_data(data).list(partition)?;
    if !snapshots.iter().any(|number| *number >= last) {
        bail!(
            "nothing was removed: there is no snapshot of record {last} or later in {}, and a start would need the \
             records before; the archives are written, repeat this when the arena has made one",
            data.display()
        );
    }
    if let Some(mark) = arena_projectors::marks(data, partition).into_iter().find(|mark| mark.number < last) {
        bail!(
            "nothing was removed: {} has only come to record {} and needs those behind it; start the arena once, so that \
             it catches up, and repeat this",
            mark.who,
            mark.number
        );
    }
    Ok(())
}

fn remove_files(records: &Path, data: &Path, partition: Partition, eras: &[ArchivedEra]) -> Result<()> {
    let Some(last) = eras.last() else { return Ok(()) };
    check_goes_on(data, partition, last.last)?;
    for era in eras {
        SqliteJournal::remove_era(records, era.era)
            .with_context(|| format!("era {} was archived and cannot be removed", era.era.0))?;
    }
    Ok(())
}

async fn remove_streams(journal: &JetStreamJournal, eras: &[ArchivedEra]) -> Result<()> {
    for era in eras {
        journal.remove_era(era.era).await?;
    }
    Ok(())
}

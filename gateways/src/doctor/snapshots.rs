//! The store of snapshots on NATS: its settings and servers, and whether a process on an empty folder would find where to begin.

use super::{Check, shared::stream};
use arena_journal::{
    JetStreamJournal, Journal, JournalError, Nats, NatsReport, ObjectSnapshots, newest_borne_out,
};
use arena_schema::{
    id::{Partition, RecordNumber},
    subject::SNAPSHOTS_STORE,
};
use tokio::runtime::Runtime;

const WHAT: &str = "snapshots";

pub(super) fn snapshots(
    runtime: &Runtime,
    nats: &Nats,
    partition: Partition,
    report: &NatsReport,
    checks: &mut Vec<Check>,
) {
    match &report.snapshots {
        Some(found) => checks.push(stream(found)),
        None => checks.push(Check::fine(WHAT, "there is no store yet; the first engine makes it")),
    }
    if report.streams.is_empty() {
        return;
    }
    beginning(runtime, nats, partition, checks);
}

/// Whether a process on an empty folder would find where to begin in a partition.
pub(super) fn beginning(runtime: &Runtime, nats: &Nats, partition: Partition, checks: &mut Vec<Check>) {
    match look(runtime, nats, partition) {
        Ok((first, newest)) => checks.push(judge(first, newest)),
        Err(why) => checks.push(Check::note(WHAT, why, "`arena audit --nats` says more of the journal")),
    }
}

/// The first record that the journal has on NATS, and the newest snapshot that fits it.
fn look(
    runtime: &Runtime,
    nats: &Nats,
    partition: Partition,
) -> Result<(RecordNumber, Option<RecordNumber>), String> {
    let store = runtime.block_on(ObjectSnapshots::find(nats)).map_err(|why| why.to_string())?;
    let said = |why: JournalError| why.to_string();
    let journal = runtime.block_on(JetStreamJournal::find(nats, partition)).map_err(said)?;
    let Some(journal) = journal else { return Ok((RecordNumber(1), None)) };
    let mut reader = journal.reader().map_err(said)?;
    let first = reader.first().map_err(said)?;
    Ok((first, store.and_then(|store| newest_borne_out(&store, reader.as_mut(), partition))))
}

fn judge(first: RecordNumber, newest: Option<RecordNumber>) -> Check {
    let archived = first > RecordNumber(1);
    match newest {
        Some(newest) => {
            let says =
                format!("an empty folder begins from the snapshot of record {newest} in {SNAPSHOTS_STORE}");
            Check::fine(WHAT, says)
        }
        None if archived => Check::note(
            WHAT,
            format!(
                "the records before {first} are archived, and {SNAPSHOTS_STORE} has no snapshot behind them that fits: no \
                 process starts on an empty folder"
            ),
            "let an engine that has its own copy run until it makes one, or put the archive's files into a copy's folder, mirror/",
        ),
        None => Check::fine(WHAT, "there is none yet: an empty folder begins with the first record"),
    }
}

//! Gives back the room of eras that were archived. What belongs here: what must be there before anything goes, and what goes.
//! What never does: whether the archive holds, which was seen before.

use crate::{
    place,
    settings::{Flag, Settings},
};
use anyhow::{Context, Result, bail};
use arena_journal::{
    ArchivedEra, FolderSnapshots, JetStreamJournal, Journal, Nats, ObjectSnapshots, Reader, Snapshots,
    SqliteJournal, newest_borne_out, replicated::mirror_in,
};
use arena_schema::id::{Era, Partition, RecordNumber};
use std::path::Path;
use tokio::runtime::Runtime;

/// Removes the files of eras, of an embedded journal or of a process's copy.
///
/// # Errors
/// What a start would need is not there: nothing was removed then. Or the system refuses.
pub(super) fn of_files(
    records: &Path,
    data: &Path,
    config: Option<&Path>,
    partition: Partition,
    eras: &[ArchivedEra],
) -> Result<()> {
    let Some(last) = eras.last().map(|era| era.last) else { return Ok(()) };
    let mut reader = SqliteJournal::open_reader(records)?;
    if records == mirror_in(data, partition) {
        let settings = Settings::load(config, std::env::vars_os(), &[] as &[Flag])?;
        if settings.nats.url.is_none() {
            bail!(
                "nothing was removed: {} is a copy of a journal on NATS, and the snapshots that a start needs are there: set \
                 nats.url",
                records.display()
            );
        }
        let runtime = super::runtime()?;
        let nats = runtime.block_on(Nats::connect(&place::options(&settings)?))?;
        check_goes_on(shared(&runtime, &nats)?.as_ref(), reader.as_mut(), partition, last)?;
    } else {
        check_goes_on(Some(&FolderSnapshots::in_data(data)), reader.as_mut(), partition, last)?;
    }
    if let Some(mark) = arena_projectors::marks(data, partition).into_iter().find(|mark| mark.number < last) {
        bail!(
            "nothing was removed: {} has only come to record {} and needs those behind it; start the arena once, so that \
             it catches up, and repeat this",
            mark.who,
            mark.number
        );
    }
    for era in eras {
        SqliteJournal::remove_era(records, era.era)
            .with_context(|| format!("era {} was archived and cannot be removed", era.era.0))?;
    }
    Ok(())
}

/// Removes the streams of eras, and the texts that belong to them alone; says how many texts' messages went.
///
/// # Errors
/// As [`of_files`].
pub(super) fn of_streams(
    nats: &Nats,
    journal: &JetStreamJournal,
    runtime: &Runtime,
    partition: Partition,
    eras: &[ArchivedEra],
) -> Result<u64> {
    if let Some(last) = eras.last() {
        let store = shared(runtime, nats)?;
        check_goes_on(store.as_ref(), journal.reader()?.as_mut(), partition, last.last)?;
    }
    // Also where there is none: a run that was broken off may have left texts.
    let eras: Vec<Era> = eras.iter().map(|era| era.era).collect();
    Ok(runtime.block_on(journal.remove_eras(&eras))?)
}

fn shared(runtime: &Runtime, nats: &Nats) -> Result<Option<ObjectSnapshots>> {
    Ok(runtime.block_on(ObjectSnapshots::find(nats))?)
}

/// That a start finds where to go on behind what is removed.
fn check_goes_on<S: Snapshots>(
    store: Option<&S>,
    reader: &mut dyn Reader,
    partition: Partition,
    last: RecordNumber,
) -> Result<()> {
    let newest = store.and_then(|store| newest_borne_out(store, reader, partition));
    if newest.is_some_and(|newest| newest >= last) {
        return Ok(());
    }
    let at = store.map_or_else(|| "the object store".to_owned(), Snapshots::name);
    bail!(
        "nothing was removed: there is no snapshot of record {last} or later in {at} that fits the journal, and a start would \
         need the records before; the archives are written, repeat this when the arena has made one"
    );
}

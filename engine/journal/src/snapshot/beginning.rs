//! Where a replay begins: behind the newest snapshot that the journal bears out, or at the first record. What never belongs
//! here: a reason to refuse a journal. Where anything does not fit, the replay begins earlier and meets it by itself.

use super::{Snapshot, Snapshots, called};
use crate::{
    audit::Mark,
    journal::{Reader, Visit},
    sequencer::{Follower, Source},
};
use arena_engine::{Reduction, State, reduce};
use arena_schema::{
    id::{Partition, RecordNumber},
    record::RecordView,
};

/// What a replay goes on from.
pub(crate) struct Beginning {
    /// The state after the last record that nobody needs to see again.
    pub(crate) state: State,
    /// Which snapshot it was; none: it is the first record's turn.
    pub(crate) from: Option<RecordNumber>,
    /// What the snapshots remember.
    pub(crate) marks: Vec<Mark>,
}

/// The state of the newest snapshot of this partition that this build can read, of a record no later than `until`. Whether the
/// journal has that record, and with that hash, is for whoever goes on from it to check.
pub fn restore_newest(store: &dyn Snapshots, partition: Partition, until: RecordNumber) -> Option<State> {
    let snapshots = whole(store, partition);
    snapshots.into_iter().filter(|snapshot| snapshot.number <= until).find_map(|snapshot| {
        snapshot.restore().map_err(|why| passed_over(partition, snapshot.number, &why)).ok()
    })
}

/// The newest snapshot of this partition that this build can read and of whose record the journal is: what a start on an empty
/// folder begins from.
pub fn newest_borne_out(
    store: &dyn Snapshots,
    reader: &mut dyn Reader,
    partition: Partition,
) -> Option<RecordNumber> {
    whole(store, partition).into_iter().find_map(|snapshot| {
        let restored = snapshot.restore().map_err(|why| why.to_string());
        let fits = restored.and_then(|_| confirm(reader, &snapshot));
        fits.map_err(|why| passed_over(partition, snapshot.number, &why)).ok().map(|()| snapshot.number)
    })
}

/// Where a start's replay of this journal begins: no follower wants a record at or before the state's.
pub(crate) fn beginning(
    source: &Source<'_>,
    store: Option<&dyn Snapshots>,
    partition: Partition,
    followers: &[Box<dyn Follower>],
) -> Beginning {
    let snapshots = store.map_or_else(Vec::new, |store| whole(store, partition));
    let until = followers.iter().map(|follower| follower.resumes_after()).min();
    let until = until.unwrap_or(RecordNumber(u64::MAX));
    let marks: Vec<Mark> = snapshots.iter().map(Snapshot::mark).collect();
    let mut all: Vec<Mark> = followers.iter().filter_map(|follower| follower.mark()).collect();
    all.extend(marks.iter().cloned());
    let found = snapshots.into_iter().find_map(|snapshot| {
        if snapshot.number > until {
            tracing::info!("not begun from {}: records after {until} are wanted", snapshot.mark().who);
            return None;
        }
        let begun = (source.readers)()
            .map_err(|why| why.to_string())
            .and_then(|mut reader| go_on(reader.as_mut(), &snapshot, until, &all));
        let begun = begun.map_err(|why| passed_over(partition, snapshot.number, &why));
        begun.ok().map(|state| (snapshot.number, state))
    });
    let (from, state) =
        found.map_or_else(|| (None, State::new(partition)), |(from, state)| (Some(from), state));
    let beginning = Beginning { state, from, marks };
    if let Some(from) = beginning.from {
        let after = beginning.state.head().number;
        tracing::info!("begun from {}, and handed on after record {after}", called(partition, from));
    }
    beginning
}

/// All snapshots that are whole, the newest first.
pub(crate) fn whole(store: &dyn Snapshots, partition: Partition) -> Vec<Snapshot> {
    let numbers = store.list(partition).unwrap_or_else(|why| {
        tracing::warn!(%why, "no snapshot is looked at");
        Vec::new()
    });
    let read = |number: RecordNumber| -> Result<Option<Snapshot>, String> {
        let Some(bytes) = store.get(partition, number).map_err(|why| why.to_string())? else {
            return Ok(None);
        };
        let snapshot = Snapshot::parse(&bytes).map_err(|why| why.to_string())?;
        if (snapshot.partition, snapshot.number) != (partition, number) {
            return Err("it is kept under another's name".to_owned());
        }
        Ok(Some(snapshot))
    };
    let whole = numbers.into_iter().rev().filter_map(|number| {
        read(number).unwrap_or_else(|why| {
            passed_over(partition, number, &why);
            None
        })
    });
    whole.collect()
}

/// Says that a snapshot is not begun from, and why.
pub(crate) fn passed_over(partition: Partition, number: RecordNumber, why: &dyn std::fmt::Display) {
    tracing::warn!("{} is passed over: {why}", called(partition, number));
}

/// Reduces what follows the snapshot to the journal's end, and gives the state after `until` or the end, whichever comes first:
/// where the records that are there show the snapshot to be wrong, nobody is handed what came of it.
fn go_on(
    reader: &mut dyn Reader,
    snapshot: &Snapshot,
    until: RecordNumber,
    marks: &[Mark],
) -> Result<State, String> {
    let mut state = snapshot.restore().map_err(|why| why.to_string())?;
    // What lies in eras that were archived cannot be asked for here.
    let first = reader.first().map_err(|why| why.to_string())?;
    for mark in marks.iter().filter(|mark| (first..=snapshot.number).contains(&mark.number)) {
        read_until(reader, mark.number, &mut |view| {
            mark.check(view.header.number, view.hash)?;
            Ok(Visit::Enough)
        })?;
    }
    confirm(reader, snapshot)?;

    let mut wanted = None;
    let mut reduction = Reduction::default();
    read_until(reader, snapshot.number.next(), &mut |view| {
        if state.head().number == until {
            wanted = Some(state.clone());
        }
        reduce(&mut state, view, &mut reduction).map_err(|halt| halt.to_string())?;
        marks.iter().try_for_each(|mark| mark.check(view.header.number, view.hash))?;
        Ok(Visit::Next)
    })?;
    Ok(wanted.unwrap_or(state))
}

/// The journal has the snapshot's record, with the snapshot's hash. Where that record is the last of an era that was archived,
/// the first behind it names its hash.
pub(crate) fn confirm(reader: &mut dyn Reader, snapshot: &Snapshot) -> Result<(), String> {
    let mark = snapshot.mark();
    let mut found = false;
    if reader.first().map_err(|why| why.to_string())? == mark.number.next() {
        read_until(reader, mark.number.next(), &mut |view| {
            found = true;
            mark.check(mark.number, view.header.previous)?;
            Ok(Visit::Enough)
        })?;
        return if found { Ok(()) } else { Err("the journal does not go on behind its record".to_owned()) };
    }
    read_until(reader, mark.number, &mut |view| {
        found = view.header.number == mark.number;
        mark.check(view.header.number, view.hash)?;
        Ok(Visit::Enough)
    })?;
    if found { Ok(()) } else { Err("the journal does not have its record".to_owned()) }
}

/// Visits records from `from` on until one does not hold or is enough.
fn read_until(
    reader: &mut dyn Reader,
    from: RecordNumber,
    visit: &mut dyn FnMut(&RecordView<'_>) -> Result<Visit, String>,
) -> Result<(), String> {
    let mut failed = Ok(());
    reader
        .read(from, &mut |stored| {
            let seen = RecordView::parse(stored.bytes).map_err(|why| why.to_string());
            match seen.and_then(|view| visit(&view)) {
                Ok(visit) => visit,
                Err(why) => {
                    failed = Err(format!("record {}: {why}", stored.number));
                    Visit::Enough
                }
            }
        })
        .map_err(|why| why.to_string())?;
    failed
}

//! Copies a journal into another store, its bytes unchanged. What belongs here: reading one, checking every record on its way,
//! appending it to the other, going on where an earlier copy ended. What never does: the vault, without whose keys the texts
//! beside the records stay sealed.

use crate::{
    journal::{AppendError, Journal, JournalError, Reader, Visit},
    texts::{decode_texts, encode_texts},
};
use arena_engine::{Reduction, State, reduce};
use arena_schema::{
    Hash,
    id::{Partition, RecordNumber},
    record::{EncodedRecord, RecordView},
};
use std::{sync::mpsc, thread};

/// How many records of the target wait to be compared.
const WAITING_MAX: usize = 64;

/// What was copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Records that the target had before, byte for byte the same.
    pub found: u64,
    /// Records that were written.
    pub copied: u64,
    /// Sealed texts that were written beside them.
    pub texts: u64,
    /// Bytes of records that were written.
    pub bytes: u64,
    /// The hash of the last record of both.
    pub head: Hash,
    /// The running digest after it.
    pub digest: Hash,
}

/// Why a copy ended before its end. What was written until then is a whole journal, and the same copy goes on from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// One of the two cannot be read, or the target cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The target takes no more.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The source does not hold: what came before was copied.
    #[error("record {record} of the journal to copy does not hold: {why}")]
    Source {
        /// Which.
        record: RecordNumber,
        /// What is wrong with it.
        why: String,
    },
    /// The target is another journal.
    #[error(
        "the target {target} has another record {record} than the journal to copy: it is another journal, and nothing was \
         written; give an empty target"
    )]
    Other {
        /// The target.
        target: String,
        /// The first record that differs.
        record: RecordNumber,
    },
    /// The target goes further than the source.
    #[error(
        "the target {target} goes to record {target_last}, the journal to copy ends at record {last}: nothing was written; is \
         the copy meant the other way?"
    )]
    Further {
        /// The target.
        target: String,
        /// Its last record.
        target_last: RecordNumber,
        /// The source's last record.
        last: RecordNumber,
    },
}

/// Copies all records from a journal's first to its last, each checked: its hash, the chain, its commands reduced again, the
/// running digest. Records that the target has already must be the same, and the copy goes on behind them. `progress` is told
/// of each record.
///
/// # Errors
/// [`CopyError`].
pub fn copy(
    from: &mut dyn Reader,
    to: &mut dyn Journal,
    partition: Partition,
    progress: &mut dyn FnMut(RecordNumber),
) -> Result<CopyReport, CopyError> {
    let target_last = to.last()?;
    let target = to.name();
    let mut present = to.reader()?;
    thread::scope(|scope| {
        let (rows, present_rows) = mpsc::sync_channel(WAITING_MAX);
        let reading = scope.spawn(move || {
            present.read(RecordNumber(1), &mut |stored| {
                let sent = rows.send((stored.number, stored.bytes.to_vec(), stored.texts.to_vec()));
                if sent.is_ok() { Visit::Next } else { Visit::Enough }
            })
        });
        let mut work = Work {
            to,
            target,
            target_last,
            present: present_rows,
            state: State::new(partition),
            reduction: Reduction::default(),
            report: CopyReport::default(),
        };
        let mut failed = None;
        let read = from.read(RecordNumber(1), &mut |stored| match work.take(
            stored.number,
            stored.bytes,
            stored.texts,
        ) {
            Ok(()) => {
                progress(stored.number);
                Visit::Next
            }
            Err(why) => {
                failed = Some(why);
                Visit::Enough
            }
        });
        let Work { present, state, mut report, target, .. } = work;
        drop(present);
        let present = reading.join().unwrap_or(Ok(()));
        if let Some(why) = failed {
            // Where the target could not be read, that is why its rows ended.
            present?;
            return Err(why);
        }
        read?;
        present?;
        let head = state.head();
        if head.number < target_last {
            return Err(CopyError::Further { target, target_last, last: head.number });
        }
        (report.head, report.digest) = (head.hash, head.digest);
        Ok(report)
    })
}

struct Work<'a> {
    to: &'a mut dyn Journal,
    target: String,
    target_last: RecordNumber,
    present: mpsc::Receiver<(RecordNumber, Vec<u8>, Vec<u8>)>,
    state: State,
    reduction: Reduction,
    report: CopyReport,
}

impl Work<'_> {
    fn take(&mut self, number: RecordNumber, bytes: &[u8], texts: &[u8]) -> Result<(), CopyError> {
        let record = self.state.head().number.next();
        let broken = |why: String| CopyError::Source { record, why };
        if number != record {
            return Err(broken(format!("it is missing; the next one stored is record {number}")));
        }
        let view = RecordView::parse(bytes).map_err(|why| broken(why.to_string()))?;
        reduce(&mut self.state, &view, &mut self.reduction).map_err(|halt| broken(halt.to_string()))?;
        let sealed = decode_texts(number, texts)?;
        if encode_texts(&sealed) != texts {
            return Err(broken("the texts beside it would not be copied byte for byte".to_owned()));
        }
        if number <= self.target_last {
            let there = self.present.recv();
            let same =
                there.is_ok_and(|(at, there, beside)| at == number && there == bytes && beside == texts);
            if !same {
                return Err(CopyError::Other { target: self.target.clone(), record });
            }
            self.report.found += 1;
            return Ok(());
        }
        if view.header.era != self.to.era() {
            self.to.next_era(view.header.era, number)?;
        }
        let encoded = EncodedRecord::stored(bytes).map_err(|why| broken(why.to_string()))?;
        self.to.append(&encoded, &sealed)?;
        self.report.copied += 1;
        self.report.texts += sealed.len() as u64;
        self.report.bytes += bytes.len() as u64;
        Ok(())
    }
}

//! Entries that are behind a caller's position: the last ones are at hand in the room, older ones are in the view.

use super::{
    Relay,
    entry::{Line, past_line},
    failure::Failure,
    room::{Room, Wants, Who},
};
use bytes::Bytes;

/// How many bytes of entries one receive returns (agentwire, *Limits*: about 1 MB; CHOICES, *sizes*).
const ANSWER_BYTES_MAX: usize = 1_000_000;
/// How many entries are read at once.
const ROWS_AT_ONCE_MAX: u32 = 1_000;

/// What a receive found.
pub(super) struct Seen {
    /// The entries that it wants.
    pub(super) lines: Vec<Bytes>,
    /// The number of the last one that it covers, wanted or not.
    pub(super) covered: u64,
}

/// What was looked through so far.
struct Looked {
    seen: Seen,
    bytes: usize,
}

impl Looked {
    /// Goes on by one entry; false where it does not fit any more.
    fn take(&mut self, who: Who, wants: &Wants, line: &Line) -> bool {
        if wants.takes(who, line) {
            if !self.seen.lines.is_empty() && self.bytes + line.json.len() > ANSWER_BYTES_MAX {
                return false;
            }
            self.bytes += line.json.len();
            self.seen.lines.push(line.json.clone());
        }
        self.seen.covered = line.n;
        true
    }
}

impl Relay {
    /// The entries that a receive wants, up to this one, or to the last where none is given: as many as fit, at least one.
    ///
    /// # Errors
    /// The view cannot be read now.
    pub(super) async fn look(
        &self,
        room: &Room,
        who: Who,
        wants: &Wants,
        upto: Option<u64>,
    ) -> Result<Seen, Failure> {
        let mut looked = Looked { seen: Seen { lines: Vec::new(), covered: wants.after }, bytes: 0 };
        loop {
            let after = looked.seen.covered;
            if let Some((lines, last)) = room.recent(after) {
                let upto = upto.unwrap_or(last);
                for line in lines.iter().filter(|line| line.n <= upto) {
                    if !looked.take(who, wants, line) {
                        return Ok(looked.seen);
                    }
                }
                looked.seen.covered = upto.min(last);
                return Ok(looked.seen);
            }
            let (partition, key, id) = (room.partition, room.key, room.id);
            let read = self.read_views(partition, move |views| {
                let rows = views.session_entries(
                    partition,
                    key,
                    id,
                    after,
                    ROWS_AT_ONCE_MAX,
                    ANSWER_BYTES_MAX as u64,
                )?;
                Ok(rows.iter().map(past_line).collect::<Vec<_>>())
            });
            let lines = read.await?;
            if lines.is_empty() {
                // The session has ended, and all of it is gone.
                return Ok(looked.seen);
            }
            for line in &lines {
                if upto.is_some_and(|upto| line.n > upto) || !looked.take(who, wants, line) {
                    return Ok(looked.seen);
                }
            }
        }
    }
}

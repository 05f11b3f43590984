//! The outbox in a snapshot: each row with what waits in it, by partition, then how far each other one's was taken.

use super::{Entry, Outbox, PARTITIONS_MAX, Row, Taken};
use crate::snapshot::Misfit;
use arena_schema::codec::{Values, encode};
use std::collections::{BTreeMap, VecDeque};

const ROW_BYTES_MIN: usize = 36;
const ENTRY_BYTES_MIN: usize = 2;
const TAKEN_BYTES_MIN: usize = 52;

impl Outbox {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let Self { rows, taken } = self;
        encode(&(rows.len() as u32), out);
        for (to, Row { sent, chain, waiting }) in rows {
            encode(&(to, sent, chain, waiting.len() as u32), out);
            for Entry { kind, body } in waiting {
                encode(&(kind, body), out);
            }
        }
        encode(&(taken.len() as u32), out);
        for (from, Taken { number, digest, chain }) in taken {
            encode(&(from, number, digest, chain), out);
        }
    }

    pub(crate) fn decode(values: &mut Values<'_>) -> Result<Self, Misfit> {
        let (mut rows, mut taken) = (BTreeMap::new(), BTreeMap::new());
        for _ in 0..values.count(ROW_BYTES_MIN)? {
            let (to, sent, chain) = values.take()?;
            let mut waiting = VecDeque::new();
            for _ in 0..values.count(ENTRY_BYTES_MIN)? {
                let (kind, body): (_, &[u8]) = values.take()?;
                let entry = Entry { kind, body: body.to_owned() };
                entry.command().map_err(|_| Misfit("what waits is no command"))?;
                waiting.push_back(entry);
            }
            if waiting.len() as u64 > sent {
                return Err(Misfit("more waits than was sent"));
            }
            if rows.insert(to, Row { sent, chain, waiting }).is_some() {
                return Err(Misfit("a partition comes twice"));
            }
        }
        for _ in 0..values.count(TAKEN_BYTES_MIN)? {
            let (from, number, digest, chain) = values.take()?;
            if number == 0 || taken.insert(from, Taken { number, digest, chain }).is_some() {
                return Err(Misfit("what was taken of a partition is nothing, or comes twice"));
            }
        }
        if rows.len() > PARTITIONS_MAX || taken.len() > PARTITIONS_MAX {
            return Err(Misfit("there are more partitions than may be"));
        }
        Ok(Self { rows, taken })
    }
}

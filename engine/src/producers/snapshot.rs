//! The producers in a snapshot: each live one with its window, by number.

use super::{PRODUCERS_LIVE_MAX, Producer, Producers, WINDOW};
use crate::snapshot::Misfit;
use arena_schema::{
    codec::{Values, encode},
    id::ProducerId,
};
use std::collections::{BTreeMap, VecDeque};

const PRODUCER_BYTES_MIN: usize = 21;

impl Producers {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let Self { live, announced, last_seen } = self;
        encode(&(announced, last_seen, live.len() as u32), out);
        for (id, Producer { incarnation, rules_known, mark, seen }) in live {
            encode(&(id, incarnation, rules_known, mark, seen.len() as u32), out);
            for digest in seen {
                encode(digest, out);
            }
        }
    }

    pub(crate) fn decode(values: &mut Values<'_>) -> Result<Self, Misfit> {
        let (announced, last_seen) = values.take()?;
        let mut live = BTreeMap::new();
        for _ in 0..values.count(PRODUCER_BYTES_MIN)? {
            let (id, incarnation, rules_known, mark): (ProducerId, _, _, _) = values.take()?;
            let mut seen = VecDeque::new();
            for _ in 0..values.count(1)? {
                seen.push_back(values.take()?);
            }
            let above = seen.len() as u64;
            if above > WINDOW || mark > u64::MAX - above || matches!(seen.back(), Some(None)) {
                return Err(Misfit("a producer's window is none"));
            }
            if id == ProducerId::SEQUENCER || id > ProducerId(announced) || id.as_partition().is_some() {
                return Err(Misfit("a producer has a number that was not given"));
            }
            let incarnations = live.values().any(|one: &Producer| one.incarnation == incarnation);
            if incarnations || live.insert(id, Producer { incarnation, rules_known, mark, seen }).is_some() {
                return Err(Misfit("a producer comes twice"));
            }
        }
        if live.len() > PRODUCERS_LIVE_MAX {
            return Err(Misfit("more are live than may be"));
        }
        Ok(Self { live, announced, last_seen })
    }
}

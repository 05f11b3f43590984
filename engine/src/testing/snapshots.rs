//! The same records with a state that went through bytes: nothing that follows may show it.

use super::Journal;
use crate::{RULES_NEWEST, Reduction, SnapshotError, State, reduce};
use arena_schema::{id::Partition, record::RecordView};

/// The state as bytes.
pub(crate) fn encoded(state: &State) -> Vec<u8> {
    let mut bytes = Vec::new();
    state.encode_snapshot(&mut bytes);
    bytes
}

/// The state that these bytes are.
#[track_caller]
pub(crate) fn decoded(bytes: &[u8]) -> State {
    State::decode_snapshot(bytes).unwrap_or_else(|why| panic!("what was encoded is a state: {why}"))
}

impl Journal {
    /// Reduces all records twice, once with a state that is never encoded, once with one that is thrown away and read back from
    /// its bytes after every `every`th of them. Then from some of the snapshots on their own to the end.
    pub(crate) fn replay_through_snapshots(&self, every: usize) {
        let (mut plain, mut through) = (State::new(Partition(0)), State::new(Partition(0)));
        let (mut of_plain, mut of_through) = (Reduction::default(), Reduction::default());
        let mut kept = Vec::new();
        for (record, at) in self.stored.iter().zip(1..) {
            let view = RecordView::parse(record.as_bytes()).expect("it was parsed before");
            reduce(&mut plain, &view, &mut of_plain).expect("it was reduced before");
            reduce(&mut through, &view, &mut of_through)
                .expect("a state that was read back reduces the same");
            assert_eq!(of_through.events, self.events[at - 1], "record {at}");
            assert_eq!(of_through.frames.as_bytes(), of_plain.frames.as_bytes(), "record {at}");
            assert_eq!(through.head(), plain.head(), "record {at}");
            if plain.rules() > RULES_NEWEST {
                // Nothing follows in this build, and it says so.
                let refused = State::decode_snapshot(&encoded(&plain)).map(drop);
                assert_eq!(refused, Err(SnapshotError::RulesTooNew { rules: plain.rules() }));
                return;
            }
            if at % every == 0 {
                let bytes = encoded(&plain);
                assert!(encoded(&through) == bytes, "the same state has the same bytes: record {at}");
                through = decoded(&bytes);
                if at % (self.stored.len() / 4).max(1) < every {
                    kept.push((at, bytes));
                }
            }
        }
        let end = encoded(&plain);
        assert!(encoded(&through) == end);
        // Read back from the same bytes, two states are alike to the last field, also where it is not written.
        assert_eq!(format!("{:?}", decoded(&encoded(&through))), format!("{:?}", decoded(&end)));
        for (at, bytes) in kept {
            let (mut state, mut reduction) = (decoded(&bytes), Reduction::default());
            for record in &self.stored[at..] {
                let view = RecordView::parse(record.as_bytes()).expect("it was parsed before");
                reduce(&mut state, &view, &mut reduction)
                    .expect("a state that was read back reduces the same");
                let number = record.number().0 as usize;
                assert_eq!(reduction.events, self.events[number - 1], "record {number} after {at}");
                assert_eq!(state.head().digest, self.digests[number], "record {number} after {at}");
            }
            assert!(encoded(&state) == end, "the same end after a snapshot at {at}");
        }
    }
}

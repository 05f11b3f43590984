//! The same records with a state that went through bytes: nothing that follows may show it.

use super::Journal;
use crate::{RULES_NEWEST, Reduction, SnapshotError, State, matches::Matches, reduce};
use arena_schema::{id::AgentKey, record::RecordView};

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

/// All that a state holds, told without its bytes, which would keep quiet about what they leave out. Places in the agenda's slab
/// and how long a list of nothing is are no part of it.
fn told(state: &State) -> String {
    let State {
        lineage,
        partition,
        era,
        rules,
        head,
        digests,
        agenda,
        producers,
        second_keys,
        homes,
        outbox,
        registry,
        guests,
        matches,
        sessions,
    } = state;
    let Matches { open, ids, away, of_agent, of_pair } = matches;
    let counted = of_agent.iter().rposition(|open| *open > 0).map_or(&[][..], |last| &of_agent[..=last]);
    let at_home: Vec<_> = registry
        .agents()
        .iter()
        .map(|(slot, generation, _)| homes.held(AgentKey { slot, generation }))
        .collect();
    // The second time everything that is ours to move is behind all that is not.
    let mut moved = agenda.clone();
    moved.shift_ours(1 << 50);
    let due = [agenda.clone(), moved].map(|mut agenda| {
        let next = || agenda.first().map(|(due, entry, what)| (agenda.cancel(entry), due, what));
        std::iter::from_fn(next).collect::<Vec<_>>()
    });
    let told = format!(
        "{lineage:?} {partition:?} {era:?} {rules:?} {head:?} {digests:?} {producers:?} {second_keys:?} {at_home:?}
         {outbox:?} {registry:?} {guests:?} {open:?} {ids:?} {away:?} {of_pair:?} {counted:?}
         {sessions:?} {due:?}"
    );
    let mut parts = told.split("Entry(");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| {
        told + "Entry" + part.trim_start_matches(|digit: char| digit.is_ascii_digit())
    })
}

impl Journal {
    /// Reduces all records twice, once with a state that is never encoded, once with one that is thrown away and read back from
    /// its bytes after every `every`th of them. Then from some of the snapshots on their own to the end.
    pub(crate) fn replay_through_snapshots(&self, every: usize) {
        let (mut plain, mut through) =
            (State::new(self.state.partition()), State::new(self.state.partition()));
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
                    assert_eq!(told(&through), told(&plain), "record {at}");
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

//! What the family's events do to the state, where it is more than one field.

use crate::{homes, sessions, state::State};
use arena_schema::{
    LogTime,
    event::system::{LineageBegun, SequencerAnnounced},
};

pub(crate) fn sequencer_announced(state: &mut State, event: &SequencerAnnounced) {
    state.agenda.shift_ours(event.outage_us);
}

pub(crate) fn lineage_begun(state: &mut State, now: LogTime, event: &LineageBegun) {
    state.lineage = Some(event.lineage);
    state.producers.remove_all();
    homes::keep_in_step(state, |_| true);
    sessions::evolve::gone(state, now, |_| true);
}

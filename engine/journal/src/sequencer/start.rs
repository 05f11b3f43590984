//! The start: the journal is replayed and checked from its first record or from a snapshot, the followers catch up, then this run
//! is announced.

use super::{
    Followed, Follower, Handle, Mover, ORDERLY, Producer, Sequencer, StartError, StartOptions, Stopped,
    appender::{End, Lead, LeadOptions},
    end,
    reducer::{Replica, hand},
    submit::{Batch, Inbox, Submission},
};
use crate::{
    journal::{Journal, JournalError, Reader, Visit},
    snapshot::{Beginning, Snapshots, beginning},
    space::Space,
    texts::decode_texts,
};
use arena_engine::{RULES_NEWEST, Reduction, State, reduce};
use arena_schema::{
    Event,
    command::system::{ActivateRules, AnnounceGateway, GatewayGone},
    id::{Incarnation, ProducerId, RulesVersion},
    record::{CommandHead, RecordView},
};
use std::{sync::Arc, thread};

pub(super) fn start(
    journal: Box<dyn Journal>,
    snapshots: Option<&dyn Snapshots>,
    options: StartOptions,
) -> Result<Sequencer, StartError> {
    let StartOptions { partition, clock, incarnation, mut followers } = options;
    let readers = || journal.reader();
    let source = Source { name: journal.name(), readers: &readers };
    let beginning = beginning(&source, snapshots, partition, &followers);
    let state = replay(&source, beginning, &mut followers)?;
    let gone: Vec<Incarnation> = state.producers().live().map(|(_, producer)| producer.incarnation).collect();
    if gone.contains(&incarnation) {
        return Err(StartError::Incarnation(incarnation));
    }
    let space = Space::default();
    let watched_space = journal.gauge().map(|gauge| space.watch(gauge)).transpose()?;
    let replica = Replica::start(state, followers)?.with_space(space);
    let (batch, announced) = first_batch(incarnation, gone)?;
    let options = LeadOptions { partition, clock, incarnation, shared: false };
    let lead = Lead::start(&replica, journal, options, Some(batch))?;
    let handle = Handle::new(&replica, Mover::Own(lead.inbox.clone()));
    let watched = Arc::clone(&replica.stopped);
    let (inbox, stopping) = (lead.inbox.clone(), lead.inbox.clone());
    let leading = thread::Builder::new()
        .name("arena-leading".to_owned())
        .spawn(move || {
            end(
                match lead.join() {
                    End::Orderly => ORDERLY.to_owned(),
                    End::Deposed(why) | End::Failed(why) => why,
                },
                &watched,
            );
        })
        .map_err(|why| Stopped(format!("a thread cannot be started: {why}")))?;
    let sequencer =
        |producer| Sequencer { handle, inbox: stopping, producer, leading, replica, _space: watched_space };

    match announced.wait() {
        Ok(outcomes) => {
            let producer = outcomes.iter().find_map(|outcome| {
                outcome.result.as_ref().ok()?.iter().find_map(|event| match event {
                    Event::GatewayAnnounced(event) if event.incarnation == incarnation => {
                        Some(event.producer)
                    }
                    _ => None,
                })
            });
            let producer: ProducerId =
                producer.ok_or_else(|| Stopped("this process was not announced".to_owned()))?;
            let sequencer = sequencer(Producer::new(inbox.clone(), producer));
            match bring_rules(&sequencer.handle, &inbox) {
                Ok(()) => Ok(sequencer),
                Err(stopped) => Err(why_it_ended(sequencer, stopped)),
            }
        }
        Err(unanswered) => {
            let sequencer = sequencer(Producer::new(inbox, ProducerId::NONE));
            Err(why_it_ended(sequencer, Stopped(unanswered.to_string())))
        }
    }
}

/// A thread says why before it ends.
fn why_it_ended(sequencer: Sequencer, stopped: Stopped) -> StartError {
    sequencer.stop().err().unwrap_or(stopped).into()
}

/// Brings the rules that this build knows and the journal does not have yet, one by one, each alone in its record, before the door
/// opens: of the processes that submit, this one alone is live.
fn bring_rules(handle: &Handle, inbox: &Inbox) -> Result<(), Stopped> {
    loop {
        let version = RulesVersion(handle.state().rules().0 + 1);
        if version > RULES_NEWEST {
            return Ok(());
        }
        let activate = vec![Submission::new(ActivateRules { version })];
        let pending = inbox.put_own(activate).map_err(|why| Stopped(why.to_string()))?;
        let outcomes = pending.wait().map_err(|why| Stopped(why.to_string()))?;
        if let Some(Err(why)) = outcomes.first().map(|outcome| &outcome.result) {
            tracing::warn!(rules = version.0, %why, "the next rules cannot be activated: going on under those in force");
            return Ok(());
        }
    }
}

/// This run's gateway, and that every other one is gone, in one record.
fn first_batch(incarnation: Incarnation, gone: Vec<Incarnation>) -> Result<(Batch, super::Pending), Stopped> {
    let announce = AnnounceGateway { incarnation, rules_known: RULES_NEWEST };
    let submissions: Vec<Submission> = std::iter::once(Submission::new(announce))
        .chain(gone.into_iter().map(|incarnation| Submission::new(GatewayGone { incarnation })))
        .collect();
    let heads = std::iter::repeat_n(CommandHead::SEQUENCER, submissions.len());
    Batch::encode(heads, submissions).map_err(|why| Stopped(why.to_string()))
}

/// Where a start reads its records.
pub(crate) struct Source<'a> {
    /// What to call it.
    pub(crate) name: String,
    /// A reader from its first record on.
    pub(crate) readers: &'a dyn Fn() -> Result<Box<dyn Reader>, JournalError>,
}

/// Replays a journal from where a start begins, tells the followers, and compares it with what they remember.
pub(crate) fn replay(
    source: &Source<'_>,
    beginning: Beginning,
    followers: &mut [Box<dyn Follower>],
) -> Result<State, StartError> {
    let name = &source.name;
    let mut reader = (source.readers)()?;
    let Beginning { mut state, mut marks, .. } = beginning;
    marks.extend(followers.iter().filter_map(|follower| follower.mark()));
    let mut reduction = Reduction::default();
    let mut failed = None;
    reader.read(state.head().number.next(), &mut |stored| {
        let expected = state.head().number.next();
        let broken = |why: String| StartError::Broken { journal: name.to_owned(), record: expected, why };
        let mut step = || -> Result<(), StartError> {
            if stored.number != expected {
                return Err(broken(format!(
                    "it is missing; the next one stored is record {}",
                    stored.number
                )));
            }
            let view = RecordView::parse(stored.bytes).map_err(|why| broken(why.to_string()))?;
            reduce(&mut state, &view, &mut reduction).map_err(|halt| broken(halt.to_string()))?;
            for mark in &marks {
                mark.check(view.header.number, view.hash)
                    .map_err(|why| StartError::Forgotten { journal: name.to_owned(), why })?;
            }
            if followers.iter().any(|follower| follower.wants(expected, false)) {
                let followed = Followed {
                    header: view.header,
                    hash: view.hash,
                    digest: state.head().digest,
                    events: Arc::new(std::mem::take(&mut reduction.events)),
                    bytes: stored.bytes.to_vec(),
                    texts: decode_texts(expected, stored.texts)?,
                    live: false,
                };
                hand(followers, followed).map_err(StartError::Follower)?;
            }
            Ok(())
        };
        match step() {
            Ok(()) => Visit::Next,
            Err(error) => {
                failed = Some(error);
                Visit::Enough
            }
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    for mark in &marks {
        mark.check_end(state.head().number)
            .map_err(|why| StartError::Forgotten { journal: name.to_owned(), why })?;
    }
    Ok(state)
}

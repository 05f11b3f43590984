//! The start: the journal is replayed and checked from its first record or from a snapshot, the followers catch up, then this run
//! is announced.

use super::{
    Followed, Follower, Handle, ORDERLY, Producer, Sequencer, StartError, StartOptions, Stopped,
    appender::Appender,
    reducer::{Durable, Reduced, Reducer, hand},
    submit::{Batch, Inbox, Message, Submission},
};
use crate::{
    clock::Running,
    journal::{Journal, Visit},
    snapshot::{Beginning, Snapshots, beginning},
    texts::decode_texts,
    vault::random,
};
use arena_engine::{RULES_NEWEST, Reduction, State, reduce};
use arena_schema::{
    Event,
    command::system::{AnnounceGateway, GatewayGone},
    id::{Epoch, Incarnation, Lineage, ProducerId},
    record::{CommandHead, RecordView},
};
use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, RwLock, mpsc},
    thread,
};
use tokio::sync::watch;

pub(super) fn start(
    journal: Box<dyn Journal>,
    snapshots: Option<&dyn Snapshots>,
    options: StartOptions,
) -> Result<Sequencer, StartError> {
    let StartOptions { partition, clock, incarnation, mut followers } = options;
    let beginning = beginning(journal.as_ref(), snapshots, partition, &followers);
    let state = replay(journal.as_ref(), beginning, &mut followers)?;
    let head = *state.head();
    let gone: Vec<Incarnation> = state.producers().live().map(|(_, producer)| producer.incarnation).collect();
    if gone.contains(&incarnation) {
        return Err(StartError::Incarnation(incarnation));
    }
    let reduced = Reduced::of(&state);

    let (queue, messages) = mpsc::channel();
    let (durable, records) = mpsc::sync_channel::<Durable>(1);
    let (stopped, stopped_seen) = watch::channel(None);
    let inbox = Inbox::new(queue);
    let state = Arc::new(RwLock::new(state));
    let handle = Handle { inbox: inbox.clone(), state: Arc::clone(&state), stopped: stopped_seen };

    let (batch, announced) = first_batch(incarnation, gone)?;
    let mut appender = Appender {
        journal,
        running: Running::start(clock.clone(), head.time),
        clock,
        partition,
        incarnation,
        lineage: Lineage(random()),
        epoch: Epoch(head.epoch.0 + 1),
        last: head.number,
        last_hash: head.hash,
        last_time: head.time,
        reduced,
        messages,
        durable,
        inbox: inbox.clone(),
        stopping: false,
        halted: false,
        advances: VecDeque::new(),
        advanced: Vec::new(),
    };
    let stopped = Arc::new(stopped);
    let ended = |why: String, stopped: &watch::Sender<Option<String>>| {
        stopped.send_if_modified(|known| {
            let first = known.is_none();
            known.get_or_insert(why);
            first
        });
    };

    let reducer = Reducer { state, followers, inbox: inbox.clone(), events_last: 0 };
    let ending = inbox.clone();
    let (reducer_stopped, halted) = (Arc::clone(&stopped), inbox.clone());
    let spawn_error = |why: std::io::Error| Stopped(format!("a thread cannot be started: {why}"));
    let reducing = thread::Builder::new()
        .name("arena-reducer".to_owned())
        .spawn(move || {
            // That it ended because the appender did is for the appender to say.
            if let Err(why) = caught(|| reducer.run(&records)) {
                ended(why, &reducer_stopped);
            }
            // Where the appender ended first, nobody is left to tell.
            let _ = halted.send(Message::Halted);
        })
        .map_err(spawn_error)?;
    let appending = thread::Builder::new()
        .name("arena-appender".to_owned())
        .spawn(move || {
            let result = caught(|| {
                appender.announce()?;
                appender.append_batch(batch)?;
                appender.run()
            });
            ended(result.err().unwrap_or_else(|| ORDERLY.to_owned()), &stopped);
            ending.end();
        })
        .map_err(spawn_error)?;

    let producer = match announced.wait() {
        Ok(outcomes) => outcomes.iter().find_map(|outcome| {
            outcome.result.as_ref().ok()?.iter().find_map(|event| match event {
                Event::GatewayAnnounced(event) if event.incarnation == incarnation => Some(event.producer),
                _ => None,
            })
        }),
        Err(stopped) => {
            // A thread says why before it ends.
            for thread in [appending, reducing] {
                thread.join().map_err(|_| Stopped("a thread panicked".to_owned()))?;
            }
            let known = handle.stopped.borrow().clone();
            return Err(known.map_or(stopped, Stopped).into());
        }
    };
    let producer: ProducerId =
        producer.ok_or_else(|| Stopped("this process was not announced".to_owned()))?;
    let producer = Producer::new(inbox, producer);
    Ok(Sequencer { handle, producer, threads: vec![appending, reducing] })
}

/// A thread's work; a panic in it is a reason to stop like any other.
fn caught(work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(format!("its thread panicked: {}", said.unwrap_or("no word of why")))
    })
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

fn replay(
    journal: &dyn Journal,
    beginning: Beginning,
    followers: &mut [Box<dyn Follower>],
) -> Result<State, StartError> {
    let name = journal.name();
    let Beginning { mut state, mut marks, .. } = beginning;
    marks.extend(followers.iter().filter_map(|follower| follower.mark()));
    let mut reduction = Reduction::default();
    let mut failed = None;
    journal.reader()?.read(state.head().number.next(), &mut |stored| {
        let expected = state.head().number.next();
        let broken = |why: String| StartError::Broken { journal: name.clone(), record: expected, why };
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
                    .map_err(|why| StartError::Forgotten { journal: name.clone(), why })?;
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
            .map_err(|why| StartError::Forgotten { journal: name.clone(), why })?;
    }
    Ok(state)
}

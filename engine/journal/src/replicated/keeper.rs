//! Keeping the lease of the lead: it is taken when it is free and this process has what its last holder knew, renewed, and given
//! up. And watching that the journal keeps what this process followed.

use super::{
    lease::{Held, LOOK, LeadMark, Lease, LeaseError, RENEWAL},
    mirror::record_in,
};
use crate::{jetstream::JetStreamJournal, journal::Journal, sequencer::end};
use arena_engine::State;
use arena_schema::{
    Hash,
    id::{Incarnation, RecordNumber},
    record::RecordView,
};
use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};
use tokio::sync::watch;

/// How often it is looked whether the journal still has what this process followed.
const END_LOOK: Duration = Duration::from_secs(1);
/// How long it must lack that before it is believed.
const SHORT_FOR: Duration = Duration::from_secs(4);

/// What the keeper of the lease knows of the journal.
pub(super) struct Kept {
    pub(super) state: Arc<RwLock<State>>,
    pub(super) stopped: Arc<watch::Sender<Option<String>>>,
    pub(super) journal: JetStreamJournal,
    pub(super) mirror_at: PathBuf,
    pub(super) short: Short,
}

impl Kept {
    fn mark(&self) -> LeadMark {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let head = state.head();
        LeadMark { number: head.number, hash: head.hash, epoch: head.epoch }
    }
}

/// The lease as the node's thread sees it.
pub(super) struct Leadership {
    pub(super) incarnation: Incarnation,
    /// Whether this process may lead, and until when.
    pub(super) holds: watch::Receiver<Option<Held>>,
    /// The last term whose lead is given up.
    pub(super) resigned: watch::Sender<u64>,
    /// Ends the keeper.
    end: watch::Sender<bool>,
    keeper: tokio::task::JoinHandle<()>,
    runtime: tokio::runtime::Handle,
}

impl Leadership {
    pub(super) fn start(
        runtime: &tokio::runtime::Handle,
        lease: Lease,
        kept: Kept,
        incarnation: Incarnation,
    ) -> Self {
        let (shown, holds) = watch::channel(None);
        let (resigned, resigning) = watch::channel(0);
        let (end, ending) = watch::channel(false);
        let keeper = runtime.spawn(keep(lease, kept, shown, resigning, ending));
        Self { incarnation, holds, resigned, end, keeper, runtime: runtime.clone() }
    }

    /// The term in which this process leads now.
    pub(super) fn term(&self) -> Option<u64> {
        self.holds.borrow().filter(|held| !held.is_over()).map(|held| held.term)
    }

    pub(super) fn stop(self) {
        self.end.send_replace(true);
        // It ends by itself then, and a panic in it is no reason not to.
        let _ = self.runtime.block_on(self.keeper);
    }
}

/// Keeps the lease: takes it when it is free and this process has what its last holder knew, renews it, gives it up.
async fn keep(
    mut lease: Lease,
    mut kept: Kept,
    shown: watch::Sender<Option<Held>>,
    mut resigned: watch::Receiver<u64>,
    mut ending: watch::Receiver<bool>,
) {
    // After it gave up the lead another comes first, if there is one.
    let mut takes_from = Instant::now();
    loop {
        let kept_or_taken = if lease.held().is_some() {
            lease.hold(kept.mark()).await.map(|_| ())
        } else {
            // Whoever led in the last term sees that it is over before there is another.
            shown.send_replace(None);
            take(&mut lease, &mut kept, takes_from).await
        };
        if let Err(why) = kept_or_taken {
            tracing::warn!(%why, "the lead's lease");
        }
        let held = lease.held();
        shown.send_replace(held);
        let term = held.map_or(u64::MAX, |held| held.term);
        let ends = tokio::select! {
            biased;
            // Where nobody can say it any more, the process ends too.
            _ = ending.wait_for(|ending| *ending) => true,
            Ok(_) = resigned.wait_for(|resigned| *resigned >= term) => false,
            () = tokio::time::sleep(if held.is_some() { RENEWAL } else { LOOK }) => continue,
        };
        shown.send_replace(None);
        if held.is_some()
            && let Err(why) = lease.give_up(kept.mark()).await
        {
            tracing::warn!(%why, "the lead's lease ends by itself");
        }
        if ends {
            return;
        }
        takes_from = Instant::now() + 2 * RENEWAL;
    }
}

async fn take(lease: &mut Lease, kept: &mut Kept, from: Instant) -> Result<(), LeaseError> {
    let holder = lease.look().await?;
    if !lease.is_free() || Instant::now() < from || kept.stopped.borrow().is_some() {
        return Ok(());
    }
    if let Some(holder) = holder {
        match remembers(kept, holder.mark).await {
            Ok(true) => {}
            // The records are on their way.
            Ok(false) => return Ok(()),
            Err(why) => {
                tracing::error!(why, "this process refuses to lead");
                end(why, &kept.stopped);
                return Ok(());
            }
        }
    }
    let mark = kept.mark();
    lease.hold(mark).await.map(|_| ())
}

/// Whether this process has the record that the last leader knew to be stored.
async fn remembers(kept: &mut Kept, mark: LeadMark) -> Result<bool, String> {
    if mark.number == RecordNumber(0) {
        return Ok(true);
    }
    let own = kept.mark();
    let name = kept.journal.name();
    let other = |hash: Hash| {
        format!(
            "the journal {name} is refused: its last leader knew record {} with the hash {}, it has it with the hash {hash}",
            mark.number, mark.hash
        )
    };
    if own.number == mark.number {
        return if own.hash == mark.hash { Ok(true) } else { Err(other(own.hash)) };
    }
    if own.number > mark.number {
        // The mirror may be a moment behind the state.
        let Ok(Some(bytes)) = record_in(&kept.mirror_at, mark.number) else { return Ok(false) };
        let hash = RecordView::parse(&bytes).map_err(|why| why.to_string())?.hash;
        return if hash == mark.hash { Ok(true) } else { Err(other(hash)) };
    }
    match kept.journal.end().await {
        Ok(last) if kept.short.lasts(last < mark.number) => Err(format!(
            "the journal {} is refused: its last leader knew record {} (hash {}), the stream ends at record {last}: it was \
             cut short",
            kept.journal.name(),
            mark.number,
            mark.hash
        )),
        _ => Ok(false),
    }
}

/// How long a journal was seen to lack what this process knows to be stored. A server that leads the stream no more may say
/// for a moment that it ends earlier; one that was cut short says so for good.
#[derive(Default)]
pub(super) struct Short(Option<Instant>);

impl Short {
    /// Whether it is so now and has been for long enough.
    pub(super) fn lasts(&mut self, short: bool) -> bool {
        if short {
            self.0.get_or_insert_with(Instant::now).elapsed() >= SHORT_FOR
        } else {
            self.0 = None;
            false
        }
    }
}

/// Ends this process where the journal loses what it has followed.
pub(super) async fn watch_end(
    mut journal: JetStreamJournal,
    state: Arc<RwLock<State>>,
    stopped: Arc<watch::Sender<Option<String>>>,
) {
    let mut short = Short::default();
    let mut ended = stopped.subscribe();
    loop {
        if tokio::time::timeout(END_LOOK, ended.wait_for(Option::is_some)).await.is_ok() {
            return;
        }
        let (own, hash) = {
            let state = state.read().unwrap_or_else(PoisonError::into_inner);
            (state.head().number, state.head().hash)
        };
        // What cannot be asked now is asked again.
        if let Ok(last) = journal.end().await
            && short.lasts(last < own)
        {
            let why = format!(
                "the journal {} is refused: this process has record {own} (hash {hash}), the stream ends at record {last}: \
                 it was cut short",
                journal.name()
            );
            tracing::error!(why, "this process ends");
            return end(why, &stopped);
        }
    }
}

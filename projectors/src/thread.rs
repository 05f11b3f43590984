//! The thread that writes one partition's views: takes what queued, one transaction a view, then says how far they are. What never
//! belongs here: a read.

use crate::{error::ViewError, projector::Changes, store::Store};
use arena_journal::{Followed, Follower, Mark};
use arena_schema::id::{MatchId, RecordNumber};
use std::{
    sync::{Arc, Condvar, Mutex, PoisonError, mpsc},
    time::{Duration, Instant},
};
use tokio::sync::{broadcast, watch};

/// How many records wait for the views, counted once for each view. Behind them the sequencer waits.
pub const QUEUE_RECORDS_MAX: usize = 1_024;
/// How many records one transaction takes in at most.
pub const GROUP_RECORDS_MAX: usize = 1_024;

/// How long a commit waits for more where nobody waits for it: three files are written for each, whatever it holds.
const PACE: Duration = Duration::from_millis(10);

/// How many are in a hurry: who waits for a record, or for the end. While there is none, the thread sleeps for its pace and is
/// woken by no record that comes meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    hurried: Mutex<usize>,
    more: Condvar,
}

impl Pace {
    pub(crate) fn hurry(&self) {
        *self.hurried.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.more.notify_one();
    }

    pub(crate) fn relax(&self) {
        let mut hurried = self.hurried.lock().unwrap_or_else(PoisonError::into_inner);
        *hurried = hurried.saturating_sub(1);
    }

    fn gather(&self, until: Instant) {
        let hurried = self.hurried.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = until.saturating_duration_since(Instant::now());
        // Whether it was woken or not, what has come is taken now.
        drop(self.more.wait_timeout_while(hurried, wait, |hurried| *hurried == 0));
    }
}

/// What comes in.
pub(crate) enum Message {
    /// A record for the view of this place in the list.
    Record(usize, Arc<Followed>),
    /// Nothing comes after this.
    Close,
}

/// How far the views are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    /// The checkpoint of the view that is furthest behind.
    pub(crate) reached: RecordNumber,
    /// Why they go no further.
    pub(crate) ended: Option<String>,
}

/// What [`Progress::ended`] says after an orderly end.
pub(crate) const CLOSED: &str = "they were closed";
/// What is said where the thread left no word.
pub(crate) const PANICKED: &str = "their thread panicked";

/// Hands the records that one view lacks to the thread.
pub(crate) struct ViewFollower {
    pub(crate) view: usize,
    pub(crate) after: RecordNumber,
    pub(crate) mark: Option<Mark>,
    pub(crate) queue: mpsc::SyncSender<Message>,
    pub(crate) progress: watch::Receiver<Progress>,
}

impl Follower for ViewFollower {
    fn mark(&self) -> Option<Mark> {
        self.mark.clone()
    }

    fn resumes_after(&self) -> RecordNumber {
        self.after
    }

    fn wants(&self, number: RecordNumber, _live: bool) -> bool {
        number > self.after
    }

    fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String> {
        self.queue.send(Message::Record(self.view, Arc::clone(record))).map_err(|_| {
            let ended = self.progress.borrow().ended.clone();
            ViewError::Stopped(ended.unwrap_or_else(|| PANICKED.to_owned())).to_string()
        })
    }
}

pub(crate) struct Writer {
    pub(crate) stores: Vec<Store>,
    pub(crate) queue: mpsc::Receiver<Message>,
    pub(crate) progress: watch::Sender<Progress>,
    pub(crate) pace: Arc<Pace>,
    pub(crate) changed: broadcast::Sender<Arc<[MatchId]>>,
}

impl Writer {
    /// Until it is closed, everyone who hands it records is gone, or a view can go on no more.
    pub(crate) fn run(mut self) {
        let result = self.work();
        if let Err(why) = &result {
            tracing::error!(%why, "the views stop");
        }
        let ended = result.map_or_else(|why| why.to_string(), |()| CLOSED.to_owned());
        let Self { stores, queue, progress, .. } = self;
        // Closed before anyone is told: who waits for the end may take the folder. The writer's connection is the last, since only
        // it can empty and remove the log.
        for store in stores {
            store.readers().close_idle();
            drop(store);
        }
        progress.send_modify(|progress| progress.ended = Some(ended));
        drop(queue);
    }

    fn work(&mut self) -> Result<(), ViewError> {
        let mut groups: Vec<Vec<Arc<Followed>>> = self.stores.iter().map(|_| Vec::new()).collect();
        let mut changes = Changes::default();
        let mut committed = Instant::now();
        let mut open = true;
        while open {
            let mut next = self.queue.recv().ok();
            open = next.is_some();
            self.pace.gather(committed + PACE);
            let mut taken = 0;
            while let Some(message) = next {
                match message {
                    Message::Record(view, record) => groups[view].push(record),
                    Message::Close => open = false,
                }
                taken += 1;
                next = if open && taken < GROUP_RECORDS_MAX { self.queue.try_recv().ok() } else { None };
            }
            committed = Instant::now();
            for (store, group) in self.stores.iter_mut().zip(&mut groups) {
                if !group.is_empty() {
                    store.take_in(group, &mut changes)?;
                    group.clear();
                }
            }
            self.tell(&mut changes);
        }
        Ok(())
    }

    fn tell(&self, changes: &mut Changes) {
        let reached = lowest(&self.stores);
        self.progress.send_if_modified(|progress| {
            let further = progress.reached != reached;
            progress.reached = reached;
            further
        });
        let matches = changes.take_matches();
        if !matches.is_empty() {
            // Nobody may be listening.
            let _ = self.changed.send(matches.into());
        }
    }
}

pub(crate) fn lowest(stores: &[Store]) -> RecordNumber {
    stores.iter().map(|store| store.checkpoint().number).min().unwrap_or_default()
}

//! What the journal is told of receives, by which a session's week is counted (agentwire, *Model*; CHOICES, *expiry*).
//!
//! While receives wait at this gateway it is told so once, and that none does once none has for a while: in between the engine
//! keeps the week off. One that returns at once is told of at most once an hour, and where more came in that hour, once more after
//! it: so a week is never cut short, and at most an hour longer.

use super::{
    Relay,
    failure::Failure,
    room::{Room, Touch},
};
use arena_journal::Submission;
use arena_schema::command::sessions::TouchSession;
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{sync::mpsc, time::Instant};

/// For how long none waits before the journal is told: whoever receives again at once goes on.
const QUIET_FOR: Duration = Duration::from_secs(60);
/// How often it is told of receives that return at once.
const TOLD_EVERY: Duration = Duration::from_secs(3_600);
/// How often it is looked whether this gateway has become another one to the journal, which then knows nothing of what waits here.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What is to be looked at after a while.
pub(super) struct Later {
    quiet: mpsc::UnboundedSender<Promised>,
    owed: mpsc::UnboundedSender<Promised>,
    /// No while passes by a clock that stands still: all is told at once.
    at_once: bool,
}

type Promised = (Instant, Weak<Room>);

/// The other ends.
pub(super) struct Promises {
    quiet: mpsc::UnboundedReceiver<Promised>,
    owed: mpsc::UnboundedReceiver<Promised>,
}

/// Both ends, with a clock that stands still or one that runs.
pub(super) fn later(still: bool) -> (Later, Promises) {
    let (quiet, quiets) = mpsc::unbounded_channel();
    let (owed, oweds) = mpsc::unbounded_channel();
    (Later { quiet, owed, at_once: still }, Promises { quiet: quiets, owed: oweds })
}

impl Later {
    /// A receive ended: perhaps none waits any more.
    pub(super) fn quiet(&self, room: &Arc<Room>) {
        if room.is_told_in_vain() && room.looks_later() {
            let wait = if self.at_once { Duration::ZERO } else { QUIET_FOR };
            // Where nobody takes it any more the process ends, and with it this gateway.
            let _ = self.quiet.send((Instant::now() + wait, Arc::downgrade(room)));
        }
    }
}

impl Relay {
    /// A receive of a participant is about to wait.
    ///
    /// # Errors
    /// The session is over, or the journal takes nothing now.
    pub(super) async fn tell_waiting(&self, room: &Room) -> Result<(), Failure> {
        let Some(part) = self.parts.get(room.partition) else { return Ok(()) };
        if !room.tell_waiting(part.producer.id()) {
            return Ok(());
        }
        self.touch(room, true).await.inspect_err(|_| room.was_not_told())
    }

    /// A receive of a participant returns.
    pub(super) async fn tell_received(&self, room: &Arc<Room>) {
        if self.later.at_once && room.tell_quiet(self.now()) {
            self.touch_or_say(room).await;
            return;
        }
        let every_us = if self.later.at_once { 0 } else { TOLD_EVERY.as_micros() as u64 };
        match room.touch(self.now(), every_us) {
            Touch::No => {}
            Touch::Now => self.touch_or_say(room).await,
            Touch::Later => {
                let _ = self.later.owed.send((Instant::now() + TOLD_EVERY, Arc::downgrade(room)));
            }
        }
    }

    /// Looks after a while at what it was to look at.
    pub(super) async fn keep_promises(self, promises: Promises) {
        let Promises { mut quiet, mut owed } = promises;
        let quiets = async {
            while let Some(room) = next(&mut quiet).await {
                room.looks_now();
                if room.tell_quiet(self.now()) {
                    self.touch_or_say(&room).await;
                }
            }
        };
        let oweds = async {
            while let Some(room) = next(&mut owed).await {
                if room.touch_owed(self.now()) {
                    self.touch_or_say(&room).await;
                }
            }
        };
        tokio::join!(quiets, oweds);
    }

    /// Tells the journal again what waits here, where it has taken this gateway for gone meanwhile.
    pub(super) async fn tell_again(self) {
        let numbers = || self.parts.iter().map(|part| part.producer.id()).collect::<Vec<_>>();
        let mut known = numbers();
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            let now = numbers();
            for (part, _) in self.parts.iter().zip(known.iter().zip(&now)).filter(|(_, (was, is))| was != is)
            {
                for room in self.hub.received_in(part.partition) {
                    if let Err(why) = self.tell_waiting(&room).await {
                        tracing::debug!(?why, "that a receive waits could not be told again");
                    }
                }
            }
            known = now;
        }
    }

    async fn touch_or_say(&self, room: &Room) {
        if let Err(why) = self.touch(room, false).await {
            room.was_not_told();
            tracing::debug!(?why, "that somebody received could not be told");
        }
    }

    async fn touch(&self, room: &Room, waiting: bool) -> Result<(), Failure> {
        let submission = Submission::new(TouchSession { session: room.key, waiting });
        self.submit_when_there_is_room(room.partition, submission).await.map(|_| ())
    }
}

/// The next session whose time has come. They come in the order of their times.
async fn next(promised: &mut mpsc::UnboundedReceiver<Promised>) -> Option<Arc<Room>> {
    loop {
        let (at, room) = promised.recv().await?;
        tokio::time::sleep_until(at).await;
        if let Some(room) = room.upgrade() {
            return Some(room);
        }
    }
}

//! Whether this process was held up: stopped by a signal, starved, or on a machine that slept. An agent's time is measured by our
//! clock, and what we slept through is not the agent's. What never belongs here: what follows from it.

use std::time::{Duration, Instant};
use tokio::{sync::watch, task::JoinHandle};

/// How often it beats.
const BEAT: Duration = Duration::from_millis(50);
/// A beat that comes so much too late was held up, and everything else here with it.
const HELD_UP: Duration = Duration::from_secs(1);

/// A beat for as long as this lives.
pub struct Pulse {
    /// When the last beat that was held up came.
    beats: watch::Receiver<Option<Instant>>,
    task: JoinHandle<()>,
}

impl Pulse {
    /// Begins to beat.
    pub fn start() -> Self {
        let (sender, beats) = watch::channel(None);
        let task = tokio::spawn(async move {
            loop {
                let before = Instant::now();
                tokio::time::sleep(BEAT).await;
                let held_up = before.elapsed() > BEAT + HELD_UP;
                sender.send_modify(|last| *last = if held_up { Some(Instant::now()) } else { *last });
            }
        });
        Self { beats, task }
    }

    /// Whether a beat was held up that began after this or went on then. It waits for the beat that is on its way.
    pub async fn was_held_up_since(&self, since: Instant) -> bool {
        let mut beats = self.beats.clone();
        beats.mark_unchanged();
        // It beats as long as this lives.
        let _ = beats.changed().await;
        beats.borrow().is_some_and(|held_up| held_up > since)
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_thread_that_was_held_up_is_noticed_and_one_that_was_not_is_not() {
        let pulse = Pulse::start();
        let before = Instant::now();
        assert!(!pulse.was_held_up_since(before).await);
        // Nothing else runs on this runtime meanwhile.
        std::thread::sleep(HELD_UP + 2 * BEAT);
        assert!(pulse.was_held_up_since(before).await);
        assert!(!pulse.was_held_up_since(Instant::now()).await);
    }
}

//! Read positions on their way into the journal: those of one session that come while a command is under way go into the next one
//! together, so that an entry that wakes many costs few commands.

use super::{Relay, failure::Failure, room::Room};
use arena_journal::Submission;
use arena_schema::command::sessions::{AcknowledgeEntries, READS_MAX, ReadPosition};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::oneshot;

type Told = oneshot::Sender<Result<(), Failure>>;

/// What of one session is on its way.
#[derive(Default)]
pub(super) struct Acks(Mutex<Gathered>);

#[derive(Default)]
struct Gathered {
    next: BTreeMap<u32, u64>,
    asked: Vec<Told>,
    under_way: bool,
}

impl Acks {
    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a position to those that go next. True where nobody carries them: then the caller does.
    fn put(&self, who: u32, read: u64, told: Told) -> bool {
        let mut gathered = self.gathered();
        let next = gathered.next.entry(who).or_default();
        *next = read.max(*next);
        gathered.asked.push(told);
        !std::mem::replace(&mut gathered.under_way, true)
    }

    /// Those that go now; none where there are no more, and nobody carries them from here on.
    fn take(&self) -> Option<(Vec<ReadPosition>, Vec<Told>)> {
        let mut gathered = self.gathered();
        if gathered.asked.is_empty() {
            gathered.under_way = false;
            return None;
        }
        let reads = std::mem::take(&mut gathered.next);
        let reads = reads.into_iter().map(|(participant, read)| ReadPosition { participant, read }).collect();
        Some((reads, std::mem::take(&mut gathered.asked)))
    }
}

impl Relay {
    /// A participant has read up to an entry, or to the last; back it never goes. Durable when this returns, and everyone sees it.
    ///
    /// # Errors
    /// The session is over, or the journal takes nothing now.
    pub(super) async fn acknowledge(&self, room: &Arc<Room>, who: u32, upto: u64) -> Result<(), Failure> {
        let read = upto.min(room.last());
        // Whoever the end of the session answers has nothing to acknowledge any more.
        if read <= room.read_of(who) || room.is_over() {
            return Ok(());
        }
        let (tell, told) = oneshot::channel();
        if room.acks.put(who, read, tell) {
            // Also where the client goes away meanwhile: others wait for it.
            let (relay, room) = (self.clone(), Arc::clone(room));
            tokio::spawn(async move { relay.carry(&room).await });
        }
        told.await.unwrap_or_else(|_| Err(Failure::busy("the relay is stopping")))
    }

    async fn carry(&self, room: &Room) {
        // Whoever was woken together comes together.
        tokio::task::yield_now().await;
        while let Some((reads, asked)) = room.acks.take() {
            let outcome = self.move_reads(room, &reads).await;
            for told in asked {
                // Who is gone meanwhile needs no word.
                let _ = told.send(outcome.clone());
            }
        }
    }

    async fn move_reads(&self, room: &Room, reads: &[ReadPosition]) -> Result<(), Failure> {
        let commands = reads
            .chunks(READS_MAX)
            .map(|reads| Submission::new(AcknowledgeEntries { session: room.key, reads: reads.to_vec() }));
        for submission in commands {
            self.submit_when_there_is_room(room.partition, submission).await?;
        }
        self.is_at(room.partition).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_that_come_while_one_is_under_way_go_together_and_each_the_furthest() {
        let acks = Acks::default();
        let put = |who, read| acks.put(who, read, oneshot::channel().0);
        assert!(put(1, 5), "nobody carries them yet");
        let taken = |acks: &Acks| {
            acks.take().map(|(reads, asked)| {
                (reads.iter().map(|one| (one.participant, one.read)).collect::<Vec<_>>(), asked.len())
            })
        };
        assert_eq!(taken(&acks), Some((vec![(1, 5)], 1)));
        assert!(!put(2, 7) && !put(1, 9) && !put(1, 6), "somebody carries them");
        assert_eq!(taken(&acks), Some((vec![(1, 9), (2, 7)], 3)));
        assert_eq!(taken(&acks), None);
        assert!(put(1, 10), "and then nobody any more");
    }
}

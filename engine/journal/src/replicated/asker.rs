//! Asking a partition's leader: how far the journal may have been seen, and to move a clock that stands still.

use super::{
    lease::MARGIN,
    submitter::ask,
    wire::{Reply, Request},
};
use crate::{jetstream::Nats, sequencer::Stopped};
use arena_schema::{
    id::{Partition, RecordNumber},
    subject,
};
use bytes::Bytes;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// How many readers one question serves.
const READERS_MAX: usize = 65_536;
/// Before a question that nobody answered is asked again.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a leader may take to move its clock.
const MOVE_WAIT: Duration = Duration::from_secs(5);

/// Asks the leader. A clone asks with it.
#[derive(Clone)]
pub struct Asker {
    nats: Nats,
    partition: Partition,
    positions: watch::Receiver<RecordNumber>,
    readers: mpsc::UnboundedSender<oneshot::Sender<RecordNumber>>,
}

impl Asker {
    pub(super) fn start(nats: &Nats, partition: Partition, positions: watch::Receiver<RecordNumber>) -> Self {
        let (readers, waiting) = mpsc::unbounded_channel();
        nats.runtime().spawn(ask_positions(nats.client().clone(), partition, waiting));
        Self { nats: nats.clone(), partition, positions, readers }
    }

    /// Waits until this process has what any caller wrote before, through whichever process; false where that takes longer.
    pub async fn caught_up(&self, wait: Duration) -> bool {
        let there = async {
            let (reader, answer) = oneshot::channel();
            self.readers.send(reader).ok()?;
            let record = answer.await.ok()?;
            self.positions.clone().wait_for(|position| *position >= record).await.ok().map(|_| ())
        };
        matches!(tokio::time::timeout(wait, there).await, Ok(Some(())))
    }

    /// Moves the leader's clock, where it stands still.
    pub(crate) async fn advance(&self, micros: u64) -> Result<(), Stopped> {
        let request = Bytes::from(Request::Advance { micros }.encode());
        let subject = subject::submit(self.partition);
        match ask(self.nats.client(), subject, request, MOVE_WAIT).await {
            Some(Reply::Done) => Ok(()),
            other => Err(Stopped(format!("the leader did not move its clock: {other:?}"))),
        }
    }
}

/// Asks how far the journal may have been seen by anyone, once for all who wait: whoever comes while a question is under way
/// waits for the next, since the answer to this one may be older than what they have to see.
async fn ask_positions(
    client: async_nats::Client,
    partition: Partition,
    mut waiting: mpsc::UnboundedReceiver<oneshot::Sender<RecordNumber>>,
) {
    let request = Bytes::from(Request::Position.encode());
    let subject = subject::position(partition);
    let mut readers = Vec::new();
    while waiting.recv_many(&mut readers, READERS_MAX).await > 0 {
        let record = loop {
            readers.retain(|reader| !reader.is_closed());
            if readers.is_empty() {
                break RecordNumber(0);
            }
            // An answer that is older than the margin may be a deposed leader's.
            match ask(&client, subject.clone(), request.clone(), MARGIN).await {
                Some(Reply::Position { record }) => break record,
                Some(_) | None => tokio::time::sleep(PAUSE).await,
            }
        };
        for reader in readers.drain(..) {
            // Who no longer waits has given up.
            let _ = reader.send(record);
        }
    }
}

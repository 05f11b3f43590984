//! The referee: asks seats for their moves, wherever their agents live, and puts what came into the journal. What belongs here:
//! which turns wait, that an agent has one request at a time, how many are asked at once. What never does: a protocol's bytes
//! (its own room), what a reply costs (the engine).

mod lanes;
mod turn;

use crate::{directory::Directory, egress::Egress, house::HousePool, parts::Parts};
use arena_journal::{Followed, Follower, Texts};
use arena_schema::{
    Event,
    command::matches::TurnRef,
    id::{Partition, RecordNumber},
};
use lanes::Lanes;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};

/// How many reduced records may wait for the referee; beyond it the sequencer waits.
const RECORDS_WAITING_MAX: usize = 1_024;
/// How long a stop waits for facts that are on their way into the journal. An agent that is still thinking is asked again
/// after the next start.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// What the referee works with.
pub struct Court {
    /// To read positions, and to submit what came.
    pub parts: Parts,
    /// To seal what agents wrote.
    pub texts: Texts,
    /// To ask agents.
    pub egress: Egress,
    /// To ask the house.
    pub house: HousePool,
    /// Who they are and where.
    pub directory: Directory,
    /// Where this arena is reached, without a slash at its end.
    pub public_url: String,
}

/// A turn that is to be asked, and where its match is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Due {
    partition: Partition,
    turn: TurnRef,
}

/// Follows a partition for the referee; made before the sequencer starts. A clone follows another for the same referee.
#[derive(Clone)]
pub struct RefereeFollower {
    records: mpsc::Sender<Arc<Followed>>,
}

/// The turns to come, for [`run`].
pub struct Docket {
    records: mpsc::Receiver<Arc<Followed>>,
}

/// The two ends of the way from the sequencers to the referee.
pub fn follow() -> (RefereeFollower, Docket) {
    let (sender, receiver) = mpsc::channel(RECORDS_WAITING_MAX);
    (RefereeFollower { records: sender }, Docket { records: receiver })
}

impl Follower for RefereeFollower {
    fn resumes_after(&self) -> RecordNumber {
        RecordNumber(u64::MAX)
    }

    /// What this run writes: its first records open anew, at this home, every turn that was open before.
    fn wants(&self, _: RecordNumber, live: bool) -> bool {
        live
    }

    fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String> {
        // Where the referee has stopped before the sequencer, its turns wait for the next start.
        let _ = self.records.blocking_send(Arc::clone(record));
        Ok(())
    }
}

/// Asks until `stopping` says true; then takes up nothing more and ends.
pub async fn run(court: Arc<Court>, mut docket: Docket, mut stopping: watch::Receiver<bool>) {
    let mut lanes = Lanes::default();
    let mut asked = JoinSet::new();
    // What each task is at, so that one that fails leaves no lane closed and no match stuck.
    let mut under_way = HashMap::new();
    loop {
        tokio::select! {
            record = docket.records.recv() => match record {
                Some(record) => take_up(&court, &record, &mut lanes),
                None => break,
            },
            Some(done) = asked.join_next_with_id() => {
                let (task, failed) = match done {
                    Ok((task, ())) => (task, None),
                    Err(failed) => (failed.id(), Some(failed)),
                };
                if let Some((lane, turn)) = under_way.remove(&task) {
                    lanes.done(lane);
                    if let Some(failed) = failed {
                        let court = Arc::clone(&court);
                        let why = format!("its turn failed: {failed}");
                        asked.spawn(async move { turn::void(&court, &turn, &why).await });
                    }
                }
            },
            changed = stopping.wait_for(|stopping| *stopping) => {
                drop(changed);
                break;
            }
        }
        while let Some((lane, turn)) = lanes.next() {
            let court = Arc::clone(&court);
            let task = asked.spawn(async move { turn::take(&court, turn).await });
            under_way.insert(task.id(), (lane, turn));
        }
    }
    // Keeps the sequencer from waiting for a place in a queue that nobody empties.
    docket.records.close();
    let drained = tokio::time::timeout(STOP_WAIT, async {
        while docket.records.recv().await.is_some() {}
        turn::settle(&mut asked).await;
    });
    // Who is still thinking then is asked again after the next start.
    let _ = drained.await;
    asked.shutdown().await;
}

fn take_up(court: &Court, record: &Followed, lanes: &mut Lanes) {
    let partition = record.header.partition;
    let Some(home) = court.parts.get(partition).map(|part| part.producer.id()) else { return };
    for emitted in record.events.iter() {
        if let Event::TurnOpened(opened) = &emitted.event
            && opened.home == home
        {
            let turn =
                TurnRef { key: opened.key, seat: opened.seat, ply: opened.ply, attempt: opened.attempt };
            let due = Due { partition, turn };
            if let Some(lane) = lanes::lane_of(&court.parts, &due) {
                lanes.put(lane, due);
            }
        }
    }
}

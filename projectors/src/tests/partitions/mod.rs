//! Views of several partitions, fed with the records that the engine makes of what is played in them.

mod files;
mod lists;
pub(super) mod network;
mod play;
mod ratings;

use super::PATIENCE;
use crate::{Followers, MatchSummary, Views, ViewsAt};
use arena_schema::id::{MatchId, Partition, RecordNumber};
use network::Network;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// The views of a run, each fed with what the network has written, when the test says so.
pub(super) struct Run {
    pub(super) views: Views,
    pub(super) followers: Vec<Followers>,
    runtime: Runtime,
}

impl Run {
    pub(super) fn open(network: &Network, at: &ViewsAt, partitions: u16) -> Self {
        let (views, followers) = Views::open(at, network.texts.clone(), partitions).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Self { views, followers, runtime }
    }

    /// Views in memory that have all that was written.
    pub(super) fn of(network: &Network, partitions: u16) -> Self {
        let mut run = Self::open(network, &ViewsAt::Memory, partitions);
        run.feed_all(network);
        run
    }

    /// Until the views of a partition have all that was written in it.
    #[track_caller]
    pub(super) fn feed(&mut self, network: &Network, partition: u16) {
        let head = network.head(partition).header.number;
        for record in network.records(partition) {
            for follower in &mut self.followers[usize::from(partition)] {
                let number = record.header.number;
                if follower.wants(number, false) {
                    let mut record = arena_journal::Followed::clone(record);
                    record.live = number == head;
                    follower.follow(&Arc::new(record)).unwrap();
                }
            }
        }
        self.runtime.block_on(self.views.wait_for(Partition(partition), head, PATIENCE)).unwrap();
    }

    pub(super) fn feed_all(&mut self, network: &Network) {
        for partition in 0..self.views.partitions() {
            self.feed(network, partition);
        }
    }

    /// The records that the views of a partition lack, each view's first.
    fn resumes_after(&self, partition: usize) -> Vec<RecordNumber> {
        self.followers[partition].iter().map(|follower| follower.resumes_after()).collect()
    }
}

fn ids(rows: Vec<MatchSummary>) -> Vec<MatchId> {
    rows.into_iter().map(|row| row.match_id).collect()
}

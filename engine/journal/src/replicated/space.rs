//! Every process looks by itself how much space the journal has: its own door refuses without asking the leader, and whoever looks
//! at the process sees it. The leader's door has the last word.

use crate::{
    jetstream::JetStreamJournal,
    space::{LOOK, Space},
};
use tokio::sync::watch;

/// Looks until this process follows no more.
pub(super) async fn watch_space(
    mut journal: JetStreamJournal,
    space: Space,
    mut stopped: watch::Receiver<Option<String>>,
) {
    loop {
        space.set_where_told(journal.limits().await);
        if tokio::time::timeout(LOOK, stopped.wait_for(Option::is_some)).await.is_ok() {
            return;
        }
    }
}

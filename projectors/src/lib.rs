//! The views: what is folded from records into tables, so that a page or an answer is one look-up.
//!
//! Invariants:
//! - A view knows records and nothing else: no clock, no network, no memory of its own between two records but its rows. The same
//!   records give the same rows, in one go or in many.
//! - The checkpoint is in the same transaction as the rows, and no record is skipped. A view can always be thrown away.
//! - A view has one partition's records and knows no other's. What a read brings together of several it orders by their instants,
//!   which are of several clocks: an order to look at, from which nothing follows. Ratings, where order counts, have partition 0's.
//! - No view is truth: nothing is decided here, and nothing but a read leads from here back to the engine.
//! - No text that anybody wrote lies here in clear, only sealed; it is opened at the read, and gone with its owner's key.
//! - Floats (ratings) are allowed here, and nowhere before. No JSON, no text form of an instant, no protocol of the outside world,
//!   but the types of the two entries of a session that nobody wrote.
//!
//! A new projection is one file beside these (its tables, its [`Projector`], its reads on [`Views`]) and one line in
//! [`projectors`].

mod agents;
mod error;
mod leaderboard;
mod marks;
mod name;
mod partition;
mod projector;
mod readers;
mod replays;
mod sealed;
mod sessions;
mod store;
mod thread;
mod views;

#[cfg(test)]
mod tests;

pub use agents::AgentRow;
use arena_schema::id::Partition;
pub use error::{Fault, ViewError, ViewsBehind};
pub use leaderboard::{DEVIATION_PROVISIONAL_ABOVE, RatingRow};
pub use marks::marks;
pub use name::ViewName;
pub use projector::{Changes, Projector, Record};
pub use replays::{
    Failure, JournalSpan, MatchResult, MatchStatus, MatchSummary, Player, Replay, ReplayEvent, What,
};
pub use sealed::OpenedText;
pub use sessions::{JOIN_TYPE, LEAVE_TYPE, SessionEntry, SessionPayload, SessionPerson};
pub use thread::{GROUP_RECORDS_MAX, QUEUE_RECORDS_MAX};
pub use views::{CHANGES_KEPT_MAX, Followers, LIST_ROWS_MAX, Views, ViewsAt};

/// Every projection of a partition: all for partition 0, which has the registry, and for another the matches that are played and the
/// sessions that are held there. A view that another's reads rest on stands before it: within a partition it is never behind it.
pub fn projectors(partition: Partition) -> Vec<Box<dyn Projector>> {
    match partition {
        partition::FIRST => vec![
            Box::new(agents::Agents),
            Box::new(replays::Replays),
            Box::new(leaderboard::Leaderboard),
            Box::new(sessions::Sessions),
        ],
        _ => vec![Box::new(replays::Replays), Box::new(sessions::Sessions)],
    }
}

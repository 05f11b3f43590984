//! What happened. One file a family; a kind's code says its family in the upper byte, as a command's does.
//!
//! Events are derived from records and never stored as truth; the running digest in a record's header is over their bytes.

pub mod matches;
pub mod registry;
pub mod sessions;
pub mod system;

use crate::{codec::wire_union, rejection::Rejection};

// What is seldom and large is boxed, so that the frequent ones are moved about in few bytes.
wire_union! {
    /// An event, decoded.
    pub enum Event {
        /// A command that may not happen.
        Rejected(Rejection) = 0x0001,
        /// A producer's number was used; a repeat of it does nothing.
        NumberSeen(system::NumberSeen) = 0x0002,
        /// A second key was used; it is kept for 24 hours.
        SecondKeyKept(system::SecondKeyKept) = 0x0003,
        /// A second key was forgotten.
        SecondKeyExpired(system::SecondKeyExpired) = 0x0004,
        /// A leader took over.
        SequencerAnnounced(system::SequencerAnnounced) = 0x0005,
        /// A gateway's process has its number.
        GatewayAnnounced(system::GatewayAnnounced) = 0x0006,
        /// A gateway's process is gone.
        GatewayRemoved(system::GatewayRemoved) = 0x0007,
        /// Other rules hold from the next record on.
        RulesActivated(system::RulesActivated) = 0x0008,
        /// The era ended.
        EraClosed(system::EraClosed) = 0x0009,
        /// Another history began; every producer is gone.
        LineageBegun(system::LineageBegun) = 0x000a,
        /// Matches may be sent to another partition.
        PartitionOpened(system::PartitionOpened) = 0x000b,
        /// A command for another partition waits in the outbox.
        OutboxSent(system::OutboxSent) = 0x000c,
        /// Entries of the outbox were taken by the other side.
        OutboxTrimmed(system::OutboxTrimmed) = 0x000d,

        /// An agent came to be.
        AgentRegistered(Box<registry::AgentRegistered>) = 0x0101,
        /// A secret was replaced.
        CredentialRotated(registry::CredentialRotated) = 0x0102,
        /// An address or a policy changed.
        EndpointSet(registry::EndpointSet) = 0x0103,
        /// An agent of partition 0 plays here.
        GuestArrived(registry::GuestArrived) = 0x0104,
        /// An agent of partition 0 has nothing open here any more.
        GuestLeft(registry::GuestLeft) = 0x0105,

        /// A match began.
        MatchOpened(matches::MatchOpened) = 0x0301,
        /// A seat is to be asked.
        TurnOpened(matches::TurnOpened) = 0x0302,
        /// A move was made.
        MovePlayed(matches::MovePlayed) = 0x0303,
        /// A seat has a strike more.
        StrikeRecorded(Box<matches::StrikeRecorded>) = 0x0304,
        /// A match ended.
        MatchEnded(matches::MatchEnded) = 0x0305,
        /// A match is on its way to its partition, and counts here as open.
        MatchSent(matches::MatchSent) = 0x0306,
        /// A match that was sent to its partition is over.
        MatchReturned(matches::MatchReturned) = 0x0307,

        /// A session began, empty.
        SessionCreated(sessions::SessionCreated) = 0x0701,
        /// A new participant joined: an entry of the log.
        SessionJoined(Box<sessions::SessionJoined>) = 0x0702,
        /// A participant joined again after leaving: an entry of the log.
        SessionRejoined(sessions::SessionRejoined) = 0x0703,
        /// A participant sent something: an entry of the log.
        EntrySent(Box<sessions::EntrySent>) = 0x0704,
        /// Read positions moved.
        ReadsMoved(sessions::ReadsMoved) = 0x0705,
        /// A participant left: an entry of the log.
        SessionLeft(sessions::SessionLeft) = 0x0706,
        /// A participant's name was taken back: its link is no participant's any more.
        ParticipantReplaced(sessions::ParticipantReplaced) = 0x0707,
        /// A participant has another account, or none.
        AccountSet(sessions::AccountSet) = 0x0708,
        /// Somebody receives, or received.
        SessionTouched(sessions::SessionTouched) = 0x0709,
        /// The access service is to be asked whether an owned session may be deleted.
        DeletionDue(sessions::DeletionDue) = 0x070a,
        /// An owned session is kept for now.
        DeletionAnswered(sessions::DeletionAnswered) = 0x070b,
        /// A session ended; its link leads nowhere.
        SessionEnded(sessions::SessionEnded) = 0x070c,
    }
}

impl From<registry::AgentRegistered> for Event {
    fn from(body: registry::AgentRegistered) -> Self {
        Self::AgentRegistered(Box::new(body))
    }
}

impl From<sessions::SessionJoined> for Event {
    fn from(body: sessions::SessionJoined) -> Self {
        Self::SessionJoined(Box::new(body))
    }
}

impl From<sessions::EntrySent> for Event {
    fn from(body: sessions::EntrySent) -> Self {
        Self::EntrySent(Box::new(body))
    }
}

impl From<matches::StrikeRecorded> for Event {
    fn from(body: matches::StrikeRecorded) -> Self {
        Self::StrikeRecorded(Box::new(body))
    }
}

//! What may be asked of the engine. One file a family; a kind's code says its family in the upper byte.
//!
//! | codes | family |
//! |---|---|
//! | `0x00__` | system |
//! | `0x01__` | registry |
//! | `0x02__` | bank |
//! | `0x03__` | matches |
//! | `0x04__` | lobby |
//! | `0x05__` | battles |
//! | `0x06__` | duels |
//! | `0x07__` | sessions |
//!
//! A kind that a family gains later comes with the rules version that brings it.

mod adds;
pub mod matches;
pub mod registry;
pub mod sessions;
pub mod system;

use crate::codec::wire_union;

wire_union! {
    /// A command, decoded. Its producer, number and credential stand beside it in the record (see [`crate::record`]).
    pub enum Command {
        /// A leader takes over; alone in its record.
        AnnounceSequencer(system::AnnounceSequencer) = 0x0001,
        /// A gateway's process begins.
        AnnounceGateway(system::AnnounceGateway) = 0x0002,
        /// A gateway's process is gone.
        GatewayGone(system::GatewayGone) = 0x0003,
        /// Time passes.
        Tick(system::Tick) = 0x0004,
        /// Other rules from the next record on; alone in its record.
        ActivateRules(system::ActivateRules) = 0x0005,
        /// The journal goes on in another file or stream; alone in its record.
        CloseEra(system::CloseEra) = 0x0006,
        /// The history forks here, after a restore; alone in its record.
        BeginLineage(system::BeginLineage) = 0x0007,
        /// Matches may be sent to another partition from here on (rules 2).
        OpenPartition(system::OpenPartition) = 0x0008,
        /// Another partition has taken entries of the outbox (rules 2).
        AcknowledgeOutbox(system::AcknowledgeOutbox) = 0x0009,

        /// An agent comes to be.
        RegisterAgent(registry::RegisterAgent) = 0x0101,
        /// A secret of an agent is replaced.
        RotateCredential(registry::RotateCredential) = 0x0102,
        /// An agent's address or its door for challenges changes.
        SetEndpoint(registry::SetEndpoint) = 0x0103,

        /// A match begins.
        OpenMatch(matches::OpenMatch) = 0x0301,
        /// A seat answered with a move of the game.
        SubmitMove(matches::SubmitMove) = 0x0302,
        /// A seat failed to answer with one.
        RecordStrike(matches::RecordStrike) = 0x0303,
        /// A match ends without a result.
        AbortMatch(matches::AbortMatch) = 0x0304,
        /// Partition 0 sends a match that is to be played here (rules 2).
        TakeMatch(Box<matches::TakeMatch>) = 0x0305,
        /// A match that partition 0 sent is over (rules 2).
        ReturnMatch(matches::ReturnMatch) = 0x0306,

        /// A session begins, empty (rules 3).
        CreateSession(sessions::CreateSession) = 0x0701,
        /// Somebody joins a session under a name (rules 3).
        JoinSession(Box<sessions::JoinSession>) = 0x0702,
        /// A participant joins again (rules 3).
        RejoinSession(sessions::RejoinSession) = 0x0703,
        /// A participant sends (rules 3).
        SendEntry(Box<sessions::SendEntry>) = 0x0704,
        /// Participants have read up to somewhere (rules 3).
        AcknowledgeEntries(sessions::AcknowledgeEntries) = 0x0705,
        /// A participant leaves (rules 3).
        LeaveSession(sessions::LeaveSession) = 0x0706,
        /// Somebody receives, or received (rules 3).
        TouchSession(sessions::TouchSession) = 0x0707,
        /// What the access service says of an owned session that would be deleted (rules 3).
        AnswerDeletion(sessions::AnswerDeletion) = 0x0708,
        /// The access service vouches for a participant by another account, or by none (rules 3).
        SetAccount(sessions::SetAccount) = 0x0709,
    }
}

impl From<matches::TakeMatch> for Command {
    fn from(body: matches::TakeMatch) -> Self {
        Self::TakeMatch(Box::new(body))
    }
}

impl From<sessions::JoinSession> for Command {
    fn from(body: sessions::JoinSession) -> Self {
        Self::JoinSession(Box::new(body))
    }
}

impl From<sessions::SendEntry> for Command {
    fn from(body: sessions::SendEntry) -> Self {
        Self::SendEntry(Box::new(body))
    }
}

impl Command {
    /// Whether a record that holds this command holds nothing else.
    pub const fn stands_alone(&self) -> bool {
        matches!(
            self,
            Self::AnnounceSequencer(_) | Self::ActivateRules(_) | Self::CloseEra(_) | Self::BeginLineage(_)
        )
    }
}

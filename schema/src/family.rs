//! The families that words are of. What belongs here: their codes and names. What never does: a word of any of them.

use crate::codec::wire_enum;

wire_enum! {
    /// A family of commands and events; its code is the upper byte of their kinds.
    pub enum Family {
        /// Leaders, gateways, rules, eras, lineages, and what all families share.
        System = 0 => "system",
        /// Agents, their credentials and where they are reached.
        Registry = 1 => "registry",
        /// Points.
        Bank = 2 => "bank",
        /// Games between two agents.
        Matches = 3 => "matches",
        /// Who waits for a game.
        Lobby = 4 => "lobby",
        /// Tasks that two agents answer.
        Battles = 5 => "battles",
        /// Deals of two agents.
        Duels = 6 => "duels",
        /// Rooms of agentwire.
        Sessions = 7 => "sessions",
    }
}

impl Family {
    /// The family that a kind of command or event is of.
    pub const fn of_kind(kind: u16) -> Option<Self> {
        Self::from_code(kind >> 8)
    }
}

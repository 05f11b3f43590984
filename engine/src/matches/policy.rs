//! What a failed answer costs a seat: the policy is the seat's, by its agent's protocol (CHOICES, *faults across protocols*).

use arena_schema::id::{GameCode, Protocol};

/// Strikes that end a match for a seat under [`SeatPolicy::Strikes`] (agentarena.md: "Three strikes in a match forfeits it").
pub const STRIKES_MAX: u8 = 3;

/// A seat's policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatPolicy {
    /// The same position again after a strike; the third forfeits, with no further request.
    Strikes,
}

/// What follows from a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consequence {
    /// The same position again.
    AskAgain,
    /// The other seat wins.
    Forfeit,
}

impl SeatPolicy {
    /// The policy of an agent of this protocol in this game; `None` where it does not play it under these rules.
    pub(crate) fn of(protocol: Protocol, game: GameCode) -> Option<Self> {
        let connect4 = game.0 == crate::games::GameCode::Connect4.as_u16();
        match protocol {
            Protocol::House => Some(Self::Strikes),
            Protocol::AgentArena if connect4 => Some(Self::Strikes),
            _ => None,
        }
    }

    /// What the fault that makes `strikes` of them leads to.
    pub(crate) fn after(self, strikes: u8) -> Consequence {
        match self {
            Self::Strikes if strikes >= STRIKES_MAX => Consequence::Forfeit,
            Self::Strikes => Consequence::AskAgain,
        }
    }
}

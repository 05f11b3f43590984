//! The two seats of a match.

use crate::codec::wire_enum;

wire_enum! {
    /// A seat in a match. The first seat moves first where the game has an order.
    pub enum Seat {
        /// The first mover; X in connect4.
        First = 1 => "X",
        /// The second mover; O in connect4.
        Second = 2 => "O",
    }
}

impl Seat {
    /// 0 for the first seat, 1 for the second.
    pub const fn index(self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => 1,
        }
    }

    /// The seat opposite.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

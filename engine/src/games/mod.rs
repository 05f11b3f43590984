//! The rules of play. What belongs here: positions, legal moves and outcomes of each game, as pure values. What never does: a
//! match, a strike, an agent, a clock, text that an agent wrote.
//!
//! A new game is one file beside this one (declared below, next to the others) and one line in the list under [`GameCode`].

pub mod connect4;

use std::fmt;

pub use arena_schema::{Move, Seat};

/// A set of seats: whose decision a position waits for. Empty when the game is over, both where they decide at once.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Seats(u8);

impl Seats {
    /// No seat: the game is over.
    pub const NONE: Self = Self(0);
    /// Both at once.
    pub const BOTH: Self = Self(0b11);

    /// This seat alone.
    pub const fn only(seat: Seat) -> Self {
        Self(1 << seat.index())
    }

    /// Whether the set holds this seat.
    pub const fn contains(self, seat: Seat) -> bool {
        self.0 >> seat.index() & 1 == 1
    }

    /// The set without this seat, as after the first of two simultaneous decisions.
    #[must_use]
    pub const fn without(self, seat: Seat) -> Self {
        Self(self.0 & !(1 << seat.index()))
    }

    /// Whether nobody is to act.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The seats of the set, the first mover first.
    pub fn iter(self) -> impl Iterator<Item = Seat> {
        [Seat::First, Seat::Second].into_iter().filter(move |&seat| self.contains(seat))
    }
}

/// How a game ended by its own rules (a forfeit is a matter of the match).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// This seat has won.
    Win(Seat),
    /// Nobody has.
    Draw,
}

/// Why a move was not played. The position is as it was before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Illegal {
    /// The game is over.
    Over,
    /// The position does not wait for this seat.
    NotToAct,
    /// The bytes encode no move of this game.
    NotAMove,
    /// A move of this game, but not one that is legal now.
    NotLegal,
}

impl fmt::Display for Illegal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Over => "the game is over",
            Self::NotToAct => "the seat is not to act",
            Self::NotAMove => "the bytes encode no move of the game",
            Self::NotLegal => "the move is not legal now",
        })
    }
}

impl std::error::Error for Illegal {}

/// The rules of one game for two seats, as a pure value: a position that moves are played into.
///
/// - *Chance* (a deal) is drawn in [`start`](Game::start) from the match's seed and from nothing else.
/// - *Simultaneous decisions*: [`to_act`](Game::to_act) names both seats, and the position keeps the first decision to itself
///   until the second has come.
/// - *A forced pass* is the one legal move, and the default action.
/// - No bytes in a [`Move`] make an implementation panic.
pub trait Game: Sized + Clone {
    /// The game's name in every protocol, lower-case: `connect4`.
    const NAME: &'static str;

    /// The position before the first move. The seed is the match's; a game without chance ignores it.
    fn start(seed: &[u8; 32]) -> Self;

    /// Whose decision the position waits for; no seat exactly when [`outcome`](Game::outcome) is known.
    fn to_act(&self) -> Seats;

    /// Replaces what is in `out` with the seat's legal moves, in the game's fixed order; none if the seat is not to act.
    fn legal(&self, seat: Seat, out: &mut Vec<Move>);

    /// Plays the seat's move. An error leaves the position unchanged.
    fn play(&mut self, seat: Seat, mv: &Move) -> Result<(), Illegal>;

    /// How the game ended, if it has.
    fn outcome(&self) -> Option<Outcome>;

    /// The legal move that stands for a missing decision of this seat (pass, fold, decline), where the game has one.
    fn default_action(&self, seat: Seat) -> Option<Move>;

    /// The move that a text names, legal now or not; the text is taken to the letter. None: no move of this game at all.
    fn parse_move(text: &str) -> Option<Move>;

    /// The text that [`parse_move`](Game::parse_move) takes for this move; `?` for bytes that encode none.
    fn move_text(mv: &Move) -> String;

    /// The squares of the winning line in order, each column letter then row from the bottom, from 1: `["d1", "d2", "d3",
    /// "d4"]`. Of several lines all squares once, by column, then row. Empty where there is none.
    fn winning_line(&self) -> Vec<String>;

    /// Appends all that the play to come depends on to `out`, in one form only: for a snapshot of what is being played. Whoever
    /// changes it raises [`SNAPSHOT_LAYOUT`](crate::SNAPSHOT_LAYOUT).
    fn encode(&self, out: &mut Vec<u8>);

    /// The position that [`encode`](Game::encode) wrote; none where these bytes are of no position that play can come to, as far
    /// as that is quickly seen.
    fn decode(bytes: &[u8]) -> Option<Self>;
}

/// From one line for each game, code and all: [`GameCode`], [`Position`], [`GAMES`] and the dispatch between them.
macro_rules! games {
    ($($(#[$doc:meta])* $module:ident :: $game:ident = $code:literal;)+) => {
        /// A game's number in records. Never reused, never changed.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        pub enum GameCode {
            $($(#[$doc])* $game = $code,)+
        }

        /// Every game: its code and its name.
        pub const GAMES: &[(GameCode, &str)] = &[$((GameCode::$game, <$module::$game as Game>::NAME)),+];

        impl GameCode {
            /// The game of this number, if there is one.
            pub const fn from_u16(code: u16) -> Option<Self> {
                match code {
                    $($code => Some(Self::$game),)+
                    _ => None,
                }
            }

            /// The game's name in every protocol.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$game => <$module::$game as Game>::NAME,)+
                }
            }

            /// See [`Game::parse_move`].
            pub fn parse_move(self, text: &str) -> Option<Move> {
                match self {
                    $(Self::$game => <$module::$game as Game>::parse_move(text),)+
                }
            }

            /// See [`Game::move_text`].
            pub fn move_text(self, mv: &Move) -> String {
                match self {
                    $(Self::$game => <$module::$game as Game>::move_text(mv),)+
                }
            }
        }

        /// A position of any of the games.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum Position {
            $($(#[$doc])* $game($module::$game),)+
        }

        impl Position {
            /// The position before the first move; none if no game has this code.
            pub fn start(code: u16, seed: &[u8; 32]) -> Option<Self> {
                GameCode::from_u16(code).map(|game| Self::of(game, seed))
            }

            /// The position of this game before the first move.
            pub fn of(game: GameCode, seed: &[u8; 32]) -> Self {
                match game {
                    $(GameCode::$game => Self::$game(<$module::$game as Game>::start(seed)),)+
                }
            }

            /// Which game it is a position of.
            pub const fn game(&self) -> GameCode {
                match self {
                    $(Self::$game(_) => GameCode::$game,)+
                }
            }

            /// See [`Game::to_act`].
            pub fn to_act(&self) -> Seats {
                match self {
                    $(Self::$game(position) => position.to_act(),)+
                }
            }

            /// See [`Game::legal`].
            pub fn legal(&self, seat: Seat, out: &mut Vec<Move>) {
                match self {
                    $(Self::$game(position) => position.legal(seat, out),)+
                }
            }

            /// See [`Game::play`].
            pub fn play(&mut self, seat: Seat, mv: &Move) -> Result<(), Illegal> {
                match self {
                    $(Self::$game(position) => position.play(seat, mv),)+
                }
            }

            /// See [`Game::outcome`].
            pub fn outcome(&self) -> Option<Outcome> {
                match self {
                    $(Self::$game(position) => position.outcome(),)+
                }
            }

            /// See [`Game::default_action`].
            pub fn default_action(&self, seat: Seat) -> Option<Move> {
                match self {
                    $(Self::$game(position) => position.default_action(seat),)+
                }
            }

            /// See [`Game::winning_line`].
            pub fn winning_line(&self) -> Vec<String> {
                match self {
                    $(Self::$game(position) => position.winning_line(),)+
                }
            }

            /// See [`Game::encode`]; the game's code is beside it.
            pub(crate) fn encode(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$game(position) => Game::encode(position, out),)+
                }
            }

            /// See [`Game::decode`].
            pub(crate) fn decode(code: u16, bytes: &[u8]) -> Option<Self> {
                match GameCode::from_u16(code)? {
                    $(GameCode::$game => <$module::$game as Game>::decode(bytes).map(Self::$game),)+
                }
            }

            $(
                /// The position, if it is one of this game.
                pub const fn $module(&self) -> Option<&$module::$game> {
                    match self {
                        Self::$game(position) => Some(position),
                        #[allow(unreachable_patterns)]
                        _ => None,
                    }
                }
            )+
        }

        $(impl From<$module::$game> for Position {
            fn from(position: $module::$game) -> Self {
                Self::$game(position)
            }
        })+
    };
}

games! {
    /// Four in a row on 7 columns and 6 rows.
    connect4::Connect4 = 1;
}

impl GameCode {
    /// The game's number.
    pub const fn as_u16(self) -> u16 {
        self as u16
    }

    /// The game of this name, to the letter.
    pub fn from_name(name: &str) -> Option<Self> {
        GAMES.iter().find(|(_, known)| *known == name).map(|&(code, _)| code)
    }
}

impl Position {
    /// The seat's legal moves in the game's order, in a list of their own; see [`Game::legal`].
    pub fn legal_moves(&self, seat: Seat) -> Vec<Move> {
        let mut moves = Vec::new();
        self.legal(seat, &mut moves);
        moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_unique_and_lead_back() {
        for (at, &(code, name)) in GAMES.iter().enumerate() {
            assert_eq!(GameCode::from_u16(code.as_u16()), Some(code));
            assert_eq!(GameCode::from_name(name), Some(code));
            assert_eq!(code.name(), name);
            assert_eq!(Position::start(code.as_u16(), &[7; 32]).map(|position| position.game()), Some(code));
            assert!(
                GAMES.iter().skip(at + 1).all(|&(other, other_name)| other != code && other_name != name)
            );
        }
    }

    #[test]
    fn codes_are_frozen() {
        assert_eq!(
            GAMES.iter().map(|(code, name)| (code.as_u16(), *name)).collect::<Vec<_>>(),
            [(1, "connect4")]
        );
        assert!(Position::start(0, &[0; 32]).is_none());
        assert!(Position::start(u16::MAX, &[0; 32]).is_none());
        assert_eq!(GameCode::from_name("Connect4"), None);
    }

    #[test]
    fn seats_are_a_set() {
        assert_eq!(Seats::BOTH.iter().collect::<Vec<_>>(), Seat::ALL);
        assert_eq!(Seats::BOTH.without(Seat::First), Seats::only(Seat::Second));
        assert!(Seats::only(Seat::First).without(Seat::First).is_empty());
        assert!(!Seats::only(Seat::First).contains(Seat::Second));
        assert!(Seats::NONE.iter().next().is_none());
    }
}

//! The house's own agents: pure functions of a position, a seat and a seed. What belongs here: who they are, how each chooses,
//! and the pool that lets them think without holding anyone up. What never does: a clock, the system's randomness, a match.
//!
//! Who calls [`HouseAgent::choose`] gives a seed that comes from the match, and so gets the same game again from the same seed.

mod bits;
mod dice;
mod pool;
mod search;

use arena_engine::games::{
    GameCode, Move, Position, Seat,
    connect4::{Connect4, SQUARES},
};

pub use pool::{HousePool, PoolError, QUEUE_JOBS_MAX};

use bits::{column_squares, completing, playable};
use dice::Dice;
use search::{CENTRE_FIRST, Found, Limits, Verdict};

/// The longest reason, in characters, as in the protocol.
pub const REASON_CHARS_MAX: usize = 280;

/// An agent of the house. Its name and slug are reserved.
#[derive(Debug)]
pub struct HouseAgent {
    /// The name, as matches show it: `PEBBLE-1`.
    pub name: &'static str,
    /// The name in lower case, as addresses have it: `pebble-1`.
    pub slug: &'static str,
    /// How it plays, in a sentence.
    pub about: &'static str,
    mind: Mind,
}

/// How an agent chooses. In a game that its mind does not know, every agent plays at random.
#[derive(Debug)]
enum Mind {
    Random,
    Reflex,
    Search(Limits),
}

/// A move and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// A legal move of the seat.
    pub mv: Move,
    /// A sentence, at most [`REASON_CHARS_MAX`] characters.
    pub reason: String,
}

/// Every agent of the house, from the weakest to the strongest.
pub const AGENTS: &[HouseAgent] = &[
    HouseAgent {
        name: "PEBBLE-1",
        slug: "pebble-1",
        about: "Picks any legal move, and has never regretted one.",
        mind: Mind::Random,
    },
    HouseAgent {
        name: "COPPER-4",
        slug: "copper-4",
        about: "Wins when it can, blocks when it must, and otherwise likes the middle. Looks no further.",
        mind: Mind::Reflex,
    },
    HouseAgent {
        name: "GREMLIN-9",
        slug: "gremlin-9",
        about: "Looks eight plies ahead and counts the squares that would win.",
        mind: Mind::Search(Limits { depth_plies_max: 8, nodes_max: 1_000_000, table_bits: 14 }),
    },
    HouseAgent {
        name: "ORACLE-42",
        slug: "oracle-42",
        about: "Looks as far as a million positions reach: a dozen plies and more, late in a game to its end.",
        mind: Mind::Search(Limits { depth_plies_max: SQUARES, nodes_max: 1_000_000, table_bits: 18 }),
    },
];

/// The agent of this name or slug, whatever the case of its letters.
pub fn by_name(name: &str) -> Option<&'static HouseAgent> {
    AGENTS.iter().find(|agent| agent.name.eq_ignore_ascii_case(name))
}

impl HouseAgent {
    /// The agent's move for this seat: legal, and the same for the same position, seat and seed. None exactly when the seat has
    /// no legal move. May take some hundred milliseconds; on a server it belongs in the [`HousePool`].
    pub fn choose(&self, position: &Position, seat: Seat, seed: &[u8; 32]) -> Option<Choice> {
        let legal = position.legal_moves(seat);
        if legal.is_empty() {
            return None;
        }
        let mut dice = dice(position, seat, &legal, seed);
        let reasoned = match (&self.mind, position.connect4()) {
            (Mind::Random, _) | (_, None) => None,
            (Mind::Reflex, Some(board)) => reflex(board, seat, &mut dice),
            (Mind::Search(limits), Some(board)) => {
                search::best(board.own(seat), board.mask(), limits, &mut dice)
                    .map(|found| (found.column, words(&found)))
            }
        };
        let chosen =
            reasoned.and_then(|(column, reason)| Some(Choice { mv: Connect4::move_into(column)?, reason }));
        chosen.or_else(|| at_random(position.game(), &legal, &mut dice))
    }
}

/// Dice that fall anew at every position.
fn dice(position: &Position, seat: Seat, legal: &[Move], seed: &[u8; 32]) -> Dice {
    let discs = position.connect4().map_or([0; 2], |board| [board.own(Seat::First), board.own(Seat::Second)]);
    let moves = legal.iter().flat_map(Move::as_bytes).map(|&byte| u64::from(byte));
    Dice::new(seed, [seat.index() as u64].into_iter().chain(discs).chain(moves))
}

fn at_random(game: GameCode, legal: &[Move], dice: &mut Dice) -> Option<Choice> {
    let mv = dice.pick(legal)?;
    let named = game.move_text(&mv);
    let reason = match legal.len() {
        1 => format!("{named} is all there is."),
        count => format!("{named}: one of {count}, and as good as any."),
    };
    Some(Choice { mv, reason })
}

/// A win, else a block, else the most central open column; among equals the dice.
fn reflex(board: &Connect4, seat: Seat, dice: &mut Dice) -> Option<(u8, String)> {
    let (own, theirs, mask) = (board.own(seat), board.own(seat.other()), board.mask());
    let open = playable(mask);
    let columns = |squares: u64| -> Vec<u8> {
        CENTRE_FIRST.into_iter().filter(|&column| squares & column_squares(column) != 0).collect()
    };
    if let Some(column) = dice.pick(&columns(completing(own, mask) & open)) {
        return Some((column, format!("{} makes four.", letter(column))));
    }
    if let Some(column) = dice.pick(&columns(completing(theirs, mask) & open)) {
        return Some((column, format!("{} would have made your four.", letter(column))));
    }
    let from_middle = |column: u8| column.abs_diff(3);
    let mut central = columns(open);
    let nearest = central.first().copied().map(from_middle)?;
    central.retain(|&column| from_middle(column) == nearest);
    let column = dice.pick(&central)?;
    Some((column, format!("Nothing to win, nothing to block: {} is nearest the middle.", letter(column))))
}

fn words(found: &Found) -> String {
    let column = letter(found.column);
    let Found { depth_plies, nodes, .. } = found;
    match found.verdict {
        Verdict::Win(1) => format!("{column} makes four."),
        Verdict::Win(plies) => format!("{column} wins within {plies} plies, whatever you answer."),
        Verdict::Loss(plies) => {
            format!("You can win within {plies} plies; {column}, in case you have not seen it.")
        }
        Verdict::Draw => format!("Seen to the end: {column} holds a draw, and nothing does better."),
        Verdict::Estimate(score) => {
            let looks = match score {
                ..-20 => "the least bad",
                -20..=20 => "level",
                _ => "good",
            };
            format!("{depth_plies} plies and {nodes} positions on, {column} looks {looks}.")
        }
    }
}

fn letter(column: u8) -> char {
    char::from(b'a' + column)
}

#[cfg(test)]
mod tests;

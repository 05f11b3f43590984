//! Four in a row, with gravity. What belongs here: the rules, and the bits that a search may read. What never does: how a board
//! is shown, how good a position is.

use super::{Game, Illegal, Move, Outcome, Seat, Seats};

/// Columns, `a` to `g`.
pub const COLUMNS: u8 = 7;
/// Rows, 1 at the bottom.
pub const ROWS: u8 = 6;
/// Squares, and so the plies of the longest game.
pub const SQUARES: u8 = COLUMNS * ROWS;
/// Bits from one column to the next: a row more than there is, always empty, so that no shift carries a line over the edge.
pub const COLUMN_STRIDE: u8 = ROWS + 1;

/// Bits from a square to the next of a line: up, right-down, right, right-up.
const DIRECTIONS: [u32; 4] = [1, COLUMN_STRIDE as u32 - 1, COLUMN_STRIDE as u32, COLUMN_STRIDE as u32 + 1];

/// A position of connect4: the bit of a square is `column * COLUMN_STRIDE + row`, both from 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Connect4 {
    discs: [u64; 2],
    plies: u8,
    won: bool,
}

impl Connect4 {
    /// The empty board.
    pub const EMPTY: Self = Self { discs: [0; 2], plies: 0, won: false };

    /// Discs on the board.
    pub const fn plies(&self) -> u8 {
        self.plies
    }

    /// Whose disc lies on the square, columns from 0 at `a`, rows from 0 at the bottom. None: empty, or off the board.
    pub const fn cell(&self, column: u8, row: u8) -> Option<Seat> {
        if column >= COLUMNS || row >= ROWS {
            return None;
        }
        let bit = 1 << (column * COLUMN_STRIDE + row);
        if self.discs[0] & bit != 0 {
            Some(Seat::First)
        } else if self.discs[1] & bit != 0 {
            Some(Seat::Second)
        } else {
            None
        }
    }

    /// The seat's discs, as bits.
    pub const fn own(&self, seat: Seat) -> u64 {
        self.discs[seat.index()]
    }

    /// All discs, as bits.
    pub const fn mask(&self) -> u64 {
        self.discs[0] | self.discs[1]
    }

    /// The move into this column (from 0 at `a`); none if there is no such column.
    pub fn move_into(column: u8) -> Option<Move> {
        (column < COLUMNS).then(|| Move::from_byte(column))
    }

    /// The column (from 0 at `a`) of a move; none if the bytes encode no move of this game.
    pub fn column_of(mv: &Move) -> Option<u8> {
        match *mv.as_bytes() {
            [column] if column < COLUMNS => Some(column),
            _ => None,
        }
    }

    /// Who played last, or would have: the seat that is not on turn.
    const fn last(&self) -> Seat {
        self.turn().other()
    }

    /// Who is on turn by the number of discs, whether or not the game is over.
    const fn turn(&self) -> Seat {
        if self.plies.is_multiple_of(2) { Seat::First } else { Seat::Second }
    }

    const fn is_open(&self, column: u8) -> bool {
        self.mask() & 1 << (column * COLUMN_STRIDE + ROWS - 1) == 0
    }
}

/// Whether these discs hold four in a row.
const fn has_four(discs: u64) -> bool {
    let mut at = 0;
    while at < DIRECTIONS.len() {
        let pairs = discs & discs >> DIRECTIONS[at];
        if pairs & pairs >> (2 * DIRECTIONS[at]) != 0 {
            return true;
        }
        at += 1;
    }
    false
}

/// The squares of every four in a row among these discs.
fn squares_of_fours(discs: u64) -> u64 {
    DIRECTIONS.into_iter().fold(0, |squares, step| {
        let pairs = discs & discs >> step;
        let starts = pairs & pairs >> (2 * step);
        squares | starts | starts << step | starts << (2 * step) | starts << (3 * step)
    })
}

impl Game for Connect4 {
    const NAME: &'static str = "connect4";

    fn start(_seed: &[u8; 32]) -> Self {
        Self::EMPTY
    }

    fn to_act(&self) -> Seats {
        if self.won || self.plies >= SQUARES { Seats::NONE } else { Seats::only(self.turn()) }
    }

    fn legal(&self, seat: Seat, out: &mut Vec<Move>) {
        out.clear();
        if self.to_act().contains(seat) {
            out.extend((0..COLUMNS).filter(|&column| self.is_open(column)).map(Move::from_byte));
        }
    }

    fn play(&mut self, seat: Seat, mv: &Move) -> Result<(), Illegal> {
        let to_act = self.to_act();
        if to_act.is_empty() {
            return Err(Illegal::Over);
        }
        if !to_act.contains(seat) {
            return Err(Illegal::NotToAct);
        }
        let column = Self::column_of(mv).ok_or(Illegal::NotAMove)?;
        if !self.is_open(column) {
            return Err(Illegal::NotLegal);
        }
        // Adding one at a column's foot carries to its lowest empty square.
        let foot = 1 << (column * COLUMN_STRIDE);
        let mask = self.mask();
        let discs = &mut self.discs[seat.index()];
        *discs |= (mask + foot) & !mask & column_bits(column);
        self.won = has_four(*discs);
        self.plies += 1;
        Ok(())
    }

    fn outcome(&self) -> Option<Outcome> {
        if self.won {
            Some(Outcome::Win(self.last()))
        } else if self.plies >= SQUARES {
            Some(Outcome::Draw)
        } else {
            None
        }
    }

    fn default_action(&self, _seat: Seat) -> Option<Move> {
        None
    }

    fn parse_move(text: &str) -> Option<Move> {
        match *text.as_bytes() {
            [letter @ b'a'..=b'g'] => Self::move_into(letter - b'a'),
            _ => None,
        }
    }

    fn move_text(mv: &Move) -> String {
        Self::column_of(mv).map_or_else(|| "?".to_owned(), |column| char::from(b'a' + column).to_string())
    }

    fn winning_line(&self) -> Vec<String> {
        // The bits stand in the order of the squares' names: by column, then row.
        let squares = if self.won { squares_of_fours(self.own(self.last())) } else { 0 };
        (0..COLUMNS)
            .flat_map(|column| (0..ROWS).map(move |row| (column, row)))
            .filter(|&(column, row)| squares >> (column * COLUMN_STRIDE + row) & 1 == 1)
            .map(|(column, row)| format!("{}{}", char::from(b'a' + column), row + 1))
            .collect()
    }

    /// The seats' discs, each as eight bytes; the rest follows from them.
    fn encode(&self, out: &mut Vec<u8>) {
        let Self { discs, plies: _, won: _ } = self;
        for seat in discs {
            out.extend_from_slice(&seat.to_le_bytes());
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (first, rest) = bytes.split_first_chunk()?;
        let discs = [u64::from_le_bytes(*first), u64::from_le_bytes(rest.try_into().ok()?)];
        let mask = discs[0] | discs[1];
        let board = (0..COLUMNS).fold(0, |board, column| board | column_bits(column));
        // A disc lies on the floor or on another: adding one at a column's foot then carries through all of its discs.
        let stacked = (0..COLUMNS).all(|column| {
            let foot = 1 << (column * COLUMN_STRIDE);
            let own = mask & column_bits(column);
            own & (own + foot) == 0
        });
        let [first, second] = discs.map(u64::count_ones);
        let in_turn = matches!(first.checked_sub(second), Some(0 | 1));
        if discs[0] & discs[1] != 0 || mask & !board != 0 || !stacked || !in_turn {
            return None;
        }
        let mut position = Self { discs, plies: (first + second) as u8, won: false };
        let last = position.last();
        position.won = has_four(position.own(last));
        (!has_four(position.own(last.other()))).then_some(position)
    }
}

/// The playable squares of a column.
const fn column_bits(column: u8) -> u64 {
    ((1 << ROWS) - 1) << (column * COLUMN_STRIDE)
}

#[cfg(test)]
mod tests;

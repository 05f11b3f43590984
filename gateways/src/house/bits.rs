//! Connect4 in bits: which squares can be played and which would win. What belongs here: facts of one position. What never
//! does: judgement, choice.

use arena_engine::games::connect4::{COLUMN_STRIDE, COLUMNS, ROWS};

/// Bits from one column to the next.
pub(super) const STRIDE: u32 = COLUMN_STRIDE as u32;

/// The lowest square of each column.
pub(super) const FEET: u64 = every_column(1);

/// Every square.
pub(super) const BOARD: u64 = FEET * ((1 << ROWS) - 1);

/// Rows 1, 3 and 5, whose last squares fall to the first mover when all else is filled.
pub(super) const ODD_ROWS: u64 = every_column(0b01_0101);

const fn every_column(bits: u64) -> u64 {
    let (mut all, mut column) = (0, 0);
    while column < COLUMNS {
        all |= bits << (column * COLUMN_STRIDE);
        column += 1;
    }
    all
}

/// The squares of a column, from 0 at `a`.
pub(super) const fn column_squares(column: u8) -> u64 {
    ((1 << ROWS) - 1) << (column * COLUMN_STRIDE)
}

/// The column of a single square's bit.
pub(super) const fn column_of(square: u64) -> u8 {
    (square.trailing_zeros() / STRIDE) as u8
}

/// The squares that a disc would fall to now; `mask` is all discs.
pub(super) const fn playable(mask: u64) -> u64 {
    (mask + FEET) & BOARD
}

/// The empty squares that would complete a line of four for `own`, whether or not they can be played now.
pub(super) const fn completing(own: u64, mask: u64) -> u64 {
    let mut squares = own << 1 & own << 2 & own << 3;
    let steps = [STRIDE - 1, STRIDE, STRIDE + 1];
    let mut at = 0;
    while at < steps.len() {
        let step = steps[at];
        let behind = own << step & own << (2 * step);
        let ahead = own >> step & own >> (2 * step);
        squares |= behind & own << (3 * step) | behind & own >> step;
        squares |= ahead & own >> (3 * step) | ahead & own << step;
        at += 1;
    }
    squares & BOARD & !mask
}

//! The position at the end of a replay, folded from its moves by the rules of play.

use crate::error::Fault;
use arena_engine::games::{GameCode, Position};
use arena_schema::{Move, Seat, id::Seed};

/// The squares of the winning line after these moves.
///
/// # Errors
/// [`Fault::Damaged`]: a move that the rules do not allow, which no record can have led to.
pub(super) fn winning_line(
    game: GameCode,
    seed: &Seed,
    moves: impl IntoIterator<Item = (Seat, Move)>,
) -> Result<Vec<String>, Fault> {
    let mut position = Position::of(game, &seed.0);
    for (plies, (seat, mv)) in moves.into_iter().enumerate() {
        position
            .play(seat, &mv)
            .map_err(|why| Fault::Damaged(format!("after {plies} plies no such move can be made: {why}")))?;
    }
    Ok(position.winning_line())
}

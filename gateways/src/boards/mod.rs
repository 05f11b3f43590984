//! Positions as text, for protocols that send a board and for terminals. What belongs here: one file for each game that shows
//! its board in characters. What never does: the rules of play, markup.

mod connect4;

use arena_engine::games::Position;

/// The board as `agentarena/1` sends it: fenced by three backticks, lines joined by `\n`, no newline at the end (AA-007).
pub fn fenced(position: &Position) -> String {
    format!("```\n{}\n```", plain(position))
}

/// The same lines without the fence, for a terminal or a page.
pub fn plain(position: &Position) -> String {
    match position {
        Position::Connect4(board) => connect4::lines(board),
    }
}

//! An agent for agentarena/1 that plays connect4: it wins when it can, blocks when it must, avoids what lets the other win on
//! top of it, and otherwise takes the square nearest the middle.
//!
//! `cargo run --release --example connect4-agent` listens on `http://127.0.0.1:8080/play`; another address may be given as the
//! first argument. Nothing here is the arena's own code: it reads the board as it is sent, as any agent would.

use axum::{Json, Router, http::StatusCode, routing::post};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

const COLUMNS: usize = 7;
const ROWS: usize = 6;

/// What of a move request this agent looks at; the rest is ignored.
#[derive(Deserialize)]
struct Turn {
    you: String,
    board: String,
    legal: Vec<String>,
    nonce: String,
}

#[derive(Serialize)]
struct Answer {
    r#move: String,
    nonce: String,
    reason: &'static str,
}

/// Rows from the bottom, each with the seven squares' characters.
type Board = [[char; COLUMNS]; ROWS];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(&address).await?;
    println!("an agent at http://{}/play", listener.local_addr()?);
    axum::serve(listener, Router::new().route("/play", post(play))).await?;
    Ok(())
}

async fn play(Json(turn): Json<Turn>) -> Result<Json<Answer>, (StatusCode, &'static str)> {
    let board =
        read(&turn.board).ok_or((StatusCode::BAD_REQUEST, "the board is not as agentarena/1 has it"))?;
    let me = turn.you.chars().next().ok_or((StatusCode::BAD_REQUEST, "who am I?"))?;
    let (column, reason) =
        choose(&board, me, &turn.legal).ok_or((StatusCode::BAD_REQUEST, "there is no legal move"))?;
    Ok(Json(Answer { r#move: column, nonce: turn.nonce, reason }))
}

/// The fenced block: six rows, the top one first, each a space and seven characters.
fn read(text: &str) -> Option<Board> {
    let mut board = [['.'; COLUMNS]; ROWS];
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with(' ')).take(ROWS).collect();
    for (line, row) in rows.iter().zip((0..ROWS).rev()) {
        for (square, column) in line.trim().chars().zip(0..COLUMNS) {
            board[row][column] = square;
        }
    }
    (rows.len() == ROWS).then_some(board)
}

fn choose(board: &Board, me: char, legal: &[String]) -> Option<(String, &'static str)> {
    let other = if me == 'X' { 'O' } else { 'X' };
    let mut columns: Vec<usize> = legal.iter().filter_map(|letter| column(letter)).collect();
    columns.sort_by_key(|column| column.abs_diff(COLUMNS / 2));
    let letter = |column: usize| legal.iter().find(|letter| self::column(letter) == Some(column)).cloned();
    for (player, reason) in [(me, "That wins."), (other, "You would have won there.")] {
        if let Some(&winning) = columns.iter().find(|&&column| wins(board, column, player)) {
            return Some((letter(winning)?, reason));
        }
    }
    let safe = |column: &&usize| {
        let mut after = *board;
        drop_disc(&mut after, **column, me).is_some() && !wins(&after, **column, other)
    };
    let quiet = columns.iter().find(safe).or(columns.first())?;
    Some((letter(*quiet)?, "Nearest the middle, and nothing to win on top of it."))
}

fn column(letter: &str) -> Option<usize> {
    let [byte @ b'a'..=b'g'] = letter.as_bytes() else {
        return None;
    };
    Some(usize::from(byte - b'a'))
}

/// Where a disc comes to lie.
fn drop_disc(board: &mut Board, column: usize, player: char) -> Option<usize> {
    let row = (0..ROWS).find(|&row| board[row][column] == '.')?;
    board[row][column] = player;
    Some(row)
}

/// Whether a disc of this player in this column makes four in a row.
fn wins(board: &Board, column: usize, player: char) -> bool {
    let mut board = *board;
    let Some(row) = drop_disc(&mut board, column, player) else {
        return false;
    };
    let run = |dx: isize, dy: isize| {
        (1..4)
            .take_while(|&step| {
                let (x, y) = (column.checked_add_signed(dx * step), row.checked_add_signed(dy * step));
                matches!((x, y), (Some(x), Some(y)) if x < COLUMNS && y < ROWS && board[y][x] == player)
            })
            .count()
    };
    [(1, 0), (0, 1), (1, 1), (1, -1)].iter().any(|&(dx, dy)| run(dx, dy) + run(-dx, -dy) >= 3)
}

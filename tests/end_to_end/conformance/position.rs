//! What the position says, asked of a board that is kept here and shares nothing with the arena's.

use crate::look::clean;
use arena_tests::{Agent, Reply, Served};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const LETTERS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

/// The discs of each column, from the bottom.
type Columns = [Vec<char>; 7];

/// The block of the text, with these discs in it.
fn block(columns: &Columns) -> String {
    let row = |row: usize| -> String {
        columns.iter().map(|column| column.get(row).copied().unwrap_or('.')).collect()
    };
    let rows: Vec<String> = (0..6).rev().map(|n| format!(" {}", row(n))).collect();
    format!("```\n{}\n abcdefg\n```", rows.join("\n"))
}

fn open_columns(columns: &Columns) -> Vec<&'static str> {
    LETTERS.iter().zip(columns).filter(|(_, column)| column.len() < 6).map(|(letter, _)| *letter).collect()
}

/// Two agents that play a script by turns and hold every request against the board that the script makes.
async fn play(arena: &Served, names: [&str; 2], script: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let wrong: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&wrong);
    let check = move |_: usize, request: &Value| {
        let ply = usize::try_from(request["move_number"].as_u64().unwrap()).unwrap() - 1;
        let mut columns = Columns::default();
        for (n, letter) in script[..ply].bytes().enumerate() {
            columns[usize::from(letter - b'a')].push(if n % 2 == 0 { 'X' } else { 'O' });
        }
        let expected = json!({
            "you": if ply.is_multiple_of(2) { "X" } else { "O" }, "board": block(&columns), "legal": open_columns(&columns),
        });
        for (field, expected) in expected.as_object().unwrap() {
            if &request[field] != expected {
                noted
                    .lock()
                    .unwrap()
                    .push(format!("{field} at ply {ply}: {} for {expected}", request[field]));
            }
        }
        Reply::mv(request, &script[ply..=ply])
    };
    let agents = [Agent::start(check.clone()).await, Agent::start(check).await];
    let me = arena.register(names[0], &agents[0].url).await;
    arena.register(names[1], &agents[1].url).await;
    let first = json!({"rated": false, "first": names[0]});
    let id = arena.challenge(&me, names[1], first).await;
    arena.finished(&id).await;
    (id, wrong)
}

/// A whole board without four in a row.
const DRAW: &str = "fefagceffaebbaefgfdbbccgcggdgcadaddedbecba";

#[tokio::test]
async fn board_side_and_legal_moves_follow_the_discs_to_a_win_in_every_direction() {
    let arena = Served::start();
    for (n, (script, line)) in [
        ("aabbccd", ["a1", "b1", "c1", "d1"]),
        ("gfgfgfg", ["g1", "g2", "g3", "g4"]),
        ("abbccdcddgd", ["a1", "b2", "c3", "d4"]),
        ("gffeededdad", ["d4", "e3", "f2", "g1"]),
    ]
    .into_iter()
    .enumerate()
    {
        let names = [format!("left-{n}"), format!("right-{n}")];
        let (id, wrong) = play(&arena, [&names[0], &names[1]], script).await;
        assert!(wrong.lock().unwrap().is_empty(), "{script}: {wrong:?}");
        let replay = arena.replay(&id, None).await;
        clean(&replay);
        assert_eq!(crate::look::columns(&replay), script, "nothing is asked after the end");
        assert_eq!(replay["result"], json!({"winner": "X", "reason": "win", "line": line}), "{script}");
    }
}

#[tokio::test]
async fn a_full_column_leaves_legal_and_a_full_board_without_a_line_is_a_draw() {
    let arena = Served::start();
    let (id, wrong) = play(&arena, ["left-1", "right-1"], DRAW).await;
    assert!(wrong.lock().unwrap().is_empty(), "{wrong:?}");
    let replay = arena.replay(&id, None).await;
    clean(&replay);
    assert_eq!(crate::look::columns(&replay).len(), 42);
    assert_eq!(replay["result"], json!({"winner": null, "reason": "draw", "line": []}));
}

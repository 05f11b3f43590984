//! Connect4's board in characters.

use arena_engine::games::{
    Seat,
    connect4::{COLUMNS, Connect4, ROWS},
};

/// Six rows, the bottom one last, each a space and seven of `.`, `X`, `O`; then a space and the columns' letters.
pub(super) fn lines(board: &Connect4) -> String {
    let mut text = String::with_capacity(usize::from((ROWS + 1) * (COLUMNS + 2)));
    for row in (0..ROWS).rev() {
        text.push(' ');
        for column in 0..COLUMNS {
            text.push_str(board.cell(column, row).map_or(".", Seat::as_str));
        }
        text.push('\n');
    }
    text.push(' ');
    text.extend((b'a'..).take(usize::from(COLUMNS)).map(char::from));
    text
}

#[cfg(test)]
mod tests {
    use arena_engine::games::{GameCode, Position, Seat};

    use crate::boards::{fenced, plain};

    fn played(columns: &str) -> Position {
        let mut position = Position::of(GameCode::Connect4, &[0; 32]);
        for (ply, letter) in columns.chars().enumerate() {
            let mv = GameCode::Connect4.parse_move(&letter.to_string()).expect("a column");
            position.play(Seat::ALL[ply % 2], &mv).expect("a legal move");
        }
        position
    }

    #[test]
    fn is_the_protocols_sample_to_the_letter() {
        let sample = "```\n .......\n .......\n .......\n ...O...\n ...X...\n ..XOX..\n abcdefg\n```";
        // X c1, O d1, X d2, O d3, X e1.
        assert_eq!(fenced(&played("cddde")), sample);
    }

    #[test]
    fn an_empty_and_a_filled_board_have_one_shape() {
        assert_eq!(plain(&played("")), format!("{} abcdefg", " .......\n".repeat(6)));
        for columns in ["", "d", "aaaaaabbbbbbcccccc", "dcdcdcd"] {
            let fenced = fenced(&played(columns));
            let lines: Vec<&str> = fenced.split('\n').collect();
            assert_eq!(lines.len(), 9);
            assert_eq!((lines[0], lines[7], lines[8]), ("```", " abcdefg", "```"));
            for row in &lines[1..7] {
                assert_eq!((row.len(), row.starts_with(' ')), (8, true));
                assert!(row[1..].chars().all(|square| ".XO".contains(square)));
            }
        }
        assert_eq!(
            plain(&played("dcdcdcd")),
            " .......\n .......\n ...X...\n ..OX...\n ..OX...\n ..OX...\n abcdefg"
        );
    }
}

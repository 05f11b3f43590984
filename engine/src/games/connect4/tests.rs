//! The bitboards against a dumb oracle written from the rules, against known counts, and against games played by hand.

use super::*;

/// Four in a row as a person would check it: an array of squares, every line looked at. Shares nothing with the bitboards.
struct Oracle {
    squares: [[char; 6]; 7],
    discs: usize,
}

impl Oracle {
    fn new() -> Self {
        Self { squares: [['.'; 6]; 7], discs: 0 }
    }

    fn drop_disc(&mut self, column: usize) {
        let row = self.squares[column].iter().position(|&square| square == '.').expect("the column has room");
        self.squares[column][row] = if self.discs.is_multiple_of(2) { 'X' } else { 'O' };
        self.discs += 1;
    }

    fn open_columns(&self) -> Vec<u8> {
        (0..7u8).filter(|&column| self.squares[usize::from(column)][5] == '.').collect()
    }

    /// The side with four in a row and all squares of its lines, by column, then row.
    fn lines(&self, board_lines: &[[(usize, usize); 4]]) -> Option<(char, Vec<String>)> {
        let mut found = Vec::new();
        let mut winner = None;
        for line in board_lines {
            let side = self.squares[line[0].0][line[0].1];
            if side != '.'
                && self.squares[line[1].0][line[1].1] == side
                && self.squares[line[2].0][line[2].1] == side
                && self.squares[line[3].0][line[3].1] == side
            {
                assert_eq!(*winner.get_or_insert(side), side, "both sides have a line");
                found.extend(line);
            }
        }
        found.sort_unstable();
        found.dedup();
        let names = found.iter().map(|&(column, row)| format!("{}{}", &"abcdefg"[column..=column], row + 1));
        winner.map(|side| (side, names.collect()))
    }
}

/// Every four squares in a row that the board has.
fn board_lines() -> Vec<[(usize, usize); 4]> {
    let mut lines = Vec::new();
    for column in 0..7 {
        for row in 0..6 {
            if column + 3 < 7 {
                lines.push([0, 1, 2, 3].map(|step| (column + step, row)));
            }
            if row + 3 < 6 {
                lines.push([0, 1, 2, 3].map(|step| (column, row + step)));
            }
            if column + 3 < 7 && row + 3 < 6 {
                lines.push([0, 1, 2, 3].map(|step| (column + step, row + step)));
                lines.push([0, 1, 2, 3].map(|step| (column + step, row + 3 - step)));
            }
        }
    }
    assert_eq!(lines.len(), 69);
    lines
}

/// A small generator of its own (xorshift), so that a failure can be run again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % count
    }
}

fn agree(
    board: &Connect4,
    oracle: &Oracle,
    lines: &[[(usize, usize); 4]],
    legal: &mut Vec<Move>,
    path: &[u8],
) {
    let on_turn = Seat::ALL[oracle.discs % 2];
    let line = oracle.lines(lines);
    let expected = match &line {
        Some((side, _)) => Some(Outcome::Win(if *side == 'X' { Seat::First } else { Seat::Second })),
        None if oracle.discs == 42 => Some(Outcome::Draw),
        None => None,
    };
    assert_eq!(board.outcome(), expected, "outcome after {path:?}");
    assert_eq!(
        board.to_act(),
        expected.map_or(Seats::only(on_turn), |_| Seats::NONE),
        "to act after {path:?}"
    );
    board.legal(on_turn, legal);
    let columns: Vec<u8> = legal.iter().filter_map(Connect4::column_of).collect();
    let open = if expected.is_some() { Vec::new() } else { oracle.open_columns() };
    assert_eq!(columns, open, "legal moves after {path:?}");
    board.legal(on_turn.other(), legal);
    assert!(legal.is_empty(), "the other seat has moves after {path:?}");
    assert_eq!(usize::from(board.plies()), oracle.discs);
    if expected.is_some() {
        let squares = line.map(|(_, squares)| squares).unwrap_or_default();
        assert_eq!(board.winning_line(), squares, "winning line after {path:?}");
        for column in 0..7u8 {
            for row in 0..6u8 {
                let side = match board.cell(column, row) {
                    Some(Seat::First) => 'X',
                    Some(_) => 'O',
                    None => '.',
                };
                assert_eq!(
                    side,
                    oracle.squares[usize::from(column)][usize::from(row)],
                    "square after {path:?}"
                );
            }
        }
    }
}

#[test]
fn agrees_with_the_oracle_on_100_000_random_games() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (lines, mut legal) = (board_lines(), Vec::new());
    let (mut wins, mut draws, mut several_lines) = (0, 0, 0);
    for _ in 0..100_000 {
        let (mut board, mut oracle, mut path) = (Connect4::start(&[0; 32]), Oracle::new(), Vec::new());
        agree(&board, &oracle, &lines, &mut legal, &path);
        while board.outcome().is_none() {
            let open = oracle.open_columns();
            let column = open[dice.below(open.len())];
            path.push(column);
            let seat = Seat::ALL[oracle.discs % 2];
            board.play(seat, &Move::from_byte(column)).expect("the oracle says that it is legal");
            oracle.drop_disc(usize::from(column));
            agree(&board, &oracle, &lines, &mut legal, &path);
        }
        match board.outcome() {
            Some(Outcome::Draw) => draws += 1,
            _ => wins += 1,
        }
        several_lines += u32::from(board.winning_line().len() > 4);
    }
    assert!(wins > 0 && draws > 0 && several_lines > 0, "the games reach every ending");
}

fn perft(board: &Connect4, depth: u32) -> u64 {
    let Some(seat) = board.to_act().iter().next() else { return 0 };
    let children = (0..COLUMNS).filter_map(|column| {
        let mut child = *board;
        child.play(seat, &Move::from_byte(column)).ok().map(|()| child)
    });
    if depth == 1 { children.count() as u64 } else { children.map(|child| perft(&child, depth - 1)).sum() }
}

#[test]
fn counts_as_many_lines_of_play_as_are_known() {
    for (depth, known) in (1..).zip([7, 49, 343, 2401, 16_807, 117_649, 823_536, 5_673_234]) {
        assert_eq!(perft(&Connect4::EMPTY, depth), known, "depth {depth}");
    }
}

fn played(columns: &str) -> Connect4 {
    let mut board = Connect4::start(&[0; 32]);
    for (ply, letter) in columns.chars().enumerate() {
        let mv = Connect4::parse_move(&letter.to_string()).expect("a column");
        board.play(Seat::ALL[ply % 2], &mv).expect("a legal move");
    }
    board
}

#[track_caller]
fn check(columns: &str, expect: &str) {
    let board = played(columns);
    let result = match board.outcome() {
        Some(Outcome::Win(seat)) => format!("{seat} wins"),
        Some(Outcome::Draw) => "draw".to_owned(),
        None => {
            let mut legal = Vec::new();
            board.legal(board.turn(), &mut legal);
            let legal: String = legal.iter().map(Connect4::move_text).collect();
            format!("{} of {legal}", board.turn())
        }
    };
    let line = board.winning_line();
    let shown = if line.is_empty() { result } else { format!("{result} {}", line.join(" ")) };
    assert_eq!(shown, expect, "after {columns}");
}

#[test]
fn every_direction_wins_and_a_full_column_closes() {
    check("", "X of abcdefg");
    check("d", "O of abcdefg");
    check("dddddd", "X of abcefg");
    check("dcdcdcd", "X wins d1 d2 d3 d4");
    check("aabbccd", "X wins a1 b1 c1 d1");
    check("abbccdcdgdd", "X wins a1 b2 c3 d4");
    check("gffeededadd", "X wins d4 e3 f2 g1");
    check("adadadgd", "O wins d1 d2 d3 d4");
    // a5 a6 b1 b2 are no line: none goes on from the top of a column at the foot of the next.
    check("aaaaagagbgb", "O of bcdefg");
}

#[test]
fn several_lines_give_their_squares_once_by_column_then_row() {
    check("aabbcceeffggd", "X wins a1 b1 c1 d1 e1 f1 g1");
}

#[test]
fn a_full_board_without_a_line_is_a_draw() {
    check("aaaaaabbbbbbcccccc", "X of defg");
    check(&full_board(), "draw");
}

/// A game that fills the board without a line: tried until one does, by the oracle's rules.
fn full_board() -> String {
    let (mut dice, lines) = (Dice(1), board_lines());
    loop {
        let (mut oracle, mut path) = (Oracle::new(), String::new());
        while oracle.discs < 42 && oracle.lines(&lines).is_none() {
            let open = oracle.open_columns();
            let column = open[dice.below(open.len())];
            oracle.drop_disc(usize::from(column));
            path.push(char::from(b'a' + column));
        }
        if oracle.lines(&lines).is_none() {
            return path;
        }
    }
}

#[test]
fn a_refused_move_leaves_the_position_as_it_was() {
    let cases: [(&str, Seat, &[u8], Illegal); 8] = [
        ("", Seat::Second, &[3], Illegal::NotToAct),
        ("d", Seat::First, &[3], Illegal::NotToAct),
        ("", Seat::First, &[7], Illegal::NotAMove),
        ("", Seat::First, b"d", Illegal::NotAMove),
        ("", Seat::First, &[], Illegal::NotAMove),
        ("", Seat::First, &[3, 0], Illegal::NotAMove),
        ("dddddd", Seat::First, &[3], Illegal::NotLegal),
        ("dcdcdcd", Seat::Second, &[0], Illegal::Over),
    ];
    for (columns, seat, bytes, expected) in cases {
        let mut board = played(columns);
        let before = board;
        assert_eq!(
            board.play(seat, &Move::new(bytes).expect("short")),
            Err(expected),
            "{columns} then {bytes:?}"
        );
        assert_eq!(board, before);
    }
}

#[test]
fn no_bytes_make_it_panic() {
    let mut dice = Dice(42);
    for _ in 0..10_000 {
        let bytes: Vec<u8> =
            (0..dice.below(33)).map(|_| u8::try_from(dice.below(256)).expect("a byte")).collect();
        let mv = Move::new(&bytes).expect("at most 32");
        for &seat in Seat::ALL {
            let mut board = played("dd");
            let named = Connect4::move_text(&mv) != "?";
            assert_eq!(board.play(seat, &mv).is_ok(), named && seat == Seat::First, "{mv:?}");
        }
    }
}

#[test]
fn texts_name_moves_to_the_letter() {
    for letter in ["a", "b", "c", "d", "e", "f", "g"] {
        let mv = Connect4::parse_move(letter).expect("a column");
        assert_eq!(Connect4::move_text(&mv), letter);
    }
    for text in ["", "h", "D", " d", "d ", "dd", "d1", "`", "ä", "\u{0}", "0"] {
        assert_eq!(Connect4::parse_move(text), None, "{text:?}");
    }
    assert_eq!(Connect4::move_into(7), None);
    assert_eq!(Connect4::EMPTY.default_action(Seat::First), None);
}

#[test]
fn squares_off_the_board_are_empty() {
    let board = played("ag");
    assert_eq!(board.cell(0, 0), Some(Seat::First));
    assert_eq!(board.cell(6, 0), Some(Seat::Second));
    for (column, row) in [(7, 0), (0, 6), (255, 255), (6, 1)] {
        assert_eq!(board.cell(column, row), None);
    }
    assert_eq!(board.mask(), board.own(Seat::First) | board.own(Seat::Second));
}

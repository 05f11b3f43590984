//! Looking ahead at connect4: negamax with alpha-beta, a table of seen positions and deepening, within fixed limits. What
//! belongs here: finding the best column. What never does: a clock (two runs with the same limits find the same), talk.

use arena_engine::games::connect4::{COLUMNS, SQUARES};

use super::{
    bits::{BOARD, FEET, ODD_ROWS, column_of, column_squares, completing, playable},
    dice::Dice,
};

/// The score of a line completed at ply 0; one at ply `n` is worth `WIN - n`, so that the sooner win is the better.
const WIN: i16 = 10_000;
/// Above this a score is a win that nothing can prevent, below its negative a loss.
const DECIDED: i16 = WIN - SQUARES as i16 - 1;
/// More than any score.
const INFINITE: i16 = WIN + 1;

/// The columns from the middle outwards.
pub(super) const CENTRE_FIRST: [u8; COLUMNS as usize] = [3, 2, 4, 1, 5, 0, 6];

/// How far a search may go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Plies looked ahead at most.
    pub(super) depth_plies_max: u8,
    /// Positions visited at most; the last deepening that was finished within them counts.
    pub(super) nodes_max: u32,
    /// The table of seen positions has two to this power of places, of 16 bytes each.
    pub(super) table_bits: u32,
}

/// What a search found for the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Found {
    /// The best column, from 0 at `a`.
    pub(super) column: u8,
    /// What it is worth.
    pub(super) verdict: Verdict,
    /// Plies looked ahead.
    pub(super) depth_plies: u8,
    /// Positions visited.
    pub(super) nodes: u32,
}

/// What a position is worth to the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// A win within so many plies, this one counted.
    Win(u8),
    /// A loss within so many plies, this one counted.
    Loss(u8),
    /// A draw, seen to the end.
    Draw,
    /// Not seen to the end; above zero is good.
    Estimate(i16),
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Bound {
    #[default]
    Exact,
    AtLeast,
    AtMost,
}

/// A seen position; key 0 is an empty place.
#[derive(Clone, Copy, Default)]
struct Seen {
    key: u64,
    score: i16,
    depth: u8,
    bound: Bound,
    column: u8,
}

struct Search {
    seen: Vec<Seen>,
    nodes: u32,
    nodes_max: u32,
}

/// The best column for the side that owns `own` and is to move; of equal ones the dice choose. None where no column is open.
/// The game must not be over.
pub(super) fn best(own: u64, mask: u64, limits: &Limits, dice: &mut Dice) -> Option<Found> {
    let open = playable(mask);
    let mut columns: Vec<u8> =
        CENTRE_FIRST.into_iter().filter(|&column| open & column_squares(column) != 0).collect();
    let left = SQUARES - mask.count_ones() as u8;
    let wins = completing(own, mask) & open;
    if wins != 0 {
        let column = column_of(wins);
        return Some(Found { column, verdict: Verdict::Win(1), depth_plies: 1, nodes: 1 });
    }
    let mut search =
        Search { seen: vec![Seen::default(); 1 << limits.table_bits], nodes: 0, nodes_max: limits.nodes_max };
    let mut found = None;
    for depth in 1..=limits.depth_plies_max.min(left) {
        let Some((score, equals)) = search.root(own, mask, &columns, depth) else { break };
        let Some(column) = dice.pick(&equals) else { break };
        let verdict = verdict(score, mask.count_ones() as u8, depth == left);
        found = Some(Found { column, verdict, depth_plies: depth, nodes: search.nodes });
        if score.abs() > DECIDED {
            break;
        }
        // The best so far is looked at first: the bound that it gives cuts the rest short.
        columns.sort_by_key(|&other| other != column);
    }
    // With limits too small for one ply: the most central column.
    found.or_else(|| {
        let column = *columns.first()?;
        Some(Found { column, verdict: Verdict::Estimate(0), depth_plies: 0, nodes: search.nodes })
    })
}

fn verdict(score: i16, plies: u8, to_the_end: bool) -> Verdict {
    let away = |ply: i16| u8::try_from(ply - i16::from(plies)).unwrap_or(0);
    if score > DECIDED {
        Verdict::Win(away(WIN - score))
    } else if score < -DECIDED {
        Verdict::Loss(away(WIN + score))
    } else if to_the_end {
        Verdict::Draw
    } else {
        Verdict::Estimate(score)
    }
}

impl Search {
    /// The best score and the columns that reach it; none when the nodes ran out.
    fn root(&mut self, own: u64, mask: u64, columns: &[u8], depth: u8) -> Option<(i16, Vec<u8>)> {
        let open = playable(mask);
        let (mut best, mut equals) = (-INFINITE, Vec::new());
        for &column in columns {
            let square = open & column_squares(column);
            // One below the best so far, so that an equal score is seen as equal and not cut off.
            let floor = (best - 1).max(-INFINITE);
            let score = -self.negamax(own ^ mask, mask | square, depth - 1, -INFINITE, -floor)?;
            if score > best {
                best = score;
                equals.clear();
            }
            if score == best {
                equals.push(column);
            }
        }
        Some((best, equals))
    }

    /// The score for the side that owns `own`, exact between `alpha` and `beta`; none when the nodes ran out.
    fn negamax(&mut self, own: u64, mask: u64, depth: u8, mut alpha: i16, beta: i16) -> Option<i16> {
        if self.nodes >= self.nodes_max {
            return None;
        }
        self.nodes += 1;
        let open = playable(mask);
        if open == 0 {
            return Some(0);
        }
        let ply = mask.count_ones() as i16;
        if completing(own, mask) & open != 0 {
            return Some(WIN - (ply + 1));
        }
        let theirs = completing(own ^ mask, mask);
        let forced = theirs & open;
        let candidates = if forced == 0 { open } else { forced };
        // A disc under a square that wins for them is a gift, and of two such squares only one can be filled.
        let moves = candidates & !(theirs >> 1);
        if moves == 0 || forced & forced.wrapping_sub(1) != 0 {
            return Some(-(WIN - (ply + 2)));
        }
        if depth == 0 {
            return Some(estimate(own, mask));
        }

        // Unique: the bits of `mask` with the feet added mark each column's height, those of `own` below it whose they are.
        let key = own + mask + FEET;
        let place = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.seen.len() - 1);
        let seen = self.seen[place];
        let mut first = None;
        if seen.key == key {
            let usable = match seen.bound {
                Bound::Exact => true,
                Bound::AtLeast => seen.score >= beta,
                Bound::AtMost => seen.score <= alpha,
            };
            if usable && (seen.depth >= depth || seen.score.abs() > DECIDED) {
                return Some(seen.score);
            }
            first = Some(seen.column);
        }

        let (ordered, count) = in_order(own, mask, moves, first);
        let floor = alpha;
        let (mut best, mut best_column) = (-INFINITE, 0);
        for &square in &ordered[..count] {
            let score = -self.negamax(own ^ mask, mask | square, depth - 1, -beta, -alpha)?;
            if score > best {
                (best, best_column) = (score, column_of(square));
            }
            alpha = alpha.max(best);
            if alpha >= beta {
                break;
            }
        }
        let bound = if best >= beta {
            Bound::AtLeast
        } else if best <= floor {
            Bound::AtMost
        } else {
            Bound::Exact
        };
        self.seen[place] = Seen { key, score: best, depth, bound, column: best_column };
        Some(best)
    }
}

/// The moves' squares, the most promising first: the table's, then by squares that would win next, then from the middle.
fn in_order(own: u64, mask: u64, moves: u64, first: Option<u8>) -> ([u64; COLUMNS as usize], usize) {
    let (mut ordered, mut worths, mut count) = ([0; COLUMNS as usize], [0; COLUMNS as usize], 0);
    for column in CENTRE_FIRST {
        let square = moves & column_squares(column);
        if square == 0 {
            continue;
        }
        let worth = if first == Some(column) {
            u32::MAX
        } else {
            completing(own | square, mask | square).count_ones()
        };
        let mut at = count;
        while at > 0 && worths[at - 1] < worth {
            (ordered[at], worths[at]) = (ordered[at - 1], worths[at - 1]);
            at -= 1;
        }
        (ordered[at], worths[at]) = (square, worth);
        count += 1;
    }
    (ordered, count)
}

/// What a position looks worth to the side to move, without looking ahead: squares that would win (more in the rows that fall
/// to that side at the end), and discs near the middle.
fn estimate(own: u64, mask: u64) -> i16 {
    let odd_is_own = mask.count_ones().is_multiple_of(2);
    let side = |discs: u64, odd: bool| {
        let squares = completing(discs, mask);
        let lasting = squares & if odd { ODD_ROWS } else { BOARD & !ODD_ROWS };
        let middle = discs & column_squares(3);
        let beside = discs & (column_squares(2) | column_squares(4));
        (16 * squares.count_ones()
            + 24 * lasting.count_ones()
            + 4 * middle.count_ones()
            + 2 * beside.count_ones()) as i16
    };
    side(own, odd_is_own) - side(own ^ mask, !odd_is_own)
}

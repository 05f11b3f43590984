//! What the law costs: deciding and evolving a move among many matches, and a whole record with its bytes and hashes.

use super::{BenchError, Figure, Report, Target, nanos_each, workload::Workload};
use arena_engine::{Context, Reduction, State, decide, evolve, reduce};
use arena_schema::record::{CommandView, EncodedRecord, RecordView};
use std::time::{Duration, Instant};

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct EngineOptions {
    /// Matches in flight.
    pub matches: usize,
    /// Moves in one record.
    pub moves_per_record: usize,
    /// Records of moves in one run.
    pub records: usize,
    /// Runs.
    pub runs: usize,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self { matches: 2_000, moves_per_record: 500, records: 400, runs: 9 }
    }
}

/// Decides and evolves connect4 moves.
///
/// # Errors
/// [`BenchError::Void`].
pub fn engine(options: &EngineOptions) -> Result<Report, BenchError> {
    let (mut load, _) = Workload::begin(options.matches, 1);
    let start = load.state.clone();
    let mut records = Vec::new();
    for _ in 0..options.records {
        records.push((true, load.moves(options.moves_per_record)));
        while let Some(opening) = load.open(options.moves_per_record) {
            records.push((false, opening));
        }
    }
    let (mut alone, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..options.runs {
        let (moves, took) = decide_and_evolve(&start, &records)?;
        alone.push(nanos_each(moves, took));
        let (moves, took) = reduce_all(&start, &records)?;
        whole.push(nanos_each(moves, took));
    }
    Ok(Report {
        title: "engine: one connect4 move among many matches in flight",
        figures: vec![
            Figure::least("decide and evolve", "ns", &alone).should(Target::AtMost(200.0)),
            Figure::least("with record, digest and chain", "ns", &whole),
        ],
    })
}

fn view(record: &EncodedRecord) -> Result<RecordView<'_>, BenchError> {
    RecordView::parse(record.as_bytes()).map_err(|why| BenchError::Void(why.to_string()))
}

/// The time of the moves alone; the openings between them go by untimed.
fn decide_and_evolve(
    start: &State,
    records: &[(bool, EncodedRecord)],
) -> Result<(u64, Duration), BenchError> {
    let mut state = start.clone();
    let mut events = Vec::new();
    let mut total = Duration::ZERO;
    let mut moves = 0;
    for (timed, record) in records {
        let view = view(record)?;
        let header = &view.header;
        let commands: Vec<CommandView<'_>> = view.commands().flatten().collect();
        let begin = Instant::now();
        for view in &commands {
            let context =
                Context { record: header.number, time: header.time, epoch: header.epoch, alone: false, view };
            decide(&state, &context, &mut events);
            for event in &events {
                evolve(&mut state, header.time, event);
            }
            events.clear();
        }
        if *timed {
            total += begin.elapsed();
            moves += commands.len() as u64;
        }
    }
    Ok((moves, total))
}

/// The same with all that a replay does with a record in memory.
fn reduce_all(start: &State, records: &[(bool, EncodedRecord)]) -> Result<(u64, Duration), BenchError> {
    let mut state = start.clone();
    let mut reduction = Reduction::default();
    let mut total = Duration::ZERO;
    let mut moves = 0;
    for (timed, record) in records {
        let begin = Instant::now();
        let view = view(record)?;
        reduce(&mut state, &view, &mut reduction).map_err(|halt| BenchError::Void(halt.to_string()))?;
        if *timed {
            total += begin.elapsed();
            moves += view.commands().count() as u64;
        }
    }
    Ok((moves, total))
}

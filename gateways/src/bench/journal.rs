//! What the journal can do: replaying a file, and making commands of many submitters durable, beside a bare loop of inserts.

use super::{
    BenchError, Figure, Report, Target, per_second,
    workload::{AGENTS, Board, Dice, Workload, pair, register_agent},
};
use arena_engine::{Reduction, State, reduce};
use arena_journal::{
    Clock, Followed, Follower, Journal, Producer, Sequencer, SqliteJournal, StartOptions, Submission,
    bare_inserts,
};
use arena_schema::{
    id::{Incarnation, Partition, RecordNumber},
    record::RecordView,
};
use std::{
    fs::File,
    io::{Seek, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

/// How much is measured, and where.
#[derive(Debug, Clone)]
pub struct JournalOptions {
    /// In which folder the files are made; they are removed at the end.
    pub folder: PathBuf,
    /// Commands in one record of the replay.
    pub commands_per_record: usize,
    /// Records of the replay.
    pub records: usize,
    /// Submitters at once.
    pub submitters: usize,
    /// Commands that each of them submits in one run.
    pub commands_each: usize,
    /// Runs of each kind.
    pub runs: usize,
    /// Syncs of 4 KiB whose median is printed.
    pub syncs: usize,
}

impl JournalOptions {
    /// In this folder.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            commands_per_record: 500,
            records: 800,
            submitters: 1_000,
            commands_each: 200,
            runs: 9,
            syncs: 200,
        }
    }
}

/// Replays a journal and appends to one.
///
/// # Errors
/// [`BenchError`].
pub fn journal(options: &JournalOptions) -> Result<Report, BenchError> {
    let folder = tempfile::tempdir_in(&options.folder)?;
    let mut figures = vec![replay(folder.path(), options)?];
    figures.extend(append(folder.path(), options)?);
    figures.push(Figure::least("fdatasync of 4 KiB", "µs", &syncs(folder.path(), options.syncs)?));
    Ok(Report { title: "journal: SQLite, durable at each record", figures })
}

fn replay(folder: &Path, options: &JournalOptions) -> Result<Figure, BenchError> {
    let path = folder.join("replay.db");
    let mut journal = SqliteJournal::open(&path)?;
    let (mut load, records) = Workload::begin(options.commands_per_record * 4, 2);
    for record in &records {
        journal.append(record, &[])?;
    }
    for _ in 0..options.records {
        journal.append(&load.moves(options.commands_per_record), &[])?;
        while let Some(opening) = load.open(options.commands_per_record) {
            journal.append(&opening, &[])?;
        }
    }
    drop(journal);
    let mut runs = Vec::new();
    // One more than is counted: the first brings the file into the page cache.
    for _ in 0..=options.runs {
        let begin = Instant::now();
        let (commands, state) = replay_once(&path)?;
        runs.push(per_second(commands, begin.elapsed()));
        if state.head() != load.state.head() {
            return Err(BenchError::Void("the replay came to another end".to_owned()));
        }
    }
    Ok(Figure::greatest("replay, one core", "commands/s", &runs[1..]).should(Target::AtLeast(2_000_000.0)))
}

fn replay_once(path: &Path) -> Result<(u64, State), BenchError> {
    let mut state = State::new(Partition(0));
    let mut reduction = Reduction::default();
    let mut commands = 0;
    let mut failed = None;
    SqliteJournal::open_reader(path)?.read(RecordNumber(1), &mut |stored| {
        let mut step = || -> Result<(), String> {
            let view = RecordView::parse(stored.bytes).map_err(|why| why.to_string())?;
            reduce(&mut state, &view, &mut reduction).map_err(|halt| halt.to_string())?;
            commands += view.commands().count() as u64;
            Ok(())
        };
        match step() {
            Ok(()) => arena_journal::Visit::Next,
            Err(why) => {
                failed = Some(why);
                arena_journal::Visit::Enough
            }
        }
    })?;
    failed.map_or(Ok((commands, state)), |why| Err(BenchError::Void(why)))
}

/// Remembers how long each record was.
#[derive(Clone, Default)]
struct Sizes(Arc<Mutex<Vec<usize>>>);

impl Sizes {
    fn take(&self) -> Vec<usize> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Follower for Sizes {
    fn wants(&self, _: RecordNumber, _: bool) -> bool {
        true
    }

    fn follow(&mut self, record: &Arc<Followed>) -> Result<(), String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record.bytes.len());
        Ok(())
    }
}

fn append(folder: &Path, options: &JournalOptions) -> Result<Vec<Figure>, BenchError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    let (mut ours, mut bare, mut ratios, mut lengths) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for run in 0..options.runs {
        let path = folder.join(format!("append-{run}.db"));
        let (commands, took, sizes) = append_once(&runtime, &path, options)?;
        let bare_took = bare_inserts(&folder.join(format!("bare-{run}.db")), &sizes)?;
        ours.push(per_second(commands, took));
        bare.push(per_second(commands, bare_took));
        ratios.push(bare_took.as_secs_f64() / took.as_secs_f64());
        lengths.push(per_second(commands, Duration::from_secs(sizes.len() as u64)));
    }
    Ok(vec![
        Figure::greatest("durable appends, many submitters", "commands/s", &ours),
        Figure::greatest("bare inserts of the same sizes", "commands/s", &bare),
        Figure::greatest("ratio of the two", "", &ratios).should(Target::AtLeast(0.7)),
        Figure::greatest("commands in a record", "", &lengths),
    ])
}

/// Gives the commands, the time from the first submission to the last outcome, and the sizes of the records in between.
fn append_once(
    runtime: &Runtime,
    path: &Path,
    options: &JournalOptions,
) -> Result<(u64, Duration, Vec<usize>), BenchError> {
    let sizes = Sizes::default();
    let start = StartOptions {
        partition: Partition(0),
        clock: Clock::System,
        incarnation: Incarnation([2; 16]),
        followers: vec![Box::new(sizes.clone())],
    };
    let sequencer = Sequencer::start(Box::new(SqliteJournal::open(path)?), start)?;
    let producer = sequencer.producer();
    let took = runtime.block_on(async {
        let mut dice = Dice(3);
        for at in 0..AGENTS {
            let register = Submission::new(register_agent(at, &mut dice));
            producer.submit(vec![register]).await?.outcome().await?;
        }
        sizes.take();
        let begin = Instant::now();
        let submitters: Vec<_> = (0..options.submitters as u32)
            .map(|at| {
                let (agents, dice) = (pair(at, AGENTS), Dice(u64::from(at)));
                tokio::spawn(play(vec![producer.clone()], agents, dice, options.commands_each))
            })
            .collect();
        for submitter in submitters {
            submitter.await.map_err(|why| BenchError::Void(why.to_string()))??;
        }
        Ok::<_, BenchError>(begin.elapsed())
    })?;
    let sizes = sizes.take();
    sequencer.stop()?;
    Ok((options.submitters as u64 * options.commands_each as u64, took, sizes))
}

/// One submitter: awaits each outcome before it submits the next, which goes through its match's home.
pub(super) async fn play(
    producers: Vec<Producer>,
    agents: [arena_schema::id::AgentKey; 2],
    mut dice: Dice,
    commands: usize,
) -> Result<(), BenchError> {
    let mut board = Board::default();
    for _ in 0..commands {
        let submission = Submission::new(board.next(agents, &mut dice));
        let home = producers.iter().find(|producer| producer.id() == board.home());
        let Some(producer) = home.or(producers.first()) else { break };
        let answered = producer.submit(vec![submission]).await?.answered().await?;
        match answered.events(0) {
            Ok(events) => events.for_each(|event| board.see(event)),
            Err(rejection) => return Err(BenchError::Void(format!("a command was refused: {rejection}"))),
        }
    }
    Ok(())
}

fn syncs(folder: &Path, count: usize) -> Result<Vec<f64>, BenchError> {
    let mut file = File::create(folder.join("sync"))?;
    let mut took = Vec::new();
    for _ in 0..count {
        file.rewind()?;
        file.write_all(&[7; 4096])?;
        let begin = Instant::now();
        file.sync_data()?;
        took.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    Ok(took)
}

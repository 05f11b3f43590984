//! What the arena can do on this machine: each figure measured here and now, beside what it should be. The command
//! `arena bench` and `cargo bench` run the same functions. What belongs here: the measuring. What never does: a second way to do
//! what is measured.

mod agentwire;
mod engine;
mod journal;
mod nats;
mod referee;
mod workload;

use std::{fmt, time::Duration};

pub use agentwire::{AgentWireOptions, agentwire, agentwire_holder};
pub use engine::{EngineOptions, engine};
pub use journal::{JournalOptions, journal};
pub use nats::{NatsBenchOptions, nats};
pub use referee::{RefereeOptions, referee};

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] arena_journal::JournalError),
    /// A record was not stored.
    #[error(transparent)]
    Append(#[from] arena_journal::AppendError),
    /// NATS cannot be reached or refuses.
    #[error("NATS cannot be used: {0}")]
    Nats(String),
    /// The sequencer did not start.
    #[error(transparent)]
    Start(#[from] arena_journal::StartError),
    /// The sequencer did not take a command.
    #[error(transparent)]
    Submit(#[from] arena_journal::sequencer::SubmitError),
    /// The sequencer ended.
    #[error(transparent)]
    Stopped(#[from] arena_journal::Stopped),
    /// A command had no outcome.
    #[error(transparent)]
    Unanswered(#[from] arena_journal::Unanswered),
    /// A file failed.
    #[error("a file of the benchmark cannot be used: {0}")]
    File(#[from] std::io::Error),
    /// The measured thing did something else than was to be measured.
    #[error("the measurement is void: {0}")]
    Void(String),
}

/// What a figure should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// Not more.
    AtMost(f64),
    /// Not less.
    AtLeast(f64),
}

/// One figure: the median of several runs, and the best of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What was measured.
    pub name: &'static str,
    /// The median of the runs.
    pub median: f64,
    /// The best run.
    pub best: f64,
    /// In what.
    pub unit: &'static str,
    /// What the median should be, where something is promised.
    pub target: Option<Target>,
}

impl Figure {
    /// Of several runs, of which the one with the least value is the best.
    fn least(name: &'static str, unit: &'static str, runs: &[f64]) -> Self {
        let best = runs.iter().copied().fold(f64::INFINITY, f64::min);
        Self { name, median: median(runs), best, unit, target: None }
    }

    /// Of several runs, of which the one with the greatest value is the best.
    fn greatest(name: &'static str, unit: &'static str, runs: &[f64]) -> Self {
        let best = runs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { name, median: median(runs), best, unit, target: None }
    }

    fn should(self, target: Target) -> Self {
        Self { target: Some(target), ..self }
    }

    /// Whether the median is what it should be; also where nothing is promised.
    pub fn holds(&self) -> bool {
        match self.target {
            Some(Target::AtMost(most)) => self.median <= most,
            Some(Target::AtLeast(least)) => self.median >= least,
            None => true,
        }
    }
}

/// Figures of one benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Of what.
    pub title: &'static str,
    /// The figures.
    pub figures: Vec<Figure>,
}

impl Report {
    /// Whether every figure is what it should be.
    pub fn holds(&self) -> bool {
        self.figures.iter().all(Figure::holds)
    }

    /// For machines: an object with a list of figures.
    pub fn to_json(&self) -> serde_json::Value {
        let figures: Vec<_> = self
            .figures
            .iter()
            .map(|figure| {
                let (at_most, at_least) = match figure.target {
                    Some(Target::AtMost(most)) => (Some(most), None),
                    Some(Target::AtLeast(least)) => (None, Some(least)),
                    None => (None, None),
                };
                serde_json::json!({
                    "name": figure.name, "median": figure.median, "best": figure.best, "unit": figure.unit,
                    "at_most": at_most, "at_least": at_least, "holds": figure.holds(),
                })
            })
            .collect();
        serde_json::json!({ "title": self.title, "holds": self.holds(), "figures": figures })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let width = self.figures.iter().map(|figure| figure.name.chars().count()).max().unwrap_or_default();
        for figure in &self.figures {
            let (median, best) = (number(figure.median), number(figure.best));
            write!(f, "  {:<width$}  {median:>12} {:<12} best {best:>12}", figure.name, figure.unit)?;
            let verdict = if figure.holds() { "holds" } else { "MISSED" };
            match figure.target {
                Some(Target::AtMost(most)) => write!(f, "  at most {}: {verdict}", number(most))?,
                Some(Target::AtLeast(least)) => write!(f, "  at least {}: {verdict}", number(least))?,
                None => {}
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// With thousands apart, and three digits behind the point where the number is small.
fn number(value: f64) -> String {
    if value.abs() < 100.0 {
        return format!("{value:.3}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && text != "-" {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn median(runs: &[f64]) -> f64 {
    let mut sorted = runs.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => sorted[count / 2],
        count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
    }
}

#[allow(clippy::cast_precision_loss)]
fn per_second(count: u64, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

#[allow(clippy::cast_precision_loss)]
fn nanos_each(count: u64, took: Duration) -> f64 {
    took.as_nanos() as f64 / count as f64
}

#[cfg(test)]
mod tests;

//! `GET /metrics`: how a process is, as Prometheus text. What belongs here: the figures that an operator watches, each with a word
//! of what it is. What never does: a name, a key or an address of anybody's.

use crate::place::Taking;
use arena_journal::{Handle, Measure, Producer, Volume, replicated::Lagging, sequencer::QUEUE_COMMANDS_MAX};
use arena_schema::id::{Partition, RecordNumber};
use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// What a process has to tell of.
#[derive(Clone)]
pub(crate) struct Vitals {
    /// Of each partition, in their order.
    parts: Vec<PartVitals>,
    /// Its data folder, where it has one.
    data: Option<PathBuf>,
}

/// What it has to tell of one partition.
#[derive(Clone)]
struct PartVitals {
    handle: Handle,
    /// Where the journal is shared and this process may lead.
    lagging: Option<Lagging>,
    shared: bool,
    /// Where it submits.
    producer: Option<Producer>,
}

/// The label of a partition's figures.
type Of<'a> = [(&'static str, &'a str); 1];

impl Vitals {
    /// Of a process that takes part so.
    pub(crate) fn of(taking: &Taking, data: Option<&Path>) -> Self {
        let shared = taking.is_shared();
        let producers: Vec<_> = match taking.parts() {
            Ok(parts) => parts.into_iter().map(|part| Some(part.producer)).collect(),
            Err(_) => taking.handles().iter().map(|_| None).collect(),
        };
        let parts = taking.handles().into_iter().zip(taking.lagging()).zip(producers);
        let parts = parts.map(|((handle, lagging), producer)| PartVitals {
            handle: handle.clone(),
            lagging,
            shared,
            producer,
        });
        Self { parts: parts.collect(), data: data.map(Path::to_owned) }
    }

    /// As it is now. `views`: the record that the views of a partition have, where there are any.
    pub(crate) fn text(&self, views: impl Fn(Partition) -> Option<RecordNumber>) -> String {
        let mut page = Page::default();
        let version = env!("CARGO_PKG_VERSION");
        page.gauge("arena_info", "The build.", &[("version", version)], 1);
        for (part, partition) in self.parts.iter().zip((0..).map(Partition)) {
            let number = partition.0.to_string();
            let of = [("partition", number.as_str())];
            part.put_journal(&mut page, of, views(partition));
            part.put_public_events(&mut page, of);
            part.put_space(&mut page, of);
        }
        if let Some(volume) = self.data.as_deref().and_then(|data| Volume::of(data).ok()) {
            page.gauge("arena_free_bytes", "Free on the data folder's volume.", &[], volume.free);
        }
        put_process(&mut page);
        page.into_text()
    }
}

impl PartVitals {
    fn put_journal(&self, page: &mut Page, of: Of<'_>, views: Option<RecordNumber>) {
        let stopped = self.handle.stopped().borrow().is_some();
        page.gauge("arena_stopped", "1 where it follows the journal no more.", &of, u64::from(stopped));
        {
            let state = self.handle.state();
            let head = state.head();
            page.gauge("arena_record", "The last record that is followed.", &of, head.number.0);
            let seconds = head.time.0 / 1_000_000;
            page.gauge("arena_record_time_seconds", "When it was written, by the journal.", &of, seconds);
            page.gauge("arena_era", "The era that is open.", &of, u64::from(state.era().0));
            page.gauge("arena_rules_version", "The rules that hold.", &of, u64::from(state.rules().0));
            page.gauge(
                "arena_agents",
                "Agents that are registered.",
                &of,
                count(state.registry().agents().len()),
            );
            page.gauge(
                "arena_open_matches",
                "Matches that are open.",
                &of,
                count(state.matches().open().len()),
            );
            let gateways = count(state.producers().live_count());
            page.gauge("arena_live_gateways", "Gateways that are there.", &of, gateways);
        }
        if let Some(views) = views {
            page.gauge("arena_views_record", "The last record that the views have.", &of, views.0);
        }
        if let Some(producer) = &self.producer {
            let unanswered = count(producer.unanswered());
            page.gauge("arena_unanswered_commands", "Commands without an outcome yet.", &of, unanswered);
            let most = count(QUEUE_COMMANDS_MAX);
            page.gauge("arena_unanswered_commands_max", "As many as there may be.", &of, most);
        }
    }

    fn put_public_events(&self, page: &mut Page, of: Of<'_>) {
        let lag = self.lagging.as_ref().and_then(Lagging::lag);
        let leads = !self.shared || lag.is_some();
        page.gauge("arena_leads", "1 where this process leads.", &of, u64::from(leads));
        if let Some(lag) = lag {
            let help = "Records whose public events are not all published.";
            page.gauge("arena_public_events_lag_records", help, &of, lag.records);
            let help = "Public events that are known to wait.";
            page.gauge("arena_public_events_lag_events", help, &of, lag.events);
        }
    }

    fn put_space(&self, page: &mut Page, of: Of<'_>) {
        let space = self.handle.space();
        let short = u64::from(space.shortage().is_some());
        page.gauge("arena_short_of_space", "1 where only what ends or frees things is taken.", &of, short);
        for limit in space.limits() {
            match limit.measure {
                Measure::Used { used, most, unit } => {
                    let labels = [of[0], ("of", limit.of.as_str()), ("unit", unit)];
                    page.gauge("arena_limit_used", "What is used of a limit.", &labels, used);
                    page.gauge("arena_limit", "The limit.", &labels, most);
                }
                Measure::Free { least, .. } => {
                    let help = "Below so many free bytes the journal is short of space.";
                    page.gauge("arena_free_bytes_min", help, &of, least);
                }
            }
        }
    }
}

/// How much memory this process has in use, where the system shows it.
pub(crate) fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1_024)
}

/// What the system shows of this process; nothing where it does not.
fn put_process(page: &mut Page) {
    if let Some(resident) = resident_bytes() {
        page.gauge("process_resident_memory_bytes", "Memory in use.", &[], resident);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        page.gauge("process_open_fds", "Open files and connections.", &[], count(open.count()));
    }
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The text of the format: metric by metric in the order of their first values, what each is before all of its values.
#[derive(Default)]
struct Page(Vec<(&'static str, String)>);

impl Page {
    /// One value.
    fn gauge(&mut self, name: &'static str, help: &str, labels: &[(&str, &str)], value: u64) {
        let Self(metrics) = self;
        let at = metrics.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            metrics.push((name, format!("# HELP {name} {help}\n# TYPE {name} gauge\n")));
            metrics.len() - 1
        });
        let text = &mut metrics[at].1;
        text.push_str(name);
        for (at, (label, value)) in labels.iter().enumerate() {
            let begins = if at == 0 { '{' } else { ',' };
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(text, "{begins}{label}=\"{value}\"");
        }
        let ends = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(text, "{ends} {value}");
    }

    fn into_text(self) -> String {
        self.0.into_iter().map(|(_, text)| text).collect()
    }
}

/// The text as an answer.
pub(crate) fn answer(text: String) -> Response {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_explained_once_before_all_its_values_and_a_label_s_value_may_be_anything() {
        let mut page = Page::default();
        page.gauge("one", "It is.", &[("of", "c")], 1);
        page.gauge("two", "They are.", &[("of", "a \"b\" \\c\n"), ("unit", "d")], 2);
        page.gauge("one", "It is.", &[], 3);
        let expected = "# HELP one It is.\n# TYPE one gauge\none{of=\"c\"} 1\none 3\n# HELP two They are.\n# TYPE two gauge\n\
                        two{of=\"a \\\"b\\\" \\\\c\\n\",unit=\"d\"} 2\n";
        assert_eq!(page.into_text(), expected);
    }
}

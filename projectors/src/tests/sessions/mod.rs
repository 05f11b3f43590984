//! Tests of the view of the sessions, fed with the records that the engine makes of what a door submits.

pub(super) mod door;
mod ends;
mod entries;
mod files;
mod model;
mod payloads;

use super::partitions::{Run, network::Network};
use crate::{SessionEntry, Views};
use arena_schema::{Event, LogTime, command::system::Tick};
use door::Session;

/// More than any log here has.
const ALL: u32 = 10_000;
const PLAIN: &str = "text/plain; charset=utf-8";

fn entries(views: &Views, session: Session) -> Vec<SessionEntry> {
    views.session_entries(session.id.partition(), session.key, session.id, 0, ALL, u64::MAX).unwrap()
}

/// A log in lines, without times.
fn log(views: &Views, session: Session) -> Vec<String> {
    entries(views, session).iter().map(line).collect()
}

fn line(entry: &SessionEntry) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let payload = entry.payload.as_ref().map_or("-".to_owned(), |bytes| bytes.escape_ascii().to_string());
    let SessionEntry { n, participant, from, kind, size, filename, account, .. } = entry;
    format!("{n} {from}@{participant} [{kind}] {size} '{payload}' {} {}", or_none(filename), or_none(account))
}

fn people(views: &Views, session: Session) -> Vec<String> {
    let people = views.session_people(session.id.partition(), session.key, session.id).unwrap();
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    people
        .into_iter()
        .map(|person| format!("{} {} {}", person.number, or_none(person.name), or_none(person.account)))
        .collect()
}

/// The agenda of a partition is emptied at this time.
fn tick_at(network: &mut Network, partition: u16, time: LogTime) -> Vec<Event> {
    network.at(partition, time);
    network.write(partition, Tick {})
}

fn after_s(network: &Network, partition: u16, span_s: u64) -> LogTime {
    network.head(partition).header.time.plus_us(span_s * 1_000_000)
}

fn run(network: &Network) -> Run {
    Run::of(network, 1)
}

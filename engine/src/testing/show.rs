//! How events are printed: one a line, names in place of keys, no hashes.
//!
//! `3.1 a#2 m1 X played d at ply 1` is an event of record 3, command 1, which gateway `a` sent as its number 2. Where a
//! command's number was refused, gateway and number are not there; `3.0` is the agenda.

mod sessions;

use super::script::Names;
use crate::{Emitted, games::GameCode};
use arena_schema::{
    Command, Event, LogTime, Rejection, TextRef,
    event::registry::Credential,
    id::{AgentKey, MatchId, MatchKey, SessionId},
};
use std::fmt::Write as _;

pub(super) const DAY_US: u64 = 24 * 3_600 * 1_000_000;

/// `10:00:00.000`, with microseconds where there are any, and days before it where it is not the first day: `1d10:00:00.000`.
pub(super) fn time(at: LogTime) -> String {
    let (days, us) = (at.0 / DAY_US - super::script::FIRST_DAY, at.0 % DAY_US);
    let (s, us) = (us / 1_000_000, us % 1_000_000);
    let fraction = if us % 1_000 == 0 { format!("{:03}", us / 1_000) } else { format!("{us:06}") };
    let day = if days == 0 { String::new() } else { format!("{days}d") };
    format!("{day}{:02}:{:02}:{:02}.{fraction}", s / 3_600, s / 60 % 60, s % 60)
}

/// What a name was padded to.
pub(super) fn name_of(bytes: &[u8]) -> String {
    bytes.iter().filter(|byte| byte.is_ascii_graphic()).map(|&byte| char::from(byte)).collect()
}

/// The name that a script gave to a match.
pub(super) fn match_name(id: &MatchId) -> String {
    id.0[9..].iter().take_while(|byte| **byte != 0).map(|&byte| char::from(byte)).collect()
}

/// The name that a script gave to a session.
pub(super) fn session_name(id: &SessionId) -> String {
    match_name(&MatchId(id.0))
}

fn text(text: Option<TextRef>) -> String {
    text.map_or("none".into(), |text| format!("text of {}", text.size))
}

fn outcome(code: u16) -> &'static str {
    Rejection::from_code(code).map_or("accepted", Rejection::as_str)
}

fn credential(one: &Credential) -> String {
    format!("{} {}@{}", one.kind, one.credential.id, one.credential.generation)
}

/// One record's events.
pub(super) fn record(number: u64, events: &[Emitted], names: &Names, out: &mut String) {
    if events.is_empty() {
        writeln!(out, "{number} nothing").unwrap();
    }
    let mut sender = (0, String::new());
    for emitted in events {
        if let Event::NumberSeen(seen) = &emitted.event {
            sender = (emitted.command, format!(" {}#{}", names.gateway(seen.producer), seen.number));
            continue;
        }
        let by = if sender.0 == emitted.command { sender.1.as_str() } else { "" };
        writeln!(out, "{number}.{}{by} {}", emitted.command, event(&emitted.event, names)).unwrap();
    }
}

fn event(event: &Event, names: &Names) -> String {
    let agent = |key: AgentKey| names.agent(key);
    let of = |key: MatchKey| names.game(key);
    match event {
        Event::Rejected(rejection) => format!("rejected: {rejection}"),
        Event::NumberSeen(_) => unreachable!("printed before the events of its command"),
        Event::SecondKeyKept(e) => format!(
            "kept {}/{} of {}: {} at {}.{}",
            name_of(&e.key.0),
            name_of(&e.body.0),
            agent(e.caller),
            outcome(e.code),
            e.place.record,
            e.place.command
        ),
        Event::SecondKeyExpired(e) => format!("forgot {} of {}", name_of(&e.key.0), agent(e.caller)),
        Event::SequencerAnnounced(e) => {
            format!("sequencer of epoch {}, outage {} us", e.epoch.0, e.outage_us)
        }
        Event::GatewayAnnounced(e) => format!(
            "gateway {} is producer {}, knows rules {}",
            name_of(&e.incarnation.0),
            e.producer.0,
            e.rules_known.0
        ),
        Event::GatewayRemoved(e) => format!("gateway {} is gone", names.gateway(e.producer)),
        Event::RulesActivated(e) => format!("rules {} are next", e.version.0),
        Event::EraClosed(e) => format!("era {} closed", e.era.0),
        Event::LineageBegun(e) => format!("lineage {} begun after {}", name_of(&e.lineage.0), e.number),
        Event::PartitionOpened(e) => format!("partition {} is open", e.partition.0),
        Event::OutboxSent(e) => {
            let name = Command::KINDS.iter().find(|(kind, _)| *kind == e.kind).map_or("?", |(_, name)| name);
            format!("to partition {}#{}: {name}", e.to.0, e.number)
        }
        Event::OutboxTrimmed(e) => format!("to partition {}#{} is acknowledged", e.to.0, e.through),
        Event::GuestArrived(e) => {
            format!(
                "guest {} speaks {} by {}, at home at {}",
                e.handle,
                e.protocol,
                e.method,
                names.gateway(e.home)
            )
        }
        Event::GuestLeft(e) => format!("guest {} left", agent(e.agent)),
        Event::MatchSent(e) => {
            format!("{} sent: X {}, O {}", match_name(&e.id), agent(e.seats[0]), agent(e.seats[1]))
        }
        Event::MatchReturned(e) => format!("{} returned", match_name(&e.id)),
        Event::AgentRegistered(e) => {
            let credentials: Vec<String> = e.credentials.iter().map(credential).collect();
            format!(
                "agent {} speaks {} by {}, endpoint {}, challenges {}, credentials [{}]",
                e.handle,
                e.protocol,
                e.method,
                text(e.endpoint),
                e.challenges,
                credentials.join(", ")
            )
        }
        Event::CredentialRotated(e) => {
            format!("agent {} has credential {}", agent(e.agent), credential(&e.credential))
        }
        Event::EndpointSet(e) => {
            let endpoint = e.endpoint.map_or("as it was".into(), |_| text(e.endpoint));
            format!("agent {} has endpoint {endpoint}, challenges {}", agent(e.agent), e.challenges)
        }
        Event::MatchOpened(e) => format!(
            "{} opened: X {}, O {}, {}, {}, {} ms",
            of(e.key),
            agent(e.seats[0]),
            agent(e.seats[1]),
            GameCode::from_u16(e.game.0).map_or("?", GameCode::name),
            if e.rated { "rated" } else { "unrated" },
            e.deadline_ms
        ),
        Event::TurnOpened(e) => format!(
            "{} {} asked: ply {} attempt {} by {}{}",
            of(e.key),
            e.seat,
            e.ply,
            e.attempt,
            names.gateway(e.home),
            e.due.map(|due| format!(" until {}", time(due))).unwrap_or_default()
        ),
        Event::MovePlayed(e) => format!(
            "{} {} played {} at ply {}, reason {}, {} ms",
            of(e.key),
            e.seat,
            GameCode::Connect4.move_text(&e.mv),
            e.ply,
            text(e.reason),
            e.latency_ms
        ),
        Event::StrikeRecorded(e) => {
            let mut line =
                format!("{} {} strike {}: {} at ply {}", of(e.key), e.seat, e.strikes, e.cause, e.ply);
            if let Some(mv) = &e.mv {
                write!(line, ", move {}", GameCode::Connect4.move_text(mv)).unwrap();
            }
            if let Some(status) = e.status {
                write!(line, ", status {status}").unwrap();
            }
            write!(line, ", excerpt {}, {} ms", text(e.excerpt), e.latency_ms).unwrap();
            line
        }
        Event::MatchEnded(e) => {
            let winner = e.winner.map_or("nobody".into(), |seat| seat.to_string());
            format!("{} ended: {winner} by {}", of(e.key), e.reason)
        }
        event => sessions::event(event, names).expect("an event of sessions"),
    }
}

/// A halt, without its hashes.
pub(super) fn halt(halt: &crate::Halt) -> String {
    let text = halt.to_string();
    let words = text.split(' ').map(|word| {
        let hex = word.trim_end_matches(',');
        if hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()) { "…" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

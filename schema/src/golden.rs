//! The bytes of every word, kept in `tests/golden/schema` and never changed: what is encoded today is what was stored then, and
//! what was stored then still reads as the same value. `ARENA_GOLDEN_NEW=1 cargo test -p arena-schema` appends lines for
//! samples that have none, and changes no line.

mod frozen;
pub(crate) mod public;
pub(crate) mod samples;

use crate::{
    Command, Event, Rejection,
    record::{EncodedRecord, RecordView, encode_command},
};
use samples::Sample;
use std::{fmt::Write as _, fs, path::PathBuf};

/// A stored line: `0x0301 OpenMatch/rated 0a0b…`, the part behind the slash telling samples of one kind apart.
struct Line {
    kind: u16,
    label: String,
    bytes: Vec<u8>,
}

/// Bytes in hex; none are a dash, so that no line ends in a space.
fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "-".to_owned();
    }
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    if text == "-" {
        return Vec::new();
    }
    assert!(text.len().is_multiple_of(2), "an odd number of digits: {text}");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn path(file: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/schema")).join(file)
}

fn stored(file: &str) -> Vec<Line> {
    let text = fs::read_to_string(path(file)).unwrap_or_default();
    let lines = text.lines().map(|line| {
        let mut words = line.split(' ');
        let kind = words.next().and_then(|kind| u16::from_str_radix(kind.strip_prefix("0x")?, 16).ok());
        let label = words.next().map(str::to_owned);
        let (Some(kind), Some(label), Some(bytes), None) = (kind, label, words.next(), words.next()) else {
            panic!("not a line of {file}: {line}");
        };
        Line { kind, label, bytes: unhex(bytes) }
    });
    lines.collect()
}

/// Compares samples with the stored lines, both ways. Gives the lines, for what else a family asks of them.
fn compare<T>(
    file: &str,
    samples: &[Sample<T>],
    encode: impl Fn(&T) -> (u16, Vec<u8>),
    same: impl Fn(u16, &[u8], &T) -> bool,
) -> Vec<Line> {
    let append = std::env::var("ARENA_GOLDEN_NEW").is_ok_and(|value| value == "1");
    let mut lines = stored(file);
    let mut new = String::new();
    for (label, value) in samples {
        let (kind, bytes) = encode(value);
        let known = lines.iter().find(|line| line.label == *label);
        match known {
            Some(line) => {
                assert_eq!(line.kind, kind, "{file}: the code of {label} moved");
                assert_eq!(hex(&line.bytes), hex(&bytes), "{file}: the bytes of {label} moved");
                assert!(same(line.kind, &line.bytes, value), "{file}: {label} reads as another value");
            }
            None if append => {
                writeln!(new, "{kind:#06x} {label} {}", hex(&bytes)).unwrap();
                lines.push(Line { kind, label: label.clone(), bytes });
            }
            None => panic!("{file} has no line for {label}: run once with ARENA_GOLDEN_NEW=1"),
        }
    }
    if !new.is_empty() {
        let old = fs::read_to_string(path(file)).unwrap_or_default();
        fs::write(path(file), old + &new).unwrap();
    }
    for (at, line) in lines.iter().enumerate() {
        assert!(
            samples.iter().any(|(label, _)| *label == line.label),
            "{file}: {} has no sample",
            line.label
        );
        assert!(lines[..at].iter().all(|before| before.label != line.label), "{file}: {} twice", line.label);
    }
    lines
}

/// Every kind of the list has a line under its own name, and every line is of a kind of the list.
fn covers(file: &str, lines: &[Line], kinds: &[(u16, &str)]) {
    let name = |line: &Line| line.label.split('/').next().unwrap_or_default().to_owned();
    for &(kind, known) in kinds {
        assert!(
            lines.iter().any(|line| line.kind == kind && name(line) == known),
            "{file}: nothing stored for {kind:#06x} {known}"
        );
    }
    for line in lines {
        assert!(
            kinds.iter().any(|&(kind, known)| kind == line.kind && known == name(line)),
            "{file}: no kind {:#06x} {}",
            line.kind,
            line.label
        );
    }
}

#[test]
fn commands_have_the_bytes_they_had() {
    let encode = |command: &Command| {
        let mut bytes = Vec::new();
        command.encode_body(&mut bytes);
        (command.kind(), bytes)
    };
    let same = |kind: u16, bytes: &[u8], value: &Command| Command::decode(kind, bytes).as_ref() == Ok(value);
    let lines = compare("commands.txt", &samples::commands(), encode, same);
    covers("commands.txt", &lines, Command::KINDS);
}

#[test]
fn events_have_the_bytes_they_had() {
    let encode = |event: &Event| {
        let mut bytes = Vec::new();
        event.encode_body(&mut bytes);
        (event.kind(), bytes)
    };
    let same = |kind: u16, bytes: &[u8], value: &Event| Event::decode(kind, bytes).as_ref() == Ok(value);
    let lines = compare("events.txt", &samples::events(), encode, same);
    covers("events.txt", &lines, Event::KINDS);
}

#[test]
fn rejections_have_the_bytes_they_had() {
    let samples: Vec<Sample<Rejection>> =
        Rejection::ALL.iter().map(|rejection| (rejection.as_str().to_owned(), *rejection)).collect();
    let encode = |rejection: &Rejection| {
        let mut bytes = Vec::new();
        Event::from(*rejection).encode_body(&mut bytes);
        (rejection.code(), bytes)
    };
    let same = |code: u16, bytes: &[u8], value: &Rejection| {
        Rejection::from_code(code) == Some(*value)
            && Event::decode(0x0001, bytes) == Ok(Event::Rejected(*value))
    };
    compare("rejections.txt", &samples, encode, same);
}

#[test]
fn records_have_the_bytes_they_had() {
    let encode = |record: &samples::Record| {
        let mut commands = Vec::new();
        for (head, command) in &record.commands {
            encode_command(head, command, &mut commands);
        }
        // The code of a record's line is its format version.
        (1, EncodedRecord::seal(&record.header, &commands).into_bytes())
    };
    let same = |_, bytes: &[u8], value: &samples::Record| {
        let view = RecordView::parse(bytes).unwrap();
        let commands = view.commands().map(|command| {
            let command = command.unwrap();
            (command.head, command.decode().unwrap())
        });
        view.header == value.header && commands.collect::<Vec<_>>() == value.commands
    };
    let lines = compare("records.txt", &samples::records(), encode, same);
    for line in lines {
        let view = RecordView::parse(&line.bytes).unwrap();
        assert_eq!(view.hash.0, line.bytes[line.bytes.len() - 32..], "the hash is at the end");
        assert_eq!(view.is_empty(), line.label == "empty");
    }
}

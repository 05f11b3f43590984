//! `README.md` of this crate is in part made of its source and of its golden lines: what stands there between markers is what is
//! written here. `ARENA_README_NEW=1 cargo test -p arena-schema readme` writes those parts anew, and touches nothing else.

mod public;
mod source;
mod words;

use crate::{
    golden::samples,
    record::{COMMAND_HEAD_BYTES, EncodedRecord, HEADER_BYTES, SECOND_KEY_BYTES, TRAILER_BYTES},
    subject::{ADDRESSES, Address, Form},
};
use source::{between, file, layout, plain};
use std::{fmt::Write as _, fs, path::PathBuf};
use words::Words;

/// Every part that is made here, by the name in its markers.
fn parts() -> [(&'static str, String); 8] {
    [
        ("addresses", addresses()),
        ("record", record()),
        ("commands", Words::commands().shown()),
        ("events", Words::events().shown()),
        ("types", words::all_types()),
        ("rejections", words::rejections()),
        ("audiences", public::audiences()),
        ("public events", public::events()),
    ]
}

fn path() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"))
}

#[test]
fn the_readme_says_what_the_schema_is() {
    let mut text = fs::read_to_string(path()).unwrap();
    for (name, made) in parts() {
        let (begin, end) = (format!("<!-- made: {name} -->\n"), format!("<!-- end: {name} -->\n"));
        let stands = between(&text, &begin, &end);
        if stands == made {
            continue;
        }
        assert!(
            std::env::var("ARENA_README_NEW").is_ok_and(|value| value == "1"),
            "README.md is stale under {name:?}: run once with ARENA_README_NEW=1"
        );
        text = text.replacen(&format!("{begin}{stands}{end}"), &format!("{begin}{made}{end}"), 1);
        fs::write(path(), &text).unwrap();
    }
    assert_eq!(text.matches("<!-- made: ").count(), parts().len(), "a marker without a part, or one twice");
}

/// SURFACE, *On NATS*, and every subject and stream that the permissions in the prose speak of.
#[test]
fn the_readme_names_every_subject_stream_bucket_and_store() {
    let text = fs::read_to_string(path()).unwrap();
    for name in [
        "arena.submit.<partition>",
        "arena.position.<partition>",
        "ARENA_RECORDS_<partition>_<era>",
        "arena.record.<partition>.<era>",
        "ARENA_TEXTS_<partition>",
        "arena.text.<partition>",
        "ARENA_EVENTS_<partition>",
        "arena.event.<partition>.<family>.<kind>.<key>",
        "ARENA_LEASES",
        "ARENA_VAULT",
        "ARENA_PAYLOADS",
        "ARENA_SNAPSHOTS",
    ] {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
}

fn addresses() -> String {
    let mut text = String::new();
    for form in [Form::Request, Form::Stream, Form::Bucket, Form::ObjectStore] {
        for address in ADDRESSES.iter().filter(|address| address.form == form) {
            writeln!(text, "### `{}`\n", address.name).unwrap();
            let on = address.subject.map(|subject| format!(" on `{subject}`")).unwrap_or_default();
            writeln!(text, "{}{on}. For instance `{}`.\n", form.as_str(), instance(address)).unwrap();
            writeln!(text, "| | |\n|---|---|").unwrap();
            for (what, says) in
                [("written by", address.writes), ("read by", address.reads), ("holds", address.holds)]
            {
                writeln!(text, "| {what} | {says} |").unwrap();
            }
            text.push('\n');
        }
    }
    text
}

/// A name that is spelt wrongly in a permission opens nothing, or what it should not.
#[test]
fn the_readme_speaks_of_no_name_that_is_none() {
    let known: Vec<String> = ADDRESSES
        .iter()
        .flat_map(|address| [Some(address.name), address.subject])
        .flatten()
        .map(|name| name.split('<').next().unwrap_or(name).trim_end_matches(['.', '_']).to_owned())
        .collect();
    let text = fs::read_to_string(path()).unwrap();
    let word = |c: char| !(c.is_ascii_alphanumeric() || "_.".contains(c));
    let names = text.split(word).map(|name| name.trim_end_matches('.'));
    for name in names.filter(|name| name.starts_with("arena.") || name.contains("ARENA_")) {
        let name = &name[name.find("ARENA_").unwrap_or_default()..];
        let of_tests = name.ends_with("_PASSWORD") || name == "ARENA_README_NEW";
        let stream = known.iter().any(|known| {
            name.strip_prefix(known.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '_']))
        });
        assert!(of_tests || stream, "{name}");
    }
}

/// An address with its parts filled in.
fn instance(address: &Address) -> String {
    let mut text = address.subject.unwrap_or(address.name).to_owned();
    for (part, filled) in [
        ("<partition>", "0"),
        ("<era>", "1"),
        ("<family>", "matches"),
        ("<kind>", "move_played"),
        ("<key>", "0000c24d-1b51-8f8b-9c6c-5d3e2f1a0b4c"),
    ] {
        text = text.replace(part, filled);
    }
    assert!(!text.contains('<'), "{text} has a part that nothing stands for");
    text
}

/// The sum of a cell such as `8 + 4`; none where the length is the body's own.
fn bytes_of(cell: &str) -> Option<usize> {
    cell.split(" + ").map(|part| part.parse::<usize>().ok()).sum()
}

fn record() -> String {
    let tables = layout(&file("record.rs"));
    let [header, command] = &tables[..] else { panic!("a record's comment has two tables") };
    let mut text = String::from("| offset | bytes | field of the header |\n|---|---|---|\n");
    let mut offset = 0;
    for (bytes, field) in header {
        writeln!(text, "| {offset} | {bytes} | {} |", plain(field)).unwrap();
        offset += bytes_of(bytes).unwrap();
    }
    assert_eq!(offset, HEADER_BYTES, "the header's table is the layout");
    writeln!(text, "| {offset} | … | the commands, one behind the other |").unwrap();
    writeln!(text, "| the end less {TRAILER_BYTES} | {TRAILER_BYTES} | BLAKE3 of all bytes before |\n")
        .unwrap();

    text += "| offset in a command | bytes | field |\n|---|---|---|\n";
    let mut second_key = 0;
    offset = 0;
    for (bytes, field) in command {
        let behind = if second_key > 0 {
            format!(", or {} with a second key", offset + second_key)
        } else {
            String::new()
        };
        writeln!(text, "| {offset}{behind} | {bytes} | {} |", plain(field)).unwrap();
        let long = bytes_of(bytes).unwrap_or_default();
        if field.starts_with("where flagged") {
            second_key = long;
        } else {
            offset += long;
        }
    }
    assert_eq!(
        (offset, second_key),
        (COMMAND_HEAD_BYTES, SECOND_KEY_BYTES),
        "the commands' table is the layout"
    );
    text
}

/// The record's golden bytes lie where the table says.
#[test]
fn the_fields_of_a_header_lie_where_the_readme_says() {
    let sample = &samples::records()[0].1.header;
    let sealed = EncodedRecord::seal(sample, &[]);
    let tables = layout(&file("record.rs"));
    let mut offset = 0;
    for (bytes, field) in &tables[0] {
        let long = bytes_of(bytes).unwrap();
        let stands = &sealed.as_bytes()[offset..offset + long];
        offset += long;
        let word = field.split([',', ';']).next().unwrap();
        let expected: Vec<u8> = match word {
            "magic" => b"ARENAREC".to_vec(),
            "format version" => vec![1, 0],
            "lineage" => sample.lineage.0.to_vec(),
            "partition" => sample.partition.0.to_le_bytes().to_vec(),
            "era" => sample.era.0.to_le_bytes().to_vec(),
            "record number" => sample.number.0.to_le_bytes().to_vec(),
            "hash of the record before" => sample.previous.0.to_vec(),
            "running digest of all events up to the record named next" => sample.digest.0.to_vec(),
            "record number that the digest reaches" => sample.digest_reaches.0.to_le_bytes().to_vec(),
            "sequencer's epoch" => sample.epoch.0.to_le_bytes().to_vec(),
            "time" => sample.time.0.to_le_bytes().to_vec(),
            "rules version" => sample.rules.0.to_le_bytes().to_vec(),
            "salt" => sample.salt.to_vec(),
            other => panic!("no such field: {other}"),
        };
        assert_eq!(stands, expected, "{word}");
    }
}

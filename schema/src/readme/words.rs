//! Commands, events and refusals with their fields, and the types that fields have.

use super::source::{Field, Kind, Shape, Type, file, kinds, types};
use crate::{Command, Event};
use std::{collections::BTreeSet, fmt::Write as _, fs};

/// The kinds of one side, with their source and their golden lines.
pub(super) struct Words {
    pub(super) kinds: Vec<Kind>,
    folder: &'static str,
    golden: &'static str,
}

impl Words {
    pub(super) fn commands() -> Self {
        Self::read("command", "commands.txt", Command::KINDS)
    }

    pub(super) fn events() -> Self {
        Self::read("event", "events.txt", Event::KINDS)
    }

    fn read(folder: &'static str, golden: &'static str, known: &[(u16, &str)]) -> Self {
        let kinds = kinds(&file(&format!("{folder}/mod.rs")));
        let found: Vec<(u16, &str)> = kinds.iter().map(|kind| (kind.code, kind.name.as_str())).collect();
        assert_eq!(found, known, "all kinds were read from the source");
        Self { kinds, folder, golden }
    }

    /// The kind's own fields, and what else is said of them in its family's file.
    fn body(&self, kind: &Kind) -> Type {
        let (module, name) = &kind.body;
        if module.is_empty() {
            let of = name.clone();
            let doc = "Why it may not happen.".to_owned();
            let field = Field { name: "rejection".to_owned(), of, doc: doc.clone(), skipped: false };
            return Type { name: name.clone(), doc, shape: Shape::Fields(vec![field]) };
        }
        let found = types(&file(&format!("{}/{module}.rs", self.folder)));
        found.into_iter().find(|one| one.name == *name).unwrap_or_else(|| panic!("no source of {name}"))
    }

    /// All kinds with their fields and an example.
    pub(super) fn shown(&self) -> String {
        let mut text = String::new();
        for kind in &self.kinds {
            writeln!(text, "### {:#06x} {}\n\n{}\n", kind.code, kind.name, kind.doc).unwrap();
            let Shape::Fields(fields) = self.body(kind).shape else { panic!("{} has fields", kind.name) };
            table(&fields, &mut text);
            writeln!(text, "```text\n{}\n```\n", self.example(kind)).unwrap();
        }
        text
    }

    /// The first golden line of the kind: its body's bytes in hex.
    fn example(&self, kind: &Kind) -> String {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/schema/");
        let lines = fs::read_to_string(format!("{path}{}", self.golden)).unwrap();
        let begin = format!("{:#06x} {} ", kind.code, kind.name);
        let line = lines.lines().find_map(|line| line.strip_prefix(&begin));
        line.unwrap_or_else(|| panic!("no golden line of {}", kind.name)).to_owned()
    }
}

/// A Rust type in words.
fn of(written: &str) -> String {
    let inside = |prefix: &str| written.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('>'));
    if let Some(inner) = inside("Option<") {
        format!("{} or none", of(inner))
    } else if let Some(inner) = inside("Box<") {
        of(inner)
    } else if let Some(inner) = inside("Vec<") {
        format!("list of {}", of(inner))
    } else if let Some((inner, count)) =
        written.strip_prefix('[').and_then(|it| it.strip_suffix(']')?.split_once("; "))
    {
        format!("{count} × {}", of(inner))
    } else {
        format!("`{}`", written.rsplit("::").next().unwrap_or(written))
    }
}

/// The types that fields have.
fn named_in(fields: &[Field], names: &mut BTreeSet<String>) {
    for field in fields {
        named(&field.of, names);
    }
}

/// The types that a type is made of.
fn named(written: &str, names: &mut BTreeSet<String>) {
    let word = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
    let wrappers = ["Option", "Box", "Vec"];
    names
        .extend(written.split(word).filter(|it| !it.is_empty() && !wrappers.contains(it)).map(str::to_owned));
}

fn table(fields: &[Field], text: &mut String) {
    if fields.is_empty() {
        text.push_str("No fields.\n\n");
        return;
    }
    text.push_str("| field | type | is |\n|---|---|---|\n");
    for field in fields {
        assert!(!field.doc.is_empty(), "{} says nothing of itself", field.name);
        writeln!(text, "| `{}` | {} | {} |", field.name, of(&field.of), field.doc).unwrap();
    }
    text.push('\n');
}

/// Where the types of fields are written, in the order of the list.
const FILES: [&str; 12] = [
    "id.rs",
    "seat.rs",
    "time.rs",
    "text.rs",
    "hash.rs",
    "command/registry.rs",
    "command/matches.rs",
    "command/sessions.rs",
    "event/registry.rs",
    "event/matches.rs",
    "event/sessions.rs",
    "event/system.rs",
];

/// Types whose bytes their own code makes.
const OWN: [(&str, &str); 2] = [
    ("Handle", "An agent's permanent public name in lower case, as text: 3 to 32 of `a-z0-9_-`."),
    ("Move", "A move in the game's own encoding: a run of at most 32 bytes, its length before it."),
];

pub(super) fn all_types() -> String {
    let known: Vec<Type> = FILES.iter().flat_map(|name| types(&file(name))).collect();
    let mut wanted = BTreeSet::new();
    for words in [Words::commands(), Words::events()] {
        for kind in &words.kinds {
            if let Shape::Fields(fields) = words.body(kind).shape {
                named_in(&fields, &mut wanted);
            }
        }
    }
    // What the wanted ones are made of is wanted too.
    loop {
        let before = wanted.len();
        for one in known.iter().filter(|one| wanted.contains(&one.name)).collect::<Vec<_>>() {
            match &one.shape {
                Shape::Fields(fields) => named_in(fields, &mut wanted),
                Shape::One(inner) => named(inner, &mut wanted),
                Shape::Values(_) | Shape::Bytes(_) => {}
            }
        }
        if wanted.len() == before {
            break;
        }
    }
    let mut text = String::new();
    for (name, says) in OWN {
        assert!(wanted.remove(name), "{name} is no type of a field any more");
        writeln!(text, "- `{name}`: {says}").unwrap();
    }
    for one in known.iter().filter(|one| wanted.contains(&one.name)) {
        let Type { name, doc, shape } = one;
        match shape {
            Shape::Bytes(count) => writeln!(text, "- `{name}`: {doc} A run of {count} bytes.").unwrap(),
            Shape::One(inner) => writeln!(text, "- `{name}`: {doc} {}.", of(inner)).unwrap(),
            Shape::Fields(fields) => {
                let parts: Vec<String> = fields
                    .iter()
                    .map(|field| format!("`{}` ({}): {}", field.name, of(&field.of), field.doc))
                    .collect();
                writeln!(text, "- `{name}`: {doc} {}", parts.join(" ")).unwrap();
            }
            Shape::Values(values) => {
                writeln!(text, "- `{name}`, a code: {doc}").unwrap();
                for value in values {
                    writeln!(text, "  - {} `{}`: {}", value.code, value.text, value.doc).unwrap();
                }
            }
        }
    }
    for one in &known {
        wanted.remove(&one.name);
    }
    for plain in ["bool", "u8", "u16", "u32", "u64", "2", "Rejection"] {
        wanted.remove(plain);
    }
    assert!(wanted.is_empty(), "types of fields that README.md does not explain: {wanted:?}");
    text.push('\n');
    text
}

pub(super) fn rejections() -> String {
    let found = types(&file("rejection.rs"));
    let [Type { shape: Shape::Values(values), .. }] = &found[..] else { panic!("rejection.rs has one enum") };
    let mut text = String::from("| code | name | is |\n|---|---|---|\n");
    for value in values {
        writeln!(text, "| {} | `{}` | {} |", value.code, value.text, value.doc).unwrap();
    }
    text.push('\n');
    text
}

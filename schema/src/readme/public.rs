//! Whom each kind of event is for, and the public ones with their fields and examples.

use super::{
    source::{Field, between, fields_of, file},
    words::Words,
};
use crate::{
    Event,
    golden::{public, samples},
    public::{Audience, DECISIONS},
};
use std::fmt::Write as _;

pub(super) fn audiences() -> String {
    let mut text = String::from("| kind | name | for | why |\n|---|---|---|---|\n");
    for decision in DECISIONS {
        let (kind, name) = (decision.kind, decision.name);
        writeln!(text, "| {kind:#06x} | `{name}` | {} | {} |", decision.audience.as_str(), decision.why)
            .unwrap();
    }
    text.push('\n');
    text
}

/// A type of a public form in JSON's words.
fn in_json(field: &Field) -> String {
    let written = field.of.as_str();
    let inner = written.strip_prefix("Option<").and_then(|rest| rest.strip_suffix('>')).unwrap_or(written);
    let word = match inner {
        "bool" => "boolean",
        "u8" | "u16" | "u32" | "u64" => "integer",
        "String" | "&'static str" => "text",
        "[Player<'a>; 2]" => "list of two objects",
        shown if shown.starts_with("Shown<") => "text",
        other => panic!("{}: how is {other} in JSON?", field.name),
    };
    match (inner == written, field.skipped) {
        (true, false) => word.to_owned(),
        (false, true) => format!("{word}, or absent"),
        (false, false) => format!("{word} or null"),
        (true, true) => panic!("{} is left out where it is what?", field.name),
    }
}

fn json_table(fields: &[Field], text: &mut String) {
    text.push_str("| field | type | is |\n|---|---|---|\n");
    for field in fields {
        writeln!(text, "| `{}` | {} | {} |", field.name, in_json(field), field.doc).unwrap();
    }
    text.push('\n');
}

pub(super) fn events() -> String {
    let written = file("public/facts.rs");
    let facts = between(&written, "enum Facts<'a> {", "\n}\n");
    let mut text = String::from("Every one begins with\n\n");
    json_table(&fields_of(&written, "struct Line<'a> {", "}"), &mut text);
    text += "and each of its `players` is\n\n";
    json_table(&fields_of(&written, "struct Player<'a> {", "}"), &mut text);
    let samples = samples::events();
    for (decision, (kind, name)) in DECISIONS.iter().zip(Event::KINDS) {
        if decision.audience != Audience::Public {
            continue;
        }
        writeln!(text, "### `{}`\n", decision.name).unwrap();
        let events = Words::events();
        let doc = &events.kinds.iter().find(|known| known.code == *kind).unwrap().doc;
        writeln!(text, "{doc} Family `{}`.\n", decision.family()).unwrap();
        json_table(&fields_of(facts, &format!("    {name} {{"), "},"), &mut text);
        let of_kind = samples.iter().filter(|(_, event)| event.kind() == *kind);
        let shown: Vec<_> = of_kind.filter_map(|(_, event)| public::shown(event)).collect();
        writeln!(text, "On `{}`:\n", shown[0].subject).unwrap();
        for public in shown {
            writeln!(text, "```json\n{}\n```\n", public.json).unwrap();
        }
    }
    text
}

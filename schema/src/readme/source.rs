//! Reads the schema's own source: kinds, fields and codes with what is said of them. It knows the few forms that this crate writes
//! them in and no more of Rust; what it does not understand is a failed test, never a silent gap.

use std::{fs, path::PathBuf};

/// A kind of command or event.
pub(super) struct Kind {
    pub(super) code: u16,
    pub(super) name: String,
    pub(super) doc: String,
    /// The module of its body, `registry`, and the body's type.
    pub(super) body: (String, String),
}

/// A field of a struct, or of a public form.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) of: String,
    pub(super) doc: String,
    /// Whether it is left out where it is none.
    pub(super) skipped: bool,
}

/// A value of an enum.
pub(super) struct Value {
    pub(super) code: u16,
    pub(super) text: String,
    pub(super) doc: String,
}

/// How a type is made.
pub(super) enum Shape {
    Fields(Vec<Field>),
    Values(Vec<Value>),
    /// A run of so many bytes.
    Bytes(usize),
    /// One value of another type.
    One(String),
}

/// A type with what is said of it.
pub(super) struct Type {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) shape: Shape,
}

/// A file under `src`.
pub(super) fn file(name: &str) -> String {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).join(name);
    fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// A doc comment for a cell of a table: links to other items become their names.
pub(super) fn plain(doc: &str) -> String {
    let mut text = String::new();
    let mut rest = doc;
    while let Some((before, link)) = rest.split_once("[`") {
        let (name, behind) =
            link.split_once("`]").unwrap_or_else(|| panic!("a link that does not end: {doc}"));
        let behind = match behind.strip_prefix('(') {
            Some(target) => {
                target.split_once(')').unwrap_or_else(|| panic!("a link that does not end: {doc}")).1
            }
            None => behind,
        };
        let name = name.rsplit("crate::").next().unwrap_or(name);
        text.extend([before, "`", name, "`"]);
        rest = behind;
    }
    (text + rest).replace('|', "\\|")
}

/// Takes doc comments and attributes off the lines before an item.
#[derive(Default)]
struct Before {
    doc: Vec<String>,
    attributes: String,
}

impl Before {
    /// Whether the line was one of them.
    fn takes(&mut self, line: &str) -> bool {
        if let Some(doc) = line.strip_prefix("///") {
            self.doc.push(doc.trim().to_owned());
        } else if line.starts_with("#[") {
            self.attributes += line;
        } else {
            return false;
        }
        true
    }

    fn doc(&mut self) -> String {
        let doc = std::mem::take(self).doc;
        plain(&doc.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "))
    }
}

/// The kinds of a `wire_union!`.
pub(super) fn kinds(source: &str) -> Vec<Kind> {
    let body = between(source, "wire_union! {", "\n}\n");
    let mut before = Before::default();
    let mut kinds = Vec::new();
    for line in body.lines().map(str::trim) {
        if before.takes(line) {
            continue;
        }
        let kind = line.split_once('(').and_then(|(name, rest)| {
            let (body, code) = rest.strip_suffix(',')?.split_once(") = 0x")?;
            let body = body.strip_prefix("Box<").map_or(body, |boxed| boxed.trim_end_matches('>'));
            let body = body.split_once("::").unwrap_or(("", body));
            let code = u16::from_str_radix(code, 16).ok()?;
            Some((name.to_owned(), code, (body.0.to_owned(), body.1.to_owned())))
        });
        let doc = before.doc();
        if let Some((name, code, body)) = kind {
            kinds.push(Kind { code, name, doc, body });
        }
    }
    kinds
}

/// The types of a file, in its order: structs, runs of bytes, keys of places and enums with codes.
pub(super) fn types(source: &str) -> Vec<Type> {
    let mut before = Before::default();
    let mut types = Vec::new();
    let mut lines = source.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if before.takes(line) {
            continue;
        }
        let doc = before.doc();
        if let Some(name) = line.strip_prefix("pub enum ").and_then(|rest| rest.strip_suffix(" {")) {
            let values: Vec<Value> = values(&mut lines);
            types.push(Type { name: name.to_owned(), doc, shape: Shape::Values(values) });
        } else if let Some(rest) = line.strip_prefix("pub struct ") {
            types.extend(of_struct(rest, doc, &mut lines));
        } else if line == "slot_key! {" {
            types.extend(slot_key(&mut lines));
        }
    }
    types
}

/// A key of a place, as `slot_key!` makes it.
fn slot_key<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Option<Type> {
    let mut before = Before::default();
    let name = lines.by_ref().find(|line| !before.takes(line))?.to_owned();
    let field = |name: &str, doc: &str| Field {
        name: name.to_owned(),
        of: "u32".to_owned(),
        doc: doc.to_owned(),
        skipped: false,
    };
    let fields = vec![
        field("slot", "The place, dense from 0."),
        field("generation", "Which holder of the place, from 1."),
    ];
    Some(Type { name, doc: before.doc(), shape: Shape::Fields(fields) })
}

fn of_struct<'a>(rest: &str, mut doc: String, lines: &mut impl Iterator<Item = &'a str>) -> Option<Type> {
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric())?;
    let (name, rest) = rest.split_at(end);
    if name.is_empty() {
        // A macro's own name for it.
        return None;
    }
    let shape = if let Some(bytes) = rest.strip_prefix("([u8; ").and_then(|rest| rest.strip_suffix("]);")) {
        Shape::Bytes(bytes.parse().ok()?)
    } else if let Some(inner) = rest.strip_prefix("(pub ").and_then(|rest| rest.strip_suffix(");")) {
        Shape::One(inner.to_owned())
    } else if rest == ";" {
        // What `external_id!` makes.
        doc += " A UUID of version 8 whose first two bytes are the partition.";
        Shape::Bytes(16)
    } else if rest == " {}" {
        Shape::Fields(Vec::new())
    } else if rest.ends_with(" {") {
        Shape::Fields(fields(lines, "}"))
    } else {
        return None;
    };
    Some(Type { name: name.to_owned(), doc, shape })
}

/// The fields up to the line that ends them.
fn fields<'a>(lines: &mut impl Iterator<Item = &'a str>, end: &str) -> Vec<Field> {
    let mut before = Before::default();
    let mut fields = Vec::new();
    for line in lines.by_ref().take_while(|line| line.trim() != end) {
        let line = line.trim();
        if before.takes(line) {
            continue;
        }
        let skipped = before.attributes.contains("skip_serializing_if");
        let flat = before.attributes.contains("flatten");
        let doc = before.doc();
        let Some((name, of)) = line.trim_end_matches(',').split_once(": ") else { continue };
        if !flat {
            let name = name.trim_start_matches("pub ").trim_start_matches("r#").to_owned();
            fields.push(Field { name, of: of.to_owned(), doc, skipped });
        }
    }
    fields
}

fn values<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Vec<Value> {
    let mut before = Before::default();
    let mut values = Vec::new();
    for line in lines.by_ref().take_while(|line| *line != "}") {
        if before.takes(line) {
            continue;
        }
        let doc = before.doc();
        if let Some((_, coded)) = line.split_once(" = ")
            && let Some((code, text)) = coded.trim_end_matches(',').split_once(" => ")
        {
            values.push(Value { code: code.parse().unwrap(), text: text.trim_matches('"').to_owned(), doc });
        }
    }
    values
}

/// The fields of a struct, or of a variant, that nobody outside sees as a type: `struct Line`, `MatchOpened`.
pub(super) fn fields_of(source: &str, begins: &str, end: &str) -> Vec<Field> {
    let body = source.split_once(begins).unwrap_or_else(|| panic!("no {begins}")).1;
    let found = fields(&mut body.lines().skip(1), end);
    assert!(found.iter().all(|field| !field.doc.is_empty()), "a field under {begins} says nothing of itself");
    found
}

/// What stands between two texts, the first of each.
pub(super) fn between<'a>(source: &'a str, begin: &str, end: &str) -> &'a str {
    let behind = source.split_once(begin).unwrap_or_else(|| panic!("no {begin}")).1;
    behind.split_once(end).unwrap_or_else(|| panic!("{begin} does not end")).0
}

/// The rows of the tables in a module's own comment: bytes and field, a table for each blank between them.
pub(super) fn layout(source: &str) -> Vec<Vec<(String, String)>> {
    let mut tables: Vec<Vec<(String, String)>> = Vec::new();
    let mut inside = false;
    for line in source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        match cells[..] {
            ["bytes", "field"] => {
                tables.push(Vec::new());
                inside = true;
            }
            [bytes, field] if inside && line.starts_with('|') => {
                if let Some(table) = tables.last_mut() {
                    table.push((bytes.to_owned(), field.to_owned()));
                }
            }
            _ => inside = inside && line.starts_with('|'),
        }
    }
    tables
}

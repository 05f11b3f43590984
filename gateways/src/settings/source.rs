//! Where settings come from: a file, variables, flags; read and taken apart, not yet understood.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::error::SettingsError;

/// What each variable of ours begins with.
const PREFIX: &str = "ARENA_";

/// Variables that the tests tell each other things by, and that are no settings.
const TESTS_PREFIX: &str = "ARENA_TESTS_";

/// Where a value stood. Shows as `in FILE`, `from the variable NAME`, `from the flag --NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A settings file.
    File(PathBuf),
    /// An environment variable.
    Variable(String),
    /// A flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "in {}", path.display()),
            Self::Variable(name) => write!(f, "from the variable {name}"),
            Self::Flag(name) => write!(f, "from the flag {name}"),
        }
    }
}

/// A flag of the command line that sets a setting.
#[derive(Clone, Debug)]
pub struct Flag {
    /// The flag as it is typed, for messages: `--nats`.
    pub name: &'static str,
    /// The setting: `nats.url`.
    pub key: &'static str,
    /// Its value, read as a variable's would be. A flag that is only there or not is `true`.
    pub text: String,
}

impl Flag {
    /// The flag `name`, which sets `key` to `text`.
    pub fn new(name: &'static str, key: &'static str, text: impl Into<String>) -> Self {
        Self { name, key, text: text.into() }
    }
}

/// A value as it was written.
#[derive(Clone, Debug)]
pub(super) enum Written {
    /// In a file, with a type.
    Toml(toml::Value),
    /// In a variable or a flag, without one.
    Text(String),
}

/// One setting as one source gives it.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) key: String,
    pub(super) written: Written,
    pub(super) origin: Origin,
}

/// The file's table.
pub(super) fn read(path: &Path) -> Result<toml::Table, SettingsError> {
    let text =
        std::fs::read_to_string(path).map_err(|why| SettingsError::Read { path: path.to_owned(), why })?;
    parse(path, &text)
}

/// The same, none where there is no such file.
pub(super) fn read_if_present(path: &Path) -> Result<Option<toml::Table>, SettingsError> {
    match read(path) {
        Err(SettingsError::Read { why, .. }) if why.kind() == ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// The table that `text` holds.
pub(super) fn parse(path: &Path, text: &str) -> Result<toml::Table, SettingsError> {
    text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        SettingsError::Syntax {
            path: path.to_owned(),
            line: 1 + before.matches('\n').count(),
            message: error.message().to_owned(),
        }
    })
}

/// Those of `variables` that are settings, by name.
pub(super) fn arena_variables<V, T>(variables: V) -> Result<BTreeMap<String, String>, SettingsError>
where
    V: IntoIterator<Item = (T, T)>,
    T: Into<OsString>,
{
    let mut ours = BTreeMap::new();
    for (name, value) in variables {
        // A name that is not UTF-8 is compared with its odd characters replaced: it is ours if it begins so, and then unknown.
        let name = name.into().to_string_lossy().into_owned();
        if !name.starts_with(PREFIX) || name.starts_with(TESTS_PREFIX) {
            continue;
        }
        let value = value.into().into_string().map_err(|_| SettingsError::Value {
            key: name.clone(),
            origin: Origin::Variable(name.clone()),
            expected: "UTF-8".to_owned(),
            came: "other bytes".to_owned(),
        })?;
        ours.insert(name, value);
    }
    Ok(ours)
}

/// The variable of a setting: `ARENA_AGENTWIRE__ACCESS_URL` for `agentwire.access_url`.
pub(super) fn variable_of(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase().replace('.', "__").replace('-', "_"))
}

/// The parts of a table that are values, by dotted key. A table is gone into unless `is_setting` knows its key; an empty one is
/// nothing where `is_group` knows it, and else a value, so that no unknown name passes for being empty.
pub(super) fn flatten(
    table: &toml::Table,
    is_setting: &dyn Fn(&str) -> bool,
    is_group: &dyn Fn(&str) -> bool,
) -> Vec<(String, toml::Value)> {
    let mut values = Vec::new();
    let mut left: Vec<(String, &toml::Value)> =
        table.iter().map(|(key, value)| (quoted(key), value)).collect();
    while let Some((key, value)) = left.pop() {
        match value {
            toml::Value::Table(inner) if is_group(&key) || !(is_setting(&key) || inner.is_empty()) => {
                left.extend(inner.iter().map(|(part, value)| (format!("{key}.{}", quoted(part)), value)));
            }
            _ => values.push((key, value.clone())),
        }
    }
    values
}

/// A part of a key as TOML would have it: in quotes where a dot or another odd character would mislead.
fn quoted(part: &str) -> String {
    let bare = !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if bare { part.to_owned() } else { format!("{part:?}") }
}

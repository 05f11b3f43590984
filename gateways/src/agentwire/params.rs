//! A request's parameters, read strictly: an operation takes those that the text shows for it and answers any other with 400
//! (agentwire, *Receive*).

use super::failure::Failure;
use std::{borrow::Cow, time::Duration};

/// The longest that a receive waits where it says how long (CHOICES-agentwire 32), in seconds.
pub(super) const WAIT_S_MAX: u64 = 3_600;
/// How long a file name is at most, in bytes (agentwire, *Limits*).
const FILENAME_BYTES_MAX: usize = 256;

/// The parameters of one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Params {
    pub(super) name: Option<String>,
    pub(super) filename: Option<String>,
    pub(super) owned: bool,
    pub(super) wait: Option<Duration>,
    pub(super) after: Option<u64>,
    pub(super) read: Option<u64>,
    pub(super) own: bool,
    pub(super) presence: bool,
    pub(super) filter: Filter,
}

/// Which entries a receive wants, by the start of their types, in lower case.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Filter {
    only: Vec<String>,
    skip: Vec<String>,
}

impl Filter {
    /// Whether an entry of this type, in lower case, is wanted.
    pub(super) fn wants(&self, kind: &str) -> bool {
        let starts = |starts: &[String]| starts.iter().any(|start| kind.starts_with(start.as_str()));
        (self.only.is_empty() || starts(&self.only)) && !starts(&self.skip)
    }
}

impl Params {
    /// Reads a query.
    ///
    /// # Errors
    /// 400: a parameter that is not among `taken`, one that is given twice, or a value that does not fit.
    pub(super) fn parse(query: Option<&str>, taken: &[&str]) -> Result<Self, Failure> {
        let mut params = Self::default();
        let mut seen = Vec::new();
        for part in query.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
            let (key, value) = match part.split_once('=') {
                Some((key, value)) => (key, Some(value)),
                None => (part, None),
            };
            let Some(&key) = taken.iter().find(|taken| **taken == key) else {
                return Err(Failure::malformed(format!(
                    "this operation takes no parameter {:?}",
                    shown(key)
                )));
            };
            let repeats = matches!(key, "only" | "skip");
            if !repeats && seen.contains(&key) {
                return Err(Failure::malformed(format!("{key} is given twice")));
            }
            seen.push(key);
            params.set(key, value)?;
        }
        Ok(params)
    }

    fn set(&mut self, key: &str, value: Option<&str>) -> Result<(), Failure> {
        match (key, value) {
            ("owned", None) => self.owned = true,
            ("owned", Some(_)) => return Err(Failure::malformed("owned takes no value")),
            ("own", Some("1")) => self.own = true,
            ("presence", Some("1")) => self.presence = true,
            ("own" | "presence", _) => return Err(Failure::malformed(format!("{key} is 1, or not given"))),
            ("after", value) => self.after = Some(number(key, value)?),
            ("read", value) => self.read = Some(number(key, value)?),
            ("wait", value) => {
                self.wait = Some(Duration::from_secs(number(key, value)?.min(WAIT_S_MAX)));
            }
            ("only" | "skip", value) => {
                // What curl sends for `+json` is a plus.
                let start = decoded(key, value.unwrap_or_default(), false)?.to_ascii_lowercase();
                if start.is_empty() {
                    return Err(Failure::malformed(format!("{key} is the start of a type, and is empty")));
                }
                if key == "only" { self.filter.only.push(start) } else { self.filter.skip.push(start) }
            }
            ("filename", value) => self.filename = Some(filename(value.unwrap_or_default())?),
            ("as", value) => self.name = Some(decoded(key, value.unwrap_or_default(), false)?.into_owned()),
            _ => return Err(Failure::malformed(format!("this operation takes no parameter {key:?}"))),
        }
        Ok(())
    }
}

/// A whole number; one that no counter reaches is beyond all of them.
fn number(key: &str, value: Option<&str>) -> Result<u64, Failure> {
    let text = value.unwrap_or_default();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Failure::malformed(format!("{key} is a whole number, not {:?}", shown(text))));
    }
    Ok(text.parse().unwrap_or(u64::MAX))
}

/// A file name: text without control characters.
fn filename(value: &str) -> Result<String, Failure> {
    let name = decoded("filename", value, true)?;
    if name.is_empty() || name.len() > FILENAME_BYTES_MAX || name.chars().any(char::is_control) {
        let line = format!("filename is 1 to {FILENAME_BYTES_MAX} bytes without control characters");
        return Err(Failure::malformed(line));
    }
    Ok(name.into_owned())
}

fn decoded<'a>(key: &str, value: &'a str, plus_is_space: bool) -> Result<Cow<'a, str>, Failure> {
    let malformed = || Failure::malformed(format!("{key} is not URL-encoded UTF-8"));
    let valid = |at: usize| {
        value.get(at + 1..at + 3).is_some_and(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    if !value.match_indices('%').all(|(at, _)| valid(at)) {
        return Err(malformed());
    }
    let value = if plus_is_space && value.contains('+') {
        Cow::Owned(value.replace('+', " "))
    } else {
        Cow::Borrowed(value)
    };
    match value {
        Cow::Borrowed(value) => {
            percent_encoding::percent_decode_str(value).decode_utf8().map_err(|_| malformed())
        }
        Cow::Owned(value) => {
            let decoded =
                percent_encoding::percent_decode_str(&value).decode_utf8().map_err(|_| malformed())?;
            Ok(Cow::Owned(decoded.into_owned()))
        }
    }
}

/// Somebody's text in a line of ours: not too long, and of one line.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECEIVE: &[&str] = &["after", "read", "wait", "only", "skip", "own", "presence"];

    #[test]
    fn an_operation_takes_what_is_shown_for_it_and_nothing_else() {
        let params = Params::parse(Some("after=3&read=2&wait=5&own=1&presence=1"), RECEIVE).unwrap();
        assert_eq!(
            (params.after, params.read, params.wait),
            (Some(3), Some(2), Some(Duration::from_secs(5)))
        );
        assert!(params.own && params.presence);
        for bad in [
            "skp=a",
            "after=",
            "after",
            "after=-1",
            "after=1.5",
            "after=+1",
            "wait=x",
            "wait=0.5",
            "own=0",
            "own",
            "presence=",
            "after=1&after=1",
            "only=",
            "only",
            "skip=",
            "only=%zz",
            "only=%f",
            "only=%ff",
            "filename=a",
            "After=1",
        ] {
            assert!(Params::parse(Some(bad), RECEIVE).is_err(), "{bad}");
        }
        assert_eq!(Params::parse(None, RECEIVE), Ok(Params::default()));
        assert_eq!(Params::parse(Some(""), &[]), Ok(Params::default()));
        assert!(Params::parse(Some("owned"), &["owned"]).unwrap().owned);
        assert!(Params::parse(Some("owned=1"), &["owned"]).is_err());
        let huge = Params::parse(Some("after=99999999999999999999&wait=99999"), RECEIVE).unwrap();
        assert_eq!((huge.after, huge.wait), (Some(u64::MAX), Some(Duration::from_secs(WAIT_S_MAX))));
    }

    #[test]
    fn types_are_wanted_by_their_starts_in_any_case() {
        let query =
            "only=application/vnd.agentwire.voice.&only=Text%2F&skip=application/vnd.agentwire.voice.trace";
        let filter = Params::parse(Some(query), RECEIVE).unwrap().filter;
        assert!(filter.wants("application/vnd.agentwire.voice.say") && filter.wants("text/plain"));
        assert!(!filter.wants("application/vnd.agentwire.voice.trace+json") && !filter.wants("image/png"));
        assert!(Filter::default().wants("anything/at-all"));
        let plus = Params::parse(Some("only=application/a+json"), RECEIVE).unwrap().filter;
        assert!(plus.wants("application/a+json"));
    }

    #[test]
    fn a_file_name_is_a_short_text_without_control_characters() {
        let name =
            |query: &str| Params::parse(Some(query), &["filename"]).map(|params| params.filename.unwrap());
        assert_eq!(name("filename=a+b%2B%C3%A9.png").unwrap(), "a b+é.png");
        for bad in [
            "filename=",
            "filename",
            "filename=%0a",
            "filename=%7f",
            &format!("filename={}", "a".repeat(257)),
        ] {
            assert!(name(bad).is_err(), "{bad}");
        }
        assert_eq!(name(&format!("filename={}", "a".repeat(256))).unwrap().len(), 256);
    }
}

//! Entries and presence as lines of JSON (agentwire, *Entries* and *Presence*): keys in the text's order, no spaces, times in
//! whole seconds.

use arena_projectors::SessionEntry;
use arena_schema::LogTime;
use bytes::Bytes;
use std::fmt::Write;

/// The type of a payload that none is given for.
pub(super) const PLAIN_TYPE: &str = "text/plain; charset=utf-8";
/// How long a payload may be that stands in its entry (CHOICES-agentwire 26), in bytes.
pub(super) const TEXT_IN_ENTRY_BYTES_MAX: u64 = 65_536;

/// An entry with its texts in clear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) n: u64,
    pub(super) time: LogTime,
    pub(super) from: &'a str,
    pub(super) kind: &'a str,
    pub(super) size: u64,
    pub(super) filename: Option<&'a str>,
    /// The payload, where it is at hand.
    pub(super) payload: Option<&'a [u8]>,
    pub(super) account: Option<&'a str>,
}

/// An entry as it is sent to whoever wants it.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) n: u64,
    /// Which participant's.
    pub(super) who: u32,
    /// Its type, in lower case.
    pub(super) kind: Box<str>,
    /// The line, with its end.
    pub(super) json: Bytes,
}

impl Entry<'_> {
    pub(super) fn line(&self, who: u32) -> Line {
        let mut json = String::with_capacity(128 + self.payload.map_or(0, <[u8]>::len));
        let _ = write!(json, "{{\"n\":{},\"time\":\"", self.n);
        push_time(&mut json, self.time);
        json.push_str("\",\"from\":");
        push_text(&mut json, self.from);
        json.push_str(",\"type\":");
        push_text(&mut json, self.kind);
        let _ = write!(json, ",\"size\":{}", self.size);
        if let Some(filename) = self.filename {
            json.push_str(",\"filename\":");
            push_text(&mut json, filename);
        }
        if let Some(text) = self.text() {
            json.push_str(",\"text\":");
            push_text(&mut json, text);
        }
        if let Some(account) = self.account {
            json.push_str(",\"account\":");
            push_text(&mut json, account);
        }
        json.push_str("}\n");
        Line { n: self.n, who, kind: self.kind.to_ascii_lowercase().into(), json: json.into() }
    }

    /// The payload, where it is text that stands in the entry.
    fn text(&self) -> Option<&str> {
        if self.size > TEXT_IN_ENTRY_BYTES_MAX || !is_text(self.kind) {
            return None;
        }
        std::str::from_utf8(self.payload?).ok()
    }
}

/// An entry that lies in the past.
pub(super) fn past_line(entry: &SessionEntry) -> Line {
    let of_it = Entry {
        n: entry.n,
        time: entry.at,
        from: &entry.from,
        kind: &entry.kind,
        size: entry.size,
        filename: entry.filename.as_deref(),
        // Joining and leaving have none to show.
        payload: entry.payload.as_deref(),
        account: entry.account.as_deref(),
    };
    of_it.line(entry.participant)
}

/// Whether payloads of this type are text; its parameters decide nothing (CHOICES-agentwire 41).
fn is_text(kind: &str) -> bool {
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence.starts_with("text/") || essence == "application/json" || essence.ends_with("+json")
}

/// How a participant stands, for the presence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stands<'a> {
    pub(super) name: &'a str,
    pub(super) read: u64,
    /// Since when it is not receiving; none where it is.
    pub(super) since: Option<LogTime>,
    pub(super) account: Option<&'a str>,
}

/// The presence, with the line's end.
pub(super) fn presence_line<'a>(people: impl Iterator<Item = Stands<'a>>) -> Bytes {
    let mut json = String::from("{\"presence\":{");
    for (at, one) in people.enumerate() {
        if at > 0 {
            json.push(',');
        }
        push_text(&mut json, one.name);
        let _ = write!(json, ":{{\"read\":{},\"receiving\":{}", one.read, one.since.is_none());
        if let Some(since) = one.since {
            json.push_str(",\"since\":\"");
            push_time(&mut json, since);
            json.push('"');
        }
        if let Some(account) = one.account {
            json.push_str(",\"account\":");
            push_text(&mut json, account);
        }
        json.push('}');
    }
    json.push_str("}}\n");
    json.into()
}

fn push_text(json: &mut String, text: &str) {
    json.push_str(&serde_json::Value::from(text).to_string());
}

/// RFC 3339 in UTC, cut to seconds (CHOICES-agentwire 44).
fn push_time(json: &mut String, time: LogTime) {
    let text = arena_schema::public::rfc3339_ms(time);
    json.push_str(text.split('.').next().unwrap_or_default());
    json.push('Z');
}

#[cfg(test)]
mod tests {
    use super::*;
    use arena_projectors::JOIN_TYPE;

    const TIME: LogTime = LogTime(1_792_574_102_987_654);

    fn json(entry: &Entry<'_>) -> String {
        String::from_utf8(entry.line(0).json.to_vec()).unwrap()
    }

    #[test]
    fn an_entry_is_one_line_with_the_texts_keys() {
        let entry = Entry {
            n: 3,
            time: TIME,
            from: "luis",
            kind: PLAIN_TYPE,
            size: 6,
            filename: None,
            payload: Some(b"Hello."),
            account: None,
        };
        assert_eq!(
            json(&entry),
            "{\"n\":3,\"time\":\"2026-10-21T09:15:02Z\",\"from\":\"luis\",\"type\":\"text/plain; charset=utf-8\",\"size\":6,\
             \"text\":\"Hello.\"}\n"
        );
        let join = Entry { kind: JOIN_TYPE, size: 0, payload: None, ..entry.clone() };
        assert!(json(&join).ends_with("\"type\":\"application/vnd.agentwire.join\",\"size\":0}\n"));
        let full =
            Entry { filename: Some("a\"b"), payload: Some(b"\n"), account: Some("luis"), ..entry.clone() };
        assert!(json(&full).ends_with(",\"filename\":\"a\\\"b\",\"text\":\"\\n\",\"account\":\"luis\"}\n"));
    }

    #[test]
    fn a_payload_stands_in_its_entry_where_it_is_short_text() {
        let has_text = |kind, payload: &[u8]| {
            let size = payload.len() as u64;
            let entry = Entry {
                n: 1,
                time: TIME,
                from: "a",
                kind,
                size,
                filename: None,
                payload: Some(payload),
                account: None,
            };
            json(&entry).contains("\"text\":")
        };
        for kind in [
            "text/plain",
            "TEXT/Markdown; x=y",
            "application/json",
            "application/json; charset=utf-8",
            "a/b+json",
            "A/B+JSON;c",
        ] {
            assert!(has_text(kind, b"1") && has_text(kind, b""), "{kind}");
        }
        for kind in ["image/png", "application/jsonl", "application/octet-stream; text/plain", "a/b+xml"] {
            assert!(!has_text(kind, b"1"), "{kind}");
        }
        assert!(!has_text("text/plain", b"\xff"));
        assert!(has_text("text/plain", &vec![b'a'; 65_536]) && !has_text("text/plain", &vec![b'a'; 65_537]));
    }

    #[test]
    fn the_presence_says_who_is_there_and_how_they_stand() {
        let people = [
            Stands { name: "luis", read: 7, since: None, account: None },
            Stands { name: "luis/claude", read: 5, since: Some(TIME), account: Some("luis") },
        ];
        assert_eq!(
            presence_line(people.into_iter()),
            "{\"presence\":{\"luis\":{\"read\":7,\"receiving\":true},\"luis/claude\":{\"read\":5,\"receiving\":false,\
             \"since\":\"2026-10-21T09:15:02Z\",\"account\":\"luis\"}}}\n"
        );
        assert_eq!(presence_line([].into_iter()), "{\"presence\":{}}\n");
    }
}

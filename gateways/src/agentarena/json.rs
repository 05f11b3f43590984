//! Strict JSON: one object, in UTF-8 without a byte-order mark, nothing behind it, no key twice at its top level, no lone
//! surrogate anywhere, no deeper than [`JSON_DEPTH_MAX`] (CHOICES, *strike causes*: `not_json`).

use serde::{
    Deserializer,
    de::{Error, MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{collections::BTreeMap, fmt};

/// How deep arrays and objects may lie in each other; the top level is 1.
pub const JSON_DEPTH_MAX: usize = 128;

/// The body is not what the protocol calls JSON; says where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotJson(pub String);

/// The values at the top level by their keys, each as it stands in the body.
///
/// # Errors
/// [`NotJson`], with the reason.
pub fn top_level(body: &[u8]) -> Result<BTreeMap<String, &RawValue>, NotJson> {
    let text = std::str::from_utf8(body).map_err(|why| NotJson(why.to_string()))?;
    // Before the parser, whose own walk over nested values it keeps shallow.
    depth_and_escapes(text)?;
    let mut parser = serde_json::Deserializer::from_str(text);
    let object = parser.deserialize_map(TopLevel).map_err(|why| NotJson(why.to_string()))?;
    parser.end().map_err(|why| NotJson(why.to_string()))?;
    Ok(object)
}

struct TopLevel;

impl<'de> Visitor<'de> for TopLevel {
    type Value = BTreeMap<String, &'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut object = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = map.next_value::<&RawValue>()?;
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {key:?} stands twice")));
            }
            object.insert(key, value);
        }
        Ok(object)
    }
}

/// The parser checks neither in values that it only passes over.
fn depth_and_escapes(text: &str) -> Result<(), NotJson> {
    let mut depth = 0usize;
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > JSON_DEPTH_MAX {
                    return Err(NotJson(format!("deeper than {JSON_DEPTH_MAX} at byte {at}")));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let rest = text.get(at + 1..).unwrap_or_default();
                let end =
                    string_end(rest).map_err(|why| NotJson(format!("{why} in the text at byte {at}")))?;
                // Past the text and its closing quote.
                let _ = bytes.nth(end);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Where the text that begins here ends: the index of its closing quote.
fn string_end(text: &str) -> Result<usize, &'static str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return Ok(at),
            b'\\' if bytes.get(at + 1) == Some(&b'u') => match code_unit(bytes, at) {
                Some(0xd800..=0xdbff) => match code_unit(bytes, at + 6) {
                    Some(0xdc00..=0xdfff) => at += 12,
                    _ => return Err("a lone surrogate"),
                },
                Some(0xdc00..=0xdfff) => return Err("a lone surrogate"),
                Some(_) => at += 6,
                None => return Err("a broken escape"),
            },
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    Err("no end")
}

fn code_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn good(body: &str) {
        if let Err(why) = top_level(body.as_bytes()) {
            panic!("{body} is JSON: {why:?}");
        }
    }

    #[track_caller]
    fn bad(body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        assert!(top_level(body).is_err(), "{} is none", String::from_utf8_lossy(body));
    }

    #[test]
    fn one_strict_object_and_nothing_else() {
        good(r#"{"move":"d","nonce":"7f"}"#);
        good(" \r\n\t{ } \n");
        good(r#"{"a":[1,-0.5e+3,1e999,true,null,"\"\\\/\b\f\n\r\té😀"]}"#);
        good(r#"{"a":"\ud83d\ude00"}"#);
        good("{\"a\":{\"b\":1,\"b\":2}}");
        for none in [
            "",
            " ",
            "null",
            "\"move\"",
            "[]",
            "[{}]",
            "d",
            "{",
            "{\"a\":1",
            "{\"a\":1,}",
            "{a:1}",
            "{'a':1}",
            "{} {}",
            "{}x",
            "{\"a\":NaN}",
            "{\"a\":Infinity}",
            "{\"a\":01}",
            "{\"a\":+1}",
            "{\"a\":.5}",
            "{\"a\":\"\n\"}",
            "{\"a\":1 \"b\":2}",
            "// c\n{}",
            "{\"a\":tru}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\\u12g4\"}",
            "{\"a\":\"\\u+123\"}",
        ] {
            bad(none);
        }
        bad(b"\xef\xbb\xbf{}");
        bad(b"{\"a\":\"\xff\"}");
        bad(b"{\"a\":\"\xed\xa0\x80\"}");
    }

    #[test]
    fn a_key_twice_at_the_top_level_is_none_however_it_is_written() {
        bad(r#"{"move":"d","move":"e"}"#);
        bad(r#"{"move":"d","\u006dove":"d"}"#);
    }

    #[test]
    fn a_lone_surrogate_is_none_wherever_it_stands() {
        for escape in ["\\ud800", "\\udc00", "\\ud800\\ud800", "\\ud800x", "\\udbff\\u0041", "\\uDFFF"] {
            bad(format!(r#"{{"a":"{escape}"}}"#));
            bad(format!(r#"{{"{escape}":1}}"#));
            bad(format!(r#"{{"a":[{{"b":"{escape}"}}]}}"#));
        }
        good(r#"{"a":"\\ud800"}"#);
    }

    #[test]
    fn depth_128_is_json_and_129_is_none() {
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        good(&nested(128));
        bad(nested(129));
        bad(nested(8_000));
        good(&format!("{{\"a\":\"{}\"}}", "[".repeat(1_000)));
    }
}

//! Bodies with status 200, in time and in size, of which the content is wrong.

use super::rows::{Row, strike};
use arena_tests::{Reply, Served};
use serde_json::Value;

/// A reply with status 200 and these bytes, in which NONCE stands for the request's.
fn reply(body: &[u8], request: &Value) -> Reply {
    let nonce = request["nonce"].as_str().unwrap();
    let mut bytes = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.windows(5).position(|part| part == b"NONCE") {
        bytes.extend_from_slice(&rest[..at]);
        bytes.extend_from_slice(nonce.as_bytes());
        rest = &rest[at + 5..];
    }
    bytes.extend_from_slice(rest);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        bytes.len()
    );
    Reply::Raw([head.as_bytes(), &bytes].concat())
}

async fn each_strikes(cause: &'static str, bodies: &[(&str, &[u8])]) {
    let arena = Served::start();
    let mut rows = Vec::new();
    for (name, body) in bodies {
        let body = body.to_vec();
        rows.push(Row::replying(*name, (cause, Some(200)), move |_, request| reply(&body, request)).await);
    }
    strike(&arena, rows).await;
}

#[tokio::test]
async fn a_body_that_is_not_strict_json_is_a_strike() {
    let nested = |depth: usize| {
        let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
        format!(r#"{{"move":"d","nonce":"NONCE","deep":{open}{close}}}"#).into_bytes()
    };
    each_strikes(
        "not_json",
        &[
            ("nothing", b""),
            ("a page", b"<html>d</html>"),
            ("a bare move", b"d"),
            ("an array", br#"[{"move":"d","nonce":"NONCE"}]"#),
            ("a text", br#""d""#),
            ("null", b"null"),
            ("invalid UTF-8", b"{\"move\":\"d\",\"nonce\":\"NONCE\",\"reason\":\"\xff\xfe\"}"),
            ("UTF-16", b"\xff\xfe{\0}\0"),
            ("a byte-order mark", b"\xef\xbb\xbf{\"move\":\"d\",\"nonce\":\"NONCE\"}"),
            ("trailing text", br#"{"move":"d","nonce":"NONCE"} d"#),
            ("two objects", br#"{"move":"d","nonce":"NONCE"}{"move":"d","nonce":"NONCE"}"#),
            ("a key twice", br#"{"move":"d","move":"d","nonce":"NONCE"}"#),
            ("a key twice, once escaped", br#"{"move":"d","nonce":"NONCE","\u006eonce":"NONCE"}"#),
            ("depth 129", &nested(129)),
            ("depth 8,000", &nested(8_000)),
            ("a lone surrogate", br#"{"move":"d","nonce":"NONCE","reason":"\ud83d"}"#),
            ("not a number", br#"{"move":"d","nonce":"NONCE","score":NaN}"#),
            ("a comma too many", br#"{"move":"d","nonce":"NONCE",}"#),
            ("single quotes", b"{'move':'d','nonce':'NONCE'}"),
            ("a fence around it", b"```json\n{\"move\":\"d\",\"nonce\":\"NONCE\"}\n```"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_body_without_a_text_for_a_move_is_a_strike() {
    each_strikes(
        "no_move",
        &[
            ("no fields", b"{}"),
            ("no move", br#"{"nonce":"NONCE","column":"d"}"#),
            ("a number", br#"{"nonce":"NONCE","move":3}"#),
            ("null", br#"{"nonce":"NONCE","move":null}"#),
            ("a list", br#"{"nonce":"NONCE","move":["d"]}"#),
            ("an object", br#"{"nonce":"NONCE","move":{"column":"d"}}"#),
            ("another case", br#"{"nonce":"NONCE","Move":"d"}"#),
            ("no move and a wrong nonce", br#"{"nonce":"7f3a"}"#),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_wrong_or_missing_nonce_is_a_strike() {
    each_strikes(
        "nonce",
        &[
            ("missing", br#"{"move":"d"}"#),
            ("null", br#"{"move":"d","nonce":null}"#),
            ("the sample's", br#"{"move":"d","nonce":"7f3a"}"#),
            ("with a space", br#"{"move":"d","nonce":"NONCE "}"#),
            ("twice in a row", br#"{"move":"d","nonce":"NONCENONCE"}"#),
            ("in a list", br#"{"move":"d","nonce":["NONCE"]}"#),
            ("and an illegal move", br#"{"move":"z","nonce":"wrong"}"#),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_move_that_is_not_in_legal_to_the_letter_is_a_strike() {
    each_strikes(
        "illegal",
        &[
            ("upper case", br#"{"move":"D","nonce":"NONCE"}"#),
            ("no column", br#"{"move":"z","nonce":"NONCE"}"#),
            ("the next letter", br#"{"move":"h","nonce":"NONCE"}"#),
            ("a space", br#"{"move":"d ","nonce":"NONCE"}"#),
            ("empty", br#"{"move":"","nonce":"NONCE"}"#),
            ("a square", br#"{"move":"d1","nonce":"NONCE"}"#),
            ("a number", br#"{"move":"4","nonce":"NONCE"}"#),
            ("a full-width letter", "{\"move\":\"ｄ\",\"nonce\":\"NONCE\"}".as_bytes()),
            ("a Cyrillic look-alike", "{\"move\":\"а\",\"nonce\":\"NONCE\"}".as_bytes()),
        ],
    )
    .await;
}

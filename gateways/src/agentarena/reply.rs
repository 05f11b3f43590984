//! What a reply comes to: a move of the game, or one strike with the first cause that applies (CHOICES, *strike causes*).

use super::json::top_level;
use crate::egress::{Exchange, Fault, Outcome};
use arena_engine::games::GameCode;
use arena_schema::{Move, command::matches::StrikeCause};
use serde_json::value::RawValue;

/// `reason` is cut here, in Unicode scalar values (AA-021).
pub const REASON_CHARS_MAX: usize = 280;
/// How much of a faulty reply its agent's owner can read.
pub const EXCERPT_BYTES_MAX: usize = 1_024;

/// What an exchange came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// A move of the game, in form; whether it is legal now is the engine's to say.
    Move {
        /// The move.
        mv: Move,
        /// What it said of it, cut at [`REASON_CHARS_MAX`].
        reason: Option<String>,
        /// The reply's first part, where the move stood not in `legal`.
        excerpt: Option<String>,
    },
    /// One strike.
    Strike {
        /// The first cause that applies.
        cause: StrikeCause,
        /// The HTTP status, where one came.
        status: Option<u16>,
        /// The reply's first part, or what broke, in words.
        excerpt: Option<String>,
    },
    /// A fault of our own: nobody is struck.
    OurFault(String),
}

/// Judges an exchange for a request that carried `nonce` and in whose `legal` stood what `allows` says.
pub fn judge(exchange: &Exchange, nonce: &str, game: GameCode, allows: impl Fn(&str) -> bool) -> Verdict {
    let (status, body, too_large) = match &exchange.outcome {
        Outcome::Fault { fault: Fault::Unsendable | Fault::NoRoom, detail, .. } => {
            return Verdict::OurFault(detail.clone());
        }
        Outcome::Fault { fault, detail, status, body } => {
            let cause = match fault {
                Fault::Tls => StrikeCause::Tls,
                Fault::Timeout => StrikeCause::Timeout,
                Fault::Transport | Fault::Refused(_) | Fault::Unsendable | Fault::NoRoom => {
                    StrikeCause::Transport
                }
            };
            let excerpt = excerpt(body).or_else(|| Some(format!("({detail})")));
            return Verdict::Strike { cause, status: *status, excerpt };
        }
        Outcome::Reply { status, body, too_large } => (*status, body.as_slice(), *too_large),
    };
    let strike = |cause| Verdict::Strike { cause, status: Some(status), excerpt: excerpt(body) };
    match status {
        200 => {}
        300..=399 => return strike(StrikeCause::Redirect),
        _ => return strike(StrikeCause::Status),
    }
    if too_large {
        return strike(StrikeCause::TooLarge);
    }
    let Ok(object) = top_level(body) else {
        return strike(StrikeCause::NotJson);
    };
    let text_of = |key: &str| {
        object.get(key).and_then(|value: &&RawValue| serde_json::from_str::<String>(value.get()).ok())
    };
    let Some(text) = text_of("move") else {
        return strike(StrikeCause::NoMove);
    };
    if !text_of("nonce").is_some_and(|echoed| crate::secrets::same(&echoed, nonce)) {
        return strike(StrikeCause::Nonce);
    }
    match game.parse_move(&text) {
        Some(mv) => {
            let reason = text_of("reason").map(|reason| reason.chars().take(REASON_CHARS_MAX).collect());
            let excerpt = if allows(&text) { None } else { excerpt(body) };
            Verdict::Move { mv, reason, excerpt }
        }
        None => strike(StrikeCause::Illegal),
    }
}

/// At most [`EXCERPT_BYTES_MAX`] bytes of a body, as text.
fn excerpt(body: &[u8]) -> Option<String> {
    if body.is_empty() {
        return None;
    }
    let part = &body[..body.len().min(EXCERPT_BYTES_MAX)];
    let mut text = String::from_utf8_lossy(part).into_owned();
    while text.len() > EXCERPT_BYTES_MAX {
        text.pop();
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const NONCE: &str = "7f3a7f3a7f3a7f3a7f3a7f3a7f3a7f3a";

    fn reply(status: u16, body: &[u8], too_large: bool) -> Verdict {
        let outcome = Outcome::Reply { status, body: body.to_vec(), too_large };
        judge(&Exchange { latency: Duration::from_millis(3), outcome }, NONCE, GameCode::Connect4, |text| {
            text == "d"
        })
    }

    #[track_caller]
    fn strikes(body: &str, expect: StrikeCause) {
        match reply(200, body.replace("NONCE", NONCE).as_bytes(), false) {
            Verdict::Strike { cause, .. } => assert_eq!(cause, expect, "{body}"),
            other => panic!("{body} is a strike, it came to {other:?}"),
        }
    }

    #[track_caller]
    fn plays(body: &str, expect: Option<&str>) {
        match reply(200, body.replace("NONCE", NONCE).as_bytes(), false) {
            Verdict::Move { mv, reason, excerpt } => {
                assert_eq!(GameCode::Connect4.move_text(&mv), "d");
                assert_eq!(reason.as_deref(), expect);
                assert_eq!(excerpt, None, "what is in `legal` needs none");
            }
            other => panic!("{body} is a move, it came to {other:?}"),
        }
    }

    #[test]
    fn the_least_reply_is_a_move_and_what_is_not_asked_for_is_ignored() {
        plays(r#"{ "move": "d", "nonce": "NONCE" }"#, None);
        plays(r#"{"nonce":"NONCE","move":"d","reason":"centre","x":{"y":[1]}}"#, Some("centre"));
        plays(r#"{"nonce":"NONCE","move":"d","reason":7}"#, None);
        plays(r#"{"nonce":"NONCE","move":"\u0064","reason":null}"#, None);
    }

    #[test]
    fn a_reason_is_cut_at_280_characters_and_never_strikes() {
        let long = "é".repeat(300);
        plays(&format!(r#"{{"nonce":"NONCE","move":"d","reason":"{long}"}}"#), Some(&"é".repeat(280)));
    }

    #[test]
    fn each_fault_of_a_body_has_its_cause_and_the_first_one_counts() {
        use StrikeCause::{Illegal, NoMove, Nonce, NotJson};
        strikes("", NotJson);
        strikes("<html>", NotJson);
        strikes("[\"d\"]", NotJson);
        strikes(r#"{"move":"d","nonce":"NONCE"} trailing"#, NotJson);
        strikes(r#"{"move":"d","move":"d","nonce":"NONCE"}"#, NotJson);
        strikes(r#"{"nonce":"NONCE"}"#, NoMove);
        strikes(r#"{"move":3,"nonce":"NONCE"}"#, NoMove);
        strikes(r#"{"move":null,"nonce":"wrong"}"#, NoMove);
        strikes(r#"{"move":["d"],"nonce":"NONCE"}"#, NoMove);
        strikes(r#"{"move":"d"}"#, Nonce);
        strikes(r#"{"move":"d","nonce":null}"#, Nonce);
        strikes(r#"{"move":"z","nonce":"wrong"}"#, Nonce);
        strikes(&format!(r#"{{"move":"d","nonce":"{}"}}"#, NONCE.to_uppercase()), Nonce);
        for none in ["D", " d", "d ", "h", "", "4", "dd", "ｄ"] {
            strikes(&format!(r#"{{"move":"{none}","nonce":"NONCE"}}"#), Illegal);
        }
    }

    #[test]
    fn status_comes_before_size_and_size_before_the_body() {
        let good = format!(r#"{{"move":"d","nonce":"{NONCE}"}}"#);
        for (status, expect) in [
            (201, StrikeCause::Status),
            (204, StrikeCause::Status),
            (301, StrikeCause::Redirect),
            (304, StrikeCause::Redirect),
            (404, StrikeCause::Status),
            (500, StrikeCause::Status),
        ] {
            for too_large in [false, true] {
                assert!(
                    matches!(reply(status, good.as_bytes(), too_large),
                        Verdict::Strike { cause, status: Some(seen), .. } if cause == expect && seen == status),
                    "{status}"
                );
            }
        }
        assert!(matches!(reply(200, b"x", true), Verdict::Strike { cause: StrikeCause::TooLarge, .. }));
    }

    #[test]
    fn a_move_of_the_game_that_is_not_in_legal_keeps_what_was_answered() {
        let body = format!(r#"{{"move":"e","nonce":"{NONCE}"}}"#);
        match reply(200, body.as_bytes(), false) {
            Verdict::Move { excerpt, .. } => assert_eq!(excerpt.as_deref(), Some(body.as_str())),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_excerpt_is_at_most_a_kilobyte_of_text() {
        let body = [0xff; 4_000];
        match reply(200, &body, false) {
            Verdict::Strike { excerpt: Some(excerpt), .. } => assert!(excerpt.len() <= EXCERPT_BYTES_MAX),
            other => panic!("{other:?}"),
        }
    }
}

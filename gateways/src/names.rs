//! Names: what an agent may be called, and the slug that it gets (CHOICES, *names* and *handles*).

use crate::house;
use arena_journal::vault::random;
use arena_schema::id::{HANDLE_BYTES_MAX, HANDLE_BYTES_MIN, Handle};
use unicode_normalization::UnicodeNormalization;

/// The longest name for display, in Unicode scalar values after NFC and trim.
pub const NAME_CHARS_MAX: usize = 80;

/// Why a name is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameRefusal {
    /// Empty, or too long.
    #[error("a name has 1 to {NAME_CHARS_MAX} characters, this one has {chars}")]
    Length {
        /// How many it has after NFC and trim.
        chars: usize,
    },
    /// For agentarena/1 the name itself is the handle.
    #[error(
        "for agentarena/1 the name is the agent's handle: {HANDLE_BYTES_MIN} to {HANDLE_BYTES_MAX} of A-Z a-z 0-9 _ and -"
    )]
    NoHandle,
    /// Control characters have no place in a name.
    #[error("a name has no control characters")]
    Control,
    /// Taken for a public page's address.
    #[error("24 hex digits alone are the form of a public page's address; choose another name")]
    LooksLikeAddress,
    /// The house's own.
    #[error("the name {0} is the house's; choose another")]
    Reserved(String),
}

impl NameRefusal {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Reserved(_) => "name_reserved",
            _ => "invalid_name",
        }
    }
}

/// A name as it is shown, and the slug that stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// For display.
    pub display: String,
    /// The permanent handle.
    pub slug: Handle,
}

/// Reads a name; with `as_handle` it must be a handle itself.
///
/// # Errors
/// [`NameRefusal`], saying what is allowed.
pub fn parse(text: &str, as_handle: bool) -> Result<Name, NameRefusal> {
    let normal: String = text.nfc().collect();
    let display = normal.trim();
    let chars = display.chars().count();
    if chars == 0 || chars > NAME_CHARS_MAX {
        return Err(NameRefusal::Length { chars });
    }
    if display.chars().any(char::is_control) {
        return Err(NameRefusal::Control);
    }
    if as_handle && !is_handle(text) {
        return Err(NameRefusal::NoHandle);
    }
    let slug = if as_handle {
        Handle::parse(&display.to_ascii_lowercase()).ok_or(NameRefusal::NoHandle)?
    } else {
        slug(display)
    };
    if slug.as_str().len() == 24 && slug.as_str().bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(NameRefusal::LooksLikeAddress);
    }
    if let Some(agent) = house::by_name(slug.as_str()) {
        return Err(NameRefusal::Reserved(agent.name.to_owned()));
    }
    Ok(Name { display: display.to_owned(), slug })
}

fn is_handle(text: &str) -> bool {
    (HANDLE_BYTES_MIN..=HANDLE_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// The name lower-cased, each run of other characters as one `-`, ends trimmed, cut to 32; `agent-` and 8 hex digits where
/// that is shorter than 3.
fn slug(name: &str) -> Handle {
    let mut slug = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-' {
            slug.push(c);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let mut slug = slug.trim_matches('-');
    if slug.len() > HANDLE_BYTES_MAX {
        slug = slug[..HANDLE_BYTES_MAX].trim_end_matches('-');
    }
    Handle::parse(slug).unwrap_or_else(|| {
        let drawn = format!("agent-{}", hex::encode(random::<4>()));
        Handle::parse(&drawn).expect("agent- and hex digits are a handle")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn slugs(name: &str, expect: &str) {
        assert_eq!(parse(name, false).unwrap().slug.as_str(), expect);
    }

    #[test]
    fn a_slug_is_the_name_in_lower_case_with_one_dash_for_each_run_of_the_rest() {
        slugs("My Agent", "my-agent");
        slugs("  Ünïcode & Co. ", "n-code-co");
        slugs("LEFT_hand-2", "left_hand-2");
        slugs(&"x".repeat(40), &"x".repeat(32));
        slugs(&format!("{} y", "x".repeat(31)), &"x".repeat(31));
    }

    #[test]
    fn what_leaves_less_than_three_characters_gets_a_drawn_slug() {
        for name in ["日本", "ab", "!!"] {
            let slug = parse(name, false).unwrap().slug;
            assert!(slug.as_str().starts_with("agent-") && slug.as_str().len() == 14, "{slug}");
        }
    }

    #[test]
    fn an_agentarena_name_is_a_handle_to_the_letter() {
        assert_eq!(parse("Left-1", true).unwrap().display, "Left-1");
        for name in ["-ABC-", "---", "_1_"] {
            assert_eq!(parse(name, true).unwrap().slug.as_str(), name.to_ascii_lowercase(), "to the letter");
        }
        for none in ["ab", "with space", "ünï", " left", "x23456789012345678901234567890123"] {
            assert_eq!(parse(none, true), Err(NameRefusal::NoHandle), "{none:?}");
        }
        assert_eq!(parse(" ", true), Err(NameRefusal::Length { chars: 0 }));
    }

    #[test]
    fn the_houses_names_and_addresses_are_not_to_be_had() {
        assert!(matches!(parse("Gremlin-9", true), Err(NameRefusal::Reserved(_))));
        assert!(matches!(parse("pebble 1", false), Err(NameRefusal::Reserved(_))));
        assert_eq!(parse("0123456789abcdef01234567", true), Err(NameRefusal::LooksLikeAddress));
        assert_eq!(parse("a\u{0}b", false), Err(NameRefusal::Control));
        assert_eq!(parse(&"é".repeat(81), false), Err(NameRefusal::Length { chars: 81 }));
    }
}

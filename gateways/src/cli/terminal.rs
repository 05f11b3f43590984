//! What is printed: to a reader that may have gone, and of texts that others wrote.

use std::{
    fmt,
    io::{self, Write},
};

/// Prints a line to standard output; ends the process quietly where nobody reads it any more (`arena agent list | head`).
macro_rules! say {
    ($($part:tt)*) => { $crate::cli::terminal::line(format_args!($($part)*)) };
}

pub(super) use say;

/// See [`say`].
pub(super) fn line(text: fmt::Arguments<'_>) {
    match writeln!(io::stdout().lock(), "{text}") {
        Ok(()) => {}
        Err(gone) if gone.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(why) => {
            eprintln!("arena: standard output cannot be written: {why}");
            std::process::exit(1);
        }
    }
}

/// A text that somebody else wrote, in a form that moves nothing on a terminal but the cursor to the right: control and
/// formatting characters (escapes, bells, marks that turn the direction of writing) stand as `\u{1b}`.
pub(super) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_formatting(c) {
            plain.extend(c.escape_unicode());
        } else {
            plain.push(c);
        }
    }
    plain
}

/// The invisible characters that change how others are shown (Unicode's category Cf, as far as terminals heed it).
fn is_formatting(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_move_a_terminal_stands_as_its_code_and_the_rest_as_it_is() {
        assert_eq!(plain("centre, d4 “é” 日本 🙂"), "centre, d4 “é” 日本 🙂");
        assert_eq!(plain("\u{1b}[31m\u{7}\0\r\n\u{9b}"), "\\u{1b}[31m\\u{7}\\u{0}\\u{d}\\u{a}\\u{9b}");
        assert_eq!(plain("a\u{202e}b\u{2066}c\u{200f}"), "a\\u{202e}b\\u{2066}c\\u{200f}");
    }
}

//! What is printed: to a reader that may have gone, and of texts that others wrote.

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
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

/// How far long work is: a bar on a terminal, a line now and then elsewhere; on standard error.
pub(super) struct Progress {
    what: &'static str,
    total: u64,
    bar: bool,
    shown: Instant,
    at: u64,
}

/// How often a bar is drawn anew, and how often a line is written.
const BAR_PAUSE: Duration = Duration::from_millis(100);
const LINE_PAUSE: Duration = Duration::from_secs(5);
const BAR_WIDTH: u64 = 40;

impl Progress {
    /// Of work on so many things.
    pub(super) fn new(what: &'static str, total: u64) -> Self {
        let bar = io::stderr().is_terminal();
        Self { what, total, bar, shown: Instant::now(), at: 0 }
    }

    /// So many are done.
    pub(super) fn at(&mut self, at: u64) {
        self.at = at;
        // A clock is read now and then, not for each of millions.
        if at.is_multiple_of(64) && self.shown.elapsed() >= if self.bar { BAR_PAUSE } else { LINE_PAUSE } {
            self.shown = Instant::now();
            self.show();
        }
    }

    fn show(&self) {
        let Self { what, total, at, .. } = self;
        let done = at * 100 / (*total).max(*at).max(1);
        // Nobody who reads it is no reason to end.
        let _ = if self.bar {
            let full = usize::try_from(done * BAR_WIDTH / 100).unwrap_or_default();
            let (full, rest) = ("#".repeat(full), "-".repeat(BAR_WIDTH as usize - full));
            write!(io::stderr().lock(), "\r[{full}{rest}] {done:3} % {at} of {total} {what}")
        } else {
            writeln!(io::stderr().lock(), "{at} of {total} {what} ({done} %)")
        };
    }

    /// It is over, however it ended.
    pub(super) fn end(&self) {
        self.show();
        if self.bar {
            let _ = writeln!(io::stderr().lock());
        }
    }
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

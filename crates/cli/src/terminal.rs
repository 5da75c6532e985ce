//! What a terminal gets: lines no wider than it is, and no control characters of a file's or a user's making.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Stderr, Stdout, Write};

/// Columns of a table that goes to a file or another program.
const ELSEWHERE: usize = 100;

/// How wide lines may be, in characters; `None`: as wide as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Lines of tables.
    pub tables: Option<usize>,
    sentences: Option<usize>,
}

impl Room {
    /// Any width.
    pub const UNLIMITED: Self = Self {
        tables: None,
        sentences: None,
    };

    /// Returns the room on standard output. Only on a terminal are sentences broken: elsewhere programs look for their words.
    /// `wide`: tables are as wide as they are.
    pub fn of_stdout(wide: bool) -> Self {
        let terminal = terminal_size::terminal_size_of(io::stdout());
        let columns = terminal.map(|(width, _)| usize::from(width.0));
        let columns = columns.filter(|&columns| columns > 0);
        Self {
            tables: (!wide).then_some(columns.unwrap_or(ELSEWHERE)),
            sentences: columns,
        }
    }

    /// Returns a sentence in lines for which there is room.
    pub fn wrapped<'t>(&self, sentence: &'t str) -> Cow<'t, str> {
        match self.sentences {
            Some(width) => wrapped_at(sentence, width).into(),
            None => sentence.into(),
        }
    }
}

/// Breaks lines between words, so that each has at most `width` characters where words are no longer than that.
pub fn wrapped_at(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| {
        let (mut broken, mut used) = (String::new(), 0);
        for (place, word) in line.split(' ').enumerate() {
            let length = word.chars().count();
            if used > 0 && used + 1 + length > width {
                broken.push('\n');
                used = 0;
            } else if place > 0 {
                broken.push(' ');
                used += 1;
            }
            broken.push_str(word);
            used += length;
        }
        broken
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns `text` with its control characters escaped, as in `\u{1b}`, apart from line feeds and tabs: a terminal would
/// obey them.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_obeyed = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(is_obeyed) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_obeyed(c) {
            let _ = write!(escaped, "{}", c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

/// Standard output or standard error, through [`printable`].
#[derive(Debug)]
pub struct Printable<W>(W);

/// Returns standard output for text.
pub fn stdout() -> Printable<Stdout> {
    Printable(io::stdout())
}

/// Returns standard error for text.
pub fn stderr() -> Printable<Stderr> {
    Printable(io::stderr())
}

impl<W: Write> Write for Printable<W> {
    /// Takes all of `bytes`, which are whole characters if a text is written.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.0.write_all(printable(text).as_bytes())?,
            Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let text = "one two three\n  four extraordinarily";
        assert_eq!(
            wrapped_at(text, 8),
            "one two\nthree\n  four\nextraordinarily"
        );
        assert_eq!(wrapped_at(text, 80), text);
    }

    #[test]
    fn control_characters_are_escaped() {
        let mut out = Printable(Vec::new());
        let text = "\u{1b}[31m\u{7f}\u{9b}é\r";
        write!(out, "{text}\n\tred").expect("a vector grows");
        let said = String::from_utf8(out.0).expect("text");
        assert_eq!(said, "\\u{1b}[31m\\u{7f}\\u{9b}é\\r\n\tred");
    }
}

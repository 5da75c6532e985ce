//! Terminal output: lines wrapped to the width, and control characters from files or users escaped.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Stderr, Stdout, Write};

/// Width of tables if standard output is not a terminal and `COLUMNS` is not set.
const DEFAULT_WIDTH: usize = 100;

/// Maximum width of lines in characters; `None` for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// Maximum width of tables.
    pub tables: Option<usize>,
    sentences: Option<usize>,
}

impl Widths {
    /// No limits.
    pub const UNLIMITED: Self = Self {
        tables: None,
        sentences: None,
    };

    /// Returns the limits for standard output. Sentences wrap only on a terminal, so that other programs can search the
    /// output. `wide` removes the limit for tables.
    pub fn of_stdout(wide: bool) -> Self {
        let terminal = terminal_size::terminal_size_of(io::stdout());
        let columns = terminal.map(|(width, _)| usize::from(width.0));
        let columns = columns.filter(|&columns| columns > 0);
        Self {
            tables: (!wide).then(|| columns.or_else(columns_variable).unwrap_or(DEFAULT_WIDTH)),
            sentences: columns,
        }
    }

    /// Wraps a sentence to the width.
    pub fn wrapped<'t>(&self, sentence: &'t str) -> Cow<'t, str> {
        match self.sentences {
            Some(width) => wrapped_at(sentence, width).into(),
            None => sentence.into(),
        }
    }
}

/// Returns the width that the environment asks for (POSIX, "Environment Variables").
fn columns_variable() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok()?.parse().ok()?;
    (columns > 0).then_some(columns)
}

/// Wraps lines between words to at most `width` characters. Longer words stay whole.
pub fn wrapped_at(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| {
        let (mut wrapped, mut used) = (String::new(), 0);
        for (place, word) in line.split(' ').enumerate() {
            let length = word.chars().count();
            if used > 0 && used + 1 + length > width {
                wrapped.push('\n');
                used = 0;
            } else if place > 0 {
                wrapped.push(' ');
                used += 1;
            }
            wrapped.push_str(word);
            used += length;
        }
        wrapped
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Escapes control characters other than line feeds and tabs, as in `\u{1b}`, so that terminals do not interpret them.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(is_control) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_control(c) {
            let _ = write!(escaped, "{}", c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

/// Writer that escapes control characters with [`printable`].
#[derive(Debug)]
pub struct Printable<W>(W);

/// Returns standard output with control characters escaped.
pub fn stdout() -> Printable<Stdout> {
    Printable(io::stdout())
}

/// Returns standard error with control characters escaped.
pub fn stderr() -> Printable<Stderr> {
    Printable(io::stderr())
}

impl<W: Write> Write for Printable<W> {
    /// Writes all of `bytes`. Text arrives in whole characters.
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
        let written = String::from_utf8(out.0).expect("text");
        assert_eq!(written, "\\u{1b}[31m\\u{7f}\\u{9b}é\\r\n\tred");
    }
}

//! Errors of a scenario, with file, line, value and the allowed values.

use crate::expected::{Expected, Forms};
use std::fmt;
use std::ops::{Deref, Range};
use strsim::osa_distance;

/// Result of reading a scenario.
pub(crate) type Result<T> = std::result::Result<T, Diagnostic>;

/// Error in a scenario or in a file that it names. Its `Display` form is plain text:
///
/// ```text
/// search.toml:12:10: workload.fan_in = 1200: larger than the 999 hosts other than the parent
///    12 | fan_in = 1200
///       |          ^^^^
///    allowed: 1..=999
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic(Box<Parts>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Parts {
    details: Details,
    /// Forms of values that `details.allowed` names.
    forms: Forms,
}

/// Parts of a [`Diagnostic`], for callers that format it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Name of the file, or `--set` for a value from the command line.
    pub file: String,
    /// Line, from 1; 0 if the error is in no line, as for a file that cannot be read.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// Number of characters to underline.
    pub width: usize,
    /// Text of the line.
    pub source_line: String,
    /// Path of the key, such as `workload.fan_in`; empty for syntax errors.
    pub key: String,
    /// Value as written; `None` if the key is missing or unknown.
    pub value: Option<String>,
    /// Description of the error.
    pub message: String,
    /// Allowed values.
    pub allowed: Option<String>,
    /// Advice.
    pub help: Option<String>,
}

impl Diagnostic {
    /// Creates an error at the bytes `span` of `text`, the content of `file`.
    pub fn at(file: &str, text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let start = floor_char(text, span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let source_line = text[line_start..line_end].trim_end_matches('\r');
        // At most after the last character of the line, and before a final \r.
        let last = line_start + source_line.len();
        let start = start.min(last);
        let end = floor_char(text, span.end).clamp(start, last);
        Self::of(Details {
            file: file.to_owned(),
            line: text[..line_start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            width: text[start..end].chars().count().max(1),
            source_line: source_line.to_owned(),
            message: message.into(),
            ..Details::default()
        })
    }

    /// Creates an error at the bytes `span` of line `number`, from 1, of a file that is too large for memory. `line` is
    /// the text of that line.
    pub fn in_line(
        file: &str,
        number: usize,
        line: &str,
        span: Range<usize>,
        message: impl Into<String>,
    ) -> Self {
        let mut error = Self::at(file, line, span, message);
        error.0.details.line = number;
        error
    }

    /// Creates an error of `file` that is in no line.
    pub fn of_file(file: &str, message: impl Into<String>) -> Self {
        Self::of(Details {
            file: file.to_owned(),
            message: message.into(),
            ..Details::default()
        })
    }

    fn of(details: Details) -> Self {
        Self(Box::new(Parts {
            details,
            forms: Forms::default(),
        }))
    }

    /// Sets the path of the key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.0.details.key = key.into();
        self
    }

    /// Sets the value as written.
    #[must_use]
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.0.details.value = Some(value.into());
        self
    }

    /// Sets the allowed values.
    #[must_use]
    pub fn allowed(mut self, allowed: impl Into<String>) -> Self {
        self.0.details.allowed = Some(allowed.into());
        self.0.forms = Forms::default();
        self
    }

    /// Sets the allowed values, with the forms that their description names.
    #[must_use]
    pub(crate) fn expected(mut self, expected: impl Into<Expected>) -> Self {
        let expected = expected.into();
        self.0.details.allowed = Some(expected.to_string());
        self.0.forms = expected.forms();
        self
    }

    /// Returns the description of the allowed values, or `None` if the error has none.
    pub(crate) fn expectation(&self) -> Option<Expected> {
        let allowed = self.allowed.clone()?;
        Some(Expected::of(allowed, self.0.forms))
    }

    /// Sets the advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.details.help = Some(help.into());
        self
    }

    /// Suggests the candidate nearest to `word`, if one is near. The suggestion is put in `quote`.
    #[must_use]
    pub fn suggest<'a>(
        self,
        word: &str,
        candidates: impl IntoIterator<Item = &'a str>,
        quote: char,
    ) -> Self {
        match nearest(word, candidates) {
            Some(near) => self.help(format!("did you mean {quote}{near}{quote}?")),
            None => self,
        }
    }
}

impl Deref for Diagnostic {
    type Target = Details;
    fn deref(&self) -> &Details {
        &self.0.details
    }
}

impl std::error::Error for Diagnostic {}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
            if let Some(value) = &self.value {
                write!(f, " = {value}")?;
            }
        }
        write!(f, ": {}", self.message)?;
        if self.line > 0 {
            let number = self.line.to_string();
            let gutter = " ".repeat(number.len());
            let line = self.source_line.replace('\t', " ");
            write!(f, "\n   {number} | {line}\n   {gutter} | ")?;
            write!(
                f,
                "{}{}",
                " ".repeat(self.column - 1),
                "^".repeat(self.width)
            )?;
        }
        if let Some(allowed) = &self.allowed {
            write!(f, "\n   allowed: {allowed}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n   help: {help}")?;
        }
        Ok(())
    }
}

fn floor_char(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

/// Returns the candidate nearest to `word` by edit distance, in which swapping two neighbours counts once, or `None` if
/// none is near.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (osa_distance(word, candidate), candidate))
        .filter(|&(distance, candidate)| {
            distance <= 1 || distance * 5 <= 2 * candidate.len().max(word.len())
        })
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_point_at_their_characters() {
        let text = "a = 1\nmü = \"20 sx\"\n";
        let start = text.find('"').unwrap();
        let shown = Diagnostic::at("f.toml", text, start..start + 7, "no such unit")
            .key("mü")
            .value("\"20 sx\"")
            .to_string();
        assert_eq!(
            shown,
            "f.toml:2:6: mü = \"20 sx\": no such unit\n   2 | mü = \"20 sx\"\n     |      ^^^^^^^"
        );
    }

    #[test]
    fn spans_are_cut_to_their_line() {
        assert_eq!(Diagnostic::at("f", "a =", 3..3, "m").column, 4);
        assert_eq!(Diagnostic::at("f", "", 0..0, "m").line, 1);
        assert_eq!(Diagnostic::at("f", "a = [\n1]", 4..8, "m").width, 1);
        let end_of_line = Diagnostic::at("f", "a =\r\nb = 1", 4..4, "m");
        assert_eq!((end_of_line.line, end_of_line.column), (1, 4));
    }

    #[test]
    fn nearest_word_is_suggested() {
        let words = ["fan_in", "trees", "load"];
        assert_eq!(nearest("fan_ni", words), Some("fan_in"));
        assert_eq!(nearest("fanin", words), Some("fan_in"));
        assert_eq!(nearest("tree", words), Some("trees"));
        assert_eq!(nearest("colour", words), None);
    }
}

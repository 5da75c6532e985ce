//! JSON lines: one value per line, each complete when the call returns.

use std::io::{self, Write};

use serde::Serialize;

/// Writes values as JSON, one per line, flushed so that a reader sees each at once.
pub struct JsonLines<W: Write> {
    to: W,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `to`.
    pub const fn new(to: W) -> Self {
        Self { to }
    }

    /// Writes one value.
    pub fn write(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.to.write_all(&line)?;
        self.to.flush()
    }

    /// Gives the writer back.
    pub fn into_inner(self) -> W {
        self.to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_per_value() {
        let mut lines = JsonLines::new(Vec::new());
        lines
            .write(&serde_json::json!({"at_ns": 5, "text": "a\nb"}))
            .unwrap();
        lines.write(&[1, 2]).unwrap();
        assert_eq!(
            lines.into_inner(),
            b"{\"at_ns\":5,\"text\":\"a\\nb\"}\n[1,2]\n"
        );
    }
}

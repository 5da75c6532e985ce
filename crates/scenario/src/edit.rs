//! Editing of a value in the text of a file, keeping comments, order and formatting.

use crate::Diagnostic;
use crate::document::{Document, Node, Value};

impl Document {
    /// Returns the text with `value` at the key path `key`, as for [`Document::set`]. An existing value is replaced in
    /// place. If the key is new, the text is regenerated without comments.
    ///
    /// # Errors
    /// The errors of [`Document::set`]; dates, which are not allowed in a scenario.
    pub fn edited(&self, key: &str, value: &str) -> Result<String, Diagnostic> {
        let mut changed = self.clone();
        changed.set(key, value)?;
        let Some((old, new)) = replaced(&self.root, &changed.root).filter(|(old, _)| old.text == 0)
        else {
            return changed.to_toml();
        };
        let written = changed.value(new, key)?.to_string();
        let text = &self.texts[0].content;
        let (before, after) = (text.get(..old.span.start), text.get(old.span.end..));
        match before.zip(after) {
            Some((before, after)) => Ok(format!("{before}{written}{after}")),
            None => changed.to_toml(),
        }
    }
}

/// Returns the value of `old` that was replaced and its replacement, or `None` if a value was added.
fn replaced<'a>(old: &'a Node, new: &'a Node) -> Option<(&'a Node, &'a Node)> {
    if old.text != new.text {
        return Some((old, new));
    }
    match (&old.value, &new.value) {
        (Value::Table(old), Value::Table(new)) => {
            let pairs = new.iter().map(|entry| {
                let before = old.iter().find(|old| old.key == entry.key)?;
                Some((&before.node, &entry.node))
            });
            let pairs: Option<Vec<_>> = pairs.collect();
            pairs?.into_iter().find_map(|(old, new)| replaced(old, new))
        }
        (Value::Array(old), Value::Array(new)) => old
            .iter()
            .zip(new)
            .find_map(|(old, new)| replaced(old, new)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"x\" # a comment\n[topology]\nlink = { rate = \"1 Gbps\", latency = \"5 us\" }  # both\n\
        \n[[workload]]\nkind = \"burst\"\nsenders = 3 # three\n[[workload]]\nkind = \"oldi\"\nfan_in = [2, 4]\n";

    fn edited(key: &str, value: &str) -> String {
        let document = Document::parse(TEXT, "x.toml").expect("TOML");
        document.edited(key, value).expect("a known key")
    }

    #[test]
    fn other_text_is_unchanged() {
        for (key, value, old, new) in [
            ("workload.senders", "17", "senders = 3", "senders = 17"),
            ("topology.link.rate", "10 Gbps", "1 Gbps", "10 Gbps"),
            ("workload[1].fan_in[1]", "8", "[2, 4]", "[2, 8]"),
            ("workload[1].fan_in", "[3]", "[2, 4]", "[3]"),
            ("name", "y \"z\"", "\"x\"", "'y \"z\"'"),
        ] {
            assert_eq!(edited(key, value), TEXT.replacen(old, new, 1), "{key}");
        }
    }

    #[test]
    fn new_key_is_set() {
        let text = edited("switch.buffer", "64 KB");
        let document = Document::parse(&text, "x.toml").expect("TOML");
        let buffer = document
            .root
            .get("switch")
            .and_then(|switch| switch.get("buffer"));
        assert_eq!(buffer.and_then(Node::str), Some("64 KB"));
        assert!(!text.contains("comment"));
    }

    #[test]
    fn unknown_key_is_refused() {
        let document = Document::parse(TEXT, "x.toml").expect("TOML");
        let error = document.edited("workload.sender", "1").expect_err("a typo");
        assert!(error.to_string().contains("senders"), "{error}");
    }
}

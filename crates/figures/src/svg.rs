//! Writer for SVG text. The output is well-formed for any input.

#![expect(
    clippy::cast_possible_truncation,
    reason = "coordinates are small, and casts from floats saturate"
)]

use std::fmt::Write;

/// SVG text under construction.
pub(crate) struct Svg {
    text: String,
    open: Vec<&'static str>,
}

impl Svg {
    pub(crate) fn new() -> Self {
        Self {
            text: String::new(),
            open: Vec::new(),
        }
    }

    /// Opens an element, which [`Svg::close`] ends.
    pub(crate) fn open(&mut self, name: &'static str, attributes: &[(&str, &str)]) {
        self.start(name, attributes);
        self.text.push_str(">\n");
        self.open.push(name);
    }

    pub(crate) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            let _ = writeln!(self.text, "</{name}>");
        }
    }

    /// Writes an element without content.
    pub(crate) fn empty(&mut self, name: &'static str, attributes: &[(&str, &str)]) {
        self.start(name, attributes);
        self.text.push_str("/>\n");
    }

    /// Writes an element with text content.
    pub(crate) fn leaf(&mut self, name: &'static str, attributes: &[(&str, &str)], content: &str) {
        self.start(name, attributes);
        let _ = writeln!(self.text, ">{}</{name}>", escaped(content));
    }

    /// Writes text at a position.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), more: &[(&str, &str)], content: &str) {
        let (x, y) = (number(x), number(y));
        let place = [("x", x.as_str()), ("y", &y)];
        self.leaf("text", &[&place, more].concat(), content);
    }

    /// Writes an empty element, or one with a tooltip.
    pub(crate) fn tipped(
        &mut self,
        name: &'static str,
        attributes: &[(&str, &str)],
        tip: Option<&str>,
    ) {
        let Some(tip) = tip else {
            return self.empty(name, attributes);
        };
        self.start(name, attributes);
        let _ = writeln!(self.text, "><title>{}</title></{name}>", escaped(tip));
    }

    /// Writes JSON data that is not drawn. It must not need escaping.
    pub(crate) fn data(&mut self, json: &str) {
        debug_assert!(!json.contains(['<', '>', '&']), "{json}");
        let _ = writeln!(self.text, "<metadata>{json}</metadata>");
    }

    pub(crate) fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }

    fn start(&mut self, name: &str, attributes: &[(&str, &str)]) {
        let _ = write!(self.text, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.text, " {key}=\"{}\"", escaped(value));
        }
    }
}

/// Escapes text for XML. Characters that are not allowed in XML become spaces.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => {
                out.push(letter);
            }
            _ => out.push(' '),
        }
    }
    out
}

/// Formats a coordinate, rounded to a tenth.
pub(crate) fn number(value: f64) -> String {
    debug_assert!(value.is_finite(), "a coordinate must be finite");
    let tenths = (if value.is_finite() { value * 10.0 } else { 0.0 }).round() as i64;
    match (tenths / 10, tenths % 10) {
        (whole, 0) => whole.to_string(),
        (0, part) if part < 0 => format!("-0.{}", -part),
        (whole, part) => format!("{whole}.{}", part.abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_rounded_to_a_tenth() {
        assert_eq!(number(12.04), "12");
        assert_eq!(number(12.06), "12.1");
        assert_eq!(number(-0.33), "-0.3");
        assert_eq!(number(-7.25), "-7.3");
        assert_eq!(number(0.0), "0");
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("a<b & \"c\"\u{1}"), "a&lt;b &amp; &quot;c&quot; ");
    }
}

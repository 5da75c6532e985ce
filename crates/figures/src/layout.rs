//! Layout constants and text measurement. Widths of text are estimates on the wide side, because no font is available.

/// Width of every figure in its own units; small, so that text stays readable on a phone.
pub(crate) const WIDTH: f64 = 440.0;
/// Height of the area between a panel's axes.
pub(crate) const PLOT_HEIGHT: f64 = 190.0;
/// Left margin of text, so that letters and markers at the edge are not cut off.
pub(crate) const LEFT: f64 = 4.0;
/// Right margin.
pub(crate) const RIGHT: f64 = 14.0;
/// Size of all text except titles: 11 pixels when the figure is as wide as a phone.
pub(crate) const TEXT: f64 = 13.0;
/// Size of titles.
pub(crate) const TITLE: f64 = 14.0;

/// Returns the estimated width of `text`.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let em: f64 = text
        .chars()
        .map(|letter| match letter {
            'i' | 'j' | 'l' | 't' | 'f' | 'r' | '.' | ',' | ':' | ';' | '\'' | '|' | '(' | ')'
            | ' ' => 0.36,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.9,
            '0'..='9' => 0.65,
            'A'..='Z' => 0.7,
            '\u{2e80}'.. => 1.0,
            _ => 0.59,
        })
        .sum();
    em * size
}

/// Breaks `text` at spaces into lines of at most `max` width.
pub(crate) fn wrapped(text: &str, size: f64, max: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= max => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Arranges items of the given widths in rows of [`WIDTH`]. Returns (x, row) of each.
pub(crate) fn rows(widths: &[f64], gap: f64) -> Vec<(f64, usize)> {
    let (mut x, mut row) = (LEFT, 0);
    let place = |&width: &f64| {
        if x > LEFT && x + width > WIDTH - RIGHT {
            (x, row) = (LEFT, row + 1);
        }
        let at = (x, row);
        x += width + gap;
        at
    };
    widths.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_titles_wrap_between_words() {
        let lines = wrapped(
            "Missed deadlines by the number of senders in a burst of answers",
            TITLE,
            200.0,
        );
        assert!(lines.len() > 1);
        assert!(lines.iter().all(|line| width(line, TITLE) <= 200.0));
        assert_eq!(
            lines.join(" "),
            "Missed deadlines by the number of senders in a burst of answers"
        );
    }

    #[test]
    fn legend_wraps_into_rows() {
        assert_eq!(rows(&[100.0, 100.0], 10.0), [(LEFT, 0), (LEFT + 110.0, 0)]);
        assert_eq!(
            rows(&[300.0, 200.0, 20.0], 10.0),
            [(LEFT, 0), (LEFT, 1), (LEFT + 210.0, 1)]
        );
        assert_eq!(rows(&[900.0], 10.0), [(LEFT, 0)]);
    }
}

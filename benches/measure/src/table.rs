//! Plain-text tables with left-aligned label columns and right-aligned numbers.

/// Formats rows of aligned cells under a header. The first `left` columns are left-aligned.
pub fn lines(head: &[&str], left: usize, rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells
            .chain([head[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let line = |cells: Vec<&str>| {
        let padded: Vec<String> = cells
            .iter()
            .enumerate()
            .map(|(column, cell)| {
                let width = width(column);
                if column < left {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    let rule = (0..head.len())
        .map(|column| "─".repeat(width(column)))
        .collect::<Vec<_>>()
        .join("  ");
    let mut all = vec![line(head.to_vec()), rule];
    all.extend(
        rows.iter()
            .map(|row| line(row.iter().map(String::as_str).collect())),
    );
    all.join("\n")
}

/// Formats `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [
            vec!["a".to_owned(), "1".to_owned()],
            vec!["bb".to_owned(), "10".to_owned()],
        ];
        assert_eq!(
            lines(&["x", "y"], 1, &rows),
            "x    y\n──  ──\na    1\nbb  10"
        );
    }
}

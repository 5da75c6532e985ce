//! Columns of text, aligned.

use duetime_study::tables::{self, Cell, On};

/// How a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells below a head.
#[derive(Clone, Debug)]
pub struct Table {
    head: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub fn new(head: &[(&str, Align)]) -> Table {
        Table {
            head: head
                .iter()
                .map(|&(name, align)| (name.to_owned(), align))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// A table of results, without what it does not say on a terminal.
    pub fn of(results: &tables::Table) -> Table {
        let shown = results.shown(On::Terminal);
        let called = (0..3).filter(|&at| !results.names[at].is_empty());
        let called: Vec<usize> = called.collect();
        let names = called.iter().map(|&at| (results.names[at], Align::Left));
        let columns = shown.iter().map(|&at| {
            let column = &results.columns[at];
            let align = if column.words {
                Align::Left
            } else {
                Align::Right
            };
            (column.head.as_str(), align)
        });
        let head: Vec<(&str, Align)> = names.chain(columns).collect();
        let mut table = Table::new(&head);
        for line in &results.lines {
            let names = called.iter().map(|&at| line.names[at].clone());
            // All intervals of a line come from the same seeds: their number is printed once if it is small.
            let mut is_said = false;
            let cells = shown.iter().map(|&at| {
                let Cell {
                    value, interval, ..
                } = &line.cells[at];
                if !results.columns[at].intervals || interval.is_empty() {
                    return value.clone();
                }
                let range = interval
                    .split_once(" from ")
                    .filter(|_| is_said && !results.is_overview);
                is_said = true;
                format!(
                    "{value} {}",
                    range.map_or(interval.as_str(), |(range, _)| range)
                )
            });
            table.row(names.chain(cells).collect());
        }
        table.without_empty_columns()
    }

    /// Appends a row of as many cells as the head has.
    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.head.len(), "a row fits its table");
        self.rows.push(cells);
    }

    /// Leaves out the columns in which no row says anything.
    pub fn without_empty_columns(mut self) -> Table {
        for column in (0..self.head.len()).rev() {
            if self.rows.iter().all(|row| row[column].is_empty()) {
                self.head.remove(column);
                for row in &mut self.rows {
                    row.remove(column);
                }
            }
        }
        self
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let wide = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells
                .chain([self.head[column].0.chars().count()])
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(wide).collect();
        let mut line = |cells: &[String]| -> std::fmt::Result {
            let cells = cells.iter().zip(&widths).zip(&self.head);
            let text: Vec<String> = cells
                .map(|((cell, &width), (_, align))| match align {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                })
                .collect();
            writeln!(f, "{}", text.join("  ").trim_end())
        };
        let head: Vec<String> = self.head.iter().map(|(name, _)| name.clone()).collect();
        line(&head)?;
        let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
        line(&rule)?;
        self.rows.iter().try_for_each(|row| line(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_silent_ones_left_out() {
        let mut table = Table::new(&[
            ("transport", Align::Left),
            ("none", Align::Left),
            ("missed", Align::Right),
        ]);
        table.row(vec!["d2tcp".into(), String::new(), "1.2 %".into()]);
        table.row(vec!["tcp".into(), String::new(), "31.0 %".into()]);
        let shown = table.without_empty_columns().to_string();
        assert_eq!(
            shown,
            "transport  missed\n─────────  ──────\nd2tcp       1.2 %\ntcp        31.0 %\n"
        );
    }
}

//! Text tables with aligned columns, limited to the available width.

use duetime_study::tables::{self, On, Spare};

use crate::terminal;

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left, for text.
    Left,
    /// Right, for numbers.
    Right,
}

#[derive(Clone, Debug)]
struct Column {
    head: String,
    align: Align,
    spare: Spare,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    value: String,
    /// In brackets; empty if there is none.
    interval: String,
}

/// Table with a header and rows.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// True if each interval of a row states its number of seeds. Otherwise only the first does, since the others have
    /// the same number.
    repeats_seeds: bool,
    /// Parts that were omitted to fit the width.
    omitted: Vec<String>,
    /// Width in characters for the note about omitted parts.
    max_width: usize,
}

impl Table {
    /// Creates a table without rows.
    pub fn new(head: &[(&str, Align)]) -> Table {
        let columns = head.iter().map(|&(name, align)| Column {
            head: name.to_owned(),
            align,
            spare: Spare::Nothing,
        });
        Table {
            columns: columns.collect(),
            ..Table::default()
        }
    }

    /// Converts a table of results, limited to the columns for terminals.
    pub fn from_results(results: &tables::Table) -> Table {
        let shown = results.shown(On::Terminal);
        let named: Vec<usize> = (0..3).filter(|&at| !results.names[at].is_empty()).collect();
        let names = named.iter().map(|&at| Column {
            head: results.names[at].to_owned(),
            align: Align::Left,
            spare: Spare::Nothing,
        });
        let columns = shown.iter().map(|&at| {
            let column = &results.columns[at];
            Column {
                head: column.head.clone(),
                align: if column.words {
                    Align::Left
                } else {
                    Align::Right
                },
                spare: column.spare,
            }
        });
        let rows = results.lines.iter().map(|line| {
            let names = named.iter().map(|&at| Cell::from(line.names[at].clone()));
            let cells = shown.iter().map(|&at| {
                let cell = &line.cells[at];
                let interval = if results.columns[at].intervals {
                    cell.interval.clone()
                } else {
                    String::new()
                };
                Cell {
                    value: cell.value.clone(),
                    interval,
                }
            });
            names.chain(cells).collect()
        });
        Table {
            columns: names.chain(columns).collect(),
            rows: rows.collect(),
            repeats_seeds: results.is_overview,
            ..Table::default()
        }
        .without_empty_columns()
    }

    /// Allows omitting the columns with these headers, in this order.
    #[must_use]
    pub fn sparing(mut self, heads: &[&str]) -> Table {
        for (place, head) in heads.iter().enumerate() {
            let rank = u8::MAX - u8::try_from(place).unwrap_or(u8::MAX);
            let mut columns = self.columns.iter_mut();
            let column = columns.find(|column| column.head == *head);
            column.expect("a column with this header").spare = Spare::All(rank);
        }
        self
    }

    /// Appends a row, which must have one cell per column.
    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "a row fits its table");
        self.rows.push(cells.into_iter().map(Cell::from).collect());
    }

    /// Removes columns without values.
    #[must_use]
    pub fn without_empty_columns(mut self) -> Table {
        for at in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row[at].value.is_empty()) {
                self.remove(at);
            }
        }
        self
    }

    /// Omits intervals, then columns that may be omitted, until lines have at most `width` characters; if the
    /// table is still too wide, wraps the headers. `None` omits nothing.
    #[must_use]
    pub fn within(mut self, width: Option<usize>) -> Table {
        let Some(width) = width else { return self };
        self.max_width = width;
        let original = self.clone();
        let mut candidates = self.omittable();
        for &index in &candidates {
            if self.width() <= width {
                break;
            }
            self.rows
                .iter_mut()
                .for_each(|row| row[index].interval.clear());
        }
        let mut removed = Vec::new();
        for &index in &candidates {
            if self.without(&removed).width() <= width {
                break;
            }
            if let Spare::All(_) = self.columns[index].spare {
                removed.push(index);
            }
        }
        // Removed columns may leave enough space for intervals of other columns.
        candidates.retain(|index| !removed.contains(index));
        for &index in candidates.iter().rev() {
            let without_interval = self.clone();
            for (row, full) in self.rows.iter_mut().zip(&original.rows) {
                row[index] = full[index].clone();
            }
            if self.without(&removed).width() > width {
                self = without_interval;
            }
        }
        let head = |index: usize| original.columns[index].head.clone();
        let has_less = |&index: &usize| {
            let mut rows = self.rows.iter().zip(&original.rows);
            !removed.contains(&index)
                && rows.any(|(row, full)| row[index].interval != full[index].interval)
        };
        let without_interval: Vec<String> =
            (0..self.columns.len()).filter(has_less).map(head).collect();
        let mut table = self.without(&removed);
        removed.sort_unstable();
        table.omitted = removed.into_iter().map(head).collect();
        if !without_interval.is_empty() {
            table
                .omitted
                .push(format!("intervals of {}", without_interval.join(", ")));
        }
        if table.width() > width {
            table.wrap_heads();
        }
        table
    }

    /// Wraps each header that is wider than its cells.
    fn wrap_heads(&mut self) {
        let texts = self.texts();
        for (at, column) in self.columns.iter_mut().enumerate() {
            let cells = texts.iter().map(|row| row[at].chars().count());
            let words = column.head.split(' ').map(|word| word.chars().count());
            let width = cells.chain(words).fold(0, usize::max);
            let mut lines: Vec<String> = Vec::new();
            for word in column.head.split(' ') {
                match lines.last_mut() {
                    Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                        line.push(' ');
                        line.push_str(word);
                    }
                    _ => lines.push(word.to_owned()),
                }
            }
            column.head = lines.join("\n");
        }
    }

    /// Returns true if a cell has this value.
    pub fn has(&self, value: &str) -> bool {
        let mut cells = self.rows.iter().flatten();
        cells.any(|cell| cell.value == value)
    }

    /// Returns the indices of the columns that may be shortened or omitted, in the order of omission.
    fn omittable(&self) -> Vec<usize> {
        let rank = |at: usize| match self.columns[at].spare {
            Spare::Nothing => None,
            Spare::Intervals => Some(0),
            Spare::All(rank) => Some(rank),
        };
        let mut candidates: Vec<usize> = (0..self.columns.len())
            .filter(|&at| rank(at).is_some())
            .collect();
        candidates.sort_by_key(|&at| std::cmp::Reverse((rank(at), at)));
        candidates
    }

    /// Returns the table without the columns with these indices.
    fn without(&self, removed: &[usize]) -> Table {
        let mut table = self.clone();
        for at in (0..table.columns.len()).rev() {
            if removed.contains(&at) {
                table.remove(at);
            }
        }
        table
    }

    fn remove(&mut self, at: usize) {
        self.columns.remove(at);
        for row in &mut self.rows {
            row.remove(at);
        }
    }

    /// Renders each cell.
    fn texts(&self) -> Vec<Vec<String>> {
        let text = |row: &Vec<Cell>| {
            let mut has_seeds = false;
            let cells = row.iter().map(|Cell { value, interval }| {
                if interval.is_empty() {
                    return value.clone();
                }
                let range = interval
                    .split_once(" from ")
                    .filter(|_| has_seeds && !self.repeats_seeds);
                has_seeds = true;
                let range = range.map_or(interval.as_str(), |(range, _)| range);
                format!("{value} {range}")
            });
            cells.collect()
        };
        self.rows.iter().map(text).collect()
    }

    /// Returns the width of each column.
    fn widths(&self, texts: &[Vec<String>]) -> Vec<usize> {
        let width = |(at, column): (usize, &Column)| {
            let cells = texts.iter().map(|row| row[at].chars().count());
            let head = column.head.lines().map(|line| line.chars().count());
            cells.chain(head).fold(0, usize::max)
        };
        self.columns.iter().enumerate().map(width).collect()
    }

    /// Returns the width of the table.
    fn width(&self) -> usize {
        let widths = self.widths(&self.texts());
        widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
    }
}

/// Separator of columns.
const GAP: &str = "  ";

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self {
            value,
            ..Self::default()
        }
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts = self.texts();
        let widths = self.widths(&texts);
        let mut line = |cells: &[String]| -> std::fmt::Result {
            let cells = cells.iter().zip(&widths).zip(&self.columns);
            let text: Vec<String> = cells
                .map(|((cell, &width), column)| match column.align {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                })
                .collect();
            writeln!(f, "{}", text.join(GAP).trim_end())
        };
        let heads = self
            .columns
            .iter()
            .map(|column| column.head.lines().count());
        for below in (0..heads.fold(1, usize::max)).rev() {
            let head = self.columns.iter().map(|column| {
                let line = column.head.lines().rev().nth(below);
                line.unwrap_or_default().to_owned()
            });
            line(&head.collect::<Vec<_>>())?;
        }
        let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
        line(&rule)?;
        texts.iter().try_for_each(|row| line(row))?;
        if self.omitted.is_empty() {
            return Ok(());
        }
        let note = format!("not shown: {}; --wide shows all", self.omitted.join(", "));
        writeln!(f, "{}", terminal::wrapped_at(&note, self.max_width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_empty_ones_removed() {
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

    #[test]
    fn headers_wrap_if_the_table_is_still_too_wide() {
        let mut table = Table::new(&[
            ("point", Align::Left),
            ("no transport can do better", Align::Right),
        ]);
        table.row(vec!["buffer = 16 MB".into(), "99.96 %".into()]);
        assert!(
            table
                .clone()
                .within(Some(42))
                .to_string()
                .starts_with("point")
        );
        assert_eq!(
            table.within(Some(41)).to_string(),
            "                       no\n                transport\n                   can do\npoint              better\n\
             ──────────────  ─────────\nbuffer = 16 MB    99.96 %\n"
        );
    }

    /// Returns a table with one row, whose intervals and some columns may be omitted.
    fn results() -> Table {
        let cell = |value: &str, interval: &str| Cell {
            value: value.to_owned(),
            interval: interval.to_owned(),
        };
        let column = |head: &str, spare| Column {
            head: head.to_owned(),
            align: Align::Right,
            spare,
        };
        Table {
            columns: vec![
                column("in time", Spare::Nothing),
                column("p50", Spare::All(2)),
                column("p99", Spare::All(1)),
                column("hedged", Spare::All(u8::MAX)),
            ],
            rows: vec![vec![
                cell("99.1 %", "[98, 100] from 2 seeds"),
                cell("1 ms", "[0.9, 1.1] from 2 seeds"),
                cell("4 ms", "[3, 5] from 2 seeds"),
                cell("12", ""),
            ]],
            ..Table::default()
        }
    }

    #[test]
    fn intervals_are_omitted_before_columns() {
        let lines = |width| {
            let text = results().within(width).to_string();
            let mut lines = text.lines().skip(2).map(str::trim);
            let row = lines.next().expect("a row").to_owned();
            (row, lines.collect::<Vec<_>>().join(" "))
        };
        let all = "99.1 % [98, 100] from 2 seeds  1 ms [0.9, 1.1]  4 ms [3, 5]      12";
        for max_width in [None, Some(67)] {
            assert_eq!(lines(max_width), (all.to_owned(), String::new()));
        }
        for (max_width, row, note) in [
            (
                66,
                "99.1 % [98, 100] from 2 seeds  1 ms  4 ms [3, 5]      12",
                "not shown: intervals of p50; --wide shows all",
            ),
            (
                49,
                "99.1 % [98, 100] from 2 seeds  1 ms  4 ms      12",
                "not shown: intervals of p50, p99; --wide shows all",
            ),
            (
                48,
                "99.1 % [98, 100] from 2 seeds  1 ms  4 ms [3, 5]",
                "not shown: hedged, intervals of p50; --wide shows all",
            ),
            (
                40,
                "99.1 % [98, 100] from 2 seeds  4 ms",
                "not shown: p50, hedged, intervals of p99; --wide shows all",
            ),
            (
                10,
                "99.1 % [98, 100] from 2 seeds",
                "not shown: p50, p99, hedged; --wide shows all",
            ),
        ] {
            assert_eq!(
                lines(Some(max_width)),
                (row.to_owned(), note.to_owned()),
                "{max_width}"
            );
        }
    }
}

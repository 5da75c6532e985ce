//! Columns of text, aligned, and no wider than there is room for.

use duetime_study::tables::{self, On, Spare};

use crate::terminal;

/// How a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
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
    /// In brackets; empty without one.
    interval: String,
}

/// Rows of cells below a head.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// Each interval of a row says from how many seeds it is; otherwise the first alone, as the others are from the same.
    repeats_seeds: bool,
    /// What is left out for want of room, and how many characters there are for saying so.
    left_out: Vec<String>,
    room: usize,
}

impl Table {
    /// An empty table.
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

    /// A table of results, without what it does not say on a terminal.
    pub fn of(results: &tables::Table) -> Table {
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

    /// Lets the columns of these heads be left out, the first of them first.
    #[must_use]
    pub fn sparing(mut self, heads: &[&str]) -> Table {
        for (place, head) in heads.iter().enumerate() {
            let rank = u8::MAX - u8::try_from(place).unwrap_or(u8::MAX);
            let mut columns = self.columns.iter_mut();
            let column = columns.find(|column| column.head == *head);
            column.expect("a column of this head").spare = Spare::All(rank);
        }
        self
    }

    /// Appends a row of as many cells as the head has.
    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.columns.len(), "a row fits its table");
        self.rows.push(cells.into_iter().map(Cell::from).collect());
    }

    /// Leaves out the columns in which no row says anything.
    #[must_use]
    pub fn without_empty_columns(mut self) -> Table {
        for at in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row[at].value.is_empty()) {
                self.remove(at);
            }
        }
        self
    }

    /// Leaves out what can be spared until the table has at most `width` characters in a line: intervals, then columns. What
    /// cannot be spared stays, however wide it is. `None`: all stays.
    #[must_use]
    pub fn within(mut self, width: Option<usize>) -> Table {
        let Some(width) = width else { return self };
        self.room = width;
        let whole = self.clone();
        let mut spared = self.spared();
        for &at in &spared {
            if self.width() <= width {
                break;
            }
            self.rows
                .iter_mut()
                .for_each(|row| row[at].interval.clear());
        }
        let mut gone = Vec::new();
        for &at in &spared {
            if self.without(&gone).width() <= width {
                break;
            }
            if let Spare::All(_) = self.columns[at].spare {
                gone.push(at);
            }
        }
        // Columns are wider than intervals: the room that they left may do for intervals of others.
        spared.retain(|at| !gone.contains(at));
        for &at in spared.iter().rev() {
            let bare = self.clone();
            for (row, of) in self.rows.iter_mut().zip(&whole.rows) {
                row[at] = of[at].clone();
            }
            if self.without(&gone).width() > width {
                self = bare;
            }
        }
        let head = |at: usize| whole.columns[at].head.clone();
        let has_less = |&at: &usize| {
            let mut rows = self.rows.iter().zip(&whole.rows);
            !gone.contains(&at) && rows.any(|(row, of)| row[at].interval != of[at].interval)
        };
        let bare: Vec<String> = (0..self.columns.len()).filter(has_less).map(head).collect();
        let mut table = self.without(&gone);
        gone.sort_unstable();
        table.left_out = gone.into_iter().map(head).collect();
        if !bare.is_empty() {
            table
                .left_out
                .push(format!("intervals of {}", bare.join(", ")));
        }
        table
    }

    /// Returns true if a cell has this value.
    pub fn has(&self, value: &str) -> bool {
        let mut cells = self.rows.iter().flatten();
        cells.any(|cell| cell.value == value)
    }

    /// The columns of which something can be spared, by number, in the order in which it goes.
    fn spared(&self) -> Vec<usize> {
        let rank = |at: usize| match self.columns[at].spare {
            Spare::Nothing => None,
            Spare::Intervals => Some(0),
            Spare::All(rank) => Some(rank),
        };
        let mut spared: Vec<usize> = (0..self.columns.len())
            .filter(|&at| rank(at).is_some())
            .collect();
        spared.sort_by_key(|&at| std::cmp::Reverse((rank(at), at)));
        spared
    }

    /// The table without the columns of these numbers.
    fn without(&self, gone: &[usize]) -> Table {
        let mut table = self.clone();
        for at in (0..table.columns.len()).rev() {
            if gone.contains(&at) {
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

    /// The text of each cell.
    fn texts(&self) -> Vec<Vec<String>> {
        let text = |row: &Vec<Cell>| {
            let mut is_said = false;
            let cells = row.iter().map(|Cell { value, interval }| {
                if interval.is_empty() {
                    return value.clone();
                }
                let range = interval
                    .split_once(" from ")
                    .filter(|_| is_said && !self.repeats_seeds);
                is_said = true;
                let range = range.map_or(interval.as_str(), |(range, _)| range);
                format!("{value} {range}")
            });
            cells.collect()
        };
        self.rows.iter().map(text).collect()
    }

    /// The width of each column.
    fn widths(&self, texts: &[Vec<String>]) -> Vec<usize> {
        let width = |(at, column): (usize, &Column)| {
            let cells = texts.iter().map(|row| row[at].chars().count());
            cells.fold(column.head.chars().count(), usize::max)
        };
        self.columns.iter().enumerate().map(width).collect()
    }

    /// The width of the whole.
    fn width(&self) -> usize {
        let widths = self.widths(&self.texts());
        widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
    }
}

/// Between columns.
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
        let head: Vec<String> = self.columns.iter().map(|of| of.head.clone()).collect();
        line(&head)?;
        let rule: Vec<String> = widths.iter().map(|&width| "─".repeat(width)).collect();
        line(&rule)?;
        texts.iter().try_for_each(|row| line(row))?;
        if self.left_out.is_empty() {
            return Ok(());
        }
        let note = format!("not shown: {}; --wide shows all", self.left_out.join(", "));
        writeln!(f, "{}", terminal::wrapped_at(&note, self.room))
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

    /// A table of one row, of which the interval of `p99` and whole columns can be spared.
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
    fn intervals_go_first_then_the_least_important_columns() {
        let lines = |width| {
            let text = results().within(width).to_string();
            let mut lines = text.lines().skip(2).map(str::trim);
            let row = lines.next().expect("a row").to_owned();
            (row, lines.collect::<Vec<_>>().join(" "))
        };
        let all = "99.1 % [98, 100] from 2 seeds  1 ms [0.9, 1.1]  4 ms [3, 5]      12";
        for room in [None, Some(67)] {
            assert_eq!(lines(room), (all.to_owned(), String::new()));
        }
        for (room, row, note) in [
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
                lines(Some(room)),
                (row.to_owned(), note.to_owned()),
                "{room}"
            );
        }
    }
}

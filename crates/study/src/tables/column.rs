//! Columns as functions of rows, and the construction of tables from them.

use super::{Cell, Column, Line, On, Spare, Table};
use crate::bound::BestRow;

/// Column with the functions that create its cells from a row and from a row of the best possible.
pub(super) struct Spec<R> {
    pub(super) column: Column,
    cell: fn(&R) -> Cell,
    best: fn(&BestRow) -> Cell,
}

/// Creates a column of numbers that is shown everywhere and is among the first to be omitted on a narrow terminal.
pub(super) fn column<R>(head: &str, cell: fn(&R) -> Cell) -> Spec<R> {
    Spec {
        column: Column {
            head: head.to_owned(),
            page_head: head.to_owned(),
            on: On::Both,
            words: false,
            intervals: false,
            spare: Spare::All(u8::MAX),
        },
        cell,
        best: |_| Cell::default(),
    }
}

impl<R> Spec<R> {
    pub(super) fn page_head(mut self, head: &str) -> Self {
        head.clone_into(&mut self.column.page_head);
        self
    }

    pub(super) fn on(mut self, on: On) -> Self {
        self.column.on = on;
        self
    }

    pub(super) fn words(mut self) -> Self {
        self.column.words = true;
        self
    }

    pub(super) fn intervals(mut self) -> Self {
        self.column.intervals = true;
        self
    }

    pub(super) fn spare(mut self, spare: Spare) -> Self {
        self.column.spare = spare;
        self
    }

    pub(super) fn best(mut self, best: fn(&BestRow) -> Cell) -> Self {
        self.best = best;
        self
    }
}

impl Table {
    /// Creates a table of the rows, with the best possible after the last row of each point.
    pub(super) fn new<R>(
        title: impl Into<String>,
        flows: &'static str,
        specs: Vec<Spec<R>>,
        rows: &[R],
        names: impl Fn(&R) -> [String; 3],
        best: &[&BestRow],
    ) -> Self {
        let line = |row: &R| Line {
            names: names(row),
            cells: specs.iter().map(|spec| (spec.cell)(row)).collect(),
        };
        let best_line = |row: &BestRow| Line {
            names: [
                row.point.clone(),
                row.transport.to_owned(),
                row.flows_name(),
            ],
            cells: specs.iter().map(|spec| (spec.best)(row)).collect(),
        };
        let mut lines = Vec::new();
        let mut remaining = rows.iter().map(line).peekable();
        while let Some(line) = remaining.next() {
            let point = line.names[0].clone();
            lines.push(line);
            if remaining.peek().is_none_or(|next| next.names[0] != point) {
                let here = best.iter().filter(|row| row.point == point);
                lines.extend(here.map(|row| best_line(row)));
            }
        }
        Self {
            title: title.into(),
            note: String::new(),
            condition: String::new(),
            dashes: String::new(),
            on: On::Both,
            is_overview: false,
            names: ["point", "transport", flows],
            columns: specs.into_iter().map(|spec| spec.column).collect(),
            lines,
        }
    }
}

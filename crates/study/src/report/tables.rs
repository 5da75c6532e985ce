//! Tables as the page shows them.

use serde::Serialize;

use crate::tables::{Cell, Line, On, Table};

/// Table as the page shows it.
#[derive(Debug, Serialize)]
pub struct Drawn {
    title: String,
    note: String,
    /// Heads of the columns. The first column holds names, the others numbers.
    head: Vec<Head>,
    /// True if the table is initially collapsed.
    folded: bool,
    rows: Vec<Row>,
}

/// Head of a column.
#[derive(Debug, Default, Serialize)]
struct Head {
    text: String,
    /// Transport of the column; empty if it is not specific to one.
    transport: String,
}

#[derive(Debug, Serialize)]
struct Row {
    /// Transport of the row; empty if it is not specific to one.
    transport: String,
    cells: Vec<Entry>,
}

/// Cell of a table.
#[derive(Debug, Default, Serialize)]
pub struct Entry {
    /// Formatted value.
    pub value: String,
    /// Interval or, in the first column, the point and flows of the line.
    pub interval: String,
    /// Reason why there is no number; empty if there is one.
    pub hint: String,
    /// Transport of the column; empty if it is not specific to one.
    pub transport: String,
}

impl Drawn {
    /// Converts a table. `has_overviews` is true if overview tables summarize the others, which are then collapsed.
    /// `transports` are the names of the transports, which are the heads of columns in overviews.
    pub fn of(table: &Table, has_overviews: bool, transports: &[&str]) -> Self {
        let shown = table.shown(On::Page);
        let first = if table.is_overview { "" } else { "transport" };
        let transport_of = |index: usize| {
            let head = &table.columns[index].page_head;
            if transports.contains(&head.as_str()) {
                head.clone()
            } else {
                String::new()
            }
        };
        let heads = shown.iter().map(|&index| Head {
            text: table.columns[index].page_head.clone(),
            transport: transport_of(index),
        });
        let row = |line: &Line| {
            let cells = shown.iter().map(|&index| Entry {
                transport: transport_of(index),
                ..Entry::of(&line.cells[index])
            });
            Row {
                transport: line.names[1].clone(),
                cells: [name_entry(line)].into_iter().chain(cells).collect(),
            }
        };
        let first = Head {
            text: first.to_owned(),
            ..Head::default()
        };
        Self {
            title: table.title.clone(),
            note: [table.note.as_str(), &table.condition, &table.dashes]
                .join(" ")
                .trim()
                .to_owned(),
            head: [first].into_iter().chain(heads).collect(),
            folded: has_overviews && !table.is_overview,
            rows: table.lines.iter().map(row).collect(),
        }
    }
}

/// Returns the first cell of a line: its transport, followed by its point and flows, or its point if it has no
/// transport.
fn name_entry(line: &Line) -> Entry {
    let [point, transport, flows] = &line.names;
    if transport.is_empty() {
        return Entry {
            value: point.clone(),
            ..Entry::default()
        };
    }
    let about = [point.as_str(), flows].into_iter();
    let about: Vec<&str> = about.filter(|name| !name.is_empty()).collect();
    Entry {
        value: transport.clone(),
        interval: about.join(", "),
        ..Entry::default()
    }
}

impl Entry {
    /// Converts a cell. Its interval can wrap only between the brackets and the number of seeds.
    pub fn of(cell: &Cell) -> Self {
        let interval = cell.interval.replace(' ', "\u{a0}");
        Self {
            value: cell.value.clone(),
            hint: cell.hint.clone(),
            interval: interval.replace("\u{a0}from\u{a0}", " from\u{a0}"),
            ..Self::default()
        }
    }
}

//! The page's tables.

use serde::Serialize;

use crate::tables::{Cell, Line, On, Table};

/// A table as the page draws it.
#[derive(Debug, Serialize)]
pub struct Drawn {
    title: String,
    note: String,
    /// The first column names the line; all others are numbers.
    head: Vec<Head>,
    /// Whether it is shown only when asked for.
    folded: bool,
    rows: Vec<Row>,
}

/// The head of a column.
#[derive(Debug, Default, Serialize)]
struct Head {
    text: String,
    /// The transport whose column it is; empty if of none.
    transport: String,
}

#[derive(Debug, Serialize)]
struct Row {
    /// The transport whose row it is; empty if of none.
    transport: String,
    cells: Vec<Entry>,
}

/// A cell of a table.
#[derive(Debug, Default, Serialize)]
pub struct Entry {
    /// What it says.
    pub value: String,
    /// Its interval, or, in the first column, what the line is about beside its transport.
    pub interval: String,
    /// Why there is no number; empty if there is one.
    pub hint: String,
    /// The transport that its whole column is about; empty if it is about none.
    pub transport: String,
}

impl Drawn {
    /// `has_overviews`: other tables sum this one up, if it is none of them. `transports`: their names, by which some
    /// columns are called.
    pub fn of(table: &Table, has_overviews: bool, transports: &[&str]) -> Self {
        let shown = table.shown(On::Page);
        let first = if table.is_overview { "" } else { "transport" };
        let about = |at: usize| {
            let head = &table.columns[at].page_head;
            if transports.contains(&head.as_str()) {
                head.clone()
            } else {
                String::new()
            }
        };
        let heads = shown.iter().map(|&at| Head {
            text: table.columns[at].page_head.clone(),
            transport: about(at),
        });
        let row = |line: &Line| {
            let cells = shown.iter().map(|&at| Entry {
                transport: about(at),
                ..Entry::of(&line.cells[at])
            });
            Row {
                transport: line.names[1].clone(),
                cells: [named(line)].into_iter().chain(cells).collect(),
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

/// The first cell of a line: its transport, and below it what else tells it from others.
fn named(line: &Line) -> Entry {
    let [point, transport, flows] = &line.names;
    if transport.is_empty() {
        return Entry {
            value: point.clone(),
            ..Entry::default()
        };
    }
    let about = [point.as_str(), flows].into_iter();
    let about: Vec<&str> = about.filter(|of| !of.is_empty()).collect();
    Entry {
        value: transport.clone(),
        interval: about.join(", "),
        ..Entry::default()
    }
}

impl Entry {
    /// A cell whose interval breaks between the brackets and the number of seeds alone.
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

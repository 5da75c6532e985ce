//! The page's tables.

use serde::Serialize;

use crate::tables::{Cell, Line, On, Table};

/// A table as the page draws it.
#[derive(Debug, Serialize)]
pub struct Drawn {
    title: String,
    note: String,
    /// The first column names the line; all others are numbers.
    head: Vec<String>,
    /// Whether it is shown only when asked for.
    folded: bool,
    rows: Vec<Vec<Entry>>,
}

/// A cell of a table.
#[derive(Debug, Default, Serialize)]
pub struct Entry {
    /// What it says.
    pub value: String,
    /// Its interval, or, in the first column, what the line is about beside its transport.
    pub interval: String,
}

impl Drawn {
    /// `has_overviews`: other tables sum this one up, if it is none of them.
    pub fn of(table: &Table, has_overviews: bool) -> Self {
        let shown = table.shown(On::Page);
        let first = if table.is_overview { "" } else { "transport" };
        let heads = shown.iter().map(|&at| table.columns[at].page_head.clone());
        let row = |line: &Line| {
            let cells = shown.iter().map(|&at| Entry::of(&line.cells[at]));
            [named(line)].into_iter().chain(cells).collect()
        };
        Self {
            title: table.title.clone(),
            note: [table.note.as_str(), table.condition]
                .join(" ")
                .trim()
                .to_owned(),
            head: [first.to_owned()].into_iter().chain(heads).collect(),
            folded: has_overviews && !table.is_overview,
            rows: table.lines.iter().map(row).collect(),
        }
    }

    /// Whether it is shown without being asked for.
    pub fn is_open(&self) -> bool {
        !self.folded
    }
}

/// The first cell of a line: its transport, and below it what else tells it from others.
fn named(line: &Line) -> Entry {
    let [point, transport, flows] = &line.names;
    if transport.is_empty() {
        return Entry {
            value: point.clone(),
            interval: String::new(),
        };
    }
    let about = [point.as_str(), flows].into_iter();
    let about: Vec<&str> = about.filter(|of| !of.is_empty()).collect();
    Entry {
        value: transport.clone(),
        interval: about.join(", "),
    }
}

impl Entry {
    /// A cell whose interval breaks between the brackets and the number of seeds alone.
    pub fn of(cell: &Cell) -> Self {
        let interval = cell.interval.replace(' ', "\u{a0}");
        Self {
            value: cell.value.clone(),
            interval: interval.replace("\u{a0}from\u{a0}", " from\u{a0}"),
        }
    }
}

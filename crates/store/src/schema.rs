//! The documentation of the tables, drawn from their description.

use std::fmt::Write as _;

use duetime_results::{FlowRecord, PortRecord, QueryRecord};

use crate::table::Row;
use crate::tables::{QueueRow, ThroughputRow};

/// Every table and column of a run folder, as Markdown.
pub fn schema_markdown() -> String {
    let mut page = String::new();
    section::<FlowRecord>(&mut page);
    section::<QueryRecord>(&mut page);
    section::<PortRecord>(&mut page);
    section::<QueueRow>(&mut page);
    section::<ThroughputRow>(&mut page);
    page
}

fn section<R: Row>(page: &mut String) {
    let separator = if page.is_empty() { "" } else { "\n" };
    let mut line = |text: String| writeln!(page, "{text}").expect("a string can always grow");
    line(format!(
        "{separator}## `{}.parquet`\n\n{}.\n",
        R::NAME,
        capitalised(R::ABOUT)
    ));
    line("| column | type | meaning |\n|---|---|---|".to_owned());
    for column in R::COLUMNS {
        let null = if column.get.optional() {
            ", nullable"
        } else {
            ""
        };
        line(format!(
            "| `{}` | {}{null} | {} |",
            column.name,
            column.get.type_name(),
            column.about
        ));
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_a_row() {
        let page = schema_markdown();
        assert!(
            page.contains("| `fct_ns` | int64, nullable | completion time"),
            "{page}"
        );
        let columns = FlowRecord::COLUMNS.len()
            + QueryRecord::COLUMNS.len()
            + PortRecord::COLUMNS.len()
            + QueueRow::COLUMNS.len()
            + ThroughputRow::COLUMNS.len();
        assert_eq!(
            page.lines().filter(|line| line.starts_with("| `")).count(),
            columns
        );
    }
}

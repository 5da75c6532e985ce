//! Conversion of stored tables back to records.

use duetime_results::record::{Record, Row, Stored};
use duetime_results::schema::{Context, Value};

use crate::table::{StoredColumn, StoredTable};

/// Reads the records stored in the rows of `tables`, whose columns complement each other.
pub fn read<R: Record>(context: &Context<'_>, tables: &[&StoredTable]) -> Result<Vec<R>, String> {
    let rows = tables[0].rows();
    if let Some(other) = tables.iter().find(|table| table.rows() != rows) {
        return Err(format!(
            "{rows} rows here, {} in the table with the other columns",
            other.rows()
        ));
    }
    let columns = R::STORED.iter().map(|stored| column(tables, stored));
    let mut cells = Cells {
        columns: columns.collect::<Result<_, _>>()?,
        next: 0,
    };
    let record = |_| {
        cells.next = 0;
        R::read(context, &mut cells)
    };
    (0..rows).map(record).collect()
}

/// Returns the column for `stored` from the first table that has it, under its current or former name.
fn column(tables: &[&StoredTable], stored: &Stored) -> Result<StoredColumn, String> {
    for table in tables {
        for name in [Some(stored.name), stored.former].into_iter().flatten() {
            if let Some(column) = table.optional_column(name)? {
                return Ok(column);
            }
        }
    }
    tables[0].column(stored.name)
}

/// Columns of a record, read row by row.
struct Cells {
    columns: Vec<StoredColumn>,
    next: usize,
}

impl Row for Cells {
    fn next<T>(&mut self, read: impl FnOnce(Value<'_>) -> Result<T, String>) -> Result<T, String> {
        let column = &mut self.columns[self.next];
        self.next += 1;
        let value = match column.cell()? {
            // Writing casts all 64 bits to signed.
            Value::Signed(bits) => Value::Unsigned(bits.cast_unsigned()),
            value => value,
        };
        read(value).map_err(|reason| column.error(&reason))
    }
}

#[cfg(test)]
mod tests {
    use duetime_results::FlowRecord;
    use duetime_results::schema::{Column, FLOWS, Table};

    use super::*;
    use crate::table::to_parquet;

    const CONTEXT: Context<'_> = Context {
        transport: "tcp",
        run: 0,
        sampled_links: &[],
    };

    /// Writes two flows to a table after changing each column with `edit`. Returns the records read back and those
    /// written.
    fn read_changed(
        edit: fn(&mut Column<FlowRecord>),
    ) -> (Result<Vec<FlowRecord>, String>, Vec<FlowRecord>) {
        let flow = |flow, measured| FlowRecord {
            flow,
            source: u32::MAX,
            measured,
            ..FlowRecord::default()
        };
        let flows = vec![flow(0, true), flow(1, false)];
        let changed = |column: &Column<FlowRecord>| {
            let mut column = Column { ..*column };
            edit(&mut column);
            column
        };
        let columns: Vec<_> = FLOWS.columns.iter().map(changed).collect();
        let table = Table {
            columns: columns.leak(),
            ..FLOWS
        };
        let file = to_parquet(&table, &CONTEXT, &flows).unwrap();
        let table = StoredTable::open(file.into()).unwrap();
        (read(&CONTEXT, &[&table]), flows)
    }

    #[test]
    fn former_column_name_is_accepted() {
        let (read, written) = read_changed(|column| {
            if column.name == "measured" {
                column.name = "counted";
            }
        });
        assert_eq!(read, Ok(written));
    }

    #[test]
    fn missing_and_too_large_values_are_reported() {
        let message = |edit| read_changed(edit).0.unwrap_err();
        let missing = message(|column| {
            if column.name == "marks" {
                column.name = "dots";
            }
        });
        assert!(
            missing.starts_with("column `marks` is missing; the file has: transport, run,"),
            "{missing}"
        );
        let too_large = message(|column| {
            if column.name == "marks" {
                column.value = |_, _| Value::Unsigned(1 << 32);
            }
        });
        assert_eq!(too_large, "column `marks`, row 1: 4294967296 is too large");
    }
}

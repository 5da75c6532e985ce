//! CSV export of flat Parquet files.

use std::io::Write;
use std::path::Path;

use duetime_results::schema::Value;

use crate::table::StoredTable;
use crate::{StoreError, file};

/// Writes a Parquet file of plain columns as CSV (RFC 4180 quoting, `\n` line ends): a header line, then one line per
/// row. Nulls become empty fields.
pub fn export_csv(parquet: &Path, to: &mut impl Write) -> Result<(), StoreError> {
    let input = |reason: String| StoreError::input(parquet, reason);
    let table = StoredTable::open(file::read(parquet)?.into()).map_err(input)?;
    let mut columns = (0..table.columns())
        .map(|index| table.column_at(index).map_err(input))
        .collect::<Result<Vec<_>, _>>()?;
    let mut line = table
        .names()
        .iter()
        .map(|name| quoted(name))
        .collect::<Vec<_>>()
        .join(",");
    let mut rows = 0..table.rows();
    loop {
        line.push('\n');
        // A closed pipe is an error of the output, not of the file.
        to.write_all(line.as_bytes())
            .map_err(StoreError::unwritten("export", parquet))?;
        if rows.next().is_none() {
            return Ok(());
        }
        line.clear();
        for (index, column) in columns.iter_mut().enumerate() {
            if index > 0 {
                line.push(',');
            }
            match column.cell().map_err(input)? {
                Value::Null => {}
                Value::Unsigned(value) => line.push_str(&value.to_string()),
                Value::Signed(value) => line.push_str(&value.to_string()),
                Value::Real(value) => line.push_str(&value.to_string()),
                Value::Boolean(value) => line.push_str(&value.to_string()),
                Value::Text(value) => line.push_str(&quoted(value)),
            }
        }
    }
}

fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

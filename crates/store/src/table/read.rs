//! Parquet reader: our own tables, and flat files of other writers.

use bytes::Bytes;
use duetime_results::schema::Value;
use parquet::basic::{Compression, ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

/// Open Parquet file. Columns are read on demand.
pub struct StoredTable {
    file: SerializedFileReader<Bytes>,
}

/// Column in memory, read row by row. A value of an unexpected type is an error that names column and row.
pub struct StoredColumn {
    name: String,
    values: Values,
    /// True for each row with a value; `None` if all rows have one.
    defined: Option<Vec<bool>>,
    /// Number of rows read.
    row: usize,
    /// Number of values read: rows minus nulls.
    value: usize,
}

enum Values {
    Int(Vec<i64>),
    Real(Vec<f64>),
    Bool(Vec<bool>),
    Text(Vec<ByteArray>),
}

impl StoredTable {
    /// Opens a Parquet file and reads its schema.
    pub fn open(bytes: Bytes) -> Result<Self, String> {
        let file = SerializedFileReader::new(bytes)
            .map_err(|error| format!("not a Parquet file: {error}"))?;
        Ok(Self { file })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        usize::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.schema().num_columns()
    }

    fn schema(&self) -> &SchemaDescriptor {
        self.file.metadata().file_metadata().schema_descr()
    }

    /// Returns the names of the columns, in file order.
    pub fn names(&self) -> Vec<String> {
        let columns = self.schema().columns().iter();
        columns.map(|column| column.path().string()).collect()
    }

    /// Returns a column by name, or `None` if the file has no such column.
    pub fn optional_column(&self, name: &str) -> Result<Option<StoredColumn>, String> {
        let index = self.names().iter().position(|other| other == name);
        index.map(|index| self.column_at(index)).transpose()
    }

    /// Returns a column by name, or an error that lists the existing columns.
    pub fn column(&self, name: &str) -> Result<StoredColumn, String> {
        self.optional_column(name)?.ok_or_else(|| {
            format!(
                "column `{name}` is missing; the file has: {}",
                self.names().join(", ")
            )
        })
    }

    /// Returns a column by index.
    pub fn column_at(&self, index: usize) -> Result<StoredColumn, String> {
        let description = self.schema().column(index);
        let name = description.path().string();
        if description.max_rep_level() > 0 || description.path().parts().len() > 1 {
            return Err(format!(
                "column `{name}` is nested; a plain column is needed"
            ));
        }
        // Integers can also encode decimals and dates, which have another meaning.
        let unsigned = is_unsigned(&description).ok_or_else(|| {
            format!("column `{name}` holds dates, decimals or similar; a plain number is needed")
        })?;
        let codecs = self
            .file
            .metadata()
            .row_groups()
            .iter()
            .map(|group| group.column(index).compression());
        for codec in codecs {
            if !matches!(
                codec,
                Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::ZSTD(_)
            ) {
                return Err(format!(
                    "column `{name}` is compressed by {codec}; SNAPPY, ZSTD and none are read"
                ));
            }
        }
        let rows = self.rows();
        let mut column = ColumnReaderState {
            levels: Vec::new(),
            max_level: description.max_def_level(),
            rows,
        };
        let readers = (0..self.file.num_row_groups())
            .map(|group| self.file.get_row_group(group)?.get_column_reader(index));
        let values = match description.physical_type() {
            Physical::INT32 => column.fill::<Int32Type>(readers).map(|values| {
                let widen = |value: i32| {
                    if unsigned {
                        i64::from(value.cast_unsigned())
                    } else {
                        i64::from(value)
                    }
                };
                Values::Int(values.into_iter().map(widen).collect())
            }),
            Physical::INT64 => column.fill::<Int64Type>(readers).map(Values::Int),
            Physical::DOUBLE => column.fill::<DoubleType>(readers).map(Values::Real),
            Physical::BOOLEAN => column.fill::<BoolType>(readers).map(Values::Bool),
            Physical::BYTE_ARRAY => column.fill::<ByteArrayType>(readers).map(Values::Text),
            other => {
                return Err(format!(
                    "column `{name}` has type {other}; INT32, INT64 or DOUBLE is needed"
                ));
            }
        };
        let values = values.map_err(|error| format!("column `{name}`: {error}"))?;
        let defined = (column.max_level > 0).then(|| {
            column
                .levels
                .iter()
                .map(|level| *level == column.max_level)
                .collect()
        });
        let column = StoredColumn {
            name,
            values,
            defined,
            row: 0,
            value: 0,
        };
        if column.len() == rows {
            Ok(column)
        } else {
            Err(format!(
                "column `{}` has {} rows of {rows}",
                column.name,
                column.len()
            ))
        }
    }
}

/// Returns true if the integers of a plain column are unsigned, or `None` if the column is not plain.
fn is_unsigned(column: &ColumnDescriptor) -> Option<bool> {
    use ConvertedType as Old;
    match column.logical_type_ref() {
        Some(LogicalType::Integer(int)) => Some(!int.is_signed),
        Some(LogicalType::String | LogicalType::Enum) => Some(false),
        Some(_) => None,
        // Older writers set only the converted type.
        None => match column.converted_type() {
            Old::UINT_8 | Old::UINT_16 | Old::UINT_32 | Old::UINT_64 => Some(true),
            Old::INT_8
            | Old::INT_16
            | Old::INT_32
            | Old::INT_64
            | Old::NONE
            | Old::UTF8
            | Old::ENUM => Some(false),
            _ => None,
        },
    }
}

/// Reads one column over all row groups.
struct ColumnReaderState {
    levels: Vec<i16>,
    max_level: i16,
    rows: usize,
}

impl ColumnReaderState {
    fn fill<T: DataType>(
        &mut self,
        readers: impl Iterator<Item = ParquetResult<ColumnReader>>,
    ) -> ParquetResult<Vec<T::T>> {
        let mut values = Vec::new();
        for reader in readers {
            let mut reader = T::get_column_reader(reader?)
                .ok_or_else(|| ParquetError::General("row groups of different types".to_owned()))?;
            let levels = (self.max_level > 0).then_some(&mut self.levels);
            reader.read_records(self.rows, levels, None, &mut values)?;
        }
        Ok(values)
    }
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Int(values) => values.len(),
            Self::Real(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }
}

impl StoredColumn {
    fn len(&self) -> usize {
        self.defined
            .as_ref()
            .map_or_else(|| self.values.len(), Vec::len)
    }

    /// Returns the next cell. Integers are [`Value::Signed`].
    pub fn cell(&mut self) -> Result<Value<'_>, String> {
        let row = self.row;
        self.row += 1;
        if self.defined.as_ref().is_some_and(|defined| !defined[row]) {
            return Ok(Value::Null);
        }
        let value = self.value;
        self.value += 1;
        Ok(match &self.values {
            Values::Int(values) => Value::Signed(values[value]),
            Values::Real(values) => Value::Real(values[value]),
            Values::Bool(values) => Value::Boolean(values[value]),
            Values::Text(values) => Value::Text(
                values[value]
                    .as_utf8()
                    .map_err(|_| self.error("not UTF-8"))?,
            ),
        })
    }

    /// Returns an error message about the cell just read. Rows are counted from 1.
    pub fn error(&self, reason: &str) -> String {
        format!("column `{}`, row {}: {reason}", self.name, self.row)
    }
}

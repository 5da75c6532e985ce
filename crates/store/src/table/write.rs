//! Parquet writer. Files are built in memory, since they are small when compressed, and written in one step.

use std::sync::Arc;

use duetime_results::schema::{Column, Context, Kind, Table, Value};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

/// Rows per row group, which bounds the buffered data.
const GROUP: usize = 1 << 20;

/// Writes the records as a Parquet file. Equal records give equal bytes.
pub fn to_parquet<R>(table: &Table<R>, context: &Context<'_>, records: &[R]) -> Result<Vec<u8>> {
    let fields = table
        .columns
        .iter()
        .map(field)
        .collect::<Result<Vec<_>>>()?;
    let schema = Arc::new(
        Type::group_type_builder(table.name)
            .with_fields(fields)
            .build()?,
    );
    let metadata = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|c| format!("{}: {}", c.name, c.meaning))
        .collect();
    let properties = WriterProperties::builder()
        .set_created_by(format!("duetime {}", crate::VERSION))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_key_value_metadata(Some(vec![
            metadata("duetime.version", crate::VERSION.to_owned()),
            metadata("duetime.format", crate::FORMAT.to_string()),
            metadata("duetime.table", format!("{}: {}", table.name, table.row)),
            metadata("duetime.columns", columns.join("\n")),
        ]))
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    for records in records.chunks(GROUP) {
        let mut group = file.next_row_group()?;
        for column in table.columns {
            let mut writer = group
                .next_column()?
                .expect("the schema has one field per column");
            let values = records.iter().map(|record| (column.value)(context, record));
            match column.kind {
                Kind::Unsigned | Kind::Signed => {
                    write::<Int64Type>(&mut writer, column, values, int)
                }
                Kind::Real => write::<DoubleType>(&mut writer, column, values, real),
                Kind::Boolean => write::<BoolType>(&mut writer, column, values, boolean),
                Kind::Text => write::<ByteArrayType>(&mut writer, column, values, text),
            }?;
            writer.close()?;
        }
        group.close()?;
    }
    file.into_inner()
}

fn field<R>(column: &Column<R>) -> Result<Arc<Type>> {
    let (physical, logical) = match column.kind {
        Kind::Unsigned | Kind::Signed => (Physical::INT64, None),
        Kind::Real => (Physical::DOUBLE, None),
        Kind::Boolean => (Physical::BOOLEAN, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if column.nullable {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    let field = Type::primitive_type_builder(column.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()?;
    Ok(Arc::new(field))
}

/// Writes one column. `unwrap` returns `None` for a value whose type differs from the column's.
fn write<'a, T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    column: &Column<impl Sized>,
    cells: impl Iterator<Item = Value<'a>>,
    unwrap: fn(Value<'a>) -> Option<T::T>,
) -> Result<()> {
    let mut values = Vec::with_capacity(cells.size_hint().0);
    let mut levels = Vec::new();
    for cell in cells {
        if column.nullable {
            levels.push(i16::from(cell != Value::Null));
            if cell == Value::Null {
                continue;
            }
        }
        let value = unwrap(cell).ok_or_else(|| {
            ParquetError::General(format!(
                "column `{}` has type {:?}; got {cell:?}",
                column.name, column.kind
            ))
        })?;
        values.push(value);
    }
    let levels = column.nullable.then_some(levels.as_slice());
    writer
        .typed::<T>()
        .write_batch(&values, levels, None)
        .map(drop)
}

fn int(value: Value<'_>) -> Option<i64> {
    match value {
        // Keeps all 64 bits; reading casts back.
        Value::Unsigned(value) => Some(value.cast_signed()),
        Value::Signed(value) => Some(value),
        _ => None,
    }
}

fn real(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Real(value) => Some(value),
        _ => None,
    }
}

fn boolean(value: Value<'_>) -> Option<bool> {
    match value {
        Value::Boolean(value) => Some(value),
        _ => None,
    }
}

fn text(value: Value<'_>) -> Option<ByteArray> {
    match value {
        Value::Text(value) => Some(ByteArray::from(value)),
        _ => None,
    }
}

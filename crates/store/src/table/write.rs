//! Rows to Parquet, through memory: a file is small once compressed, and is then written in one step.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::{Column, Get, Row};

/// Rows per row group: bounds what is buffered at once.
const GROUP: usize = 1 << 20;

/// The rows as a Parquet file. The same rows give the same bytes.
pub fn to_parquet<R: Row>(rows: &[R]) -> Result<Vec<u8>> {
    let fields = R::COLUMNS.iter().map(field).collect::<Result<Vec<_>>>()?;
    let schema = Arc::new(
        Type::group_type_builder(R::NAME)
            .with_fields(fields)
            .build()?,
    );
    let about = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let columns: Vec<String> = R::COLUMNS
        .iter()
        .map(|c| format!("{}: {}", c.name, c.about))
        .collect();
    let properties = WriterProperties::builder()
        .set_created_by(format!("duetime {}", crate::VERSION))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_key_value_metadata(Some(vec![
            about("duetime.version", crate::VERSION.to_owned()),
            about("duetime.format", crate::FORMAT.to_string()),
            about("duetime.table", format!("{}: {}", R::NAME, R::ABOUT)),
            about("duetime.columns", columns.join("\n")),
        ]))
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    for rows in rows.chunks(GROUP) {
        let mut group = file.next_row_group()?;
        for column in R::COLUMNS {
            let mut writer = group
                .next_column()?
                .expect("the schema has one field per column");
            write_column(&mut writer, &column.get, rows)?;
            writer.close()?;
        }
        group.close()?;
    }
    file.into_inner()
}

fn field<R>(column: &Column<R>) -> Result<Arc<Type>> {
    let (physical, logical) = match column.get {
        Get::Int(_) | Get::OptionalInt(_) => (Physical::INT64, None),
        Get::Real(_) | Get::OptionalReal(_) => (Physical::DOUBLE, None),
        Get::Bool(_) | Get::OptionalBool(_) => (Physical::BOOLEAN, None),
        Get::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if column.get.optional() {
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

fn write_column<R>(
    writer: &mut SerializedColumnWriter<'_>,
    get: &Get<R>,
    rows: &[R],
) -> Result<()> {
    match get {
        Get::Int(get) => required(writer.typed::<Int64Type>(), rows.iter().map(get)),
        Get::OptionalInt(get) => optional(writer.typed::<Int64Type>(), rows.iter().map(get)),
        Get::Real(get) => required(writer.typed::<DoubleType>(), rows.iter().map(get)),
        Get::OptionalReal(get) => optional(writer.typed::<DoubleType>(), rows.iter().map(get)),
        Get::Bool(get) => required(writer.typed::<BoolType>(), rows.iter().map(get)),
        Get::OptionalBool(get) => optional(writer.typed::<BoolType>(), rows.iter().map(get)),
        Get::Text(get) => required(
            writer.typed::<ByteArrayType>(),
            rows.iter().map(|row| ByteArray::from(get(row))),
        ),
    }
}

fn required<T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    values: impl Iterator<Item = T::T>,
) -> Result<()> {
    let values: Vec<T::T> = values.collect();
    writer.write_batch(&values, None, None).map(drop)
}

fn optional<T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let mut levels = Vec::with_capacity(values.size_hint().0);
    let values: Vec<T::T> = values
        .inspect(|value| levels.push(i16::from(value.is_some())))
        .flatten()
        .collect();
    writer.write_batch(&values, Some(&levels), None).map(drop)
}

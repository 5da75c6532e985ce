//! Tables in Arrow's memory format, shared with other libraries through the Arrow `PyCapsule` interface.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray,
};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicate, ArrowPredicateFn, ParquetRecordBatchReaderBuilder, RowFilter,
};
use parquet::schema::types::SchemaDescriptor;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// A table with one batch per run.
#[pyclass(frozen, module = "duetime._native")]
#[derive(Debug)]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// Values of a [`Constant`] by point of the sweep; without a sweep the point's name is empty.
#[derive(Debug, FromPyObject)]
enum Values {
    Boolean(BTreeMap<String, bool>),
    Integer(BTreeMap<String, i64>),
    Float(BTreeMap<String, f64>),
    Text(BTreeMap<String, String>),
}

/// A column with one value for all rows of a point: name, unit, meaning and values.
#[derive(Debug, FromPyObject)]
pub struct Constant(String, Option<String>, String, Values);

impl Constant {
    fn field(&self) -> Field {
        let Self(name, unit, meaning, values) = self;
        let kind = match values {
            Values::Boolean(_) => DataType::Boolean,
            Values::Integer(_) => DataType::Int64,
            Values::Float(_) => DataType::Float64,
            Values::Text(_) => DataType::Utf8,
        };
        described(Field::new(name, kind, true), unit.as_deref(), Some(meaning))
    }

    fn column(&self, point: Option<&str>, rows: usize) -> ArrayRef {
        let point = point.unwrap_or_default();
        match &self.3 {
            Values::Boolean(map) => {
                Arc::new(BooleanArray::from(vec![map.get(point).copied(); rows]))
            }
            Values::Integer(map) => Arc::new(Int64Array::from(vec![map.get(point).copied(); rows])),
            Values::Float(map) => Arc::new(Float64Array::from(vec![map.get(point).copied(); rows])),
            Values::Text(map) => Arc::new(StringArray::from(vec![
                map.get(point)
                    .map(String::as_str);
                rows
            ])),
        }
    }
}

/// Columns and descriptions that a table has in addition to its files.
#[derive(Debug)]
pub struct Additions {
    /// First columns, after the point of the sweep.
    pub axes: Vec<Constant>,
    /// Column after the run number.
    pub seed: Constant,
    /// Names and meanings of the files' columns.
    pub meanings: Vec<(&'static str, &'static str)>,
}

impl Additions {
    /// Returns the index of the seed among the columns of a file.
    fn seed_index(columns: &Schema) -> usize {
        columns.index_of("run").map_or(0, |run| run + 1)
    }

    fn schema(&self, file: &Schema, has_points: bool) -> SchemaRef {
        let point = Field::new("point", DataType::Utf8, true);
        let point = described(point, None, Some("The point of the sweep."));
        let fields = file.fields().iter();
        let mut fields: Vec<Arc<Field>> = fields.map(|field| self.with_meaning(field)).collect();
        fields.insert(Self::seed_index(file), Arc::new(self.seed.field()));
        let axes = self.axes.iter().map(|axis| Arc::new(axis.field()));
        let front = has_points.then(|| Arc::new(point)).into_iter().chain(axes);
        Arc::new(Schema::new(front.chain(fields).collect::<Vec<_>>()))
    }

    fn with_meaning(&self, field: &Field) -> Arc<Field> {
        let mut meanings = self.meanings.iter();
        let meaning = meanings.find(|(name, _)| name == field.name());
        let meaning = meaning.map(|(_, meaning)| *meaning);
        Arc::new(described(field.clone(), unit_of(field.name()), meaning))
    }

    fn add(
        &self,
        batch: &RecordBatch,
        schema: &SchemaRef,
        has_points: bool,
        point: Option<&str>,
    ) -> Result<RecordBatch, ArrowError> {
        let rows = batch.num_rows();
        let mut file_columns = batch.columns().to_vec();
        file_columns.insert(
            Self::seed_index(batch.schema_ref()),
            self.seed.column(point, rows),
        );
        let name = has_points.then(|| Arc::new(StringArray::from(vec![point; rows])) as ArrayRef);
        let axes = self.axes.iter().map(|axis| axis.column(point, rows));
        let columns = name.into_iter().chain(axes).chain(file_columns).collect();
        RecordBatch::try_new(Arc::clone(schema), columns)
    }
}

/// Adds unit and meaning to the metadata of the field, under `unit` and `description`.
fn described(field: Field, unit: Option<&str>, meaning: Option<&str>) -> Field {
    let entries = [("unit", unit), ("description", meaning)];
    let entries = entries
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned())));
    field.with_metadata(entries.collect::<HashMap<_, _>>())
}

/// Returns the unit in the suffix of a column name, or `None` if it has none.
fn unit_of(name: &str) -> Option<&'static str> {
    let units = [("_ns", "ns"), ("_ps", "ps"), ("_bytes", "bytes")];
    let mut units = units.into_iter();
    units.find_map(|(end, unit)| name.ends_with(end).then_some(unit))
}

impl Table {
    /// Reads Parquet files with equal columns, each with the name of its point if it belongs to a sweep. Unless `all`
    /// is true, rows that the summary does not count are skipped.
    pub fn from_parquet(
        files: Vec<(Option<String>, Vec<u8>)>,
        all: bool,
        additions: &Additions,
    ) -> Result<Self, String> {
        let has_points = files.iter().any(|(point, _)| point.is_some());
        let mut schema = None;
        let mut batches = Vec::new();
        for (point, bytes) in files {
            let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes))
                .map_err(|error| error.to_string())?;
            let rows = usize::try_from(builder.metadata().file_metadata().num_rows())
                .map_err(|error| error.to_string())?;
            let file_schema = additions.schema(builder.schema(), has_points);
            let schema = schema.get_or_insert(file_schema);
            let filter = if all {
                Vec::new()
            } else {
                counted(builder.parquet_schema())
            };
            let builder = builder.with_row_filter(RowFilter::new(filter));
            let reader = builder.with_batch_size(rows.max(1)).build();
            let reader = reader.map_err(|error| error.to_string())?;
            for batch in reader {
                let batch = batch
                    .and_then(|batch| additions.add(&batch, schema, has_points, point.as_deref()))
                    .map_err(|error| error.to_string())?;
                batches.push(batch);
            }
        }
        Ok(Self {
            schema: schema.ok_or("no run has finished")?,
            batches,
        })
    }
}

/// Returns filters for the rows that the summary counts: measured queries, and measured flows that are not spare
/// answers. These column names are the same in folders of all versions.
fn counted(schema: &SchemaDescriptor) -> Vec<Box<dyn ArrowPredicate>> {
    let names = [("measured", true), ("counted", true), ("spare", false)];
    let present = names
        .into_iter()
        .filter(|(name, _)| schema.columns().iter().any(|column| column.name() == *name));
    present
        .map(|(name, wanted)| {
            let column = ProjectionMask::columns(schema, [name]);
            let keep = move |batch: RecordBatch| {
                let values = batch.column(0).as_boolean_opt();
                let values = values.ok_or_else(|| {
                    ArrowError::SchemaError(format!("column `{name}` is not boolean"))
                })?;
                let values = values.iter().map(|value| Some(value == Some(wanted)));
                Ok(values.collect::<BooleanArray>())
            };
            Box::new(ArrowPredicateFn::new(column, keep)) as Box<dyn ArrowPredicate>
        })
        .collect()
}

#[pymethods]
impl Table {
    /// Reads a table from the bytes of an Arrow IPC stream.
    #[staticmethod]
    fn from_ipc(bytes: &[u8]) -> PyResult<Self> {
        let invalid = |error: ArrowError| PyValueError::new_err(error.to_string());
        let reader = StreamReader::try_new(bytes, None).map_err(invalid)?;
        let schema = reader.schema();
        let batches = reader.collect::<Result<_, _>>().map_err(invalid)?;
        Ok(Self { schema, batches })
    }

    /// Returns the table as the bytes of an Arrow IPC stream.
    fn to_ipc<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let write = || {
            let mut writer = StreamWriter::try_new(Vec::new(), &self.schema)?;
            for batch in &self.batches {
                writer.write(batch)?;
            }
            writer.into_inner()
        };
        let bytes = py.detach(write);
        let bytes = bytes.map_err(|error: ArrowError| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Names of the columns.
    #[getter]
    fn names(&self) -> Vec<&str> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().as_str()).collect()
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface allows ignoring the requested schema.
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, STREAM)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.schema.as_ref())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }
}

/// Reads the batches of a stream from another library.
pub fn import(stream: &Bound<'_, PyCapsule>) -> PyResult<Vec<RecordBatch>> {
    let stream = stream.pointer_checked(Some(STREAM))?;
    // SAFETY: by the Arrow PyCapsule interface, a capsule with this name contains a valid stream that we may consume.
    // Reading leaves a released stream in the capsule, so its owner does not release the stream again.
    #[expect(unsafe_code, reason = "the C interface is a pointer")]
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.cast().as_ptr()) };
    let unreadable = |error: ArrowError| PyValueError::new_err(error.to_string());
    let batches = reader.map_err(unreadable)?.collect::<Result<_, _>>();
    batches.map_err(unreadable)
}

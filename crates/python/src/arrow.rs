//! Tables in Arrow's memory, shared with other libraries through the Arrow `PyCapsule` interface.

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

/// A table, in one batch per run.
#[pyclass(frozen, module = "duetime._native")]
#[derive(Debug)]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

/// The values of a [`Constant`] by points of the sweep; without a sweep the point's name is empty.
#[derive(Debug, FromPyObject)]
enum Values {
    Boolean(BTreeMap<String, bool>),
    Whole(BTreeMap<String, i64>),
    Real(BTreeMap<String, f64>),
    Text(BTreeMap<String, String>),
}

/// A column with one value for all rows of a point.
#[derive(Debug, FromPyObject)]
pub struct Constant(String, Option<String>, String, Values);

impl Constant {
    fn field(&self) -> Field {
        let Self(name, unit, meaning, values) = self;
        let kind = match values {
            Values::Boolean(_) => DataType::Boolean,
            Values::Whole(_) => DataType::Int64,
            Values::Real(_) => DataType::Float64,
            Values::Text(_) => DataType::Utf8,
        };
        described(Field::new(name, kind, true), unit.as_deref(), Some(meaning))
    }

    fn column(&self, point: Option<&str>, rows: usize) -> ArrayRef {
        let point = point.unwrap_or_default();
        match &self.3 {
            Values::Boolean(of) => Arc::new(BooleanArray::from(vec![of.get(point).copied(); rows])),
            Values::Whole(of) => Arc::new(Int64Array::from(vec![of.get(point).copied(); rows])),
            Values::Real(of) => Arc::new(Float64Array::from(vec![of.get(point).copied(); rows])),
            Values::Text(of) => Arc::new(StringArray::from(vec![
                of.get(point).map(String::as_str);
                rows
            ])),
        }
    }
}

/// Columns and descriptions that a table gains over its files.
#[derive(Debug)]
pub struct Additions {
    /// Columns in front, next to the point of the sweep.
    pub axes: Vec<Constant>,
    /// Column behind the number of the run.
    pub seed: Constant,
    /// Names and meanings of the files' columns.
    pub meanings: Vec<(&'static str, &'static str)>,
}

impl Additions {
    /// Returns the place of the seed among the columns of a file.
    fn seed_place(columns: &Schema) -> usize {
        columns.index_of("run").map_or(0, |run| run + 1)
    }

    fn schema(&self, of: &Schema, has_points: bool) -> SchemaRef {
        let point = Field::new("point", DataType::Utf8, true);
        let point = described(point, None, Some("The point of the sweep."));
        let mut fields: Vec<Arc<Field>> = of.fields().iter().map(|field| self.own(field)).collect();
        fields.insert(Self::seed_place(of), Arc::new(self.seed.field()));
        let axes = self.axes.iter().map(|axis| Arc::new(axis.field()));
        let front = has_points.then(|| Arc::new(point)).into_iter().chain(axes);
        Arc::new(Schema::new(front.chain(fields).collect::<Vec<_>>()))
    }

    fn own(&self, field: &Field) -> Arc<Field> {
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
        let mut own = batch.columns().to_vec();
        own.insert(
            Self::seed_place(batch.schema_ref()),
            self.seed.column(point, rows),
        );
        let name = has_points.then(|| Arc::new(StringArray::from(vec![point; rows])) as ArrayRef);
        let axes = self.axes.iter().map(|axis| axis.column(point, rows));
        let columns = name.into_iter().chain(axes).chain(own).collect();
        RecordBatch::try_new(Arc::clone(schema), columns)
    }
}

/// Returns the field with its unit and its meaning in the metadata, under `unit` and `description`.
fn described(field: Field, unit: Option<&str>, meaning: Option<&str>) -> Field {
    let entries = [("unit", unit), ("description", meaning)];
    let entries = entries
        .into_iter()
        .filter_map(|(key, of)| Some((key.to_owned(), of?.to_owned())));
    field.with_metadata(entries.collect::<HashMap<_, _>>())
}

/// Returns the unit in which the name of a file's column ends.
fn unit_of(name: &str) -> Option<&'static str> {
    let units = [("_ns", "ns"), ("_ps", "ps"), ("_bytes", "bytes")];
    let mut units = units.into_iter();
    units.find_map(|(end, unit)| name.ends_with(end).then_some(unit))
}

impl Table {
    /// Reads Parquet files of the same columns, each with its point of a sweep where there is one. Unless `all`, rows that
    /// the summary leaves out are skipped.
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
            let own = additions.schema(builder.schema(), has_points);
            let schema = schema.get_or_insert(own);
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
            schema: schema.ok_or("no run is finished")?,
            batches,
        })
    }
}

/// Conditions for the rows that the summary counts: measured queries, and measured flows that are not spare answers. The
/// columns have these names in folders of all versions.
fn counted(schema: &SchemaDescriptor) -> Vec<Box<dyn ArrowPredicate>> {
    let names = [("measured", true), ("counted", true), ("spare", false)];
    let there = names
        .into_iter()
        .filter(|(name, _)| schema.columns().iter().any(|column| column.name() == *name));
    there
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
        let wrong = |error: ArrowError| PyValueError::new_err(error.to_string());
        let reader = StreamReader::try_new(bytes, None).map_err(wrong)?;
        let schema = reader.schema();
        let batches = reader.collect::<Result<_, _>>().map_err(wrong)?;
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

    /// Rows.
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
        // The interface allows to ignore what was requested.
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

/// The batches of a stream from another library.
pub fn import(stream: &Bound<'_, PyCapsule>) -> PyResult<Vec<RecordBatch>> {
    let stream = stream.pointer_checked(Some(STREAM))?;
    // SAFETY: by the Arrow PyCapsule interface a capsule of this name holds a valid stream, ours to consume. What is read
    // leaves a released stream behind, which the capsule's owner then does not release again.
    #[expect(unsafe_code, reason = "the C interface is a pointer")]
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.cast().as_ptr()) };
    let unreadable = |error: ArrowError| PyValueError::new_err(error.to_string());
    let batches = reader.map_err(unreadable)?.collect::<Result<_, _>>();
    batches.map_err(unreadable)
}

//! Tables in Arrow's memory, shared with other libraries through the Arrow `PyCapsule` interface.

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchIterator, StringArray};
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
use pyo3::types::PyCapsule;

const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// A table, in one batch per run.
#[pyclass(frozen, module = "duetime._native")]
#[derive(Debug)]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// Reads Parquet files of the same columns, each with its point of a sweep where there is one. Unless `all`, rows that
    /// the summary leaves out are skipped.
    pub fn from_parquet(files: Vec<(Option<String>, Vec<u8>)>, all: bool) -> Result<Self, String> {
        let has_points = files.iter().any(|(point, _)| point.is_some());
        let mut schema = None;
        let mut batches = Vec::new();
        for (point, bytes) in files {
            let builder = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes))
                .map_err(|error| error.to_string())?;
            let rows = usize::try_from(builder.metadata().file_metadata().num_rows())
                .map_err(|error| error.to_string())?;
            let own = columns(builder.schema(), has_points);
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
                    .and_then(|batch| with_point(&batch, schema, point.as_deref()))
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

fn columns(of: &Schema, has_points: bool) -> SchemaRef {
    let point = has_points.then(|| Arc::new(Field::new("point", DataType::Utf8, true)));
    let fields = point.into_iter().chain(of.fields().iter().cloned());
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn with_point(
    batch: &RecordBatch,
    schema: &SchemaRef,
    point: Option<&str>,
) -> Result<RecordBatch, ArrowError> {
    let mut columns = batch.columns().to_vec();
    if schema.fields().len() > columns.len() {
        let points: StringArray = (0..batch.num_rows()).map(|_| point).collect();
        columns.insert(0, Arc::new(points) as ArrayRef);
    }
    RecordBatch::try_new(Arc::clone(schema), columns)
}

#[pymethods]
impl Table {
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

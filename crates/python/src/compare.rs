//! Paired comparison of two run folders, or of two transports of one.

use std::path::PathBuf;

use duetime_study::StudyError;
use duetime_study::compare::Compared;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors;
use crate::interruptible::interruptible;

/// Returns the output of `duetime compare` for two run folders, and its events as JSON: pairs of a name and fields. An
/// empty list of transports selects all that both folders have.
#[pyfunction]
pub fn compare(
    py: Python<'_>,
    a: PathBuf,
    b: PathBuf,
    transports: Vec<String>,
) -> PyResult<(String, String)> {
    interruptible(py, None, move |_, _| {
        output(&duetime_study::compare::compare(
            &a,
            &b,
            &transports,
            |_, _| {},
        ))
    })
}

/// Compares two transports of one run folder; returns what [`compare`] returns.
#[pyfunction]
pub fn compare_transports(
    py: Python<'_>,
    folder: PathBuf,
    a: String,
    b: String,
) -> PyResult<(String, String)> {
    interruptible(py, None, move |_, _| {
        output(&duetime_study::compare::compare_transports(
            &folder,
            [a, b],
            |_, _| {},
        ))
    })
}

fn output(compared: &Result<Compared, StudyError>) -> PyResult<(String, String)> {
    let compared = compared.as_ref().map_err(errors::study)?;
    let events = json!(duetime_cli::compared_events(compared));
    Ok((duetime_cli::compared_text(compared), events.to_string()))
}

//! Two run folders in pairs of runs.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde_json::json;

use crate::attended::attended;
use crate::errors;

/// What `duetime compare` prints of two run folders, and its events as JSON: pairs of a name and fields. No transports:
/// all that both have.
#[pyfunction]
pub fn compare(
    py: Python<'_>,
    a: PathBuf,
    b: PathBuf,
    transports: Vec<String>,
) -> PyResult<(String, String)> {
    attended(py, None, move |_, _| {
        let compared = duetime_study::compare::compare(&a, &b, &transports, |_, _| {});
        let compared = compared.map_err(|error| errors::study(&error))?;
        let events = json!(duetime_cli::compared_events(&compared));
        Ok((duetime_cli::compared_text(&compared), events.to_string()))
    })
}

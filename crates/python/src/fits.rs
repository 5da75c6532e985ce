//! Scenarios fitted to recorded packets, spans or calls.

use std::path::PathBuf;

use duetime_fit::{FitError, Kind, Known, Request};
use duetime_scenario::{InvalidQuantity, parse_rate, parse_share, parse_time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

use crate::errors;
use crate::interruptible::interruptible;

/// Fits a scenario to a file. Returns the scenario, the command's output and the comparison with the input as JSON.
#[pyfunction]
#[pyo3(signature = (source, *, kind, budget, link, hosts, buffer, other_load, transports, burst))]
#[expect(
    clippy::too_many_arguments,
    reason = "they have names in Python, which calls it"
)]
pub fn fit(
    py: Python<'_>,
    source: PathBuf,
    kind: Option<&str>,
    budget: Option<&str>,
    link: Option<&str>,
    hosts: Option<u32>,
    buffer: Option<String>,
    other_load: Option<&str>,
    transports: Vec<String>,
    burst: Option<&str>,
) -> PyResult<String> {
    let kind = match kind {
        None => None,
        Some(name) => Some(Kind::named(name).ok_or_else(|| {
            let allowed = Kind::ALL.map(Kind::name).join(", ");
            PyValueError::new_err(format!("kind={name:?}: it is one of {allowed}"))
        })?),
    };
    let request = Request {
        kind,
        burst: quantity("burst", burst, parse_time)?,
        name: "fitted".to_owned(),
        known: Known {
            budget: quantity("budget", budget, parse_time)?,
            link: quantity("link", link, parse_rate)?,
            hosts,
            buffer,
            other_load: quantity("other_load", other_load, parse_share)?,
            transports,
        },
    };
    interruptible(py, None, move |_, stop| {
        match duetime_fit::fit(&source, &request, stop, &|_, _| {}) {
            Ok(fit) => Ok(json!({
                "scenario": fit.toml,
                "text": fit.text,
                "answer": fit.answer,
                "rows": fit.rows,
                "notes": fit.notes,
            })
            .to_string()),
            Err(FitError::Input(error)) => Err(errors::scenario(&error)),
            Err(FitError::Study(error)) => Err(errors::study(&error)),
            Err(FitError::Stopped) => Err(errors::runs("stopped")),
        }
    })
}

fn quantity<T>(
    name: &str,
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<T, InvalidQuantity>,
) -> PyResult<Option<T>> {
    let parsed = text.map(|text| {
        parse(text).map_err(|error| {
            let InvalidQuantity { message, allowed } = error;
            PyValueError::new_err(format!("{name}={text:?}: {message}; allowed: {allowed}"))
        })
    });
    parsed.transpose()
}

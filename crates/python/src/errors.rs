//! Conversion of errors to the exceptions of `duetime._errors`.

use duetime_scenario::Diagnostic;
use duetime_store::StoreError;
use duetime_study::StudyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Creates an exception of the given class with keyword arguments.
fn exception(name: &str, message: &str, fields: &[(&str, Field<'_>)]) -> PyErr {
    Python::attach(|py| {
        let create = || -> PyResult<PyErr> {
            let arguments = PyDict::new(py);
            for (key, field) in fields {
                match field {
                    Field::Text(text) => arguments.set_item(key, text)?,
                    Field::Number(number) => arguments.set_item(key, number)?,
                }
            }
            let class = py.import("duetime._errors")?.getattr(name)?;
            Ok(PyErr::from_value(class.call((message,), Some(&arguments))?))
        };
        create().unwrap_or_else(|error| error)
    })
}

enum Field<'a> {
    Text(Option<&'a str>),
    Number(Option<usize>),
}

/// Converts an error in a scenario to `ScenarioError`.
pub fn scenario(error: &Diagnostic) -> PyErr {
    let some = |text: &'_ str| (!text.is_empty()).then(|| text.to_owned());
    let (file, key) = (some(&error.file), some(&error.key));
    let number = |number: usize| Field::Number((number > 0).then_some(number));
    exception(
        "ScenarioError",
        &error.to_string(),
        &[
            ("file", Field::Text(file.as_deref())),
            ("line", number(error.line)),
            ("column", number(error.column)),
            ("key", Field::Text(key.as_deref())),
            ("value", Field::Text(error.value.as_deref())),
            ("reason", Field::Text(Some(&error.message))),
            ("allowed", Field::Text(error.allowed.as_deref())),
            ("help", Field::Text(error.help.as_deref())),
        ],
    )
}

/// Converts an error of a run folder to `FolderError`.
pub fn folder(error: &StoreError) -> PyErr {
    exception("FolderError", &error.to_string(), &[])
}

/// Creates a `FolderError` for finished runs that cannot be read.
pub fn damaged(message: &str) -> PyErr {
    exception("FolderError", message, &[])
}

/// Creates a `RunError` for failed runs.
pub fn runs(message: &str) -> PyErr {
    exception("RunError", message, &[])
}

/// Converts an error of a study to `ScenarioError` or `FolderError`.
pub fn study(error: &StudyError) -> PyErr {
    match error {
        StudyError::Scenario(error) => scenario(error),
        StudyError::Store(error) => folder(error),
        StudyError::Setup(_) | StudyError::Choice(_) => {
            exception("ScenarioError", &error.to_string(), &[])
        }
    }
}

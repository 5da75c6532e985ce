//! Starting scenario of a service.

use duetime_scenario::Diagnostic;
use duetime_scenario::service::{InvalidNumber, Question, Service, ServiceKind};
use pyo3::prelude::*;

use crate::errors;

/// Name of the service's numbers in error messages.
const SERVICE: &str = "<service>";

/// Returns the scenario that `duetime new` writes for a service of this kind. `answers` are names of its flags with
/// values; the other flags have their defaults.
#[pyfunction]
pub fn service(kind: &str, answers: Vec<(String, String)>) -> PyResult<String> {
    let known = ServiceKind::named(kind).ok_or_else(|| {
        let names = ServiceKind::ALL.map(ServiceKind::name).join(", ");
        wrong("kind", kind, "no such service", &names)
    })?;
    let mut service = Service::usual(known);
    let mut given = Vec::new();
    for (flag, text) in answers {
        let question = Question::ALL
            .into_iter()
            .find(|question| question.flag() == flag);
        let question = question
            .ok_or_else(|| wrong(&flag, &text, "no such number", "those of `duetime new`"))?;
        service
            .take(question, &text)
            .map_err(|error| number_error(&error, true))?;
        given.push(question);
    }
    service
        .check()
        .map_err(|error| number_error(&error, given.contains(&error.question)))?;
    Ok(service.to_toml(kind, &format!("{kind}.toml")))
}

/// Converts the error for an invalid number. The message says if the number is a default.
fn number_error(error: &InvalidNumber, is_given: bool) -> PyErr {
    let message = if is_given {
        error.message.clone()
    } else {
        format!("{} (a default: the number was not given)", error.message)
    };
    let key = error.question.flag().replace('-', "_");
    wrong(
        &key,
        &error.value,
        &message,
        &error.allowed.replace("--", ""),
    )
}

fn wrong(key: &str, value: &str, message: &str, allowed: &str) -> PyErr {
    let error = Diagnostic::of_file(SERVICE, message);
    errors::scenario(&error.key(key).value(value).allowed(allowed))
}

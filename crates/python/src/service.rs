//! The first scenario of a service.

use duetime_scenario::Diagnostic;
use duetime_scenario::service::{InvalidNumber, Question, Service, ServiceKind};
use pyo3::prelude::*;

use crate::errors;

/// What messages call the numbers of a service.
const SERVICE: &str = "<service>";

/// What `duetime new` writes for a service of this kind: `answers` are names of its flags with what they are given; for the
/// others usual values are taken.
#[pyfunction]
pub fn service(kind: &str, answers: Vec<(String, String)>) -> PyResult<String> {
    let known = ServiceKind::named(kind).ok_or_else(|| {
        let names = ServiceKind::ALL.map(ServiceKind::name).join(", ");
        wrong("kind", kind, "no such service", &names)
    })?;
    let mut service = Service::usual(known);
    let mut given = Vec::new();
    for (flag, text) in answers {
        let question = Question::ALL.into_iter().find(|of| of.flag() == flag);
        let question = question
            .ok_or_else(|| wrong(&flag, &text, "no such number", "those of `duetime new`"))?;
        service
            .take(question, &text)
            .map_err(|of| number(&of, true))?;
        given.push(question);
    }
    service
        .check()
        .map_err(|of| number(&of, given.contains(&of.question)))?;
    Ok(service.to_toml(kind, &format!("{kind}.toml")))
}

/// A number that cannot be used; if it was not given it is a usual one.
fn number(of: &InvalidNumber, is_given: bool) -> PyErr {
    let message = if is_given {
        of.message.clone()
    } else {
        format!("{} (a usual value: it was not given)", of.message)
    };
    let key = of.question.flag().replace('-', "_");
    wrong(&key, &of.value, &message, &of.allowed.replace("--", ""))
}

fn wrong(key: &str, value: &str, message: &str, allowed: &str) -> PyErr {
    let error = Diagnostic::of_file(SERVICE, message);
    errors::scenario(&error.key(key).value(value).allowed(allowed))
}

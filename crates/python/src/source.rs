//! A scenario: its text and the settings that override it.

use std::path::{Path, PathBuf};

use duetime_scenario::{Diagnostic, Document, Scenario, decode, resolved_json};
use duetime_store::Files;
use duetime_study::{Plan, Request};
use pyo3::prelude::*;
use serde_json::Value;

use crate::errors;

/// A valid scenario. Immutable.
#[pyclass(frozen, module = "duetime._native")]
#[derive(Debug)]
pub struct Source {
    text: String,
    file: PathBuf,
    settings: Vec<(String, String)>,
    scenario: Scenario,
}

impl Source {
    fn new(text: String, file: PathBuf, settings: Vec<(String, String)>) -> PyResult<Self> {
        let shown = file.display().to_string();
        let files = Files::relative_to(&file);
        let scenario = duetime_study::load(&text, &shown, &settings, &files);
        let scenario = scenario.map_err(|error| errors::scenario(&error))?;
        Ok(Self {
            text,
            file,
            settings,
            scenario,
        })
    }

    fn document(&self) -> PyResult<Document> {
        let read = || -> Result<Document, Diagnostic> {
            let mut document = Document::parse(&self.text, &self.file.display().to_string())?;
            for (key, value) in &self.settings {
                document.set(key, value)?;
            }
            Ok(document)
        };
        read().map_err(|error| errors::scenario(&error))
    }

    /// Returns a request for runs under these transports; an empty list selects those of the scenario.
    pub fn request(&self, transports: Vec<String>) -> Request {
        Request {
            text: self.text.clone(),
            file: self.file.clone(),
            settings: self.settings.clone(),
            transports,
            points: Vec::new(),
        }
    }

    /// Returns the plan of all runs under these transports; an empty list selects those of the scenario.
    pub fn plan(&self, transports: Vec<String>) -> PyResult<Plan> {
        Plan::new(self.request(transports)).map_err(|error| errors::study(&error))
    }
}

#[pymethods]
impl Source {
    /// Creates a scenario from TOML text and settings. Errors name `file`, and relative paths are relative to it.
    #[new]
    fn from_text(text: String, file: PathBuf, settings: Vec<(String, String)>) -> PyResult<Self> {
        Self::new(text, file, settings)
    }

    /// Reads a scenario from a file.
    #[staticmethod]
    fn read(file: PathBuf) -> PyResult<Self> {
        let shown = file.display().to_string();
        let bytes = std::fs::read(&file).map_err(|why| {
            let message = format!("cannot read the scenario: {why}");
            errors::scenario(&Diagnostic::of_file(&shown, message))
        })?;
        let text = decode(bytes, &shown).map_err(|error| errors::scenario(&error))?;
        Self::new(text, file, Vec::new())
    }

    /// Creates a scenario from a JSON object with the keys of the file.
    #[staticmethod]
    fn from_json(json: &str, file: PathBuf) -> PyResult<Self> {
        let wrong =
            |why: String| errors::scenario(&Diagnostic::of_file(&file.display().to_string(), why));
        let value: Value = serde_json::from_str(json).map_err(|why| wrong(why.to_string()))?;
        if let Some(path) = null(&value, "") {
            return Err(wrong(format!(
                "{path} is None, which a scenario cannot contain: omit the key"
            )));
        }
        let text = toml::to_string_pretty(&value).map_err(|why| wrong(why.to_string()))?;
        Self::new(text, file, Vec::new())
    }

    /// Returns a copy with new values, in TOML, at key paths. The result is checked after all of them are applied.
    fn set(&self, changes: Vec<(String, String)>) -> PyResult<Self> {
        let mut settings = self.settings.clone();
        settings.extend(changes);
        Self::new(self.text.clone(), self.file.clone(), settings)
    }

    /// Returns a copy with this trace as its workload, or as an additional workload if `keep_workloads` is true.
    fn with_trace(&self, flows: &str, name: &str, keep_workloads: bool) -> PyResult<Self> {
        let text = self.document()?.with_trace(flows, name, keep_workloads);
        Self::new(text, self.file.clone(), Vec::new())
    }

    /// Returns the scenario as TOML: its text with the settings.
    fn to_toml(&self) -> PyResult<String> {
        Ok(self.document()?.to_toml())
    }

    /// Returns the scenario as JSON, with every default filled in.
    fn resolved(&self) -> String {
        resolved_json(&self.scenario).to_string()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    /// Original text of the scenario.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    #[getter]
    fn file(&self) -> &Path {
        &self.file
    }

    #[getter]
    fn settings(&self) -> Vec<(String, String)> {
        self.settings.clone()
    }

    #[getter]
    fn seeds(&self) -> u32 {
        self.scenario.seeds
    }

    #[getter]
    fn hosts(&self) -> u32 {
        self.scenario.topology.hosts()
    }

    #[getter]
    fn transports(&self) -> Vec<&str> {
        self.scenario.transport_names()
    }

    #[getter]
    fn workloads(&self) -> Vec<&str> {
        self.scenario.workload_names()
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.scenario.duration.as_secs_f64()
    }
}

/// Returns the path of the first null within a value, or `None` if there is none.
fn null(value: &Value, path: &str) -> Option<String> {
    match value {
        Value::Null => Some(format!("`{path}`")),
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(index, item)| null(item, &format!("{path}[{index}]")))
        }
        Value::Object(keys) => keys.iter().find_map(|(key, value)| {
            let dot = if path.is_empty() { "" } else { "." };
            null(value, &format!("{path}{dot}{key}"))
        }),
        _ => None,
    }
}

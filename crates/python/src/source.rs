//! A scenario: its text, and what was set over it.

use std::path::{Path, PathBuf};

use duetime_scenario::{Diagnostic, Document, Scenario, decode, resolved_json};
use duetime_store::Files;
use duetime_study::{Plan, Request};
use pyo3::prelude::*;
use serde_json::Value;

use crate::errors;

/// A scenario that was read and found to make sense. It never changes.
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

    /// What is asked of it.
    pub fn request(&self, transports: Vec<String>) -> Request {
        Request {
            text: self.text.clone(),
            file: self.file.clone(),
            settings: self.settings.clone(),
            transports,
            points: Vec::new(),
        }
    }

    /// All its runs under these transports; none: those of the scenario.
    pub fn plan(&self, transports: Vec<String>) -> PyResult<Plan> {
        Plan::new(self.request(transports)).map_err(|error| errors::study(&error))
    }
}

#[pymethods]
impl Source {
    /// From a text and what is set over it; `file` is what errors call it, and where the files that it names are looked
    /// for.
    #[new]
    fn from_text(text: String, file: PathBuf, settings: Vec<(String, String)>) -> PyResult<Self> {
        Self::new(text, file, settings)
    }

    /// From a file.
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

    /// From the JSON of an object with the keys of the file.
    #[staticmethod]
    fn from_json(json: &str, file: PathBuf) -> PyResult<Self> {
        let wrong =
            |why: String| errors::scenario(&Diagnostic::of_file(&file.display().to_string(), why));
        let value: Value = serde_json::from_str(json).map_err(|why| wrong(why.to_string()))?;
        if let Some(path) = null(&value, "") {
            return Err(wrong(format!(
                "{path} is None, which no scenario can hold: leave the key out"
            )));
        }
        let text = toml::to_string_pretty(&value).map_err(|why| wrong(why.to_string()))?;
        Self::new(text, file, Vec::new())
    }

    /// The same with other values, in TOML, at key paths. Only all of them together must make sense.
    fn set(&self, changes: Vec<(String, String)>) -> PyResult<Self> {
        let mut settings = self.settings.clone();
        settings.extend(changes);
        Self::new(self.text.clone(), self.file.clone(), settings)
    }

    /// The same with this trace in place of its workloads, or beside them.
    fn with_trace(&self, flows: &str, name: &str, beside: bool) -> PyResult<Self> {
        let text = self.document()?.with_trace(flows, name, beside);
        let text = text.map_err(|error| errors::scenario(&error))?;
        Self::new(text, self.file.clone(), Vec::new())
    }

    /// As TOML: as it was written or, where something was set, without comments.
    fn to_toml(&self) -> PyResult<String> {
        if self.settings.is_empty() {
            return Ok(self.text.clone());
        }
        let text = self.document()?.to_toml();
        text.map_err(|error| errors::scenario(&error))
    }

    /// As JSON, with every default filled in.
    fn resolved(&self) -> String {
        resolved_json(&self.scenario).to_string()
    }

    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    /// The scenario as it was written.
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

/// The path of the first null within a value.
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

//! Errors for a page.

use duetime_scenario::Diagnostic;
use duetime_sim::SetupError;
use serde::Serialize;

/// Error with its position in the scenario's text, if known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Error(Box<Parts>);

/// Fields of an [`Error`], in the form that the page receives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Parts {
    /// Description of the error.
    message: String,
    /// Line of the text, from 1, or 0 if unknown.
    line: usize,
    /// Column, from 1, in characters.
    column: usize,
    /// Number of affected characters.
    width: usize,
    /// Path of the key, or empty if unknown.
    key: String,
    /// Value as written.
    value: Option<String>,
    /// Allowed values.
    allowed: Option<String>,
    /// Advice.
    help: Option<String>,
}

impl Error {
    /// Creates an error without a position.
    pub fn plain(message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            message: message.into(),
            ..Parts::default()
        }))
    }

    /// Adds the allowed values.
    pub fn allowed(mut self, allowed: impl Into<String>) -> Self {
        self.0.allowed = Some(allowed.into());
        self
    }

    /// Adds the key.
    pub fn of_key(mut self, key: &str) -> Self {
        key.clone_into(&mut self.0.key);
        self
    }
}

impl From<Diagnostic> for Error {
    fn from(error: Diagnostic) -> Self {
        Self(Box::new(Parts {
            message: error.message.clone(),
            line: error.line,
            column: error.column,
            width: error.width,
            key: error.key.clone(),
            value: error.value.clone(),
            allowed: error.allowed.clone(),
            help: error.help.clone(),
        }))
    }
}

impl From<SetupError> for Error {
    fn from(error: SetupError) -> Self {
        Self::plain(error.to_string())
    }
}

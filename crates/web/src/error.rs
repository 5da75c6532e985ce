//! What a page is told when something is wrong.

use duetime_scenario::Diagnostic;
use duetime_sim::SetupError;
use serde::Serialize;

/// What is wrong, and where in the scenario's text if it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Error(Box<Parts>);

/// The parts of an [`Error`], as the page gets them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct Parts {
    /// What is wrong.
    message: String,
    /// Line of the text, from 1; 0 where none is known.
    line: usize,
    /// Column, from 1, in characters.
    column: usize,
    /// Characters that are meant.
    width: usize,
    /// The key's path; empty where none is known.
    key: String,
    /// The value as written.
    value: Option<String>,
    /// What is allowed.
    allowed: Option<String>,
    /// What to do about it.
    help: Option<String>,
}

impl Error {
    /// In no line of the text.
    pub fn plain(message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            message: message.into(),
            ..Parts::default()
        }))
    }

    /// The same, and what is allowed.
    pub fn allowed(mut self, allowed: impl Into<String>) -> Self {
        self.0.allowed = Some(allowed.into());
        self
    }

    /// In a value of the text.
    pub fn of_key(mut self, key: &str) -> Self {
        key.clone_into(&mut self.0.key);
        self
    }
}

impl From<Diagnostic> for Error {
    fn from(of: Diagnostic) -> Self {
        Self(Box::new(Parts {
            message: of.message.clone(),
            line: of.line,
            column: of.column,
            width: of.width,
            key: of.key.clone(),
            value: of.value.clone(),
            allowed: of.allowed.clone(),
            help: of.help.clone(),
        }))
    }
}

impl From<SetupError> for Error {
    fn from(of: SetupError) -> Self {
        Self::plain(of.to_string())
    }
}

//! Runs a measurement as a process and reads its output.

use std::path::PathBuf;
use std::process::Command;

/// Program with its arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// Path of the program, or a name to search in `PATH`.
    pub path: PathBuf,
    /// Arguments.
    pub arguments: Vec<String>,
}

impl Program {
    /// Returns this program with other arguments.
    pub fn own(arguments: &[&str]) -> Result<Self, String> {
        let path = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(Self::new(path, arguments))
    }

    /// Returns a program in the folder of this one.
    pub fn sibling(name: &str, arguments: &[&str]) -> Result<Self, String> {
        let path = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(Self::new(path.with_file_name(name), arguments))
    }

    fn new(path: PathBuf, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&text| text.to_owned()).collect();
        Self { path, arguments }
    }

    /// Runs the program and returns its standard output. If the program fails, the error contains its standard error.
    pub fn output(&self) -> Result<String, String> {
        let failed = |why: &str| {
            format!(
                "{} {}: {why}",
                self.path.display(),
                self.arguments.join(" ")
            )
        };
        let output = Command::new(&self.path).args(&self.arguments).output();
        let output = output.map_err(|error| failed(&error.to_string()))?;
        if !output.status.success() {
            return Err(failed(&String::from_utf8_lossy(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs the program and parses the number that it prints.
    pub fn number(&self) -> Result<f64, String> {
        let output = self.output()?;
        let number = output.trim().parse();
        number.map_err(|_| format!("{}: not a number: {output}", self.arguments.join(" ")))
    }
}

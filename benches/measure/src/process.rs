//! Running one measurement as a process, and reading what it prints.

use std::path::PathBuf;
use std::process::Command;

/// A program with its arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// Where it is, or its name if it is to be searched for.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Program {
    /// This program, with other arguments.
    pub fn own(arguments: &[&str]) -> Result<Self, String> {
        let path = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(Self::new(path, arguments))
    }

    /// A program that is built beside this one.
    pub fn beside(name: &str, arguments: &[&str]) -> Result<Self, String> {
        let path = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(Self::new(path.with_file_name(name), arguments))
    }

    fn new(path: PathBuf, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&text| text.to_owned()).collect();
        Self { path, arguments }
    }

    /// Runs it, and returns what it prints. Fails with what it says on its error output if it fails.
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

    /// Runs it, and reads the number that it prints.
    pub fn number(&self) -> Result<f64, String> {
        let said = self.output()?;
        let number = said.trim().parse();
        number.map_err(|_| format!("{}: no number: {said}", self.arguments.join(" ")))
    }
}

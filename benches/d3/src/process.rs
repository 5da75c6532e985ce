//! Running one measurement as a process, and reading what it prints.

use std::path::PathBuf;
use std::process::Command;

/// A program with its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) arguments: Vec<String>,
}

impl Program {
    /// This program, with other arguments.
    pub(crate) fn own(arguments: &[&str]) -> Result<Self, String> {
        Ok(Self {
            path: std::env::current_exe().map_err(|error| error.to_string())?,
            arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
        })
    }

    /// Runs it and reads the number that it prints.
    pub(crate) fn number(&self) -> Result<f64, String> {
        let output = Command::new(&self.path).args(&self.arguments).output();
        let output = output.map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.trim().parse().map_err(|_| {
            let why = String::from_utf8_lossy(&output.stderr);
            format!("{}: {said}{why}", self.arguments.join(" "))
        })
    }
}

/// The middle of `values`, which are not empty.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(vec![4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-12);
    }
}

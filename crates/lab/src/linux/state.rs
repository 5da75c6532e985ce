//! The testbeds that run now: one small file each under `/run/duetime`, by which other commands find their hosts.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::LabError;

/// Where the files are.
const FOLDER: &str = "/run/duetime";

/// A testbed that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Its process.
    pub pid: u32,
    /// When that process started, in the kernel's ticks since it booted: numbers of processes are used again.
    pub started: u64,
    /// The scenario's name.
    pub scenario: String,
    /// Its hosts and its switch.
    pub hosts: Vec<RunningHost>,
}

/// A host of a testbed that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningHost {
    /// The name of its node.
    pub name: String,
    /// Its address; none of the switch.
    pub address: Option<String>,
    /// The descriptor of its namespace in the process.
    pub descriptor: i32,
}

/// A testbed's file; dropping it removes the file.
#[derive(Debug)]
pub struct Registered {
    path: PathBuf,
    hosts: Vec<RunningHost>,
}

impl Registered {
    /// Says that this process runs a testbed with these hosts.
    pub fn new(scenario: &str, hosts: Vec<RunningHost>) -> Result<Self, LabError> {
        let pid = std::process::id();
        let running = Running {
            pid,
            started: started(pid).unwrap_or(0),
            scenario: scenario.to_owned(),
            hosts,
        };
        fs::create_dir_all(FOLDER).map_err(LabError::system(format!("create `{FOLDER}`")))?;
        let path = Path::new(FOLDER).join(format!("lab-{pid}.json"));
        let text = serde_json::to_string(&running).expect("plain data");
        fs::write(&path, text).map_err(LabError::system(format!("write `{}`", path.display())))?;
        Ok(Self {
            path,
            hosts: running.hosts,
        })
    }

    /// Its hosts and its switch.
    pub fn hosts(&self) -> &[RunningHost] {
        &self.hosts
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        // Only the last one finds it empty.
        let _ = fs::remove_dir(FOLDER);
    }
}

/// The testbeds that run, and the files that ended ones have left.
fn files() -> Result<(Vec<Running>, Vec<PathBuf>), LabError> {
    let (mut running, mut left) = (Vec::new(), Vec::new());
    let entries = match fs::read_dir(FOLDER) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((running, left)),
        Err(error) => return Err(LabError::system(format!("read `{FOLDER}`"))(error)),
    };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with("lab-") {
            continue;
        }
        let read: Option<Running> = fs::read_to_string(&path)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok());
        match read {
            Some(of) if started(of.pid) == Some(of.started) => running.push(of),
            _ => left.push(path),
        }
    }
    running.sort_by_key(|of| of.started);
    Ok((running, left))
}

/// The testbeds that run, the newest last.
pub fn running() -> Result<Vec<Running>, LabError> {
    Ok(files()?.0)
}

/// Removes what testbeds have left that did not end by themselves; returns the files.
pub fn clean() -> Result<Vec<PathBuf>, LabError> {
    let left = files()?.1;
    for path in &left {
        fs::remove_file(path).map_err(LabError::system(format!("remove `{}`", path.display())))?;
    }
    let _ = fs::remove_dir(FOLDER);
    Ok(left)
}

/// When a process started; `None`: there is none.
fn started(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in brackets, may hold anything; the start is field 22.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    // A process that has ended and was not waited for has no namespaces any more.
    let state = fields.next()?;
    (state != "Z").then(|| fields.nth(18)?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_started_once() {
        let own = started(std::process::id());
        assert!(own.is_some_and(|at| at > 0));
        assert_eq!(own, started(std::process::id()));
        // The kernel's largest number of a process is 2^22.
        assert_eq!(started(u32::MAX), None);
    }
}

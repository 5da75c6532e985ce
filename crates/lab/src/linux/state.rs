//! Running testbeds: one small file each under `/run/duetime`, by which other commands find their hosts.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::LabError;

/// Folder of the files.
const FOLDER: &str = "/run/duetime";

/// Running testbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Process ID.
    pub pid: u32,
    /// Start time of the process, in kernel ticks since boot, because process IDs are reused.
    pub started: u64,
    /// Scenario name.
    pub scenario: String,
    /// Hosts, followed by the switch.
    pub hosts: Vec<RunningHost>,
}

/// Host of a running testbed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningHost {
    /// Node name.
    pub name: String,
    /// IP address; `None` for the switch.
    pub address: Option<String>,
    /// Descriptor of its namespace in the process.
    pub descriptor: i32,
}

/// File of a testbed, removed on drop.
#[derive(Debug)]
pub struct Registered {
    path: PathBuf,
    hosts: Vec<RunningHost>,
}

impl Registered {
    /// Registers a testbed of this process with these hosts. Removes the files of testbeds that were killed.
    pub fn new(scenario: &str, hosts: Vec<RunningHost>) -> Result<Self, LabError> {
        let pid = std::process::id();
        let running = Running {
            pid,
            started: started(pid).unwrap_or(0),
            scenario: scenario.to_owned(),
            hosts,
        };
        for killed in files()?.1 {
            let _ = fs::remove_file(killed);
        }
        fs::create_dir_all(FOLDER).map_err(LabError::system(format!("create `{FOLDER}`")))?;
        let path = Path::new(FOLDER).join(format!("lab-{pid}.json"));
        let text = serde_json::to_string(&running).expect("plain data");
        // A file appears with its contents, because another testbed removes those that it cannot parse.
        let new = path.with_file_name(format!("new-{pid}"));
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &path))
            .map_err(LabError::system(format!("write `{}`", path.display())))?;
        Ok(Self {
            path,
            hosts: running.hosts,
        })
    }

    /// Returns the hosts, followed by the switch.
    pub fn hosts(&self) -> &[RunningHost] {
        &self.hosts
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        // Fails unless the folder is empty.
        let _ = fs::remove_dir(FOLDER);
    }
}

/// Returns the running testbeds, and the files of ended ones.
fn files() -> Result<(Vec<Running>, Vec<PathBuf>), LabError> {
    let (mut running, mut stale) = (Vec::new(), Vec::new());
    let entries = match fs::read_dir(FOLDER) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((running, stale)),
        Err(error) => return Err(LabError::system(format!("read `{FOLDER}`"))(error)),
    };
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with("lab-") {
            continue;
        }
        let parsed: Option<Running> = fs::read_to_string(&path)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok());
        match parsed {
            Some(testbed) if started(testbed.pid) == Some(testbed.started) => running.push(testbed),
            _ => stale.push(path),
        }
    }
    running.sort_by_key(|testbed| testbed.started);
    Ok((running, stale))
}

/// Returns the running testbeds, newest last.
pub fn running() -> Result<Vec<Running>, LabError> {
    Ok(files()?.0)
}

/// Removes the files of testbeds that were killed, and returns their paths.
pub fn clean() -> Result<Vec<PathBuf>, LabError> {
    let stale = files()?.1;
    for path in &stale {
        fs::remove_file(path).map_err(LabError::system(format!("remove `{}`", path.display())))?;
    }
    let _ = fs::remove_dir(FOLDER);
    Ok(stale)
}

/// Returns the start time of a process, or `None` if it does not exist.
fn started(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name, in parentheses, may contain anything. The start time is field 22.
    let (_, fields) = text.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    // A zombie process no longer has namespaces.
    let state = fields.next()?;
    (state != "Z").then(|| fields.nth(18)?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_time_identifies_a_process() {
        let start = started(std::process::id());
        assert!(start.is_some_and(|at| at > 0));
        assert_eq!(start, started(std::process::id()));
        // The kernel's largest process ID is 2^22.
        assert_eq!(started(u32::MAX), None);
    }
}

//! `manifest.json`: the request, the version, the machine, and the state of each run.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{StoreError, file};

/// Contents of `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Layout of the folder: [`crate::FORMAT`].
    pub format: u32,
    /// Version of Duetime that wrote the folder.
    pub duetime: String,
    /// Name of the scenario.
    pub name: String,
    /// Resolved scenario with all defaults.
    pub scenario: Value,
    /// Scenario as its author wrote it, in TOML.
    pub scenario_text: String,
    /// Path of the scenario file as the caller named it; trace and CDF files are relative to it.
    pub scenario_file: String,
    /// Keys and values that the command line changed.
    pub overrides: Vec<(String, String)>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Number of runs per point and transport, numbered from 0.
    pub seeds: u64,
    /// Names of the transports.
    pub transports: Vec<String>,
    /// Points of a sweep; empty if the study is not a sweep.
    pub points: Vec<Point>,
    /// Machine that ran the study.
    pub machine: Machine,
    /// Start time in UTC, in RFC 3339 format.
    pub started: String,
    /// End time; null if the study has not ended.
    pub finished: Option<String>,
    /// State of each run.
    pub runs: Vec<RunState>,
}

/// Point of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Name of the point's folder: [`crate::point_id`].
    pub id: String,
    /// Axes and their values at this point.
    pub values: Vec<(String, String)>,
}

/// State of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// Point of the sweep, if any.
    pub point: Option<String>,
    /// Name of the transport.
    pub transport: String,
    /// Index of the run.
    pub run: u64,
    /// Outcome.
    pub state: State,
    /// Digest of the run's records, if done.
    pub digest: Option<String>,
    /// Reason of the failure, if failed.
    pub reason: Option<String>,
}

/// Outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Results are in the folder.
    Done,
    /// The run could not be completed; the reason is recorded with it.
    Failed,
    /// The run has not been completed.
    Missing,
}

/// Machine of a study, which may explain its speed. Results do not depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `linux`, `macos`, …
    pub os: String,
    /// Kernel version, if the system reports it.
    pub kernel: Option<String>,
    /// `x86_64`, `aarch64`, …
    pub arch: String,
    /// Processor model, if the system reports it.
    pub cpu: Option<String>,
    /// Logical processors that this process may use.
    pub cpus: usize,
}

impl Machine {
    /// Returns the properties of the current machine.
    pub fn here() -> Self {
        let file = |path: &str| std::fs::read_to_string(path).ok();
        let model = |text: String| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        Self {
            os: std::env::consts::OS.to_owned(),
            kernel: file("/proc/sys/kernel/osrelease").map(|text| text.trim().to_owned()),
            arch: std::env::consts::ARCH.to_owned(),
            cpu: file("/proc/cpuinfo").and_then(model),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl Manifest {
    /// Creates the manifest of a study that starts now, on this machine and with this version. The caller fills in the
    /// remaining fields.
    pub fn new(name: &str, scenario: Value, scenario_text: &str) -> Self {
        Self {
            format: crate::FORMAT,
            duetime: crate::VERSION.to_owned(),
            name: name.to_owned(),
            scenario,
            scenario_text: scenario_text.to_owned(),
            scenario_file: String::new(),
            overrides: Vec::new(),
            seed: 0,
            seeds: 0,
            transports: Vec::new(),
            points: Vec::new(),
            machine: Machine::here(),
            started: now(),
            finished: None,
            runs: Vec::new(),
        }
    }

    /// Parses the bytes of a `manifest.json`. Errors name the file as `path`.
    ///
    /// # Errors
    /// Returns an error if the manifest has another format or is damaged.
    pub fn from_json(json: &[u8], path: &Path) -> Result<Self, StoreError> {
        /// Field common to all formats.
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let damaged = |error: serde_json::Error| StoreError::damaged(path, error.to_string());
        // Check the format first, because another format may have other fields.
        let Format { format } = serde_json::from_slice(json).map_err(damaged)?;
        file::check_format(path, format)?;
        serde_json::from_slice(json).map_err(damaged)
    }

    /// Records that the study ends now.
    pub fn finish(&mut self) {
        self.finished = Some(now());
    }

    /// Returns the difference that prevents adding runs of `other` to a folder of `self`, or `None`.
    ///
    /// Seeds, transports and points may be added. Everything that could change an existing run must be equal.
    pub fn difference(&self, other: &Self) -> Option<String> {
        if self.duetime != other.duetime {
            return Some(format!(
                "it was written by duetime {}, this is {}",
                self.duetime, other.duetime
            ));
        }
        if self.seed != other.seed {
            return Some(format!("its seed is {}, not {}", self.seed, other.seed));
        }
        let changes = duetime_scenario::changes(&self.scenario, &other.scenario);
        let first = changes.into_iter().next()?;
        Some(format!(
            "its scenario has {} = {}, not {}",
            first.key, first.old, first.new
        ))
    }
}

/// Returns the current time in UTC as RFC 3339, to the second.
fn now() -> String {
    rfc3339(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
    )
}

fn rfc3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Proleptic Gregorian calendar in eras of 400 years that start on 1 March.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    let year = era * 400 + year + carry;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dates() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(rfc3339(4_107_542_399), "2100-02-28T23:59:59Z");
    }

    fn manifest(scenario: Value) -> Manifest {
        Manifest::new("test", scenario, "")
    }

    #[test]
    fn added_seeds_and_transports_do_not_differ() {
        let old = manifest(json!({"seeds": 5, "transports": [{"name": "tcp", "rto": 10}]}));
        let new = manifest(
            json!({"seeds": 9, "transports": [{"name": "d3"}, {"name": "tcp", "rto": 10}]}),
        );
        assert_eq!(old.difference(&new), None);
        assert_eq!(new.difference(&old), None);
    }

    #[test]
    fn difference_names_the_key() {
        let old = manifest(
            json!({"workloads": [{"name": "oldi", "fan_in": [40]}], "transports": [{"name": "tcp", "options": {"rto_min_ps": 10_000_000_000_u64}}]}),
        );
        let other = manifest(
            json!({"workloads": [{"name": "oldi", "fan_in": [20]}], "transports": [{"name": "tcp", "options": {"rto_min_ps": 10_000_000_000_u64}}]}),
        );
        assert_eq!(
            old.difference(&other).unwrap(),
            "its scenario has workload.fan_in = 40, not 20"
        );
        let other = manifest(
            json!({"workloads": [{"name": "oldi", "fan_in": [40]}], "transports": [{"name": "tcp", "options": {"rto_min_ps": 20_000_000_000_u64}}]}),
        );
        let reason = old.difference(&other).unwrap();
        assert!(
            reason.contains("tcp.rto_min = 10 ms, not 20 ms"),
            "{reason}"
        );
        let mut other = old.clone();
        other.duetime = "9.9.9".to_owned();
        assert!(old.difference(&other).unwrap().contains("9.9.9"));
    }
}

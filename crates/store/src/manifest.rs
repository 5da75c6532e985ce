//! `manifest.json`: what was asked, by which version, on which machine, and how far it came.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{StoreError, file};

/// The first file of a run folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Layout of the folder: [`crate::FORMAT`].
    pub format: u32,
    /// Version of Duetime that wrote it.
    pub duetime: String,
    /// The scenario's name.
    pub name: String,
    /// The resolved scenario, every default filled in.
    pub scenario: Value,
    /// The scenario as its author wrote it, TOML.
    pub scenario_text: String,
    /// The file it was read from, as the caller named it; its trace and CDF files are relative to it.
    pub scenario_file: String,
    /// What the command line changed in it: key and value.
    pub overrides: Vec<(String, String)>,
    /// Root of all random streams.
    pub seed: u64,
    /// Runs per point and transport, numbered from 0.
    pub seeds: u64,
    /// Names of the transports.
    pub transports: Vec<String>,
    /// The points of a sweep; empty: not a sweep.
    pub points: Vec<Point>,
    /// Where it ran.
    pub machine: Machine,
    /// When it started, UTC, as in RFC 3339.
    pub started: String,
    /// When it ended; null: it did not, or not yet.
    pub finished: Option<String>,
    /// How each run ended.
    pub runs: Vec<RunState>,
}

/// One point of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// The name of its folder: [`crate::point_id`].
    pub id: String,
    /// Its value on each axis.
    pub values: Vec<(String, String)>,
}

/// How one run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// The sweep's point.
    pub point: Option<String>,
    /// The transport's name.
    pub transport: String,
    /// The run's number.
    pub run: u64,
    /// How it ended.
    pub state: State,
    /// Digest of its records, when done.
    pub digest: Option<String>,
    /// Why it failed, when it did.
    pub reason: Option<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its results are in the folder.
    Done,
    /// It could not be run; the reason is beside it.
    Failed,
    /// It has not been run.
    Missing,
}

/// Where a study ran: what may explain its speed. No result depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `linux`, `macos`, …
    pub os: String,
    /// Version of the kernel, where the system tells.
    pub kernel: Option<String>,
    /// `x86_64`, `aarch64`, …
    pub arch: String,
    /// Model of the processor, where the system tells.
    pub cpu: Option<String>,
    /// Logical processors that this process may use.
    pub cpus: usize,
}

impl Machine {
    /// This machine.
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
    /// A study of `name` that starts now, on this machine, by this version. The caller fills in the rest.
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

    /// From the bytes of a `manifest.json`; messages call it `path`.
    ///
    /// # Errors
    /// If it is of another format, or not what was written.
    pub fn from_json(json: &[u8], path: &Path) -> Result<Self, StoreError> {
        /// What every format has.
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        let damaged = |error: serde_json::Error| StoreError::damaged(path, error.to_string());
        // Another format may have other fields: it is told of first.
        let Format { format } = serde_json::from_slice(json).map_err(damaged)?;
        file::check_format(path, format)?;
        serde_json::from_slice(json).map_err(damaged)
    }

    /// Notes that the study ends now.
    pub fn finish(&mut self) {
        self.finished = Some(now());
    }

    /// What forbids to add runs of `other` to a folder of `self`, or `None`.
    ///
    /// More seeds, transports and points may be added; everything that could change a run must be the same.
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

/// The wall clock in RFC 3339, UTC, to the second.
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
    fn growing_is_no_difference() {
        let old = manifest(json!({"seeds": 5, "transports": [{"name": "tcp", "rto": 10}]}));
        let new = manifest(
            json!({"seeds": 9, "transports": [{"name": "d3"}, {"name": "tcp", "rto": 10}]}),
        );
        assert_eq!(old.difference(&new), None);
        assert_eq!(new.difference(&old), None);
    }

    #[test]
    fn a_difference_is_named() {
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

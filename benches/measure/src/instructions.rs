//! Instruction counts in user space, from the processor's counters if `perf` works, otherwise from valgrind.

use crate::process::Program;
use std::process::Command;

/// Method of counting instructions on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// The processor's counters, with `perf stat`.
    Perf,
    /// `valgrind`.
    Callgrind,
    /// Neither is available.
    None,
}

impl Counter {
    /// Returns the best method available. Virtual machines often hide the processor's counters.
    pub fn find() -> Self {
        let probe = Program {
            path: "true".into(),
            arguments: Vec::new(),
        };
        [Self::Perf, Self::Callgrind]
            .into_iter()
            .find(|method| method.count(&probe).is_some())
            .unwrap_or(Self::None)
    }

    /// Returns the name of the method for the output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perf => "perf, instructions:u, whole process",
            Self::Callgrind => "valgrind --tool=callgrind, whole process",
            Self::None => "not counted: neither perf's counters nor valgrind are available",
        }
    }

    /// Returns the instructions of one run of `program`, including start and set-up, or `None` if they cannot be
    /// counted.
    pub fn count(self, program: &Program) -> Option<u64> {
        match self {
            Self::Perf => perf(program),
            Self::Callgrind => callgrind(program),
            Self::None => None,
        }
    }
}

fn perf(program: &Program) -> Option<u64> {
    let mut command = Command::new("perf");
    command.args(["stat", "-x", ",", "-e", "instructions:u", "--"]);
    let report = stderr_of(command, program)?;
    report
        .lines()
        .find(|line| line.contains("instructions"))?
        .split(',')
        .next()?
        .parse()
        .ok()
}

fn callgrind(program: &Program) -> Option<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let report = stderr_of(command, program)?;
    let line = report.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn stderr_of(mut command: Command, program: &Program) -> Option<String> {
    let output = command
        .arg(&program.path)
        .args(&program.arguments)
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

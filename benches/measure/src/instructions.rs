//! Instructions in user space: counted by the processor where `perf` can, else by valgrind.

use crate::process::Program;
use std::process::Command;

/// How instructions are counted on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// By the processor, with `perf stat`.
    Perf,
    /// By `valgrind`.
    Callgrind,
    /// Neither is here.
    None,
}

impl Counter {
    /// The best that works here. Virtual machines often hide the processor's counters.
    pub fn find() -> Self {
        let probe = Program {
            path: "true".into(),
            arguments: Vec::new(),
        };
        [Self::Perf, Self::Callgrind]
            .into_iter()
            .find(|way| way.count(&probe).is_some())
            .unwrap_or(Self::None)
    }

    /// What to call it in the output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Perf => "perf, instructions:u, whole process",
            Self::Callgrind => "valgrind --tool=callgrind, whole process",
            Self::None => "not counted: neither perf's counters nor valgrind are here",
        }
    }

    /// Instructions of one run of `program`, start and set-up included.
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

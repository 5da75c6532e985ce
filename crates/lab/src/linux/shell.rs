//! Programs inside a host of a running testbed.

use std::fs::File;
use std::process::{Command, ExitStatus};

use nix::sched::{CloneFlags, setns};

use crate::{LabError, running};

/// Runs a program, by default the user's shell, in a host of the newest testbed that has it, and waits for its end.
pub fn shell(host: &str, command: &[String]) -> Result<ExitStatus, LabError> {
    let running = running()?;
    if running.is_empty() {
        return Err(LabError::NoneRuns);
    }
    let found = running.iter().rev().find_map(|testbed| {
        let host = testbed
            .hosts
            .iter()
            .find(|candidate| candidate.name == host)?;
        Some((testbed, host))
    });
    let Some((testbed, running_host)) = found else {
        let names = running.iter().flat_map(|testbed| &testbed.hosts);
        let known: Vec<&str> = names.map(|host| host.name.as_str()).collect();
        return Err(LabError::NoSuchHost {
            name: host.to_owned(),
            known: known.join(", "),
        });
    };
    let path = format!("/proc/{}/fd/{}", testbed.pid, running_host.descriptor);
    let namespace =
        File::open(&path).map_err(LabError::system(format!("open `{path}` (as root)")))?;
    let user_shell = std::env::var("SHELL").unwrap_or_else(|_| "/bin/sh".to_owned());
    let default = [user_shell];
    let command = if command.is_empty() {
        &default
    } else {
        command
    };
    // The program inherits the namespace of the thread that starts it.
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            setns(&namespace, CloneFlags::CLONE_NEWNET)
                .map_err(LabError::system("enter the host's network namespace"))?;
            Command::new(&command[0])
                .args(&command[1..])
                .env("DUETIME_HOST", host)
                .status()
                .map_err(LabError::system(format!("run `{}`", command[0])))
        });
        inside
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

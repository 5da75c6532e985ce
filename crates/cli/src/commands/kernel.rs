//! `duetime kernel`: congestion controllers in the running kernel.

mod serve;
mod status;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use duetime_kernel::{
    Completion, Error, HostDefault, Parameters, Status, examine, restore_left_defaults,
    unregister_left,
};

use serde_json::Value;

use crate::args::kernel::{self, Attach, Kernel, KernelCommand};
use crate::failure::Failure;
use crate::progress::plural;
use crate::terminal::stdout;

/// Runs a subcommand of `duetime kernel`.
pub fn kernel(args: &Kernel) -> Result<(), Failure> {
    match &args.command {
        KernelCommand::Attach(args) => serve::attach(args),
        KernelCommand::Status(args) => status::status(args),
        KernelCommand::Detach => detach(),
        KernelCommand::Doctor => doctor(),
        KernelCommand::Unit(args) => unit(args),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Input(error.to_string())
    }
}

/// Capabilities of the unit: to load and attach programs; to find the maps of remaining connections and enter network
/// namespaces (`SYS_ADMIN`); to see the namespaces of all processes (`SYS_PTRACE`).
const CAPABILITIES: &str = "CAP_BPF CAP_PERFMON CAP_NET_ADMIN CAP_SYS_ADMIN CAP_SYS_PTRACE";

fn parameters(args: &Attach) -> Parameters {
    Parameters {
        gain_shift: args.gain_shift,
        initial_alpha: args.initial_alpha,
        d_min: args.d_min,
        d_max: args.d_max,
        d_expired: args.d_expired,
        completion: match args.completion {
            kernel::Completion::Approximate => Completion::Approximate,
            kernel::Completion::Precise => Completion::Precise,
        },
        min_window: args.min_window,
    }
}

fn detach() -> Result<(), Failure> {
    let answer = match serve::ask("detach") {
        Ok(answer) => answer,
        Err(failure) => {
            serve::remove_stale_socket();
            let left = unregister_left()?;
            let defaults = restore_left_defaults();
            if left.is_empty() && defaults.is_empty() {
                return Err(failure);
            }
            if !left.is_empty() {
                let names = left.join(" and ");
                writeln!(
                    stdout(),
                    "detached {names}, left by a process that was killed"
                )?;
            }
            return print_restored(&defaults);
        }
    };
    let left = match answer["sockets"].as_u64() {
        // The kernel does not list them.
        None => "; sockets that use a controller keep it until they close".to_owned(),
        Some(0) => String::new(),
        Some(1) => "; 1 socket keeps its controller until it closes".to_owned(),
        Some(users) => format!("; {users} sockets keep their controller until they close"),
    };
    writeln!(stdout(), "detached{left}")?;
    print_restored(&defaults_of(&answer))
}

/// Reads the new defaults in the answer of the attaching process.
fn defaults_of(answer: &Value) -> Vec<HostDefault> {
    let defaults = answer["restored_defaults"].as_array();
    let parse = |default: &Value| {
        Some(HostDefault {
            namespace: default["network_namespace"].as_u64()?,
            name: default["congestion_control"].as_str()?.to_owned(),
        })
    };
    defaults.into_iter().flatten().filter_map(parse).collect()
}

/// Prints the new defaults of network namespaces, one line per default.
fn print_restored(defaults: &[HostDefault]) -> Result<(), Failure> {
    for (name, count) in count_by_name(defaults) {
        writeln!(
            stdout(),
            "net.ipv4.tcp_congestion_control is now {name} in {count}"
        )?;
    }
    Ok(())
}

/// Counts network namespaces by their default, such as `duetime_d2tcp`, `1 network namespace`.
fn count_by_name(defaults: &[HostDefault]) -> Vec<(&str, String)> {
    let mut counts = BTreeMap::new();
    for default in defaults {
        *counts.entry(default.name.as_str()).or_insert(0) += 1;
    }
    let counts = counts.into_iter();
    counts
        .map(|(name, count)| {
            (
                name,
                format!("{count} {}", plural(count, "network namespace")),
            )
        })
        .collect()
}

fn doctor() -> Result<(), Failure> {
    let findings = examine();
    let mut out = stdout();
    for finding in &findings {
        let status = match finding.status {
            Status::Good => "good",
            Status::Note => "note",
            Status::Lacking => "lacks",
        };
        writeln!(out, "{status:5}  {:10}  {}", finding.about, finding.found)?;
        if !finding.advice.is_empty() {
            writeln!(out, "{:19}→ {}", "", finding.advice)?;
        }
    }
    let lacking = findings
        .iter()
        .filter(|finding| finding.status == Status::Lacking);
    match lacking.count() {
        0 => Ok(writeln!(
            out,
            "The congestion controllers can be attached here."
        )?),
        _ => Err(Failure::Runs(
            "The congestion controllers cannot be attached: this kernel lacks required features."
                .into(),
        )),
    }
}

fn unit(args: &Attach) -> Result<(), Failure> {
    parameters(args).check()?;
    let program = std::env::current_exe().map_err(|why| {
        Failure::Input(format!("cannot determine the path of this program: {why}"))
    })?;
    let mut command = vec![quoted(&program), "kernel".into(), "attach".into()];
    for (name, path) in [("--policy", &args.policy), ("--cgroup", &args.cgroup)] {
        if let Some(path) = path {
            command.extend([name.into(), quoted(&absolute(path)?)]);
        }
    }
    if args.write_only {
        command.push("--write-only".into());
    }
    let default = Parameters::default();
    let mut number = |name: &str, value: f64, default: f64| {
        if value.to_bits() != default.to_bits() {
            command.extend([name.into(), value.to_string()]);
        }
    };
    number(
        "--gain-shift",
        args.gain_shift.into(),
        default.gain_shift.into(),
    );
    number("--initial-alpha", args.initial_alpha, default.initial_alpha);
    number("--d-min", args.d_min, default.d_min);
    number("--d-max", args.d_max, default.d_max);
    number("--d-expired", args.d_expired, default.d_expired);
    number(
        "--min-window",
        args.min_window.into(),
        default.min_window.into(),
    );
    if args.completion == kernel::Completion::Precise {
        command.extend(["--completion".into(), "precise".into()]);
    }
    writeln!(
        stdout(),
        "[Unit]\n\
         Description=DCTCP and D2TCP with deadlines, for TCP sockets that select them\n\
         Before=network.target\n\
         \n\
         [Service]\n\
         Type=notify\n\
         ExecStart={}\n\
         ExecReload=/bin/kill -HUP $MAINPID\n\
         Restart=on-failure\n\
         ReadWritePaths=/run\n\
         CapabilityBoundingSet={CAPABILITIES}\n\
         NoNewPrivileges=yes\n\
         ProtectSystem=strict\n\
         ProtectHome=read-only\n\
         RestrictAddressFamilies=AF_UNIX\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target",
        command.join(" ")
    )?;
    Ok(())
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|why| Failure::Input(format!("{}: {why}", path.display())))
}

/// Quotes a path for a systemd unit, in which `%` and `$` are escaped by doubling.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    let text = text.replace('%', "%%").replace('$', "$$");
    if text.contains([' ', '\'', '"', '\\', ';']) {
        format!("\"{text}\"")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_counted_by_name() {
        let default = |namespace, name: &str| HostDefault {
            namespace,
            name: name.into(),
        };
        let defaults = [default(1, "cubic"), default(2, "bbr"), default(3, "cubic")];
        let expected = [
            ("bbr", "1 network namespace".to_owned()),
            ("cubic", "2 network namespaces".to_owned()),
        ];
        assert_eq!(count_by_name(&defaults), expected);
    }

    #[test]
    fn paths_are_escaped_in_units() {
        assert_eq!(quoted(Path::new("/usr/bin/duetime")), "/usr/bin/duetime");
        assert_eq!(quoted(Path::new("/a b/%c$d")), "\"/a b/%%c$$d\"");
    }
}

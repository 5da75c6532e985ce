//! Checks of the running kernel for the programs' requirements.

use crate::attachment::{BTF, cgroup_root};
use crate::leftover::{left_defaults, left_registered, offered};
use crate::programs::LIST;
use crate::release::{self, LINKS, OLDEST, supports_links};
use crate::{Error, Parameters, Verified, verify};
use std::fs;
use std::path::Path;

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Requirement met.
    Good,
    /// Working, with something that the operator should know.
    Note,
    /// Missing requirement: the programs cannot be attached.
    Lacking,
}

/// Finding of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Subject of the check.
    pub about: &'static str,
    /// Result.
    pub status: Status,
    /// Observation.
    pub found: String,
    /// Remedy; empty if none is needed.
    pub advice: &'static str,
}

/// Checks all requirements. Loads the programs without attaching them.
pub fn examine() -> Vec<Finding> {
    // Check this first, because loading the programs looks like a process that has them attached.
    let attached = attached();
    let mut findings = vec![
        kernel(),
        privilege(),
        types(),
        compiler(),
        lockdown(),
        cgroups(),
        links(),
    ];
    if findings
        .iter()
        .all(|finding| finding.status != Status::Lacking)
    {
        findings.extend(programs());
    }
    findings.push(attached);
    findings.push(idle());
    findings
}

fn finding(
    about: &'static str,
    good: bool,
    found: impl Into<String>,
    advice: &'static str,
) -> Finding {
    let (status, advice) = if good {
        (Status::Good, "")
    } else {
        (Status::Lacking, advice)
    };
    Finding {
        about,
        status,
        found: found.into(),
        advice,
    }
}

/// Returns the contents of a one-line file; empty if it cannot be read.
fn line(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| String::new(), |text| text.trim().to_owned())
}

fn kernel() -> Finding {
    finding(
        "kernel",
        release::version().is_some_and(|version| version >= OLDEST),
        format!("Linux {}; oldest supported: {OLDEST}", release::release()),
        "boot a newer kernel, such as Debian 12's (6.1)",
    )
}

fn links() -> Finding {
    if supports_links() {
        let found = "registrations end with the attaching process, even after kill -9";
        return finding("links", true, found, "");
    }
    Finding {
        about: "links",
        status: Status::Note,
        found: format!(
            "the kernel has no links for congestion controls (Linux {LINKS} or newer): they stay registered after \
             kill -9 of the attaching process"
        ),
        advice: "after kill -9: duetime kernel detach, or attach again",
    }
}

fn privilege() -> Finding {
    /// Bits of `CapEff` (capabilities(7)).
    const NET_ADMIN: u32 = 12;
    const SYS_ADMIN: u32 = 21;
    const PERFMON: u32 = 38;
    const BPF: u32 = 39;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok())
        .unwrap_or(0);
    let has = |bit: u32| effective >> bit & 1 == 1;
    let good = has(NET_ADMIN) && (has(SYS_ADMIN) || has(BPF) && has(PERFMON));
    let found = if good {
        "this process may load and attach programs"
    } else {
        "this process may not load and attach programs"
    };
    finding(
        "privilege",
        good,
        found,
        "run it as root, or with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN",
    )
}

fn types() -> Finding {
    /// Kernel type of a congestion control program.
    const TYPE: &[u8] = b"bpf_struct_ops_tcp_congestion_ops";
    const ADVICE: &str = "boot a kernel built with CONFIG_DEBUG_INFO_BTF, CONFIG_BPF_SYSCALL and CONFIG_BPF_JIT, such as \
                          a stock kernel of Debian 12 or newer";
    let Ok(btf) = fs::read(BTF) else {
        return finding(
            "types",
            false,
            format!("the kernel has no BTF at {BTF}"),
            ADVICE,
        );
    };
    let known = btf.windows(TYPE.len()).any(|window| window == TYPE);
    let found = if known {
        "the kernel has type information (BTF) and supports congestion control programs"
    } else {
        "the kernel has type information (BTF) but does not support congestion control programs"
    };
    finding("types", known, found, ADVICE)
}

fn compiler() -> Finding {
    let enabled = line("/proc/sys/net/core/bpf_jit_enable");
    finding(
        "compiler",
        enabled != "0",
        match enabled.as_str() {
            "0" => "the kernel's BPF compiler is off",
            "" => "the state of the kernel's BPF compiler is not readable",
            _ => "the kernel's BPF compiler is on",
        },
        "sysctl net.core.bpf_jit_enable=1",
    )
}

fn lockdown() -> Finding {
    let state = line("/sys/kernel/security/lockdown");
    finding(
        "lockdown",
        !state.contains("[confidentiality]"),
        if state.is_empty() {
            "the kernel has no lockdown".to_owned()
        } else {
            format!("lockdown: {state}")
        },
        "lockdown=confidentiality forbids programs to read kernel memory: boot with lockdown=integrity or less",
    )
}

fn cgroups() -> Finding {
    match cgroup_root() {
        Ok(root) => finding(
            "cgroups",
            true,
            format!("cgroup v2 mounted at {}", root.display()),
            "",
        ),
        Err(error) => finding(
            "cgroups",
            false,
            error.to_string(),
            "mount it; systemd does so by default",
        ),
    }
}

/// Checks the programs, and if they can be loaded, the list of sockets.
fn programs() -> Vec<Finding> {
    const ADVICE: &str = "report this with the kernel's version";
    match verify(Parameters::default()) {
        Ok(verified) => {
            let walked = || verified.iter().map(|program| program.instructions);
            let found = format!(
                "the verifier accepts all {} programs; it walks {} instructions, at most {} for one program",
                verified.len(),
                walked().sum::<u32>(),
                walked().max().unwrap_or(0)
            );
            vec![finding("programs", true, found, ""), list(&verified)]
        }
        Err(error) => vec![finding("programs", false, error.to_string(), ADVICE)],
    }
}

fn list(verified: &[Verified]) -> Finding {
    if verified.iter().any(|program| program.program == LIST) {
        return finding("sockets", true, "sockets can be listed", "");
    }
    Finding {
        about: "sockets",
        status: Status::Note,
        found: Error::NoList.to_string(),
        advice: "attach works; only the sockets in duetime kernel status and its metrics are missing",
    }
}

fn attached() -> Finding {
    let left = left_registered();
    if !left.is_empty() {
        return Finding {
            about: "attached",
            status: Status::Note,
            found: format!("left by a process that was killed: {}", left.join(", ")),
            advice: "duetime kernel detach",
        };
    }
    let defaults = left_defaults().len();
    if defaults > 0 {
        return Finding {
            about: "attached",
            status: Status::Note,
            found: format!(
                "left by a process that was killed: the default congestion control of {defaults} network \
                 namespace{}",
                if defaults == 1 { "" } else { "s" }
            ),
            advice: "duetime kernel detach, or attach again",
        };
    }
    let ours = offered();
    let found = if ours.is_empty() {
        "nothing is attached now".to_owned()
    } else {
        format!("attached now: {}", ours.join(", "))
    };
    finding("attached", true, found, "")
}

/// Checks the decay of a persistent connection's window during pauses (RFC 2861).
fn idle() -> Finding {
    const SYSCTL: &str = "/proc/sys/net/ipv4/tcp_slow_start_after_idle";
    if Path::new(SYSCTL).exists() && line(SYSCTL) == "1" {
        return Finding {
            about: "pauses",
            status: Status::Note,
            found:
                "windows of connections shrink during pauses longer than the retransmission timeout"
                    .into(),
            advice: "to keep the windows of persistent connections: sysctl net.ipv4.tcp_slow_start_after_idle=0",
        };
    }
    finding(
        "pauses",
        true,
        "connections keep their windows during pauses",
        "",
    )
}

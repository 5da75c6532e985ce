//! What the running kernel has of what the programs need, in words.

use crate::attachment::{BTF, cgroup_root};
use crate::leftover::{left_registered, offered};
use crate::release::{self, LINKS, OLDEST, links_are_known};
use crate::{Parameters, verify};
use std::fs;
use std::path::Path;

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As it should be.
    Good,
    /// It works, but the operator should know.
    Note,
    /// The programs cannot be attached like this.
    Lacking,
}

/// One thing looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub about: &'static str,
    /// How it stands.
    pub standing: Standing,
    /// What was found.
    pub found: String,
    /// What to do about it; empty if nothing.
    pub advice: &'static str,
}

/// Looks at everything that the programs need. Loads them, attaches nothing.
pub fn examine() -> Vec<Finding> {
    // First, as loading the programs would look like a process that has them attached.
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
    if findings.iter().all(|it| it.standing != Standing::Lacking) {
        findings.push(programs());
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
    let (standing, advice) = if good {
        (Standing::Good, "")
    } else {
        (Standing::Lacking, advice)
    };
    Finding {
        about,
        standing,
        found: found.into(),
        advice,
    }
}

/// A file of one line; empty if it cannot be read.
fn line(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| String::new(), |text| text.trim().to_owned())
}

fn kernel() -> Finding {
    finding(
        "kernel",
        release::version().is_some_and(|it| it >= OLDEST),
        format!(
            "Linux {}; the oldest that will do is {OLDEST}",
            release::release()
        ),
        "boot a newer kernel: Debian 12 has 6.1",
    )
}

fn links() -> Finding {
    if links_are_known() {
        let found = "a registration ends with the process that attaches, also by kill -9";
        return finding("links", true, found, "");
    }
    Finding {
        about: "links",
        standing: Standing::Note,
        found: format!(
            "the kernel has no links for congestion controllers, which came with Linux {LINKS}: after kill -9 of the \
             process that has attached them they stay registered"
        ),
        advice: "after a kill -9: duetime kernel detach, or attach again",
    }
}

fn privilege() -> Finding {
    /// Bits of `CapEff` (capabilities(7)).
    const NET_ADMIN: u32 = 12;
    const SYS_ADMIN: u32 = 21;
    const PERFMON: u32 = 38;
    const BPF: u32 = 39;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let held = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok())
        .unwrap_or(0);
    let has = |bit: u32| held >> bit & 1 == 1;
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
    /// What the kernel calls the type of a congestion control that is a program.
    const TYPE: &[u8] = b"bpf_struct_ops_tcp_congestion_ops";
    const ADVICE: &str = "boot a kernel built with CONFIG_DEBUG_INFO_BTF, CONFIG_BPF_SYSCALL and CONFIG_BPF_JIT: a stock \
                          kernel of Debian 12 or newer is";
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
        "the kernel describes its types (BTF) and takes congestion controls as programs"
    } else {
        "the kernel describes its types (BTF) but takes no congestion controls as programs"
    };
    finding("types", known, found, ADVICE)
}

fn compiler() -> Finding {
    let enabled = line("/proc/sys/net/core/bpf_jit_enable");
    finding(
        "compiler",
        enabled != "0",
        match enabled.as_str() {
            "0" => "the kernel's compiler of programs is off",
            "" => "whether the kernel's compiler of programs is on cannot be read",
            _ => "the kernel's compiler of programs is on",
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
        "programs may not read the kernel's memory under lockdown=confidentiality: boot with lockdown=integrity or less",
    )
}

fn cgroups() -> Finding {
    match cgroup_root() {
        Ok(root) => finding(
            "cgroups",
            true,
            format!("cgroups of version 2 at {}", root.display()),
            "",
        ),
        Err(error) => finding(
            "cgroups",
            false,
            error.to_string(),
            "mount them; systemd does so by default",
        ),
    }
}

fn programs() -> Finding {
    const ADVICE: &str = "report this with the kernel's version";
    match verify(Parameters::default()) {
        Ok(verified) => {
            let walked = || verified.iter().map(|it| it.instructions);
            let found = format!(
                "the verifier takes all {} programs; it walks {} instructions, {} at most for one program",
                verified.len(),
                walked().sum::<u32>(),
                walked().max().unwrap_or(0)
            );
            finding("programs", true, found, "")
        }
        Err(error) => finding("programs", false, error.to_string(), ADVICE),
    }
}

fn attached() -> Finding {
    let left = left_registered();
    if !left.is_empty() {
        return Finding {
            about: "attached",
            standing: Standing::Note,
            found: format!("left by a process that was killed: {}", left.join(", ")),
            advice: "duetime kernel detach",
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

/// The window of a persistent connection decays over a pause, as RFC 2861 has it.
fn idle() -> Finding {
    const SYSCTL: &str = "/proc/sys/net/ipv4/tcp_slow_start_after_idle";
    if Path::new(SYSCTL).exists() && line(SYSCTL) == "1" {
        return Finding {
            about: "pauses",
            standing: Standing::Note,
            found: "the window of a connection shrinks while it pauses longer than its retransmission timeout".into(),
            advice: "if persistent connections should keep it: sysctl net.ipv4.tcp_slow_start_after_idle=0",
        };
    }
    finding(
        "pauses",
        true,
        "a connection keeps its window over a pause",
        "",
    )
}

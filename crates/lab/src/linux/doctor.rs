//! Checks of the machine for the testbed's requirements.

use std::path::Path;

use crate::linux::namespace::{Namespace, run};
use crate::linux::socket::{can_limit_delayed_ack, has_congestion_control, kernel_counts_timeouts};
use duetime_core::Span;

/// Result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the requirement.
    pub what: &'static str,
    /// True if the testbed cannot run without it.
    pub needed: bool,
    /// `Ok` if it is present, otherwise the remedy or the consequence.
    pub found: Result<(), String>,
}

/// Checks all requirements.
pub fn doctor() -> Vec<Finding> {
    let finding = |what, needed, found| Finding {
        what,
        needed,
        found,
    };
    let present = |present: bool, otherwise: &str| {
        if present {
            Ok(())
        } else {
            Err(otherwise.to_owned())
        }
    };
    let program = |name: &str, argument: &str, package: &str| {
        run(name, &[argument], "")
            .map(drop)
            .map_err(|_| format!("install `{package}` (script/bootstrap --lab does)"))
    };
    let namespace = || {
        let namespace = Namespace::new().map_err(|error| error.to_string())?;
        let create = || {
            run(
                "ip",
                &["-batch", "-"],
                "link add name one type veth peer name other\n",
            )
        };
        let created = namespace.within(create);
        created.map(drop).map_err(|error| error.to_string())
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    vec![
        finding(
            "root",
            true,
            present(nix::unistd::geteuid().is_root(), "run it as root"),
        ),
        finding("ip (iproute2)", true, program("ip", "-V", "iproute2")),
        finding(
            "chrt (util-linux)",
            false,
            program("chrt", "--version", "util-linux"),
        ),
        finding("network namespaces and veth pairs", true, namespace()),
        finding(
            "TCP reno",
            true,
            has_congestion_control("reno").map_err(|error| error.to_string()),
        ),
        finding(
            "TCP cubic",
            false,
            has_congestion_control("cubic")
                .map_err(|error| format!("{error}; try `modprobe tcp_cubic`")),
        ),
        finding(
            "kernel type information (BTF)",
            false,
            present(
                Path::new("/sys/kernel/btf/vmlinux").exists(),
                "without it duetime_dctcp and duetime_d2tcp cannot be attached; see `duetime kernel doctor`",
            ),
        ),
        finding(
            "at least two processors",
            false,
            present(
                processors >= 2,
                "with one, the switch and the applications compete, and runs may be invalid",
            ),
        ),
        finding(
            "retransmission timeout counts (Linux 6.7)",
            false,
            present(
                kernel_counts_timeouts(),
                "the column `timeouts` stays at 0 on this kernel",
            ),
        ),
        finding(
            "acknowledgement delay per socket (Linux 6.15)",
            false,
            can_limit_delayed_ack(Span::from_ms(20))
                .map_err(|error| format!("{error}: acknowledgements may wait 40 ms")),
        ),
    ]
}

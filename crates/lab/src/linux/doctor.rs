//! What this machine has of what the testbed needs.

use std::path::Path;

use crate::linux::namespace::{Namespace, run};
use crate::linux::socket::{can_limit_delayed_ack, has_congestion_control, kernel_counts_timeouts};
use duetime_core::Span;

/// One thing that the testbed needs or would use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub what: &'static str,
    /// Whether the testbed cannot run without it.
    pub needed: bool,
    /// `Ok`: it is there. Otherwise what to do, or what is lost.
    pub found: Result<(), String>,
}

/// Looks at everything.
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
        let make = || {
            run(
                "ip",
                &["-batch", "-"],
                "link add name one type veth peer name other\n",
            )
        };
        let made = namespace.within(make);
        made.map(drop).map_err(|error| error.to_string())
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
            "type information of the kernel (BTF)",
            false,
            present(
                Path::new("/sys/kernel/btf/vmlinux").exists(),
                "without it duetime_dctcp and duetime_d2tcp cannot be attached; see `duetime kernel doctor`",
            ),
        ),
        finding(
            "two processors or more",
            false,
            present(
                processors >= 2,
                "with one, the switch and the applications wait for each other, and runs may be invalid",
            ),
        ),
        finding(
            "counts of retransmission timeouts (Linux 6.7)",
            false,
            present(
                kernel_counts_timeouts(),
                "the column `timeouts` stays at 0 on this kernel",
            ),
        ),
        finding(
            "delays of acknowledgements by socket (Linux 6.15)",
            false,
            can_limit_delayed_ack(Span::from_ms(20))
                .map_err(|error| format!("{error}: acknowledgements may wait 40 ms")),
        ),
    ]
}

//! Short connections while the controllers are attached and detached.

use crate::attach::wait_until_clean;
use crate::machine::{Machine, NO_TRACING, say_skipped};
use crate::wire::churn::churn;
use duetime_kernel::in_kernel;

/// Pins this thread and those that it starts. On two processors, and with any congestion control, kernels such as 6.18
/// sometimes reset a new connection: the lookup of a packet on one processor may miss the socket that the handshake's last
/// packet is just creating on the other.
fn stay_on_one_processor() {
    let mut processors = rustix::thread::CpuSet::new();
    processors.set(rustix::thread::sched_getcpu());
    rustix::thread::sched_setaffinity(None, &processors).expect("a processor");
}

#[test]
fn churn_leaves_nothing() {
    let Some(_machine) = Machine::take("churn") else {
        return;
    };
    let before = in_kernel();
    assert!(before.is_empty(), "left by another process: {before:?}");
    stay_on_one_processor();
    let churn = churn(1_000, 3);
    assert_eq!(churn.failed, Vec::<String>::new());
    assert!(churn.finished >= 1_000, "{churn:?}");
    // The last tenth runs under a permanent attachment.
    assert!(churn.under_control >= 100, "{churn:?}");
    assert!(churn.attachments >= 3, "{churn:?}");
    assert!(churn.marked > 0, "{churn:?}");
    match churn.entries {
        Some((most, left)) => assert!(most > 0 && left == 0, "{churn:?}"),
        None => say_skipped("map entries of churn", NO_TRACING),
    }
    assert_eq!(churn.complaints, Vec::<String>::new());
    wait_until_clean();
}

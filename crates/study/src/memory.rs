//! Huge pages for large networks. Their state spans tens of thousands of ordinary pages, more than a processor keeps
//! translations of, and a packet-hop then waits for page walks; with huge pages it costs about a quarter less.

use duetime_scenario::Scenario;

/// Hosts from which on huge pages pay.
pub const MANY_HOSTS: u32 = 2_000;

/// Starts this program again, with the same arguments, on transparent huge pages, if the network is large and the
/// system's C library can ask for them; otherwise, or if that fails, does nothing. Memory is given out by the C library
/// (glibc ≥ 2.35), which reads this choice when a program starts and only then. Call it before anything is printed or
/// written. Results do not depend on it.
pub fn prefer_huge_pages(scenario: &Scenario) {
    if scenario.topology.hosts() >= MANY_HOSTS {
        start_again();
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn start_again() {
    use std::os::unix::process::CommandExt;

    const TUNABLES: &str = "GLIBC_TUNABLES";
    const HUGE_PAGES: &str = "glibc.malloc.hugetlb";
    let known = std::env::var(TUNABLES).unwrap_or_default();
    // Once is enough, and who has chosen otherwise is obeyed.
    if known.contains(HUGE_PAGES) {
        return;
    }
    // A Python in a virtual environment finds its packages by the path that it was started by.
    let started = std::env::args_os().next().map(std::path::PathBuf::from);
    let started = started.filter(|path| path.is_absolute());
    let Some(program) = started.or_else(|| std::env::current_exe().ok()) else {
        return;
    };
    let separator = if known.is_empty() { "" } else { ":" };
    let _failed = std::process::Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(TUNABLES, format!("{known}{separator}{HUGE_PAGES}=1"))
        .exec();
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn start_again() {}

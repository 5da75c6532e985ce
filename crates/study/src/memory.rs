//! Huge pages for large networks. Their state spans tens of thousands of ordinary pages, more than a processor keeps
//! translations of, and a packet-hop then waits for page walks.

use duetime_scenario::Scenario;

/// Fewest hosts of a network that runs on huge pages.
pub const MANY_HOSTS: u32 = 2_000;

/// Requests huge pages for memory allocated from now on, if the network is large and the program has the allocator of
/// `duetime-memory`. A choice in `GLIBC_TUNABLES` is respected. Results do not depend on it.
pub fn prefer_huge_pages(scenario: &Scenario) {
    let chosen = std::env::var("GLIBC_TUNABLES").unwrap_or_default();
    if scenario.topology.hosts() >= MANY_HOSTS && !chosen.contains("glibc.malloc.hugetlb") {
        duetime_memory::prefer_huge_pages();
    }
}

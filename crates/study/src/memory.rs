//! Huge pages for large networks. Their state spans tens of thousands of ordinary pages, more than the processor's TLB
//! covers, so packet-hops would wait for page walks.

use duetime_scenario::Scenario;

/// Minimum number of hosts for huge pages.
pub const MANY_HOSTS: u32 = 2_000;

/// Requests huge pages for later allocations, if the network is large and the program uses the allocator of
/// `duetime-memory`. An existing setting in `GLIBC_TUNABLES` is respected. Results do not depend on it.
pub fn prefer_huge_pages(scenario: &Scenario) {
    let chosen = std::env::var("GLIBC_TUNABLES").unwrap_or_default();
    if scenario.topology.hosts() >= MANY_HOSTS && !chosen.contains("glibc.malloc.hugetlb") {
        duetime_memory::prefer_huge_pages();
    }
}

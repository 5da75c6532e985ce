//! Published and measured distributions, as texts of CDF files.

/// Published distributions of sizes, by name. Each file names its source.
pub const PUBLISHED: &[(&str, &str)] = &[
    ("web-search", include_str!("../data/web-search.csv")),
    (
        "web-search-packets",
        include_str!("../data/web-search-packets.csv"),
    ),
    ("data-mining", include_str!("../data/data-mining.csv")),
    (
        "data-mining-packets",
        include_str!("../data/data-mining-packets.csv"),
    ),
    ("hadoop", include_str!("../data/hadoop.csv")),
    ("storage", include_str!("../data/storage.csv")),
];

/// Measured distributions of times, by name. Each file names its source.
pub const MEASURED: &[(&str, &str)] = &[("kernel-tcp", include_str!("../data/kernel-tcp.csv"))];

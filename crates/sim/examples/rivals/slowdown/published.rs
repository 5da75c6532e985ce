//! Slowdowns published by Homa's authors, and the runs in which they are measured.

/// Run of one transport with one workload.
pub struct Run {
    pub transport: &'static str,
    pub workload: &'static str,
    /// Distribution of the sizes of messages.
    pub sizes: &'static str,
    /// Share of each link that all packets use, in percent.
    pub load: u32,
    /// Settings that differ from the scenario file.
    pub settings: &'static [(&'static str, &'static str)],
    pub points: [Point; 4],
}

/// Published slowdowns of messages of similar sizes.
pub struct Point {
    pub size: &'static str,
    /// The messages have more bytes than the first and at most the second number. Rare sizes have a wider range than in
    /// the authors' data.
    pub bytes: (u64, u64),
    pub median: f64,
    pub p99: f64,
    /// Messages of each receiver in the authors' run, if they published the mean of all receivers' percentiles and few
    /// messages per receiver.
    pub per_receiver: Option<usize>,
}

const W3: &str = include_str!("w3.csv");
const W5: &str = include_str!("w5.csv");

const fn point(
    size: &'static str,
    bytes: (u64, u64),
    (median, p99): (f64, f64),
    per_receiver: Option<usize>,
) -> Point {
    Point {
        size,
        bytes,
        median,
        p99,
        per_receiver,
    }
}

const ONE: (u64, u64) = (0, 1_442);
const TWENTY: (u64, u64) = (17 * 1_442, 22 * 1_442);
const HUNDRED: (u64, u64) = (90 * 1_442, 110 * 1_442);
const THOUSAND: (u64, u64) = (850 * 1_442, 1_150 * 1_442);
const B331: (u64, u64) = (313, 331);
const B2657: (u64, u64) = (2_341, 2_657);
const B10335: (u64, u64) = (9_078, 10_335);
const B40018: (u64, u64) = (30_468, 40_018);

/// Homa's headers have 14 B less in its authors' simulations. Their full packet has 1,538 B on the wire and a grant 84 B.
const HOMA_FRAMES: (&str, &str) = ("host.frame_overhead", "24 B");
/// The packets of the simulator that ran pFabric have no Ethernet header.
const PFABRIC_FRAMES: (&str, &str) = ("host.frame_overhead", "0 B");
const W3_WARM_UP: (&str, &str) = ("warm_up", "10 ms");
const W3_DURATION: (&str, &str) = ("duration", "40 ms");

// The rates are the authors': their load contains headers, grants and acknowledgements.
pub static RUNS: [Run; 8] = [
    Run {
        transport: "homa",
        workload: "W5",
        sizes: W5,
        load: 80,
        settings: &[("workload.messages.rate", "52016 /s"), HOMA_FRAMES],
        points: [
            point("1 packet", ONE, (1.23, 1.48), Some(16)),
            point("20 packets", TWENTY, (1.24, 1.44), Some(5)),
            point("100 packets", HUNDRED, (1.26, 1.55), Some(7)),
            point("1,000 packets", THOUSAND, (1.34, 2.19), Some(7)),
        ],
    },
    Run {
        transport: "homa",
        workload: "W5",
        sizes: W5,
        load: 50,
        settings: &[("workload.messages.rate", "32510 /s"), HOMA_FRAMES],
        points: [
            point("1 packet", ONE, (1.13, 1.42), Some(19)),
            point("20 packets", TWENTY, (1.14, 1.26), Some(6)),
            point("100 packets", HUNDRED, (1.13, 1.32), Some(7)),
            point("1,000 packets", THOUSAND, (1.15, 1.69), Some(7)),
        ],
    },
    Run {
        transport: "homa",
        workload: "W3",
        sizes: W3,
        load: 80,
        settings: &[
            ("workload.messages.rate", "43580000 /s"),
            ("homa.unscheduled_levels", "4"),
            ("homa.overcommitment", "4"),
            HOMA_FRAMES,
            W3_WARM_UP,
            W3_DURATION,
        ],
        points: [
            point("331 B", B331, (1.40, 1.98), None),
            point("2,657 B", B2657, (1.26, 2.10), None),
            point("10,335 B", B10335, (1.37, 2.90), None),
            point("40,018 B", B40018, (1.80, 4.29), None),
        ],
    },
    Run {
        transport: "homa",
        workload: "W3",
        sizes: W3,
        load: 50,
        settings: &[
            ("workload.messages.rate", "27240000 /s"),
            ("homa.unscheduled_levels", "4"),
            ("homa.overcommitment", "4"),
            HOMA_FRAMES,
            W3_WARM_UP,
            W3_DURATION,
        ],
        points: [
            point("331 B", B331, (1.22, 1.83), None),
            point("2,657 B", B2657, (1.13, 1.74), None),
            point("10,335 B", B10335, (1.19, 2.23), None),
            point("40,018 B", B40018, (1.36, 2.77), None),
        ],
    },
    Run {
        transport: "pfabric",
        workload: "W5",
        sizes: W5,
        load: 80,
        settings: &[("workload.messages.rate", "54914 /s"), PFABRIC_FRAMES],
        points: [
            point("1 packet", ONE, (1.23, 1.49), None),
            point("20 packets", TWENTY, (1.07, 1.57), None),
            point("100 packets", HUNDRED, (1.04, 1.91), None),
            point("1,000 packets", THOUSAND, (1.07, 2.57), None),
        ],
    },
    Run {
        transport: "pfabric",
        workload: "W5",
        sizes: W5,
        load: 50,
        settings: &[("workload.messages.rate", "34321 /s"), PFABRIC_FRAMES],
        points: [
            point("1 packet", ONE, (1.13, 1.44), None),
            point("20 packets", TWENTY, (1.05, 1.25), None),
            point("100 packets", HUNDRED, (1.03, 1.81), None),
            point("1,000 packets", THOUSAND, (1.03, 2.35), None),
        ],
    },
    Run {
        transport: "pfabric",
        workload: "W3",
        sizes: W3,
        load: 80,
        settings: &[
            ("workload.messages.rate", "45660000 /s"),
            PFABRIC_FRAMES,
            W3_WARM_UP,
            W3_DURATION,
        ],
        points: [
            point("331 B", B331, (1.41, 1.90), None),
            point("2,657 B", B2657, (1.25, 1.69), None),
            point("10,335 B", B10335, (1.32, 3.02), None),
            point("40,018 B", B40018, (2.13, 5.15), None),
        ],
    },
    Run {
        transport: "pfabric",
        workload: "W3",
        sizes: W3,
        load: 50,
        settings: &[
            ("workload.messages.rate", "28540000 /s"),
            PFABRIC_FRAMES,
            W3_WARM_UP,
            W3_DURATION,
        ],
        points: [
            point("331 B", B331, (1.22, 1.79), None),
            point("2,657 B", B2657, (1.13, 1.50), None),
            point("10,335 B", B10335, (1.17, 2.13), None),
            point("40,018 B", B40018, (1.32, 3.63), None),
        ],
    },
];

//! Arguments of `duetime fit`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Examples and notes below the long help.
pub const EXAMPLES: &str = "\
Examples:
  duetime fit parent.pcapng --budget 50ms --link '10 Gbps' --transport dctcp -o service.toml
  duetime fit spans.jsonl --budget 5ms --hosts 64 -o service.toml
  duetime fit calls.csv --json | jq 'select(.event == \"fitted\") | [.quantity, .input, .fitted]'

`fit` simulates the fitted scenario and compares it with the input. Inputs (docs/fit.md has the details): a capture of \
TCP packets in both directions at a host that sends queries; spans in the format of the workload `trace`; or a table with \
one row per call and the columns start_ns, end_ns or duration_ns, and bytes, optionally also query, client, server, \
request_bytes, compute_ns and deadline_ns.";

/// `duetime fit`
#[derive(Args, Debug)]
pub struct Fit {
    /// Capture (pcap or pcapng), spans (JSON lines) or table (CSV)
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
    /// Kind of the input [default: detected from its first bytes]
    #[arg(long, value_enum, value_name = "KIND")]
    pub kind: Option<InputKind>,
    /// Time by which a query needs all its answers, such as `50ms` [default: the answers' deadlines, or the 99th
    /// percentile of the query times]
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Rate of each host's link, such as `'10 Gbps'` [default: 10 Gbps]
    #[arg(long, value_name = "RATE")]
    pub link: Option<String>,
    /// Number of hosts in the network [default: those in the input]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub hosts: Option<u32>,
    /// Switch buffers, such as `'250 packets'` per port or `'16 MB'` per switch [default: 4 MB]
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<String>,
    /// Mean share of each host's link used by other transfers, such as `'2 %'` [default: as in the input; spans and
    /// tables of calls contain none]
    #[arg(long, value_name = "SHARE")]
    pub other_load: Option<String>,
    /// Transports of the scenario (comma-separated), first the one that the service used [default: cubic,dctcp,d2tcp,d3,due]
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub transport: Vec<String>,
    /// Longest gap between calls of the same query, such as `'100 us'`, for inputs that do not identify queries
    /// [default: derived from the gaps]
    #[arg(long, value_name = "TIME")]
    pub burst: Option<String>,
    /// Scenario file to write [default: none]
    #[arg(long, short, value_name = "FILE.toml")]
    pub out: Option<PathBuf>,
    /// Replace existing output
    #[arg(long, requires = "out")]
    pub overwrite: bool,
    /// Print JSON lines: each quantity, then the scenario (docs/events.md)
    #[arg(long)]
    pub json: bool,
}

/// Kind of an input file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputKind {
    /// Packet capture in pcap or pcapng.
    Pcap,
    /// Spans as JSON lines.
    Spans,
    /// Table of calls or flows in CSV.
    Csv,
}

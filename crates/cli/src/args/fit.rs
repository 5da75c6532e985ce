//! Arguments of `duetime fit`

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Shown below the long help.
pub const EXAMPLES: &str = "\
Examples:
  duetime fit parent.pcapng --budget 50ms --link '10 Gbps' --transport dctcp -o service.toml
  duetime fit spans.jsonl --budget 5ms --hosts 64 -o service.toml
  duetime fit calls.csv --json | jq 'select(.event == \"fitted\") | [.quantity, .input, .fitted]'

The fitted scenario is simulated, and both sides are printed side by side. docs/fit.md says what each kind of file must
hold. A capture: both directions at a host that asks, over TCP. Spans: as the workload `trace` takes them. A table: a row
for each call with start_ns, end_ns or duration_ns, and bytes; with query, client, server, request_bytes, compute_ns and
deadline_ns where they are known.";

/// `duetime fit`
#[derive(Args, Debug)]
pub struct Fit {
    /// A capture (pcap or pcapng), spans as JSON lines, or a table in CSV
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
    /// What the file holds [default: its first bytes tell]
    #[arg(long, value_enum, value_name = "KIND")]
    pub kind: Option<InputKind>,
    /// Time within which all answers of a query must be there, such as `50ms` [default: the answers' deadlines, or what
    /// 99 % of the queries took]
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Rate of each host's link, such as `'10 Gbps'` [default: 10 Gbps]
    #[arg(long, value_name = "RATE")]
    pub link: Option<String>,
    /// Hosts of the network [default: those that the file shows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub hosts: Option<u32>,
    /// Buffers of the switches, such as `'250 packets'` for each port or `'16 MB'` for all of a switch [default: 4 MB]
    #[arg(long, value_name = "SIZE")]
    pub buffer: Option<String>,
    /// Mean share of each host's link that other transfers take, such as `'2 %'` [default: those that the file shows, which
    /// spans and tables of calls do not]
    #[arg(long, value_name = "SHARE")]
    pub other_load: Option<String>,
    /// Transports of the scenario, with commas; the first is the one that the service used [default: tcp,dctcp,d2tcp,d3]
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub transport: Vec<String>,
    /// Calls of a client belong to one query if no gap between them is longer, such as `'100 us'`; for files that do not
    /// say which belong together [default: the gaps themselves tell]
    #[arg(long, value_name = "TIME")]
    pub burst: Option<String>,
    /// The scenario's file to write [default: none]
    #[arg(long, short, value_name = "FILE.toml")]
    pub out: Option<PathBuf>,
    /// Replace the file where there is one
    #[arg(long, requires = "out")]
    pub overwrite: bool,
    /// JSON lines on standard output: both sides of each quantity, then the scenario (docs/events.md)
    #[arg(long)]
    pub json: bool,
}

/// What a file holds that a scenario is fitted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputKind {
    /// Packets, in pcap or pcapng.
    Pcap,
    /// Spans as JSON lines.
    Spans,
    /// A table of calls or flows, in CSV.
    Csv,
}

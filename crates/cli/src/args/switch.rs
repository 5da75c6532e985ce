//! Arguments of `duetime switch`.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::quantity::parsed;
use clap::Args;
use duetime_core::{Rate, Span};
use duetime_scenario::{parse_rate, parse_share, parse_time};
use duetime_switch::{Limit, PortConfig, parse_limit, plain_port};

const EXAMPLES: &str = "\
Examples:
  sudo duetime switch --interfaces veth0,veth1 --rate '100 Mbps' --latency '20 us' --ecn-threshold '20 packets'
  sudo duetime switch --interfaces veth0,veth1 --rate '1 Gbps' --buffer '512 KB' --ecn-threshold '30 KB' --json
  sudo duetime switch switch.toml --for '60 s'

Turn off offloads at both ends: ethtool -K DEVICE tx off sg off tso off gso off gro off. docs/switch.md describes the keys \
of the file.";

const PORT_OPTIONS: [&str; 7] = [
    "interfaces",
    "rate",
    "latency",
    "buffer",
    "ecn_threshold",
    "classes",
    "d3",
];

/// `duetime switch`
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Switch {
    /// File that describes the switch
    #[arg(value_name = "CONFIG.toml", required_unless_present = "interfaces", conflicts_with_all = PORT_OPTIONS)]
    pub config: Option<PathBuf>,
    /// Interfaces (comma-separated), each connected to one host
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "rate")]
    pub interfaces: Vec<String>,
    /// Rate of each interface's port, e.g. `100 Mbps`
    #[arg(long, value_name = "RATE", value_parser = |text: &str| parsed(parse_rate(text)), requires = "interfaces")]
    pub rate: Option<Rate>,
    /// One-way delay between the switch and each host, e.g. `20 us` [default: 0]
    #[arg(long, value_name = "TIME", value_parser = |text: &str| parsed(parse_time(text)), requires = "interfaces")]
    pub latency: Option<Span>,
    /// Buffer of each port, e.g. `100 packets` or `512 KB` [default: no limit]
    #[arg(long, value_name = "AMOUNT", value_parser = |text: &str| parsed(parse_limit(text)), requires = "interfaces")]
    pub buffer: Option<Limit>,
    /// Queue length from which arriving ECN-capable packets are marked CE, e.g. `20 packets` [default: no marking]
    #[arg(long, value_name = "AMOUNT", value_parser = |text: &str| parsed(parse_limit(text)), requires = "interfaces")]
    pub ecn_threshold: Option<Limit>,
    /// Random loss on each link in each direction, e.g. `1%` [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = |text: &str| parsed(parse_share(text)), requires = "interfaces")]
    pub loss: Option<f64>,
    /// Strict-priority classes, by IP precedence [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32), requires = "interfaces")]
    pub classes: Option<u8>,
    /// Run a D3 router at each port, which answers the rate requests of D3 datagrams
    #[arg(long, requires = "interfaces")]
    pub d3: bool,
    /// Limit each interface to the rates granted to its D3 flows plus this allowance, e.g. `2 Mbps` [default: trust the
    /// hosts]
    #[arg(long, value_name = "RATE", value_parser = |text: &str| parsed(parse_rate(text)), requires = "d3")]
    pub police: Option<Rate>,
    /// Run with normal instead of real-time priority
    #[arg(long)]
    pub normal_priority: bool,
    /// Stop after this time, e.g. `60 s` [default: run until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = |text: &str| parsed(parse_time(text)))]
    pub time: Option<Span>,
    /// Print the counters as JSON lines, every second and at the end
    #[arg(long)]
    pub json: bool,
    /// Serve the counters as Prometheus metrics over HTTP at /metrics, e.g. `127.0.0.1:9981`
    #[arg(long, value_name = "ADDRESS")]
    pub prometheus: Option<SocketAddr>,
}

impl Switch {
    /// Returns the port configuration of the options, with the given rate.
    pub fn port(&self, rate: Rate) -> PortConfig {
        PortConfig {
            latency: self.latency.unwrap_or(Span::ZERO),
            loss: self.loss.unwrap_or(0.0),
            limit: self.buffer.unwrap_or(Limit::Unlimited),
            mark_at: self.ecn_threshold,
            classes: self.classes.map_or(1, usize::from),
            d3: self.d3,
            ..plain_port(rate)
        }
    }
}

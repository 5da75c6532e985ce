//! What may be typed after `duetime switch`.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::quantity::said;
use clap::Args;
use duetime_core::{Rate, Span};
use duetime_scenario::{parse_rate, parse_share, parse_time};
use duetime_switch::{Limit, PortConfig, parse_limit, plain_port};

const EXAMPLES: &str = "\
Examples:
  sudo duetime switch --interfaces veth0,veth1 --rate '100 Mbps' --latency '20 us' --ecn-threshold '20 packets'
  sudo duetime switch --interfaces veth0,veth1 --rate '1 Gbps' --buffer '512 KB' --ecn-threshold '30 KB' --json
  sudo duetime switch switch.toml --for '60 s'

Offloads must be off at both ends: ethtool -K DEVICE tx off sg off tso off gso off gro off. docs/switch.md has the keys of
the file.";

const OF_A_PORT: [&str; 7] = [
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
    /// The file that describes the switch
    #[arg(value_name = "CONFIG.toml", required_unless_present = "interfaces", conflicts_with_all = OF_A_PORT)]
    pub config: Option<PathBuf>,
    /// The interfaces, with commas; a host is behind each
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "rate")]
    pub interfaces: Vec<String>,
    /// Rate of each interface's port, e.g. `100 Mbps`
    #[arg(long, value_name = "RATE", value_parser = |text: &str| said(parse_rate(text)), requires = "interfaces")]
    pub rate: Option<Rate>,
    /// One-way delay between the switch and each host, e.g. `20 us` [default: 0]
    #[arg(long, value_name = "TIME", value_parser = |text: &str| said(parse_time(text)), requires = "interfaces")]
    pub latency: Option<Span>,
    /// What each port may hold, e.g. `100 packets`, `512 KB` [default: no limit]
    #[arg(long, value_name = "AMOUNT", value_parser = |text: &str| said(parse_limit(text)), requires = "interfaces")]
    pub buffer: Option<Limit>,
    /// A packet that finds this much in the port gets CE if it is ECN-capable, e.g. `20 packets` [default: none does]
    #[arg(long, value_name = "AMOUNT", value_parser = |text: &str| said(parse_limit(text)), requires = "interfaces")]
    pub ecn_threshold: Option<Limit>,
    /// Share of the packets that each link loses at random, each way, e.g. `1%` [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = |text: &str| said(parse_share(text)), requires = "interfaces")]
    pub loss: Option<f64>,
    /// Strict-priority classes, by IP precedence [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32), requires = "interfaces")]
    pub classes: Option<u8>,
    /// D3's router at each port: answers the rate requests of D3's datagrams
    #[arg(long, requires = "interfaces")]
    pub d3: bool,
    /// With D3: hold each interface to what its flows were granted, and this rate beside it, e.g. `2 Mbps` [default: D3
    /// trusts its hosts]
    #[arg(long, value_name = "RATE", value_parser = |text: &str| said(parse_rate(text)), requires = "d3")]
    pub police: Option<Rate>,
    /// Run under the normal scheduler, not the real-time one
    #[arg(long)]
    pub normal_priority: bool,
    /// End after this time, e.g. `60 s` [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = |text: &str| said(parse_time(text)))]
    pub time: Option<Span>,
    /// JSON lines on standard output: the counters each second, and at the end
    #[arg(long)]
    pub json: bool,
    /// Serve the counters as Prometheus metrics over HTTP at /metrics, e.g. `127.0.0.1:9981`
    #[arg(long, value_name = "ADDRESS")]
    pub prometheus: Option<SocketAddr>,
}

impl Switch {
    /// The port that is asked for, of this rate.
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

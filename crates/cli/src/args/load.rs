//! Arguments of `duetime load`.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::Tables;
use super::quantity::parsed;
use clap::{Args, Subcommand};
use duetime_core::{Bytes, Rate, Span};
use duetime_scenario::{parse_rate, parse_size, parse_time};

const EXAMPLES: &str = "\
Examples:
  duetime load serve 0.0.0.0:7700                              on each server
  duetime load query --servers 10.0.0.2:7700,10.0.0.3:7700 --fan-in 20 --answer '20 KB' --deadline '30 ms' \\
      --every '10 ms' --for '30 s' --transport cubic,duetime_d2tcp,d3,due

docs/load.md describes the measurement.";

/// `duetime load`
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Load {
    /// Subcommand to run.
    #[command(subcommand)]
    pub command: LoadCommand,
}

/// Subcommands of `duetime load`.
#[derive(Debug, Subcommand)]
pub enum LoadCommand {
    /// Answer queries over TCP, D3 and due until Ctrl-C (for trusted networks only).
    Serve(Serve),
    /// Send queries to servers and report the share of answers in time.
    Query(Query),
}

/// Interface of D3 and `due`.
#[derive(Args, Clone, Copy, Debug)]
pub struct Interface {
    /// D3 and due: rate of this host's interface
    #[arg(long, value_name = "RATE", default_value = "10 Gbps", value_parser = |text: &str| parsed(parse_rate(text)))]
    pub rate: Rate,
    /// D3: rate of the network's slowest link, equal at all hosts [default: --rate]
    #[arg(long, value_name = "RATE", value_parser = |text: &str| parsed(parse_rate(text)))]
    pub slowest: Option<Rate>,
}

/// `duetime load serve`
#[derive(Args, Debug)]
pub struct Serve {
    /// Address to listen on, over TCP and UDP; due uses the next port
    #[arg(value_name = "ADDRESS", default_value = "0.0.0.0:7700")]
    pub address: SocketAddr,
    /// Interface of D3 and `due`.
    #[command(flatten)]
    pub interface: Interface,
}

/// `duetime load query`
#[derive(Args, Debug)]
pub struct Query {
    /// Addresses of the servers (comma-separated); the leaves of a query use them in turn
    #[arg(long, required = true, value_name = "ADDRESSES", value_delimiter = ',')]
    pub servers: Vec<SocketAddr>,
    /// Transports to measure in turn (comma-separated): d3, due, or names of the kernel's congestion controls
    #[arg(
        long,
        short,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "cubic",
        value_parser = transport_name
    )]
    pub transport: Vec<String>,
    /// Leaves per query [default: the number of servers]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub fan_in: Option<u32>,
    /// Size of each query
    #[arg(long = "query", value_name = "SIZE", default_value = "1 KB", value_parser = |text: &str| size(text, 36))]
    pub bytes: Bytes,
    /// Size of each answer
    #[arg(long, value_name = "SIZE", default_value = "20 KB", value_parser = |text: &str| size(text, 1))]
    pub answer: Bytes,
    /// Time from the query to the last byte of each answer [default: none]
    #[arg(long, value_name = "TIME", value_parser = |text: &str| parsed(parse_time(text)))]
    pub deadline: Option<Span>,
    /// Mean of the random time between queries
    #[arg(long, value_name = "TIME", default_value = "10 ms", value_parser = |text: &str| parsed(parse_time(text)))]
    pub every: Span,
    /// Duration of each run
    #[arg(long = "for", value_name = "TIME", default_value = "10 s", value_parser = |text: &str| parsed(parse_time(text)))]
    pub time: Span,
    /// Number of runs per transport
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// Interface of D3 and `due`.
    #[command(flatten)]
    pub interface: Interface,
    /// Folder for the results
    #[arg(long, short, value_name = "DIR", default_value = "out/load")]
    pub out: PathBuf,
    /// Replace existing output
    #[arg(long)]
    pub overwrite: bool,
    /// Table output options.
    #[command(flatten)]
    pub tables: Tables,
    /// Print JSON lines, including one per second
    #[arg(long)]
    pub json: bool,
}

/// Parses the size of a message of at least `least` bytes.
fn size(text: &str, min: u64) -> Result<Bytes, String> {
    let size = parsed(parse_size(text))?;
    if (min..=1_000_000_000).contains(&size.0) {
        Ok(size)
    } else {
        Err(format!("allowed: {min} B to 1 GB"))
    }
}

fn transport_name(name: &str) -> Result<String, String> {
    // The kernel limits names of congestion controls to 15 characters.
    if (1..=15).contains(&name.len()) {
        Ok(name.to_owned())
    } else {
        Err("allowed: d3, due, and names of up to 15 characters".to_owned())
    }
}

//! What may be typed after `duetime load`.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::Tables;
use super::quantity::said;
use clap::{Args, Subcommand};
use duetime_core::{Bytes, Rate, Span};
use duetime_scenario::{parse_rate, parse_size, parse_time};

const EXAMPLES: &str = "\
Examples:
  duetime load serve 0.0.0.0:7700                              on each host that answers
  duetime load query --servers 10.0.0.2:7700,10.0.0.3:7700 --fan-in 20 --answer '20 KB' --deadline '30 ms' \\
      --every '10 ms' --for '30 s' --transport cubic,duetime_d2tcp,d3

docs/load.md says what is measured.";

/// `duetime load`
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Load {
    /// What to do.
    #[command(subcommand)]
    pub command: LoadCommand,
}

/// What a host does.
#[derive(Debug, Subcommand)]
pub enum LoadCommand {
    /// Answer queries over TCP and D3 until Ctrl-C, for hosts that are trusted.
    Serve(Serve),
    /// Ask servers, and tell how many answers were in time.
    Query(Query),
}

/// The interface that D3 leaves through.
#[derive(Args, Clone, Copy, Debug)]
pub struct Interface {
    /// D3: rate of this host's interface
    #[arg(long, value_name = "RATE", default_value = "10 Gbps", value_parser = |text: &str| said(parse_rate(text)))]
    pub rate: Rate,
    /// D3: rate of the slowest link of the network, the same at all hosts [default: --rate]
    #[arg(long, value_name = "RATE", value_parser = |text: &str| said(parse_rate(text)))]
    pub slowest: Option<Rate>,
}

/// `duetime load serve`
#[derive(Args, Debug)]
pub struct Serve {
    /// Where to listen: a TCP and a UDP port of one number
    #[arg(value_name = "ADDRESS", default_value = "0.0.0.0:7700")]
    pub address: SocketAddr,
    /// The interface.
    #[command(flatten)]
    pub interface: Interface,
}

/// `duetime load query`
#[derive(Args, Debug)]
pub struct Query {
    /// The servers, with commas; leaf i of a query is at server i, in turn
    #[arg(long, required = true, value_name = "ADDRESSES", value_delimiter = ',')]
    pub servers: Vec<SocketAddr>,
    /// What carries the load, one after the other: d3, or the kernel's name of a congestion control
    #[arg(
        long,
        short,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "cubic",
        value_parser = carrier
    )]
    pub transport: Vec<String>,
    /// Leaves that each query asks [default: as many as there are servers]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub fan_in: Option<u32>,
    /// Size of a query
    #[arg(long = "query", value_name = "SIZE", default_value = "1 KB", value_parser = |text: &str| size(text, 36))]
    pub bytes: Bytes,
    /// Size of each answer
    #[arg(long, value_name = "SIZE", default_value = "20 KB", value_parser = |text: &str| size(text, 1))]
    pub answer: Bytes,
    /// From the query to the last byte of each answer [default: none]
    #[arg(long, value_name = "TIME", value_parser = |text: &str| said(parse_time(text)))]
    pub deadline: Option<Span>,
    /// Mean time between queries, which come at random
    #[arg(long, value_name = "TIME", default_value = "10 ms", value_parser = |text: &str| said(parse_time(text)))]
    pub every: Span,
    /// How long each run asks
    #[arg(long = "for", value_name = "TIME", default_value = "10 s", value_parser = |text: &str| said(parse_time(text)))]
    pub time: Span,
    /// Number of runs with each transport
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub seeds: u32,
    /// The interface.
    #[command(flatten)]
    pub interface: Interface,
    /// Folder for the results
    #[arg(long, short, value_name = "DIR", default_value = "out/load")]
    pub out: PathBuf,
    /// Replace what the folder holds
    #[arg(long)]
    pub overwrite: bool,
    /// How tables are printed.
    #[command(flatten)]
    pub tables: Tables,
    /// JSON lines on standard output, those of each second too
    #[arg(long)]
    pub json: bool,
}

/// The size of a message of at least so many bytes.
fn size(text: &str, least: u64) -> Result<Bytes, String> {
    let size = said(parse_size(text))?;
    if (least..=1_000_000_000).contains(&size.0) {
        Ok(size)
    } else {
        Err(format!("allowed: {least} B to 1 GB"))
    }
}

fn carrier(name: &str) -> Result<String, String> {
    // The kernel's names of congestion controls have 15 characters at most.
    if (1..=15).contains(&name.len()) {
        Ok(name.to_owned())
    } else {
        Err("allowed: d3, and names of up to 15 characters".to_owned())
    }
}

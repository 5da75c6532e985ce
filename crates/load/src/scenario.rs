//! Converts a load to a scenario, for the run folder and for the simulator.

use duetime_core::{Rate, Span};
use std::fmt::Write;

/// Partition-aggregate load.
#[derive(Clone, Debug)]
pub struct Load {
    /// Names of the carriers to compare: `d3`, `due`, or the kernel's name of a congestion control.
    pub carriers: Vec<String>,
    /// Number of leaves per query.
    pub fan_in: u32,
    /// Length of a query, in bytes.
    pub query_bytes: u64,
    /// Length of an answer, in bytes.
    pub answer_bytes: u64,
    /// Time from a query's submission to the arrival of each answer's last byte; `None` for no deadline.
    pub deadline: Option<Span>,
    /// Mean time between queries (Poisson).
    pub every: Span,
    /// Time during which queries are submitted.
    pub duration: Span,
    /// Number of runs per carrier.
    pub seeds: u64,
    /// Rate of the interfaces.
    pub rate: Rate,
}

/// Transports of scenarios that have the name of their congestion control.
const KNOWN: [&str; 5] = ["cubic", "dctcp", "d2tcp", "d3", "due"];

/// Returns the scenario file.
pub fn scenario(load: &Load) -> String {
    let mut text = String::from(
        "# Made by `duetime load query`. The link's latency is assumed.\nname = \"load\"\n",
    );
    let names: Vec<String> = load
        .carriers
        .iter()
        .map(|name| format!("{name:?}"))
        .collect();
    let deadline = load.deadline.map_or_else(
        || "none".to_owned(),
        |span| format!("{} us", span.as_ns().div_ceil(1_000)),
    );
    let written = write!(
        text,
        "transport = [{}]\n\
         seeds = {}\n\
         duration = \"{} us\"\n\n\
         [topology]\n\
         kind = \"star\"\n\
         hosts = {}\n\
         link = {{ rate = \"{} Mbps\", latency = \"10 us\" }}\n\n\
         [[workload]]\n\
         kind = \"oldi\"\n\
         name = \"answers\"\n\
         fan_in = {}\n\
         query = \"{} B\"\n\
         response = \"{} B\"\n\
         deadline = \"{deadline}\"\n\
         deadline_from = \"query\"\n\
         every = \"exponential {} us\"\n",
        names.join(", "),
        load.seeds,
        load.duration.as_ns() / 1_000,
        load.fan_in + 1,
        load.rate.as_bps() / 1_000_000,
        load.fan_in,
        load.query_bytes,
        load.answer_bytes,
        load.every.as_ns().div_ceil(1_000),
    );
    debug_assert!(written.is_ok(), "writing to a string succeeds");
    for name in &load.carriers {
        if !KNOWN.contains(&name.as_str()) {
            let base = match name.as_str() {
                "duetime_d2tcp" => "d2tcp",
                "duetime_dctcp" => "dctcp",
                _ => "tcp",
            };
            let written = write!(text, "\n[[variant]]\nname = {name:?}\nbase = {base:?}\n");
            debug_assert!(written.is_ok(), "writing to a string succeeds");
        }
    }
    text
}

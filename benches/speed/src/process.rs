//! The simulator and the floor as measured processes, and the cost that they report.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts that a child printed; casts from floats saturate"
)]

use duetime_measure::Program;
pub(crate) use duetime_sim::Rounds;
use std::time::Duration;

/// Cost that a measured process reports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) packet_hops: u64,
    /// Share of the packet-hops processed by the busiest thread; 1 for the floor, which has one thread.
    pub(crate) busiest_share: f64,
    pub(crate) ns_per_hop: f64,
    pub(crate) resident_mb: f64,
    pub(crate) finished_us: f64,
    /// Number of flows, followed by the number of unfinished flows; both are 0 for the floor, which keeps no records.
    pub(crate) flows: u64,
    pub(crate) unfinished: u64,
    pub(crate) digest: u128,
    /// Rounds of a run on several threads, if the simulator was to measure them.
    pub(crate) rounds: Option<Rounds>,
}

/// Returns the simulator on a scenario with a transport.
pub(crate) fn simulator(scenario: &str, transport: &str, more: &[&str]) -> Result<Program, String> {
    Program::own(&[&["child", scenario, transport], more].concat())
}

/// Returns the floor, which is built into the same folder as this program, on a workload with its options.
pub(crate) fn floor(arguments: &[&str]) -> Result<Program, String> {
    Program::sibling("duetime-floor", arguments)
}

/// Runs two programs in turn, and returns the costs of each pair.
pub(crate) fn alternate(
    first: &Program,
    second: &Program,
    pairs: usize,
) -> Result<Vec<(Cost, Cost)>, String> {
    (0..pairs)
        .map(|number| pair(first, second, number))
        .collect()
}

/// Runs two programs in turn, and returns the costs of the pair with this number.
pub(crate) fn pair(
    first: &Program,
    second: &Program,
    number: usize,
) -> Result<(Cost, Cost), String> {
    // Alternate the order, so that a machine that warms up or slows down favours neither.
    if number.is_multiple_of(2) {
        let cost = Cost::measure(first)?;
        Ok((cost, Cost::measure(second)?))
    } else {
        let other = Cost::measure(second)?;
        Ok((Cost::measure(first)?, other))
    }
}

impl Cost {
    /// Returns the time of the run.
    pub(crate) fn seconds(&self) -> f64 {
        self.ns_per_hop * self.packet_hops as f64 / 1e9
    }

    /// Runs a program twice at the same time.
    pub(crate) fn measure_at_once(program: &Program) -> Result<[Self; 2], String> {
        std::thread::scope(|scope| {
            let other = scope.spawn(|| Self::measure(program));
            let one = Self::measure(program)?;
            let other = other.join().map_err(|_| "a measurement panicked")??;
            Ok([one, other])
        })
    }

    /// Runs a program and parses the line that it prints.
    pub(crate) fn measure(program: &Program) -> Result<Self, String> {
        let output = program.output()?;
        let number = |key: &str| field(&output, key).and_then(|text| text.parse::<f64>().ok());
        let needed = |key: &str| number(key).ok_or_else(|| format!("no {key} in: {output}"));
        Ok(Self {
            packet_hops: needed("packet_hops")? as u64,
            busiest_share: number("busiest_share").unwrap_or(1.0),
            ns_per_hop: needed("ns_per_packet_hop")?,
            resident_mb: needed("resident_kib")? * 1024.0 / 1e6,
            finished_us: needed("finished_us")?,
            flows: number("flows").unwrap_or(0.0) as u64,
            unfinished: number("unfinished").unwrap_or(0.0) as u64,
            rounds: number("rounds").map(|count| Rounds {
                count: count as u64,
                longest_hops: number("longest_hops").unwrap_or(0.0) as u64,
                crossings: number("crossings").unwrap_or(0.0) as u64,
                work: Duration::from_secs_f64(number("work_s").unwrap_or(0.0).max(0.0)),
            }),
            digest: field(&output, "digest")
                .and_then(|text| u128::from_str_radix(text, 16).ok())
                .unwrap_or(0),
        })
    }
}

/// Returns the value of `key=value` in a line of such pairs.
fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_whitespace()
        .find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_matches_the_whole_key() {
        assert_eq!(
            field("ns_per_packet_hop=1.5 packet_hops=3", "packet_hops"),
            Some("3")
        );
        assert_eq!(field("ns=1", "n"), None);
    }
}

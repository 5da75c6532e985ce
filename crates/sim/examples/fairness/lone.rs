//! Throughput of a flow that has a bottleneck to itself, over buffers, host rates and initial windows.

use super::{Result, each};
use duetime_scenario::NoFiles;
use duetime_sim::Options;

/// Share of the line that a flow must have from the second second on.
const LEAST: f64 = 0.98;
/// Bandwidth-delay product of the path, in packets of 1500 B: 1 Gbps, 440 us of latency, and the transmissions of a
/// packet by a slow host, by the bottleneck and to the receiver.
const PRODUCT: u32 = 40;
/// Buffers of the bottleneck, in packets.
const BUFFERS: [u32; 8] = [30, PRODUCT, 50, 2 * PRODUCT, 100, 4 * PRODUCT, 200, 400];
/// Initial windows, in segments, of the transports that have one.
const WINDOWS: [u32; 3] = [2, 10, 40];

/// A row of the table.
#[derive(Clone, Copy, Debug)]
struct Row {
    transport: &'static str,
    /// None for the transports without a window.
    profile: Option<&'static str>,
    host_gbps: u32,
}

impl Row {
    fn all() -> Vec<Self> {
        let mut rows = Vec::new();
        for (transport, profiles) in [
            ("tcp", &[Some("paper"), Some("linux")][..]),
            ("cubic", &[Some("paper"), Some("linux")]),
            ("dctcp", &[Some("paper"), Some("linux")]),
            ("d2tcp", &[Some("paper"), Some("linux")]),
            ("d3", &[None]),
            ("rcpdc", &[None]),
        ] {
            for &profile in profiles {
                rows.extend([1, 10].map(|host_gbps| Self {
                    transport,
                    profile,
                    host_gbps,
                }));
            }
        }
        rows
    }

    fn name(&self) -> String {
        let profile = self
            .profile
            .map_or_else(String::new, |profile| format!(", {profile}"));
        format!("{}{profile}, host {} Gbps", self.transport, self.host_gbps)
    }

    /// Returns the bytes that the flow delivers within a time.
    fn delivered(&self, buffer: u32, window: u32, seconds: u32, seed: u64) -> Result<u64> {
        let Self {
            transport,
            host_gbps,
            ..
        } = self;
        let tcp = self.profile.map_or_else(String::new, |profile| {
            format!("\n[tcp]\nprofile = \"{profile}\"\ninitial_window = {window}\n")
        });
        let text = format!(
            "name = \"lone-flow\"\ntransport = \"{transport}\"\nduration = \"{seconds} s\"\ndrain = \"0 us\"\n\
             [topology]\nkind = \"dumbbell\"\nleft = 2\nright = 2\n\
             link = {{ rate = \"{host_gbps} Gbps\", latency = \"10 us\" }}\n\
             bottleneck = {{ rate = \"1 Gbps\", latency = \"200 us\" }}\n\
             [switch]\nbuffer = \"{buffer} packets\"\n\
             [[workload]]\nkind = \"long\"\npairs = [[0, 2]]\njitter = \"1 ms\"\n{tcp}"
        );
        let scenario = duetime_scenario::load(&text, "lone-flow", &[], &NoFiles)
            .map_err(|error| format!("{error}\n{text}"))?;
        let output = duetime_sim::run(&scenario, 0, seed, &Options::default())?;
        Ok(output
            .records
            .flows
            .iter()
            .map(|flow| flow.delivered_bytes)
            .sum())
    }

    /// Returns the share of the line from the second second to the fourth, the least of all initial windows and seeds.
    fn share(&self, buffer: u32, seeds: u64) -> Result<f64> {
        let windows = match self.profile {
            Some(_) => &WINDOWS[..],
            None => &WINDOWS[..1],
        };
        let mut least = f64::INFINITY;
        for &window in windows {
            for seed in 0..seeds {
                let bytes = self.delivered(buffer, window, 4, seed)?
                    - self.delivered(buffer, window, 1, seed)?;
                // Of a packet of 1500 B, 1460 are delivered.
                least = least.min(bytes as f64 * 8.0 / 3e9 * 1500.0 / 1460.0);
            }
        }
        Ok(least)
    }
}

/// Prints one line per transport, profile and host rate with the share of the line at each buffer; returns true if all
/// with a buffer of more than the bandwidth-delay product reach the gate.
pub fn table(named: impl Fn(&str) -> bool, seeds: u64) -> Result<bool> {
    let rows: Vec<Row> = Row::all()
        .into_iter()
        .filter(|row| named(&row.name()))
        .collect();
    let buffers = BUFFERS.map(|buffer| format!("{buffer} packets"));
    println!(
        "| {:<44} | {} |",
        format!("share of the line, bandwidth-delay product {PRODUCT} packets"),
        buffers.join(" | ")
    );
    println!("|---|{}", "---|".repeat(BUFFERS.len()));
    let grid: Vec<(Row, u32)> = rows
        .iter()
        .flat_map(|row| BUFFERS.map(|buffer| (*row, buffer)))
        .collect();
    let cells = each(&grid, |(row, buffer)| {
        row.share(*buffer, seeds).map_err(|error| error.to_string())
    })
    .into_iter()
    .collect::<std::result::Result<Vec<_>, _>>()?;
    let mut met = true;
    for (row, shares) in rows.iter().zip(cells.chunks(BUFFERS.len())) {
        let texts: Vec<String> = shares.iter().map(|share| format!("{share:.3}")).collect();
        println!("| {:<44} | {} |", row.name(), texts.join(" | "));
        met &= BUFFERS
            .iter()
            .zip(shares)
            .all(|(&buffer, &share)| buffer <= PRODUCT || share >= LEAST);
    }
    println!();
    Ok(met)
}

//! Shares of two long flows into one port with different round trips: the near flow's throughput over the far flow's.
//!
//! Without other traffic the flows stay in phase with the packets of the port (Floyd and Jacobson, *On Traffic Phase
//! Effects*, 1992), so that the shares depend on the paths' latency modulo the time of a packet. Therefore each row has
//! several phases: latencies that differ by a part of a packet's time.

use super::{Result, each};
use duetime_scenario::NoFiles;
use duetime_sim::{Options, RunOutput};

/// Least share of the near flow, relative to the far one.
const LEAST: f64 = 0.95;
const RATIOS: [f64; 8] = [1.001, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0];
const RATES_GBPS: [u32; 3] = [1, 10, 100];
/// Phases of a row.
const PHASES: u32 = 6;
/// Time of a packet of 1,500 B at 1 Gbps.
const PACKET_US: f64 = 12.0;
const TRANSPORTS: [&str; 4] = ["tcp", "cubic", "dctcp", "d3"];

/// A network with a near and a far sender.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// Both senders at the receiver's switch, on links of different latency, with this ratio of base round trips.
    Star(f64),
    /// One sender in the receiver's rack and one in another.
    LeafSpine,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
struct Row {
    gbps: u32,
    shape: Shape,
}

/// Throughput of the near flow divided by that of the far flow: over all phases, and in single ones.
#[derive(Clone, Copy, Debug)]
struct Share {
    mean: f64,
    least: f64,
    most: f64,
}

impl Row {
    fn all() -> Vec<Self> {
        let shapes = || {
            RATIOS
                .into_iter()
                .map(Shape::Star)
                .chain([Shape::LeafSpine])
        };
        RATES_GBPS
            .into_iter()
            .flat_map(|gbps| shapes().map(move |shape| Self { gbps, shape }))
            .collect()
    }

    fn name(&self) -> String {
        match self.shape {
            Shape::Star(ratio) => format!("{} Gbps, round trips 1 : {ratio}", self.gbps),
            Shape::LeafSpine => format!("{} Gbps, leaf-spine", self.gbps),
        }
    }

    /// Returns the scenario in phase `phase` of [`PHASES`].
    fn text(&self, transport: &str, phase: u32) -> String {
        let Self { gbps, shape } = *self;
        // A round trip uses the receiver's link twice.
        let latency_us =
            20.0 + PACKET_US / f64::from(gbps) * f64::from(phase) / f64::from(PHASES) / 2.0;
        // As many packets for each rate: about 250,000 at least.
        let duration_ms = (3_000 / gbps).max(60);
        let fast_gbps = gbps * 10;
        let (topology, pairs) = match shape {
            Shape::Star(ratio) => (
                format!(
                    "kind = \"graph\"\nhosts = [\"receiver\", \"near\", \"far\"]\nswitches = [\"switch\"]\nlinks = [\n\
                     {{ between = [\"receiver\", \"switch\"], rate = \"{gbps} Gbps\", latency = \"{latency_us:.6} us\" }},\n\
                     {{ between = [\"near\", \"switch\"], rate = \"{fast_gbps} Gbps\", latency = \"80 us\" }},\n\
                     {{ between = [\"far\", \"switch\"], rate = \"{fast_gbps} Gbps\", latency = \"{:.3} us\" }},\n]",
                    100.0 * ratio - 20.0
                ),
                "[[1, 0], [2, 0]]",
            ),
            Shape::LeafSpine => (
                format!(
                    "kind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 10\nspines = 1\n\
                     host_link = {{ rate = \"{gbps} Gbps\", latency = \"{latency_us:.6} us\" }}\n\
                     uplink = {{ rate = \"{} Gbps\", latency = \"20 us\" }}",
                    if gbps == 1 { 10 } else { gbps * 4 }
                ),
                "[[1, 0], [10, 0]]",
            ),
        };
        format!(
            "name = \"round-trips\"\ntransport = \"{transport}\"\nduration = \"{duration_ms} ms\"\ndrain = \"0 us\"\n\
             [topology]\n{topology}\n[switch]\nbuffer = \"100 packets\"\n[tcp]\nprofile = \"paper\"\nrecovery = \"sack\"\n\
             [[workload]]\nkind = \"long\"\npairs = {pairs}\njitter = \"1 ms\"\n"
        )
    }

    /// Returns the bytes of the near and the far flow in one phase, over all seeds.
    fn delivered(&self, transport: &str, phase: u32, seeds: u64) -> Result<[u64; 2]> {
        let text = self.text(transport, phase);
        let scenario = duetime_scenario::load(&text, "round-trips", &[], &NoFiles)
            .map_err(|error| format!("{error}\n{text}"))?;
        let (mut near, mut far) = (0, 0);
        for seed in 0..seeds {
            let RunOutput { records, .. } =
                duetime_sim::run(&scenario, 0, seed, &Options::default())?;
            for flow in &records.flows {
                if flow.source == 1 {
                    near += flow.delivered_bytes;
                } else {
                    far += flow.delivered_bytes;
                }
            }
        }
        Ok([near, far])
    }

    /// Returns the throughput of the near flow divided by that of the far flow.
    fn share(&self, transport: &str, seeds: u64) -> Result<Share> {
        let phases: Vec<[u64; 2]> = (0..PHASES)
            .map(|phase| self.delivered(transport, phase, seeds))
            .collect::<Result<_>>()?;
        let ratio = |[near, far]: [u64; 2]| near as f64 / far.max(1) as f64;
        let of_phases = || phases.iter().copied().map(ratio);
        Ok(Share {
            mean: ratio(
                phases
                    .iter()
                    .fold([0, 0], |sum, phase| [sum[0] + phase[0], sum[1] + phase[1]]),
            ),
            least: of_phases().fold(f64::INFINITY, f64::min),
            most: of_phases().fold(0.0, f64::max),
        })
    }

    fn meets(&self, transport: &str, share: f64) -> bool {
        match (transport, self.shape) {
            ("dctcp", Shape::Star(ratio)) => {
                let least = if ratio < 1.1 { LEAST } else { ratio.sqrt() };
                share >= least && share <= ratio.powf(1.5).max(1.0 / LEAST)
            }
            // Explicit rates are equal, whatever the round trips are.
            ("d3", _) => (LEAST..=1.0 / LEAST).contains(&share),
            _ => share >= LEAST,
        }
    }
}

/// Prints one line per rate and network with the share under each transport over all phases, in parentheses the least
/// and the most of a single phase, and "!" where the share over all phases misses its bound: the near
/// flow must get at least 0.95 of the far one's throughput, under DCTCP between ratio^0.5 and ratio^1.5 times as much, and
/// under D3 as much as the far one.
pub fn table(named: impl Fn(&str) -> bool, seeds: u64) -> Result<()> {
    let rows: Vec<Row> = Row::all()
        .into_iter()
        .filter(|row| named(&row.name()))
        .collect();
    println!(
        "| near / far, {PHASES} phases of {seeds} seeds | {} |",
        TRANSPORTS.join(" | ")
    );
    println!("|---|{}", "---|".repeat(TRANSPORTS.len()));
    let grid: Vec<(Row, &str)> = rows
        .iter()
        .flat_map(|row| TRANSPORTS.map(|transport| (*row, transport)))
        .collect();
    let shares = each(&grid, |(row, transport)| {
        row.share(transport, seeds)
            .map_err(|error| error.to_string())
    })
    .into_iter()
    .collect::<std::result::Result<Vec<_>, _>>()?;
    for (row, shares) in rows.iter().zip(shares.chunks(TRANSPORTS.len())) {
        let cells = TRANSPORTS.iter().zip(shares).map(|(transport, &share)| {
            let Share { mean, least, most } = share;
            let mark = if row.meets(transport, mean) { "" } else { " !" };
            format!("{mean:.2}{mark} ({least:.2}–{most:.2})")
        });
        let cells: Vec<String> = cells.collect();
        println!("| {} | {} |", row.name(), cells.join(" | "));
    }
    println!();
    Ok(())
}

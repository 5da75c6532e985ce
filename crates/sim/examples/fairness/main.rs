//! Fairness of long flows: Jain's index of N equal flows into one port of a star, the worst of the seeds, by the size of
//! the random delay of packets at their hosts (`host.send_jitter`); the shares of flows with different round trips; and
//! the share of a bottleneck that a lone flow gets.
//!
//! `cargo run --release -p duetime-sim --example fairness [-- --send-jitter "2 ns"]... [--seeds 4]
//! [--only gate|queue|others|round-trips|lone] [--case TEXT]...`

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "its numbers are small"
)]
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a program that measures, with arguments and threads"
)]
#![allow(clippy::print_stdout, reason = "an example talks to its user")]

mod lone;
mod round_trips;

use duetime_results::stats::{jain, mean};
use duetime_scenario::NoFiles;
use duetime_sim::{Options, RunOutput};
use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The default of `host.send_jitter`.
const DEFAULT: &str = "1 ns";
/// Least index that equal flows must reach.
const LEAST: f64 = 0.98;
const LATENCIES_US: [u32; 3] = [5, 20, 100];
/// Default sizes of the delay to compare.
const SIZES: [&str; 7] = ["0 ps", "100 ps", "500 ps", "1 ns", "2 ns", "5 ns", "10 ns"];

/// N equal flows into host 0.
#[derive(Clone, Copy, Debug)]
struct Case {
    transport: &'static str,
    flows: u32,
    latency_us: u32,
    duration: &'static str,
    switch: &'static str,
    /// Difference between the paths of successive hosts, as a share of the round trip.
    unequal: f64,
}

impl Case {
    /// Rows of the gate: DCTCP and D2TCP into the default switch, TCP into 100 packets.
    fn gate() -> Vec<Self> {
        let mut cases = Vec::new();
        for (transport, counts, duration, switch) in [
            ("dctcp", &[2, 4, 10, 40][..], "2 s", ""),
            ("d2tcp", &[2, 4, 10, 40], "2 s", ""),
            ("tcp", &[2, 4, 10], "5 s", PACKETS),
        ] {
            for &flows in counts {
                cases.extend(LATENCIES_US.map(|latency_us| Self {
                    transport,
                    flows,
                    latency_us,
                    duration,
                    switch,
                    unequal: 0.0,
                }));
            }
        }
        cases
    }

    /// Rows that are printed without a gate.
    fn others() -> Vec<Self> {
        let tcp = |flows, switch, latency_us, unequal| Self {
            transport: "tcp",
            flows,
            latency_us,
            duration: "5 s",
            switch,
            unequal,
        };
        let mut cases = Vec::new();
        for latency_us in LATENCIES_US {
            cases.push(tcp(40, PACKETS, latency_us, 0.0));
        }
        for flows in [2, 10, 40] {
            cases.push(tcp(flows, "", 20, 0.0));
        }
        for unequal in [0.001, 0.003, 0.01] {
            for flows in [2, 4] {
                cases.push(tcp(flows, PACKETS, 20, unequal));
                cases.push(Self {
                    transport: "dctcp",
                    duration: "2 s",
                    ..tcp(flows, "", 20, unequal)
                });
            }
        }
        cases
    }

    fn text(&self) -> String {
        let Self {
            transport,
            flows,
            latency_us,
            duration,
            switch,
            unequal,
        } = *self;
        let pairs: Vec<String> = (1..=flows).map(|host| format!("[{host}, 0]")).collect();
        let mut text = format!(
            "name = \"fairness\"\ntransport = \"{transport}\"\nduration = \"{duration}\"\n\
             drain = \"0 us\"\n\n[switch]\n{switch}\n\n[[workload]]\nkind = \"long\"\npairs = [{}]\n\
             jitter = \"1 ms\"\n\n[topology]\n",
            pairs.join(", ")
        );
        if unequal == 0.0 {
            let _ = write!(
                text,
                "kind = \"star\"\nhosts = {}\nlink = {{ rate = \"1 Gbps\", latency = \"{latency_us} us\" }}",
                flows + 1
            );
            return text;
        }
        // The base round trip: four latencies and the packet's transmissions.
        let round_trip_us = f64::from(latency_us) * 4.0 + 24.0;
        text.push_str("kind = \"graph\"\nswitches = [\"switch\"]\n");
        let hosts: Vec<String> = (0..=flows).map(|host| format!("\"host{host}\"")).collect();
        let _ = writeln!(text, "hosts = [{}]", hosts.join(", "));
        let links: Vec<String> = (0..=flows)
            .map(|host| {
                let more_us = round_trip_us * unequal * f64::from(host) / 2.0;
                format!(
                    "  {{ between = [\"host{host}\", \"switch\"], rate = \"1 Gbps\", latency = \"{:.6} us\" }}",
                    f64::from(latency_us) + more_us
                )
            })
            .collect();
        let _ = writeln!(text, "links = [\n{},\n]", links.join(",\n"));
        text
    }

    fn name(&self) -> String {
        let Self {
            transport,
            flows,
            latency_us,
            switch,
            unequal,
            ..
        } = self;
        let buffer = if switch.is_empty() {
            "4 MB"
        } else {
            "100 packets"
        };
        let paths = if *unequal == 0.0 {
            String::new()
        } else {
            format!(", paths {:.1} % apart", unequal * 100.0)
        };
        format!("{transport}, N = {flows}, {latency_us} us, {buffer}{paths}")
    }

    fn run(&self, send_jitter: &str, extra: &str, seed: u64) -> Result<RunOutput> {
        let text = format!(
            "{}\n[host]\nsend_jitter = \"{send_jitter}\"\n{extra}",
            self.text()
        );
        let scenario = duetime_scenario::load(&text, "fairness", &[], &NoFiles)
            .map_err(|error| format!("{error}\n{text}"))?;
        Ok(duetime_sim::run(&scenario, 0, seed, &Options::default())?)
    }
}

const PACKETS: &str = "buffer = \"100 packets\"";

/// Returns Jain's index of the delivered bytes.
fn fairness(output: &RunOutput) -> f64 {
    let flows = output.records.flows.iter();
    let delivered: Vec<f64> = flows.map(|flow| flow.delivered_bytes as f64).collect();
    jain(&delivered).unwrap_or(0.0)
}

/// Result of a case at one size of the delay: the index of each seed, and the least utilisation of the port.
#[derive(Clone, Debug)]
struct Cell {
    indices: Vec<f64>,
    utilisation: f64,
}

impl Cell {
    fn measure(case: &Case, size: &str, seeds: u64) -> Result<Self> {
        let outputs = (0..seeds)
            .map(|seed| case.run(size, "", seed))
            .collect::<Result<Vec<_>>>()?;
        let sink = |output: &RunOutput| {
            let mut ports = output.records.ports.iter();
            ports
                .find(|port| port.link == "switch->host0")
                .map_or(0.0, |port| port.utilisation)
        };
        Ok(Self {
            indices: outputs.iter().map(fairness).collect(),
            utilisation: outputs.iter().map(sink).fold(1.0, f64::min),
        })
    }

    fn worst(&self) -> f64 {
        self.indices.iter().copied().fold(1.0, f64::min)
    }
}

/// Runs `work` for each item on all processors. Returns the results in order.
fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let mut done: Vec<(usize, R)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut done = Vec::new();
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(item) = items.get(index) else {
                            return done;
                        };
                        done.push((index, work(item)));
                    }
                })
            })
            .collect();
        handles
            .into_iter()
            .flat_map(|handle| handle.join().expect("no panic"))
            .collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Prints one line per case with the worst index of the seeds at each size. Returns the number of runs below the gate,
/// by size.
fn table(cases: &[Case], sizes: &[String], seeds: u64) -> Result<Vec<usize>> {
    println!(
        "| {:<44} | {} |",
        format!("Jain's index, worst of {seeds} seeds"),
        sizes.join(" | ")
    );
    println!("|---|{}", "---|".repeat(sizes.len()));
    let grid: Vec<(Case, &String)> = cases
        .iter()
        .flat_map(|case| sizes.iter().map(move |size| (*case, size)))
        .collect();
    let cells = each(&grid, |(case, size)| {
        Cell::measure(case, size, seeds).map_err(|error| error.to_string())
    })
    .into_iter()
    .collect::<std::result::Result<Vec<_>, _>>()?;
    let mut below = vec![0; sizes.len()];
    for (case, row) in cases.iter().zip(cells.chunks(sizes.len())) {
        let cells: Vec<String> = row
            .iter()
            .map(|cell| format!("{:.3}", cell.worst()))
            .collect();
        println!("| {:<44} | {} |", case.name(), cells.join(" | "));
        for (below, cell) in below.iter_mut().zip(row) {
            *below += cell.indices.iter().filter(|index| **index < LEAST).count();
        }
    }
    let runs = cases.len() * seeds as usize;
    let counts: Vec<String> = below
        .iter()
        .map(|count| format!("{} of {runs}", runs - count))
        .collect();
    println!(
        "| {:<44} | {} |",
        "runs of 0.98 or more",
        counts.join(" | ")
    );
    let busy: Vec<String> = (0..sizes.len())
        .map(|size| {
            let column = cells.iter().skip(size).step_by(sizes.len());
            let all: Vec<f64> = column.map(|cell| cell.utilisation).collect();
            format!("{:.3} %", mean(&all).unwrap_or(0.0) * 100.0)
        })
        .collect();
    println!("| {:<44} | {} |\n", "utilisation, mean", busy.join(" | "));
    Ok(below)
}

/// Prints the queue and the marked share of N flows at K = 30 packets, by size.
fn queues(sizes: &[String], seeds: u64) -> Result<()> {
    println!("| DCTCP, K = 30 packets, 20 us a link | size | queue, packets | marked |");
    println!("|---|---|---|---|");
    let cases: Vec<(u32, &String)> = [3, 6, 12]
        .into_iter()
        .flat_map(|flows| sizes.iter().map(move |size| (flows, size)))
        .collect();
    let rows = each(&cases, |&(flows, size)| {
        queue(flows, size, seeds).map_err(|error| error.to_string())
    });
    for ((flows, size), row) in cases.iter().zip(rows) {
        let (queue, marked) = row?;
        println!(
            "| N = {flows} | {size} | {queue:.2} | {:.2} % |",
            marked * 100.0
        );
    }
    println!();
    Ok(())
}

/// Returns the mean queue in packets and the share of marked packets, over all seeds.
fn queue(flows: u32, size: &str, seeds: u64) -> Result<(f64, f64)> {
    let case = Case {
        transport: "dctcp",
        flows,
        latency_us: 20,
        duration: "2 s",
        switch: "ecn_threshold = \"30 packets\"",
        unequal: 0.0,
    };
    let mut found = Vec::new();
    for seed in 0..seeds {
        let output = case.run(size, "", seed)?;
        let mut ports = output.records.ports.iter();
        let port = ports
            .find(|port| port.link == "switch->host0")
            .ok_or("no port")?;
        found.push((
            port.queue_mean_bytes / 1500.0,
            port.marks as f64 / port.packets as f64,
        ));
    }
    let runs = seeds as f64;
    Ok((
        found.iter().map(|(queue, _)| queue).sum::<f64>() / runs,
        found.iter().map(|(_, marked)| marked).sum::<f64>() / runs,
    ))
}

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let values = |name: &str| -> Vec<String> {
        let pairs = arguments.chunks(2).filter(|pair| pair[0] == name);
        pairs.filter_map(|pair| pair.get(1).cloned()).collect()
    };
    let mut sizes = values("--send-jitter");
    if sizes.is_empty() {
        sizes = SIZES.map(str::to_owned).to_vec();
    }
    let seeds = match values("--seeds").first() {
        Some(seeds) => seeds.parse()?,
        None => 4,
    };
    let cases = values("--case");
    let chosen = |all: Vec<Case>| -> Vec<Case> {
        let named = |case: &Case| cases.iter().any(|part| case.name().contains(part.as_str()));
        all.into_iter()
            .filter(|case| cases.is_empty() || named(case))
            .collect()
    };
    let only = values("--only");
    let wants = |part: &str| only.is_empty() || only.iter().any(|only| only == part);
    let started = Instant::now();
    let mut met = true;
    if wants("gate") {
        let below = table(&chosen(Case::gate()), &sizes, seeds)?;
        let gated = |size: &String| !values("--send-jitter").is_empty() || size == DEFAULT;
        met = sizes
            .iter()
            .zip(below)
            .all(|(size, below)| !gated(size) || below == 0);
    }
    if wants("queue") {
        queues(&sizes, seeds)?;
    }
    if wants("others") {
        table(&chosen(Case::others()), &sizes, seeds)?;
    }
    let named =
        |name: &str| cases.is_empty() || cases.iter().any(|part| name.contains(part.as_str()));
    if wants("round-trips") {
        round_trips::table(named, seeds)?;
    }
    if wants("lone") {
        met &= lone::table(named, seeds)?;
    }
    println!("{:.0} s", started.elapsed().as_secs_f64());
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

//! Shares of two long flows whose round trips differ, into one port: the near flow's throughput over the far one's. The
//! near flow must get at least 0.95 of the far one's, and under DCTCP between ratio^0.5 and ratio^1.5 times as much.
//!
//! `cargo run --release -p duetime-sim --example round_trips [-- --jitter "exponential 2 us"]... [--gbps 1]... [--ratio 1.5]...
//! [--transport dctcp]... [--seeds 4] [--shape star|leaf-spine]...`

#![expect(
    clippy::disallowed_methods,
    reason = "a program that measures, with arguments and threads"
)]
#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use duetime_scenario::NoFiles;
use duetime_sim::{Options, RunOutput};
use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Least share of the near flow, relative to the far one.
const LEAST: f64 = 0.95;
const RATIOS: [f64; 8] = [1.001, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0];
const RATES_GBPS: [u32; 3] = [1, 10, 100];
const TRANSPORTS: [&str; 4] = ["tcp", "cubic", "dctcp", "d3"];

/// A network with a near and a far sender.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// Both senders at the receiver's switch, by links of different latency; the ratio of the base round trips.
    Star(f64),
    /// One sender in the receiver's rack and one in another.
    LeafSpine,
}

#[derive(Clone, Debug)]
struct Case {
    transport: String,
    gbps: u32,
    shape: Shape,
    /// Lines of `[host]`.
    host: String,
}

impl Case {
    fn text(&self) -> String {
        let Self {
            transport,
            gbps,
            shape,
            host,
        } = self;
        // As many packets for each rate: about 250,000 at least.
        let duration_ms = (3_000 / gbps).max(60);
        let fast = gbps * 10;
        let (topology, pairs) = match shape {
            Shape::Star(ratio) => (
                format!(
                    "kind = \"graph\"\nhosts = [\"receiver\", \"near\", \"far\"]\nswitches = [\"switch\"]\nlinks = [\n\
                     {{ between = [\"receiver\", \"switch\"], rate = \"{gbps} Gbps\", latency = \"20 us\" }},\n\
                     {{ between = [\"near\", \"switch\"], rate = \"{fast} Gbps\", latency = \"80 us\" }},\n\
                     {{ between = [\"far\", \"switch\"], rate = \"{fast} Gbps\", latency = \"{:.3} us\" }},\n]",
                    100.0 * ratio - 20.0
                ),
                "[[1, 0], [2, 0]]",
            ),
            Shape::LeafSpine => (
                format!(
                    "kind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 10\nspines = 1\n\
                     host_link = {{ rate = \"{gbps} Gbps\", latency = \"20 us\" }}\n\
                     uplink = {{ rate = \"{} Gbps\", latency = \"20 us\" }}",
                    if *gbps == 1 { 10 } else { gbps * 4 }
                ),
                "[[1, 0], [10, 0]]",
            ),
        };
        format!(
            "name = \"round-trips\"\ntransport = \"{transport}\"\nduration = \"{duration_ms} ms\"\ndrain = \"0 us\"\n\
             [topology]\n{topology}\n[switch]\nbuffer = \"100 packets\"\n[tcp]\nrecovery = \"sack\"\n\
             [[workload]]\nkind = \"long\"\npairs = {pairs}\njitter = \"1 ms\"\n[host]\n{host}\n"
        )
    }

    /// Bytes that the near and the far flow delivered.
    fn run(&self, seed: u64) -> Result<[u64; 2]> {
        let text = self.text();
        let scenario = duetime_scenario::load(&text, "round-trips", &[], &NoFiles)
            .map_err(|error| format!("{error}\n{text}"))?;
        let RunOutput { records, .. } = duetime_sim::run(&scenario, 0, seed, &Options::default())?;
        let near = records.flows.iter().filter(|flow| flow.source == 1);
        let near: u64 = near.map(|flow| flow.delivered_bytes).sum();
        let all: u64 = records.flows.iter().map(|flow| flow.delivered_bytes).sum();
        Ok([near, all - near])
    }

    /// Throughput of the near flow over that of the far one, over all seeds.
    fn share(&self, seeds: u64) -> Result<f64> {
        let mut sums = [0, 0];
        for seed in 0..seeds {
            let [near, far] = self.run(seed)?;
            sums = [sums[0] + near, sums[1] + far];
        }
        Ok(sums[0] as f64 / sums[1].max(1) as f64)
    }

    fn meets(&self, share: f64) -> bool {
        match self.shape {
            Shape::Star(ratio) if self.transport == "dctcp" => {
                share >= (if ratio < 1.1 { LEAST } else { ratio.sqrt() })
                    && share <= ratio.powf(1.5).max(1.05)
            }
            // Explicit rates are equal, whatever the round trips are.
            _ if self.transport == "d3" => (LEAST..=1.0 / LEAST).contains(&share),
            _ => share >= LEAST,
        }
    }
}

/// Computes `work` for each item on all processors; returns the results in order.
fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    let _ = sender.send((index, work(item)));
                }
            });
        }
    });
    drop(sender);
    let mut done: Vec<(usize, R)> = receiver.into_iter().collect();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let values = |name: &str| -> Vec<String> {
        let pairs = arguments.chunks(2).filter(|pair| pair[0] == name);
        pairs.filter_map(|pair| pair.get(1).cloned()).collect()
    };
    let or = |given: Vec<String>, usual: Vec<String>| if given.is_empty() { usual } else { given };
    let transports = or(
        values("--transport"),
        TRANSPORTS.map(str::to_owned).to_vec(),
    );
    let rates = or(
        values("--gbps"),
        RATES_GBPS.map(|rate| rate.to_string()).to_vec(),
    );
    let ratios = or(
        values("--ratio"),
        RATIOS.map(|ratio| ratio.to_string()).to_vec(),
    );
    let shapes = or(
        values("--shape"),
        vec!["star".to_owned(), "leaf-spine".to_owned()],
    );
    let hosts: Vec<String> = or(values("--host"), vec![String::new()]);
    let seeds = match values("--seeds").first() {
        Some(seeds) => seeds.parse()?,
        None => 4,
    };
    let mut met = true;
    for host in &hosts {
        println!(
            "| near / far, {seeds} seeds{}{host} | {} |",
            if host.is_empty() { "" } else { ", " },
            transports.join(" | ")
        );
        println!("|---|{}", "---|".repeat(transports.len()));
        let mut rows = Vec::new();
        for gbps in &rates {
            let gbps: u32 = gbps.parse()?;
            for shape in &shapes {
                if shape == "star" {
                    for ratio in &ratios {
                        let ratio: f64 = ratio.parse()?;
                        rows.push((
                            format!("{gbps} Gbps, round trips 1 : {ratio}"),
                            gbps,
                            Shape::Star(ratio),
                        ));
                    }
                } else {
                    rows.push((format!("{gbps} Gbps, leaf-spine"), gbps, Shape::LeafSpine));
                }
            }
        }
        let cases: Vec<Case> = rows
            .iter()
            .flat_map(|&(_, gbps, shape)| {
                transports.iter().map(move |transport| Case {
                    transport: transport.clone(),
                    gbps,
                    shape,
                    host: host.replace(';', "\n"),
                })
            })
            .collect();
        let shares = each(&cases, |case| {
            case.share(seeds).map_err(|error| error.to_string())
        })
        .into_iter()
        .collect::<std::result::Result<Vec<_>, _>>()?;
        let columns = transports.len();
        for ((row, cases), shares) in rows
            .iter()
            .zip(cases.chunks(columns))
            .zip(shares.chunks(columns))
        {
            let cells: Vec<String> = cases
                .iter()
                .zip(shares)
                .map(|(case, &share)| {
                    let holds = case.meets(share);
                    met &= holds;
                    format!("{share:.2}{}", if holds { "" } else { " !" })
                })
                .collect();
            println!("| {} | {} |", row.0, cells.join(" | "));
        }
        println!();
    }
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

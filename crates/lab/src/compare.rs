//! The simulator and the testbed side by side: what a workload did under a transport on each.

use duetime_core::Time;
use duetime_results::pool::min_samples;
use duetime_results::stats::{Estimate, nearest_rank};
use duetime_results::{FlowRecord, PortRecord, RunRecords};
use duetime_scenario::Scenario;
use serde::Serialize;

/// A run that was made.
#[derive(Clone, Debug)]
pub struct Run {
    /// Number of the transport in the scenario.
    pub transport: usize,
    /// Number of the run.
    pub run: u32,
    /// What it left.
    pub records: RunRecords,
}

/// A quantity of a workload under a transport: simulated, real, and how they relate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The transport's name.
    pub transport: String,
    /// The workload's name; of what ports count, the link's.
    pub of: String,
    /// What it is, with its unit.
    pub quantity: &'static str,
    /// Runs that both sides have.
    pub runs: usize,
    /// The simulator's, over all runs.
    pub simulator: Option<Estimate>,
    /// The testbed's.
    pub testbed: Option<Estimate>,
    /// The testbed's over the simulator's, resampled together.
    pub ratio: Option<Estimate>,
}

/// The ratio of a quantity under one transport to the same under the first, over runs with equal arrivals: simulated and
/// real.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The transport's name.
    pub transport: String,
    /// The first transport's.
    pub baseline: String,
    /// The workload's name.
    pub workload: String,
    /// What is related.
    pub quantity: &'static str,
    /// Runs that all four have.
    pub runs: usize,
    /// The simulator's ratio.
    pub simulator: Option<Estimate>,
    /// The testbed's.
    pub testbed: Option<Estimate>,
}

/// Something that is measured of a run.
type Quantity = (&'static str, fn(&[&FlowRecord]) -> Option<f64>);

/// What is compared of the flows of a workload, over all runs together.
const QUANTITIES: [Quantity; 12] = [
    ("flows", |flows| Some(flows.len() as f64)),
    ("fct p50 (ms)", |flows| percentile(flows, 500)),
    ("fct p99 (ms)", |flows| percentile(flows, 990)),
    ("fct mean (ms)", mean),
    ("throughput per flow (Mbps)", throughput),
    ("unfinished (%)", |flows| {
        share(flows, |flow| flow.is_finite() && flow.finish.is_none())
    }),
    ("missed (%)", missed),
    ("retransmits per flow", |flows| {
        per_flow(flows, |flow| flow.retransmits)
    }),
    ("timeouts per flow", |flows| {
        per_flow(flows, |flow| flow.timeouts)
    }),
    ("marks per flow", |flows| per_flow(flows, |flow| flow.marks)),
    ("requests per flow", |flows| {
        per_flow(flows, |flow| flow.requests)
    }),
    ("quenched (%)", |flows| share(flows, |flow| flow.quenched)),
];

/// What only D3 has: shown where it is not zero on both sides.
const OF_D3: [&str; 2] = ["requests per flow", "quenched (%)"];

/// What is related between transports.
const RELATED: [Quantity; 2] = [("fct mean", mean), ("missed", missed)];

/// Puts the runs of both sides beside each other. Only runs that both sides have are looked at.
pub fn compare(scenario: &Scenario, simulator: &[Run], testbed: &[Run]) -> (Vec<Line>, Vec<Gain>) {
    let mut lines = Vec::new();
    for (number, transport) in scenario.transports.iter().enumerate() {
        let pairs = pairs(number, simulator, testbed);
        let line = |of: &str, quantity, value: &dyn Fn(&[&RunRecords]) -> Option<f64>| {
            let side = |pick: Side| {
                let runs: Vec<&RunRecords> = pairs.iter().map(|pair| pair.of(pick)).collect();
                Estimate::of(&runs, |drawn| {
                    let drawn: Vec<&RunRecords> = drawn.iter().map(|of| **of).collect();
                    value(&drawn)
                })
            };
            let ratio = Estimate::of(&pairs, |drawn| {
                let side = |pick: Side| {
                    let drawn: Vec<&RunRecords> = drawn.iter().map(|pair| pair.of(pick)).collect();
                    value(&drawn)
                };
                let (simulator, testbed) = (side(Side::Simulator)?, side(Side::Testbed)?);
                (simulator != 0.0).then(|| testbed / simulator)
            });
            Line {
                transport: transport.name.clone(),
                of: of.to_owned(),
                quantity,
                runs: pairs.len(),
                simulator: side(Side::Simulator),
                testbed: side(Side::Testbed),
                ratio,
            }
        };
        for (index, workload) in scenario.workloads.iter().enumerate() {
            for (quantity, of_flows) in QUANTITIES {
                let value = |runs: &[&RunRecords]| of_flows(&measured(runs, index));
                lines.push(line(&workload.name, quantity, &value));
            }
            let mean = |runs: &[&RunRecords]| average(goodputs(runs, index));
            let slowest = |runs: &[&RunRecords]| goodputs(runs, index).min_by(f64::total_cmp);
            let name = &workload.name;
            lines.push(line(name, "goodput of long flows (Mbps)", &mean));
            lines.push(line(name, "slowest long flow (Mbps)", &slowest));
        }
        if let Some(link) = bottleneck(&pairs) {
            let of_port = |what: fn(&PortRecord) -> f64| {
                let link = link.clone();
                move |runs: &[&RunRecords]| {
                    let ports = runs.iter().filter_map(|run| {
                        let mut ports = run.ports.iter();
                        ports.find(|port| port.link == link).map(what)
                    });
                    average(ports)
                }
            };
            let marks = of_port(|port| port.marks as f64);
            let drops = of_port(|port| port.drops as f64);
            let mean = of_port(|port| port.queue_mean_bytes / 1e3);
            let busy = of_port(|port| port.utilisation * 100.0);
            lines.push(line(&link, "marks per run", &marks));
            lines.push(line(&link, "drops per run", &drops));
            lines.push(line(&link, "mean queue (KB)", &mean));
            lines.push(line(&link, "utilisation (%)", &busy));
            let median = |runs: &[&RunRecords]| queue(runs, &link, 500);
            lines.push(line(&link, "median queue (packets)", &median));
            let longest = |runs: &[&RunRecords]| queue(runs, &link, 990);
            lines.push(line(&link, "p99 queue (packets)", &longest));
        }
    }
    lines.retain(|line| {
        let mut sides = [&line.simulator, &line.testbed].into_iter().flatten();
        if OF_D3.contains(&line.quantity) {
            sides.any(|side| side.value != 0.0)
        } else {
            sides.next().is_some()
        }
    });
    (lines, gains(scenario, simulator, testbed))
}

/// The same run on both sides.
struct Pair<'a> {
    run: u32,
    simulated: &'a RunRecords,
    real: &'a RunRecords,
}

#[derive(Clone, Copy)]
enum Side {
    Simulator,
    Testbed,
}

impl<'a> Pair<'a> {
    fn of(&self, side: Side) -> &'a RunRecords {
        match side {
            Side::Simulator => self.simulated,
            Side::Testbed => self.real,
        }
    }
}

fn pairs<'a>(transport: usize, simulator: &'a [Run], testbed: &'a [Run]) -> Vec<Pair<'a>> {
    let of = |run: &&Run| run.transport == transport;
    let pair = |real: &'a Run| {
        let simulated = simulator.iter().filter(of).find(|of| of.run == real.run)?;
        Some(Pair {
            run: real.run,
            simulated: &simulated.records,
            real: &real.records,
        })
    };
    testbed.iter().filter(of).filter_map(pair).collect()
}

/// How each transport's quantities relate to the first's.
fn gains(scenario: &Scenario, simulator: &[Run], testbed: &[Run]) -> Vec<Gain> {
    let mut gains = Vec::new();
    let Some((baseline, others)) = scenario.transports.split_first() else {
        return gains;
    };
    let first = pairs(0, simulator, testbed);
    for (number, transport) in (1..).zip(others) {
        let ours = pairs(number, simulator, testbed);
        let both: Vec<(&Pair<'_>, &Pair<'_>)> = ours
            .iter()
            .filter_map(|pair| Some((pair, first.iter().find(|of| of.run == pair.run)?)))
            .collect();
        for (index, workload) in scenario.workloads.iter().enumerate() {
            for (quantity, value) in RELATED {
                let ratio = |pick: Side| {
                    Estimate::of(&both, |drawn| {
                        let ours: Vec<&RunRecords> =
                            drawn.iter().map(|pair| pair.0.of(pick)).collect();
                        let theirs: Vec<&RunRecords> =
                            drawn.iter().map(|pair| pair.1.of(pick)).collect();
                        let ours = value(&measured(&ours, index))?;
                        let theirs = value(&measured(&theirs, index))?;
                        (theirs != 0.0).then(|| ours / theirs)
                    })
                };
                gains.push(Gain {
                    transport: transport.name.clone(),
                    baseline: baseline.name.clone(),
                    workload: workload.name.clone(),
                    quantity,
                    runs: both.len(),
                    simulator: ratio(Side::Simulator),
                    testbed: ratio(Side::Testbed),
                });
            }
        }
    }
    gains.retain(|gain| gain.simulator.is_some() || gain.testbed.is_some());
    gains
}

/// The measured flows of a workload.
fn measured<'a>(runs: &[&'a RunRecords], workload: usize) -> Vec<&'a FlowRecord> {
    let flows = runs.iter().flat_map(|run| &run.flows);
    flows
        .filter(|flow| flow.measured && usize::from(flow.workload) == workload)
        .collect()
}

fn of_those<'a>(
    flows: &[&'a FlowRecord],
    which: impl Fn(&FlowRecord) -> bool,
) -> Vec<&'a FlowRecord> {
    flows.iter().copied().filter(|flow| which(flow)).collect()
}

/// Completion times in milliseconds, sorted.
fn completions(flows: &[&FlowRecord]) -> Vec<f64> {
    let ms = flows
        .iter()
        .filter_map(|flow| Some(flow.completion()?.as_secs_f64() * 1e3));
    let mut ms: Vec<f64> = ms.collect();
    ms.sort_by(f64::total_cmp);
    ms
}

/// Returns the smallest completion time that so many of a thousand flows with an end do not exceed, in milliseconds;
/// infinite if so many never finished, `None` of too few flows.
fn percentile(flows: &[&FlowRecord], per_mille: u32) -> Option<f64> {
    let all = flows.iter().filter(|flow| flow.is_finite()).count();
    let mut ms = completions(flows);
    ms.resize(all, f64::INFINITY);
    let is_enough = all as u64 >= min_samples(per_mille);
    nearest_rank(&ms, per_mille).copied().filter(|_| is_enough)
}

fn mean(flows: &[&FlowRecord]) -> Option<f64> {
    average(completions(flows).into_iter())
}

/// Each flow's bytes over its completion time, on the average.
fn throughput(flows: &[&FlowRecord]) -> Option<f64> {
    let finished = flows.iter().filter_map(|flow| {
        let seconds = flow.completion()?.as_secs_f64();
        (seconds > 0.0).then(|| flow.delivered_bytes as f64 * 8.0 / 1e6 / seconds)
    });
    average(finished)
}

/// The share of flows with a deadline that missed it, in percent.
fn missed(flows: &[&FlowRecord]) -> Option<f64> {
    let due = of_those(flows, |flow| flow.deadline.is_some());
    share(&due, |flow| flow.met() == Some(false))
}

fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), of| (sum + of, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// The share of flows, in percent.
fn share(flows: &[&FlowRecord], which: impl Fn(&FlowRecord) -> bool) -> Option<f64> {
    average(
        flows
            .iter()
            .map(|flow| if which(flow) { 100.0 } else { 0.0 }),
    )
}

fn per_flow(flows: &[&FlowRecord], count: impl Fn(&FlowRecord) -> u32) -> Option<f64> {
    average(flows.iter().map(|flow| f64::from(count(flow))))
}

/// What the flows without an end delivered until the end of their runs, in megabits per second each.
fn goodputs(runs: &[&RunRecords], workload: usize) -> impl Iterator<Item = f64> {
    runs.iter().flat_map(move |run| {
        let end = run.totals.end;
        let flows = measured(&[run], workload).into_iter();
        flows.filter(|flow| !flow.is_finite()).map(move |flow| {
            let seconds = end.since(flow.start).as_secs_f64();
            flow.delivered_bytes as f64 * 8.0 / 1e6 / seconds.max(f64::MIN_POSITIVE)
        })
    })
}

/// The port of a switch that queued most in the simulator. What queues at a host is no port's there.
fn bottleneck(pairs: &[Pair<'_>]) -> Option<String> {
    let ports = pairs.iter().flat_map(|pair| &pair.simulated.ports);
    ports
        .max_by(|a, b| a.queue_mean_bytes.total_cmp(&b.queue_mean_bytes))
        .map(|port| port.link.clone())
}

/// Returns a percentile of the samples of a link's queue while any flow is in flight, in packets; `None` of too few.
fn queue(runs: &[&RunRecords], link: &str, per_mille: u32) -> Option<f64> {
    let mut packets: Vec<u32> = Vec::new();
    for run in runs {
        let sampled = run.sampled_links.iter();
        let Some(number) = (0..).zip(sampled).find(|(_, name)| *name == link) else {
            continue;
        };
        let flows = &run.flows;
        let from = flows.iter().map(|flow| flow.start).min();
        let all_ended = flows.iter().all(|flow| flow.finish.is_some());
        let until = flows.iter().filter_map(|flow| flow.finish).max();
        let until = until.filter(|_| all_ended).unwrap_or(Time::MAX);
        let samples = run.series.iter();
        packets.extend(
            samples
                .filter(|sample| sample.link == number.0)
                .filter(|sample| from <= Some(sample.at) && sample.at <= until)
                .map(|sample| sample.queue_packets),
        );
    }
    packets.sort_unstable();
    let is_enough = packets.len() as u64 >= min_samples(per_mille);
    let found = nearest_rank(&packets, per_mille).filter(|_| is_enough)?;
    Some(f64::from(*found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use duetime_scenario::{NoFiles, load};
    use duetime_sim::Options;

    #[test]
    fn the_simulator_beside_itself_differs_in_nothing() {
        let text = r#"
            name = "same"
            transport = ["dctcp", "d2tcp"]
            [topology]
            kind = "star"
            hosts = 5
            link = { rate = "1 Gbps", latency = "20 us" }
            [switch]
            buffer = "200 KB"
            [record]
            every = "1 ms"
            [[workload]]
            kind = "burst"
            senders = 4
            receiver = 0
            size = "uniform 20 KB..60 KB"
            deadline = "50 ms"
            repeat = 130
            every = "3 ms"
        "#;
        let scenario = load(text, "same.toml", &[], &NoFiles).expect("a scenario");
        let runs = || {
            let run = |(transport, run)| {
                let made =
                    duetime_sim::run(&scenario, transport, u64::from(run), &Options::default());
                let made = made.expect("running");
                assert!(made.complete);
                Run {
                    transport,
                    run,
                    records: made.records,
                }
            };
            [(0, 0), (0, 1), (1, 0), (1, 1)].map(run).to_vec()
        };
        let (first, mut second) = (runs(), runs());
        let (lines, gains) = compare(&scenario, &first, &second);
        let find = |lines: &[Line], quantity: &str| {
            let mut lines = lines.iter();
            let found = lines.find(|of| of.transport == "d2tcp" && of.quantity == quantity);
            found.cloned().unwrap_or_else(|| panic!("no {quantity}"))
        };
        for quantity in [
            "fct p50 (ms)",
            "fct p99 (ms)",
            "marks per run",
            "mean queue (KB)",
        ] {
            let line = find(&lines, quantity);
            assert_eq!(line.runs, 2);
            assert_eq!(line.ratio.map(|of| of.value), Some(1.0), "{line:?}");
        }
        assert!(find(&lines, "median queue (packets)").simulator.is_some());
        // Nobody misses a deadline under DCTCP, and nothing is related to nothing.
        assert_eq!(gains.len(), 1);
        assert_eq!(gains[0].quantity, "fct mean");
        assert_eq!(gains[0].simulator, gains[0].testbed);
        // A run that one side lacks is left out.
        second.retain(|of| (of.transport, of.run) != (1, 1));
        let (lines, _) = compare(&scenario, &first, &second);
        assert_eq!(find(&lines, "fct p50 (ms)").runs, 1);
    }
}

//! Comparison of simulator and testbed, by workload and transport.

use duetime_core::Time;
use duetime_results::pool::min_samples;
use duetime_results::stats::{Estimate, nearest_rank};
use duetime_results::{FlowRecord, PortRecord, RunRecords};
use duetime_scenario::Scenario;
use duetime_scenario::model::Protocol;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Completed run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Index of the transport in the scenario.
    pub transport: usize,
    /// Run number.
    pub run: u32,
    /// Records of the run.
    pub records: RunRecords,
}

/// Quantity of a workload under a transport, simulated and measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Transport name.
    pub transport: String,
    /// Workload name, or link name for quantities of ports.
    pub of: String,
    /// Name of the quantity, with its unit.
    pub quantity: &'static str,
    /// Number of runs on both sides.
    pub runs: usize,
    /// Value in the simulator, over all runs.
    pub simulator: Option<Estimate>,
    /// Value on the testbed, over all runs.
    pub testbed: Option<Estimate>,
    /// Ratio of testbed to simulator, resampled in pairs.
    pub ratio: Option<Estimate>,
}

/// Ratio of a quantity under one transport to that under the first, over runs with equal arrivals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// Transport name.
    pub transport: String,
    /// Name of the first transport.
    pub baseline: String,
    /// Workload name.
    pub workload: String,
    /// Name of the quantity.
    pub quantity: &'static str,
    /// Number of runs of both transports on both sides.
    pub runs: usize,
    /// Ratio in the simulator.
    pub simulator: Option<Estimate>,
    /// Ratio on the testbed.
    pub testbed: Option<Estimate>,
}

/// Name and function of a quantity.
type Quantity = (&'static str, fn(&[&FlowRecord]) -> Option<f64>);

/// Compared quantities of a workload's flows, over all runs.
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

/// Quantities of D3, omitted if both sides are zero.
const D3_QUANTITIES: [&str; 2] = ["requests per flow", "quenched (%)"];

/// Quantities that the testbed does not count for messages of `due`.
const UNCOUNTED_OF_DUE: [&str; 3] = [
    "retransmits per flow",
    "timeouts per flow",
    "marks per flow",
];

/// Quantities compared between transports.
const GAIN_QUANTITIES: [Quantity; 2] = [("fct mean", mean), ("missed", missed)];

/// Compares the runs that both sides have.
pub fn compare(scenario: &Scenario, simulator: &[Run], testbed: &[Run]) -> (Vec<Line>, Vec<Gain>) {
    let mut lines = Vec::new();
    for (number, transport) in scenario.transports.iter().enumerate() {
        let pairs = pairs(number, simulator, testbed);
        let line = |subject: &str, quantity, value: &dyn Fn(&[&RunRecords]) -> Option<f64>| {
            let side = Resampled::new(value);
            let side = |pick: Side, drawn: &[&Pair<'_>]| side.value(pick, drawn);
            let ratio = Estimate::of(&pairs, |drawn| {
                let simulator = side(Side::Simulator, drawn)?;
                let testbed = side(Side::Testbed, drawn)?;
                (simulator != 0.0).then(|| testbed / simulator)
            });
            Line {
                transport: transport.name.clone(),
                of: subject.to_owned(),
                quantity,
                runs: pairs.len(),
                simulator: Estimate::of(&pairs, |drawn| side(Side::Simulator, drawn)),
                testbed: Estimate::of(&pairs, |drawn| side(Side::Testbed, drawn)),
                ratio,
            }
        };
        for (index, workload) in scenario.workloads.iter().enumerate() {
            let is_due = matches!(transport.protocol, Protocol::Due(_));
            let is_counted = |name| !is_due || !UNCOUNTED_OF_DUE.contains(name);
            for (quantity, function) in QUANTITIES.iter().filter(|(name, _)| is_counted(name)) {
                let value = |runs: &[&RunRecords]| function(&measured(runs, index));
                lines.push(line(&workload.name, *quantity, &value));
            }
            let mean = |runs: &[&RunRecords]| average(goodputs(runs, index));
            let slowest = |runs: &[&RunRecords]| goodputs(runs, index).min_by(f64::total_cmp);
            let name = &workload.name;
            lines.push(line(name, "goodput of long flows (Mbps)", &mean));
            lines.push(line(name, "slowest long flow (Mbps)", &slowest));
        }
        if let Some(link) = bottleneck(&pairs) {
            let of_port = |field: fn(&PortRecord) -> f64| {
                let link = link.clone();
                move |runs: &[&RunRecords]| {
                    let ports = runs.iter().filter_map(|run| {
                        let mut ports = run.ports.iter();
                        ports.find(|port| port.link == link).map(field)
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
        if D3_QUANTITIES.contains(&line.quantity) {
            sides.any(|side| side.value != 0.0)
        } else {
            sides.next().is_some()
        }
    });
    (lines, gains(scenario, simulator, testbed))
}

/// One run on both sides.
struct Pair<'a> {
    run: u32,
    simulated: &'a RunRecords,
    real: &'a RunRecords,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Simulator,
    Testbed,
}

impl<'a> Pair<'a> {
    fn side(&self, side: Side) -> &'a RunRecords {
        match side {
            Side::Simulator => self.simulated,
            Side::Testbed => self.real,
        }
    }
}

/// Function of runs, evaluated once for resamples that draw the same runs: most of a thousand resamples of a few runs
/// repeat an earlier one.
struct Resampled<F> {
    function: F,
    known: RefCell<BTreeMap<Drawn, Option<f64>>>,
}

/// Side and numbers of drawn runs, sorted.
type Drawn = (Side, Vec<u32>);

impl<F: Fn(&[&RunRecords]) -> Option<f64>> Resampled<F> {
    fn new(function: F) -> Self {
        Self {
            function,
            known: RefCell::default(),
        }
    }

    fn value(&self, side: Side, drawn: &[&Pair<'_>]) -> Option<f64> {
        let mut drawn = drawn.to_vec();
        drawn.sort_by_key(|pair| pair.run);
        let runs = drawn.iter().map(|pair| pair.run).collect();
        let mut known = self.known.borrow_mut();
        *known.entry((side, runs)).or_insert_with(|| {
            let drawn: Vec<&RunRecords> = drawn.iter().map(|pair| pair.side(side)).collect();
            (self.function)(&drawn)
        })
    }
}

fn pairs<'a>(transport: usize, simulator: &'a [Run], testbed: &'a [Run]) -> Vec<Pair<'a>> {
    let matches = |run: &&Run| run.transport == transport;
    let pair = |real: &'a Run| {
        let simulated = simulator
            .iter()
            .filter(matches)
            .find(|run| run.run == real.run)?;
        Some(Pair {
            run: real.run,
            simulated: &simulated.records,
            real: &real.records,
        })
    };
    testbed.iter().filter(matches).filter_map(pair).collect()
}

/// Returns the ratio of each transport's quantities to the first's.
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
            .filter_map(|pair| Some((pair, first.iter().find(|other| other.run == pair.run)?)))
            .collect();
        for (index, workload) in scenario.workloads.iter().enumerate() {
            for (quantity, value) in GAIN_QUANTITIES {
                let value = |runs: &[&RunRecords]| value(&measured(runs, index));
                let (numerator, denominator) = (Resampled::new(value), Resampled::new(value));
                let ratio = |pick: Side| {
                    Estimate::of(&both, |drawn| {
                        let (first, second): (Vec<_>, Vec<_>) =
                            drawn.iter().map(|pair| (pair.0, pair.1)).unzip();
                        let denominator = denominator.value(pick, &second)?;
                        let numerator = numerator.value(pick, &first)?;
                        (denominator != 0.0).then(|| numerator / denominator)
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

/// Returns the measured flows of a workload.
fn measured<'a>(runs: &[&'a RunRecords], workload: usize) -> Vec<&'a FlowRecord> {
    let flows = runs.iter().flat_map(|run| &run.flows);
    flows
        .filter(|flow| flow.measured && usize::from(flow.workload) == workload)
        .collect()
}

fn select<'a>(
    flows: &[&'a FlowRecord],
    predicate: impl Fn(&FlowRecord) -> bool,
) -> Vec<&'a FlowRecord> {
    flows
        .iter()
        .copied()
        .filter(|flow| predicate(flow))
        .collect()
}

/// Returns completion times in milliseconds, sorted.
fn completions(flows: &[&FlowRecord]) -> Vec<f64> {
    let ms = flows
        .iter()
        .filter_map(|flow| Some(flow.completion()?.as_secs_f64() * 1e3));
    let mut ms: Vec<f64> = ms.collect();
    ms.sort_by(f64::total_cmp);
    ms
}

/// Returns the completion time that `per_mille` of the finite flows do not exceed, in milliseconds: infinite if too
/// many flows are unfinished, or `None` for too few flows.
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

/// Returns the mean of bytes over completion time per flow.
fn throughput(flows: &[&FlowRecord]) -> Option<f64> {
    let finished = flows.iter().filter_map(|flow| {
        let seconds = flow.completion()?.as_secs_f64();
        (seconds > 0.0).then(|| flow.delivered_bytes as f64 * 8.0 / 1e6 / seconds)
    });
    average(finished)
}

/// Returns the share of deadline flows that missed their deadline, in percent.
fn missed(flows: &[&FlowRecord]) -> Option<f64> {
    let due = select(flows, |flow| flow.deadline.is_some());
    share(&due, |flow| flow.met() == Some(false))
}

fn average(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Returns the share of flows that fulfil the predicate, in percent.
fn share(flows: &[&FlowRecord], predicate: impl Fn(&FlowRecord) -> bool) -> Option<f64> {
    average(
        flows
            .iter()
            .map(|flow| if predicate(flow) { 100.0 } else { 0.0 }),
    )
}

fn per_flow(flows: &[&FlowRecord], count: impl Fn(&FlowRecord) -> u32) -> Option<f64> {
    average(flows.iter().map(|flow| f64::from(count(flow))))
}

/// Returns the goodput of each long flow until the end of its run, in megabits per second.
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

/// Returns the switch port with the largest mean queue in the simulator, whose ports exclude host queues.
fn bottleneck(pairs: &[Pair<'_>]) -> Option<String> {
    let ports = pairs.iter().flat_map(|pair| &pair.simulated.ports);
    ports
        .max_by(|a, b| a.queue_mean_bytes.total_cmp(&b.queue_mean_bytes))
        .map(|port| port.link.clone())
}

/// Returns a percentile of the samples of a link's queue while flows are in flight, in packets, or `None` for too few
/// samples.
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
    fn identical_runs_have_ratio_one() {
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
                let output =
                    duetime_sim::run(&scenario, transport, u64::from(run), &Options::default());
                let output = output.expect("running");
                assert!(output.complete);
                Run {
                    transport,
                    run,
                    records: output.records,
                }
            };
            [(0, 0), (0, 1), (1, 0), (1, 1)].map(run).to_vec()
        };
        let (first, mut second) = (runs(), runs());
        let (lines, gains) = compare(&scenario, &first, &second);
        let find = |lines: &[Line], quantity: &str| {
            let mut lines = lines.iter();
            let found = lines.find(|line| line.transport == "d2tcp" && line.quantity == quantity);
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
            assert_eq!(line.ratio.map(|ratio| ratio.value), Some(1.0), "{line:?}");
        }
        assert!(find(&lines, "median queue (packets)").simulator.is_some());
        // No flow misses a deadline under DCTCP, so there is no ratio of missed deadlines.
        assert_eq!(gains.len(), 1);
        assert_eq!(gains[0].quantity, "fct mean");
        assert_eq!(gains[0].simulator, gains[0].testbed);
        // Runs that one side lacks are omitted.
        second.retain(|run| (run.transport, run.run) != (1, 1));
        let (lines, _) = compare(&scenario, &first, &second);
        assert_eq!(find(&lines, "fct p50 (ms)").runs, 1);
    }
}

//! Ideal schedulers and the offline optimum on the flows of one run.

use std::collections::BTreeMap;

use duetime_analysis::bound::{Late, RunBound};
use duetime_analysis::demand::Demand;
use duetime_analysis::fluid::{Job, Scheduler, fewest_late};
use duetime_core::{Rate, Time};
use duetime_results::{Class, FlowRecord, RunRecords, Totals};
use duetime_scenario::Scenario;
use duetime_sim::SetupError;
use duetime_sim::topology::Network;
use duetime_sim::workload::Message;

use super::experiment::Ideal;
use super::sums::{GroupSums, Keep, QuerySums, Sums};

/// Payload of a full packet.
const SEGMENT_BYTES: u64 = 1460;
/// IP and TCP headers of each packet.
const HEADER_BYTES: u64 = 40;

/// Returns the results of the ideal schedulers for one run with the flows in `records`.
pub(super) fn all(
    ideals: impl Iterator<Item = Ideal>,
    scenario: &Scenario,
    run: u64,
    records: &RunRecords,
    network: &Network,
    keep: Keep,
) -> Result<Vec<Sums>, SetupError> {
    let mut bound = None;
    ideals
        .map(|ideal| {
            let late = match ideal {
                Ideal::Bound => |late: &Late| late.late,
                Ideal::Online => |late: &Late| late.online,
                // Without scarce links between racks, both schedules are the same.
                Ideal::Network => |late: &Late| late.network.unwrap_or(late.online),
                _ => return Ok(sums(ideal, scenario, run, records, network, keep)),
            };
            let bound = match &mut bound {
                Some(bound) => bound,
                None => bound.insert(RunBound::of(scenario, run, network)?),
            };
            Ok(bounded(bound, late))
        })
        .collect()
}

/// Converts a bound to sums that contain only numbers of flows and queries; `late` selects those that are late.
fn bounded(bound: &RunBound, late: fn(&Late) -> u64) -> Sums {
    let group = |(&(workload, class), counts): (&(u16, Class), &Late)| GroupSums {
        workload,
        class,
        deadline_flows: counts.asked,
        met: counts.asked - late(counts),
        ..GroupSums::default()
    };
    let query = |(&workload, counts): (&u16, &Late)| QuerySums {
        workload,
        judged: counts.asked,
        met: counts.asked - late(counts),
        // The bound does not give the answers in time of each query.
        ..QuerySums::default()
    };
    Sums {
        groups: bound.groups.iter().map(group).collect(),
        queries: bound.queries.iter().map(query).collect(),
        ..Sums::default()
    }
}

/// Schedules the flows in `records` on each receiver's access link separately. The remaining network, latencies and
/// handshakes cost nothing, so a bound stays a bound.
///
/// The optimum yields only the number of late flows, not which they are or any completion times: see [`late`].
fn sums(
    ideal: Ideal,
    scenario: &Scenario,
    run: u64,
    records: &RunRecords,
    network: &Network,
    keep: Keep,
) -> Sums {
    let mut flows = records.flows.clone();
    let mut by_receiver: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, flow) in flows.iter().enumerate() {
        by_receiver.entry(flow.destination).or_default().push(index);
    }
    let end = Time::ZERO + scenario.duration + scenario.drain;
    for (receiver, indices) in by_receiver {
        let link = network.downlink[receiver as usize] as usize;
        let rate = network.links[link].rate;
        let jobs: Vec<Job> = indices
            .iter()
            .map(|&index| job(&flows[index], rate, end))
            .collect();
        let scheduler = match ideal {
            Ideal::EarliestDeadline => Scheduler::EarliestDeadline,
            Ideal::FairShare => Scheduler::FairShare,
            Ideal::Reservation => Scheduler::Reservation,
            Ideal::Optimum => {
                late(&mut flows, &indices, rate, &jobs);
                continue;
            }
            Ideal::Bound | Ideal::Online | Ideal::Network => {
                unreachable!("computed from the scenario")
            }
        };
        for (&index, finish) in indices.iter().zip(scheduler.finish(rate, &jobs)) {
            let flow = &mut flows[index];
            flow.finish = finish.filter(|_| flow.is_finite());
            flow.quenched = false;
        }
    }
    let totals = Totals {
        end,
        ..Totals::default()
    };
    let ideally = RunRecords {
        flows,
        totals,
        ..RunRecords::default()
    };
    Sums::of(scenario, run, &ideally, keep)
}

fn job(flow: &FlowRecord, rate: Rate, end: Time) -> Job {
    let bytes = if flow.is_finite() {
        flow.size_bytes + HEADER_BYTES * flow.size_bytes.div_ceil(SEGMENT_BYTES)
    } else {
        // An endless flow always has data to send.
        rate.bytes_in(end.since(flow.start))
    };
    Job {
        arrival: flow.start,
        bytes,
        deadline: flow.deadline,
    }
}

/// Marks the smallest possible number of flows as late. Only this number is known, so the last measured deadline flows
/// of the receiver are chosen.
fn late(flows: &mut [FlowRecord], indices: &[usize], rate: Rate, jobs: &[Job]) {
    let measured: Vec<usize> = (0..indices.len())
        .filter(|&i| flows[indices[i]].measured)
        .collect();
    let jobs: Vec<Job> = measured.iter().map(|&i| jobs[i]).collect();
    let mut late = fewest_late(rate, &jobs).late;
    for &i in measured.iter().rev() {
        let flow = &mut flows[indices[i]];
        flow.quenched = false;
        flow.finish = flow.deadline;
        if flow.deadline.is_some() && late > 0 {
            late -= 1;
            flow.finish = None;
        }
    }
}

/// Returns the flows that a scenario offers, each at the earliest time possible with any transport.
pub(super) fn offered(
    scenario: &Scenario,
    run: u64,
    network: &Network,
) -> Result<RunRecords, SetupError> {
    let demand = Demand::new(scenario, run, network)?;
    let messages = demand.flows.iter().map(|flow| &flow.message);
    let mut flows: Vec<FlowRecord> = messages.map(record).collect();
    flows.sort_by_key(|flow| flow.flow);
    Ok(RunRecords {
        flows,
        ..RunRecords::default()
    })
}

/// Returns the flow record of a completely delivered message.
fn record(message: &Message) -> FlowRecord {
    FlowRecord {
        delivered_bytes: message.bytes,
        ..message.record()
    }
}

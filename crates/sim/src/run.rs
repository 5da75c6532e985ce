//! A run of a scenario, on one thread or split by rack over several, with the latency of the links between partitions
//! as lookahead.

use crate::clock::Clock;
use crate::engine::{Observed, PartRecords, Partition, merge, subpartitions};
use crate::faults::Faults;
use crate::options::{Options, Watch};
use crate::output::{Rounds, RunOutput};
use crate::setup::Setup;
use crate::workload::Workloads;
use crate::{SetupError, partition};
use duetime_core::{Span, Time};
use duetime_scenario::Scenario;
use duetime_scenario::model::Buffer;
use std::sync::Arc;

/// Runs the scenario with the transport at index `transport`. `run` is the number of the repetition, which selects the
/// random streams.
pub fn run(
    scenario: &Scenario,
    transport: usize,
    run: u64,
    options: &Options,
) -> Result<RunOutput, SetupError> {
    let setup = Arc::new(Setup::new(scenario, transport, run)?);
    let workloads = Workloads::new(scenario, &setup.network, &setup.streams)?;
    let taps = setup.tapped_links(scenario)?;
    let watched = options.watch != Watch::Nothing || !taps.is_empty();
    let observed = || {
        watched.then(|| {
            Box::new(Observed::new(
                (options.watch.clone(), options.keep),
                taps.clone(),
                scenario.record.snap_length,
            ))
        })
    };
    let threads = if watched { 1 } else { options.threads };
    let alternates = subpartitions(&setup, options, watched) > 1;
    let divides = may_divide(scenario, &setup, options) && !alternates;
    let cut = Arc::new(partition::cut(&setup.network, threads, divides, alternates));
    let partitions: Vec<Partition> = (0..cut.partitions as u16)
        .map(|index| {
            Partition::new(
                scenario,
                &setup,
                workloads.clone(),
                index,
                &cut,
                observed(),
                options,
            )
        })
        .collect();
    drop(workloads);
    let clock = Clock {
        setup: &setup,
        progress: options.progress.as_deref(),
    };
    let Ended {
        partitions,
        end,
        complete,
        rounds,
    } = run_partitions(&clock, partitions, cut.lookahead, options.measures_rounds);
    let partition_hops = partitions.iter().map(Partition::packet_hops).collect();
    let mut records: Vec<PartRecords> = (partitions.into_iter())
        .map(|partition| partition.finish(end))
        .collect();
    let mut allocators: Vec<_> = records
        .iter_mut()
        .flat_map(|part| part.allocators.drain(..))
        .collect();
    allocators.sort_unstable_by_key(|(link, _)| *link);
    let allocators = allocators.into_iter().map(|(_, state)| state).collect();
    let names = setup
        .sampled_links
        .iter()
        .map(|&link| setup.network.link_name(link))
        .collect();
    let merged = merge(records, names);
    let capture_links = taps
        .iter()
        .map(|&link| (link, setup.network.link_name(link)))
        .collect();
    Ok(RunOutput {
        capture_links,
        allocators,
        partition_hops,
        rounds,
        complete,
        ..merged
    })
}

/// Returns true if switches may be divided: neither the ports of a switch nor the ends of a link share state.
fn may_divide(scenario: &Scenario, setup: &Setup, options: &Options) -> bool {
    let reads_replies = (setup.router_program).is_some_and(|program| program.reads_replies());
    let shares_memory = matches!(scenario.switch.buffer, Buffer::Dynamic { .. });
    !shares_memory && !reads_replies && options.faults == Faults::default()
}

/// Partitions at the end of the run.
pub(crate) struct Ended {
    pub partitions: Vec<Partition>,
    pub end: Time,
    /// False if the run was cancelled.
    pub complete: bool,
    pub rounds: Option<Rounds>,
}

/// Runs the partitions to the end of the run.
fn run_partitions(
    clock: &Clock<'_>,
    partitions: Vec<Partition>,
    lookahead: Span,
    measures_rounds: bool,
) -> Ended {
    #[cfg(feature = "threads")]
    if partitions.len() > 1 {
        return crate::parallel::run(clock, partitions, lookahead, measures_rounds);
    }
    let _ = (lookahead, measures_rounds);
    run_alone(clock, partitions)
}

fn run_alone(clock: &Clock<'_>, mut partitions: Vec<Partition>) -> Ended {
    let partition = &mut partitions[0];
    let mut boundary = Time::ZERO;
    loop {
        boundary = clock.next_boundary(partition.next_event(), boundary);
        while partition.next_mark() < boundary {
            let mark = partition.next_mark();
            partition.run_before(mark);
            partition.mark(mark);
        }
        partition.run_before(boundary);
        partition.mark(boundary);
        let continues = clock.report(boundary, partition.packet_hops(), partition.open());
        let events = partition.next_event() != Time::MAX;
        if !continues || clock.is_over(boundary, partition.open(), partition.has_wakes(), events) {
            return Ended {
                partitions,
                end: boundary,
                complete: continues,
                rounds: None,
            };
        }
    }
}

//! Samples of each run for the figures, in addition to its summary. Collected only for studies without a sweep.

use std::collections::BTreeMap;

use duetime_results::{Class, RunRecords};

use crate::plan::{Job, Plan};

/// Distributions of one transport over all its runs, and the sampled link of its first run.
#[derive(Debug, Default)]
pub struct Sample {
    /// Allowed time and completion time in seconds of each measured deadline flow that finished.
    pub deadlines: Vec<(f64, f64)>,
    /// Number of measured deadline flows, including unfinished ones.
    pub deadline_flows: usize,
    /// Completion times of measured flows, by workload and class.
    pub completions: BTreeMap<(u16, Class), Completions>,
    /// Share of answers in time of each measured query.
    pub completeness: Vec<f64>,
    /// Times from the arrival of each measured query at the root until it had enough answers, by workload.
    pub queries: BTreeMap<u16, Completions>,
    /// Time in seconds and queue in bytes of the sampled link.
    pub queue: Vec<(f64, f64)>,
    /// Start in seconds of each sampling interval, and bytes sent on the sampled link in it.
    pub sent: Vec<(f64, f64)>,
}

/// Completion times of queries or flows of one kind.
#[derive(Clone, Debug, Default)]
pub struct Completions {
    /// Times in seconds of those that completed.
    pub took_s: Vec<f64>,
    /// Number of measured queries or flows, including those that never completed.
    pub all: usize,
}

/// Samples of all transports.
#[derive(Debug)]
pub struct Samples {
    /// Samples by transport; empty for a sweep.
    pub transports: Vec<Sample>,
    /// Name of the sampled link.
    pub link: Option<String>,
}

impl Samples {
    /// Creates an empty set of samples.
    pub fn new(plan: &Plan) -> Samples {
        let transports = if plan.points.len() > 1 {
            0
        } else {
            plan.points[0].scenario.transports.len()
        };
        Samples {
            transports: (0..transports).map(|_| Sample::default()).collect(),
            link: None,
        }
    }

    /// Adds the samples of one run.
    pub fn take(&mut self, job: Job, records: &RunRecords) {
        let Some(sample) = self.transports.get_mut(job.transport) else {
            return;
        };
        for query in records.queries.iter().filter(|query| query.measured) {
            let completions = sample.queries.entry(query.workload).or_default();
            completions.all += 1;
            let took = query.enough.map(|enough| enough.since(query.start));
            completions
                .took_s
                .extend(took.map(duetime_core::Span::as_secs_f64));
        }
        for flow in records.flows.iter().filter(|flow| flow.measured) {
            let took = flow.completion().map(duetime_core::Span::as_secs_f64);
            if flow.is_finite() {
                let completions = sample.completions.entry((flow.workload, flow.class));
                let completions = completions.or_default();
                completions.all += 1;
                completions.took_s.extend(took);
            }
            let Some(deadline) = flow.deadline else {
                continue;
            };
            sample.deadline_flows += 1;
            let allowed = deadline.since(flow.start).as_secs_f64().max(1e-12);
            sample.deadlines.extend(took.map(|took| (allowed, took)));
        }
        let queries = records.queries.iter().filter(|query| query.measured);
        sample
            .completeness
            .extend(queries.map(duetime_results::QueryRecord::completeness));
        if !sample.queue.is_empty() || records.sampled_links.is_empty() {
            return;
        }
        // All transports show the same link: the one with the longest queue under the first transport.
        let link = self.link.get_or_insert_with(|| {
            let longest = records
                .series
                .iter()
                .max_by_key(|sample| (sample.queue_bytes, u32::MAX - sample.link));
            records.sampled_links[longest.map_or(0, |sample| sample.link as usize)].clone()
        });
        let Some(link) = records.sampled_links.iter().position(|name| name == link) else {
            return;
        };
        let samples = records
            .series
            .iter()
            .filter(|sample| sample.link as usize == link);
        let samples: Vec<(f64, f64, f64)> = samples
            .map(|sample| {
                let [queue, sent] =
                    [sample.queue_bytes, sample.sent_bytes].map(|bytes| bytes as f64);
                (sample.at.as_secs_f64(), queue, sent)
            })
            .collect();
        sample.queue = samples.iter().map(|&(at, queue, _)| (at, queue)).collect();
        let intervals = samples.windows(2);
        sample.sent = intervals.map(|pair| (pair[0].0, pair[1].2)).collect();
    }

    /// Returns the start and end in seconds of the time shown of the link: around its longest queue under the first
    /// transport. Returns `None` without samples.
    pub fn window(&self) -> Option<(f64, f64)> {
        const SHOWN: f64 = 0.1;
        let first = self
            .transports
            .iter()
            .find(|sample| !sample.queue.is_empty())?;
        let end = first.queue.last().map_or(0.0, |&(at, _)| at);
        let fullest = first.queue.iter().fold(
            (0.0, -1.0),
            |best, &now| if now.1 > best.1 { now } else { best },
        );
        let from = (fullest.0 - SHOWN / 3.0).min(end - SHOWN).max(0.0);
        Some((from, (from + SHOWN).min(end)))
    }
}

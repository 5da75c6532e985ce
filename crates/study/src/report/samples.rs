//! What the figures need of each run beside its summary. Only studies without a sweep have figures of this kind.

use std::collections::BTreeMap;

use duetime_results::RunRecords;

use crate::plan::{Job, Plan};

/// Distributions of one transport over all its runs, and the queue of its first run.
#[derive(Debug, Default)]
pub struct Sample {
    /// Completion time over the time allowed, of measured deadline flows that finished.
    pub deadline_shares: Vec<f64>,
    /// Measured deadline flows, unfinished ones included.
    pub deadline_flows: usize,
    /// Share of each measured query's answers that were in time.
    pub completeness: Vec<f64>,
    /// Seconds from a measured query's arrival at the root until enough answers were there, by workload; of those that
    /// came so far.
    pub queries: BTreeMap<u16, QuerySample>,
    /// Time in seconds and queue in bytes, of the link that the page shows.
    pub queue: Vec<(f64, f64)>,
}

/// The queries of one workload.
#[derive(Clone, Debug, Default)]
pub struct QuerySample {
    /// Seconds until enough answers were there.
    pub completions: Vec<f64>,
    /// Measured queries, those without enough answers included.
    pub all: usize,
}

/// The samples of all transports.
#[derive(Debug)]
pub struct Samples {
    /// By transport; none for a sweep.
    pub transports: Vec<Sample>,
    /// The link whose queue is shown.
    pub link: Option<String>,
}

impl Samples {
    /// None yet.
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

    /// Takes what it needs of one run.
    pub fn take(&mut self, job: Job, records: &RunRecords) {
        let Some(sample) = self.transports.get_mut(job.transport) else {
            return;
        };
        for query in records.queries.iter().filter(|query| query.measured) {
            let of = sample.queries.entry(query.workload).or_default();
            of.all += 1;
            let took = query.enough.map(|enough| enough.since(query.start));
            of.completions
                .extend(took.map(duetime_core::Span::as_secs_f64));
        }
        for flow in records.flows.iter().filter(|flow| flow.measured) {
            let Some(deadline) = flow.deadline else {
                continue;
            };
            sample.deadline_flows += 1;
            if let Some(took) = flow.completion() {
                let allowed = deadline.since(flow.start).as_secs_f64().max(1e-12);
                sample.deadline_shares.push(took.as_secs_f64() / allowed);
            }
        }
        let queries = records.queries.iter().filter(|query| query.measured);
        sample
            .completeness
            .extend(queries.map(duetime_results::QueryRecord::completeness));
        if !sample.queue.is_empty() || records.sampled_links.is_empty() {
            return;
        }
        // The same link for all transports: the one whose queue was longest under the first.
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
        sample.queue = samples
            .map(|sample| (sample.at.as_secs_f64(), sample.queue_bytes as f64))
            .collect();
    }

    /// The time that is shown of the queues, in seconds: around the first one's longest.
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

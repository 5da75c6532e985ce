//! What the figures need of each run beside its summary. Only studies without a sweep have figures of this kind.

use std::collections::BTreeMap;

use duetime_results::{Class, RunRecords};

use crate::plan::{Job, Plan};

/// Distributions of one transport over all its runs, and the queue of its first run.
#[derive(Debug, Default)]
pub struct Sample {
    /// Seconds allowed and seconds taken, of measured deadline flows that finished.
    pub deadlines: Vec<(f64, f64)>,
    /// Measured deadline flows, unfinished ones included.
    pub deadline_flows: usize,
    /// Seconds until the last byte was there, by workload and class; of measured flows that finished.
    pub completions: BTreeMap<(u16, Class), Completions>,
    /// Share of each measured query's answers that were in time.
    pub completeness: Vec<f64>,
    /// Seconds from a measured query's arrival at the root until enough answers were there, by workload; of those that
    /// came so far.
    pub queries: BTreeMap<u16, Completions>,
    /// Time in seconds and queue in bytes, of the link that the page shows.
    pub queue: Vec<(f64, f64)>,
    /// Time in seconds since when, and bytes that left the same link from then until the next sample.
    pub sent: Vec<(f64, f64)>,
}

/// How long queries or flows of one kind took.
#[derive(Clone, Debug, Default)]
pub struct Completions {
    /// Seconds, of those that came so far.
    pub took_s: Vec<f64>,
    /// All that are measured, those that never came included.
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
            of.took_s.extend(took.map(duetime_core::Span::as_secs_f64));
        }
        for flow in records.flows.iter().filter(|flow| flow.measured) {
            let took = flow.completion().map(duetime_core::Span::as_secs_f64);
            if flow.is_finite() {
                let of = sample.completions.entry((flow.workload, flow.class));
                let of = of.or_default();
                of.all += 1;
                of.took_s.extend(took);
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
        let samples: Vec<(f64, f64, f64)> = samples
            .map(|of| {
                let [queue, sent] = [of.queue_bytes, of.sent_bytes].map(|bytes| bytes as f64);
                (of.at.as_secs_f64(), queue, sent)
            })
            .collect();
        sample.queue = samples.iter().map(|&(at, queue, _)| (at, queue)).collect();
        let intervals = samples.windows(2);
        sample.sent = intervals.map(|pair| (pair[0].0, pair[1].2)).collect();
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

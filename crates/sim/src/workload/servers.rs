//! Servers of the hosts: computations for queries take a slot, or wait for one (`host.servers`).
//!
//! A host's slots are shared by all workloads that compute there. All state belongs to the host of the call.

use super::{Actions, Wake};
use duetime_core::{Span, Time};
use duetime_results::ServerRecord;
use duetime_scenario::model::{Scenario, ServerQueue, Slots};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A computation that needs a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// Host that computes.
    pub(super) host: u32,
    /// Index of the workload.
    pub(super) workload: u16,
    /// Token of the wake at the end of the computation, unique among the workload's computations at the host.
    pub(super) token: u64,
    /// Time that the computation occupies a slot; above zero.
    pub(super) compute: Span,
    /// Absolute deadline of the answer.
    pub(super) deadline: Option<Time>,
    /// True if a measured query waits for the computation.
    pub(super) measured: bool,
}

/// Limited servers of all hosts.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    limit: Slots,
    window: Window,
    hosts: Vec<Host>,
}

/// Measurement window of the servers' use.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: Time,
    /// End of the window, or `None` for the end of the run.
    until: Option<Time>,
}

/// Servers of one host.
#[derive(Clone, Debug, Default)]
struct Host {
    /// Waits of the computations that occupy slots, by workload and token. Never iterated.
    running: FxHashMap<(u16, u64), Span>,
    waiting: BTreeMap<Place, Waiting>,
    /// Places of the waiting computations, by workload and token. Never iterated.
    places: FxHashMap<(u16, u64), Place>,
    /// Computations that have arrived.
    arrived: u64,
    used: Usage,
}

/// Place in a queue: the key by which the discipline orders, and the number of the arrival.
type Place = (Time, u64);

#[derive(Clone, Copy, Debug)]
struct Waiting {
    job: Job,
    since: Time,
}

/// Use of one host's servers within the window.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// Time up to which `busy_ps` counts.
    reached: Time,
    /// Sum of the slots' busy times, in picoseconds.
    busy_ps: u128,
    /// Computations that got a slot.
    started: u64,
    /// Sum of their waits, in picoseconds.
    waited_ps: u128,
    longest_wait: Span,
    longest_queue: u32,
}

impl Servers {
    /// Creates idle servers for `hosts` hosts, or `None` if servers are unlimited.
    pub(super) fn new(scenario: &Scenario, hosts: u32) -> Option<Self> {
        let stops = scenario.never_stops();
        Some(Self {
            limit: scenario.host.servers.slots()?,
            window: Window {
                from: Time::ZERO + scenario.warm_up,
                until: stops.then(|| Time::ZERO + scenario.duration),
            },
            hosts: vec![Host::default(); hosts as usize],
        })
    }

    /// Returns true if waiting computations are ordered by deadline.
    pub(super) fn reads_deadlines(&self) -> bool {
        self.limit.queue == ServerQueue::EarliestDeadline
    }

    /// Starts a computation, or enqueues it if all slots of its host are busy.
    pub(super) fn arrive(&mut self, now: Time, job: Job, actions: &mut Actions) {
        actions.awaited += i64::from(job.measured);
        let limit = self.limit;
        let host = self.reach(now, job.host);
        let number = host.arrived;
        host.arrived += 1;
        if host.running.len() < limit.slots as usize {
            return self.start(now, Waiting { job, since: now }, actions);
        }
        let key = match limit.queue {
            ServerQueue::Fifo => Time::ZERO,
            ServerQueue::EarliestDeadline => job.deadline.unwrap_or(Time::MAX),
        };
        let place = (key, number);
        host.places.insert((job.workload, job.token), place);
        host.waiting.insert(place, Waiting { job, since: now });
        let is_counted = self.window.counts(now);
        let host = &mut self.hosts[job.host as usize];
        if is_counted {
            host.note_queue();
        }
    }

    /// Ends a computation and starts the next one; returns how long it had waited for its slot, or `None` if it was
    /// cancelled.
    pub(super) fn finish(
        &mut self,
        now: Time,
        (host, workload, token): (u32, u16, u64),
        actions: &mut Actions,
    ) -> Option<Span> {
        let waited = self.reach(now, host).running.remove(&(workload, token))?;
        self.start_next(now, host, actions);
        Some(waited)
    }

    /// Removes a computation from its queue, or frees its slot; does nothing if it has ended. Returns true if it was
    /// waiting.
    pub(super) fn cancel(
        &mut self,
        now: Time,
        (host, workload, token): (u32, u16, u64),
        actions: &mut Actions,
    ) -> bool {
        let of = self.reach(now, host);
        if let Some(place) = of.places.remove(&(workload, token)) {
            if let Some(waiting) = of.waiting.remove(&place) {
                actions.awaited -= i64::from(waiting.job.measured);
            }
            return true;
        }
        if of.running.remove(&(workload, token)).is_some() {
            self.start_next(now, host, actions);
        }
        false
    }

    /// Returns the records of the hosts whose servers were used, at the end of the run; `name` names a host.
    pub(super) fn records(
        &mut self,
        end: Time,
        name: impl Fn(u32) -> String,
    ) -> Vec<(u32, ServerRecord)> {
        let until = self.window.until.map_or(end, |until| until.min(end));
        if until <= self.window.from {
            return Vec::new();
        }
        let measured = until.since(self.window.from);
        let slots = self.limit.slots;
        let used =
            (0..self.hosts.len() as u32).filter(|&host| self.hosts[host as usize].arrived > 0);
        let used: Vec<u32> = used.collect();
        let record = |host: u32| {
            let used = self.reach(end, host).used;
            let available = f64::from(slots) * measured.as_ps() as f64;
            let record = ServerRecord {
                host: name(host),
                slots,
                computations: used.started,
                wait_mean_ps: used
                    .waited_ps
                    .checked_div(u128::from(used.started))
                    .unwrap_or(0) as u64,
                wait_max_ps: used.longest_wait.as_ps(),
                queue_max: used.longest_queue,
                utilisation: used.busy_ps as f64 / available,
            };
            (host, record)
        };
        used.into_iter().map(record).collect()
    }

    fn start(&mut self, now: Time, Waiting { job, since }: Waiting, actions: &mut Actions) {
        let waited = now.since(since);
        let is_counted = self.window.counts(now);
        let host = &mut self.hosts[job.host as usize];
        host.running.insert((job.workload, job.token), waited);
        if is_counted {
            let used = &mut host.used;
            used.started += 1;
            used.waited_ps += u128::from(waited.as_ps());
            used.longest_wait = used.longest_wait.max(waited);
        }
        actions.wakes.push(Wake {
            host: job.host,
            at: now + job.compute,
            workload: job.workload,
            token: job.token,
        });
    }

    fn start_next(&mut self, now: Time, host: u32, actions: &mut Actions) {
        let of = &mut self.hosts[host as usize];
        if let Some((_, next)) = of.waiting.pop_first() {
            of.places.remove(&(next.job.workload, next.job.token));
            self.start(now, next, actions);
        }
    }

    /// Counts the busy time of a host's slots up to `now`.
    fn reach(&mut self, now: Time, host: u32) -> &mut Host {
        let window = self.window;
        let of = &mut self.hosts[host as usize];
        let reached = of.used.reached;
        let busy = window.clip(now).since(window.clip(reached));
        of.used.busy_ps += of.running.len() as u128 * u128::from(busy.as_ps());
        if !window.counts(reached) && window.counts(now) {
            of.note_queue();
        }
        of.used.reached = now;
        of
    }
}

impl Host {
    fn note_queue(&mut self) {
        self.used.longest_queue = self.used.longest_queue.max(self.waiting.len() as u32);
    }
}

impl Window {
    fn counts(self, at: Time) -> bool {
        self.clip(at) == at && self.until != Some(at)
    }

    fn clip(self, at: Time) -> Time {
        let at = self.until.map_or(at, |until| at.min(until));
        at.max(self.from)
    }
}

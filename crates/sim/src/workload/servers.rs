//! Servers of hosts: computations for queries occupy a slot or wait for one (`host.servers`).
//!
//! The slots of a host are shared by all workloads that compute there. All state belongs to the host of the call.

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
    /// Token of the wake-up at the end of the computation, unique among the workload's computations at the host.
    pub(super) token: u64,
    /// Time for which the computation occupies a slot; above zero.
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
    /// Waiting times of the computations that occupy slots, by workload and token. Never iterated.
    running: FxHashMap<(u16, u64), Span>,
    waiting: BTreeMap<Place, Waiting>,
    /// Places of the waiting computations, by workload and token. Never iterated.
    places: FxHashMap<(u16, u64), Place>,
    /// Number of computations that arrived.
    arrived: u64,
    used: Usage,
}

/// Position in a queue: the key by which the discipline orders, and the index of the arrival.
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
    /// Number of computations that got a slot.
    started: u64,
    /// Sum of the computations' waits, in picoseconds.
    waited_ps: u128,
    max_wait: Span,
    max_queue: u32,
}

impl Servers {
    /// Creates idle servers for `hosts` hosts, or `None` if servers are unlimited.
    pub(super) fn new(scenario: &Scenario, hosts: u32) -> Option<Self> {
        let is_endless = scenario.is_endless();
        Some(Self {
            limit: scenario.host.servers.slots()?,
            window: Window {
                from: Time::ZERO + scenario.warm_up,
                until: is_endless.then(|| Time::ZERO + scenario.duration),
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
            host.record_queue();
        }
    }

    /// Ends a computation and starts the next one. Returns how long the computation waited for its slot, or `None` if
    /// it was cancelled.
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

    /// Removes a computation from the queue or frees its slot; does nothing if it has ended. Returns true if it was
    /// waiting.
    pub(super) fn cancel(
        &mut self,
        now: Time,
        (host, workload, token): (u32, u16, u64),
        actions: &mut Actions,
    ) -> bool {
        let state = self.reach(now, host);
        if let Some(place) = state.places.remove(&(workload, token)) {
            if let Some(waiting) = state.waiting.remove(&place) {
                actions.awaited -= i64::from(waiting.job.measured);
            }
            return true;
        }
        if state.running.remove(&(workload, token)).is_some() {
            self.start_next(now, host, actions);
        }
        false
    }

    /// Returns the records of the hosts that computed, at the end of the run. `name` returns a host's name.
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
                wait_max_ps: used.max_wait.as_ps(),
                queue_max: used.max_queue,
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
            used.max_wait = used.max_wait.max(waited);
        }
        actions.wakes.push(Wake {
            host: job.host,
            at: now + job.compute,
            workload: job.workload,
            token: job.token,
        });
    }

    fn start_next(&mut self, now: Time, host: u32, actions: &mut Actions) {
        let state = &mut self.hosts[host as usize];
        if let Some((_, next)) = state.waiting.pop_first() {
            state.places.remove(&(next.job.workload, next.job.token));
            self.start(now, next, actions);
        }
    }

    /// Adds the busy time of a host's slots up to `now`.
    fn reach(&mut self, now: Time, host: u32) -> &mut Host {
        let window = self.window;
        let state = &mut self.hosts[host as usize];
        let reached = state.used.reached;
        let busy = window.clip(now).since(window.clip(reached));
        state.used.busy_ps += state.running.len() as u128 * u128::from(busy.as_ps());
        if !window.counts(reached) && window.counts(now) {
            state.record_queue();
        }
        state.used.reached = now;
        state
    }
}

impl Host {
    fn record_queue(&mut self) {
        self.used.max_queue = self.used.max_queue.max(self.waiting.len() as u32);
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

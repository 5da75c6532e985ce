//! A schedule of several links at once: flows transmit in the order of their deadlines, each as fast as the links on its
//! path permit after all earlier flows.
//!
//! The schedule is online, since it knows only flows that have arrived, and central, since it knows all of them at once.
//! Flows are admitted by the rule of Moore and Hodgson (Management Science 15, 1968), applied to every link: if the flows
//! of a link cannot all be in time, the longest is postponed. Postponed flows use what the admitted ones leave.

use super::{Job, by_arrival};
use duetime_core::Rate;
use std::collections::BinaryHeap;

/// Flow over several links.
#[derive(Clone, Debug)]
pub struct PathJob {
    /// The flow. It uses all links at the same time, so the caller subtracts propagation from its deadline.
    pub job: Job,
    /// Indices of its links, at least one.
    pub links: Vec<usize>,
    /// Index of the query that the flow answers. The flows of a query that is already late are postponed first.
    pub query: Option<usize>,
}

/// Returns, for each job, true if it is in time on links of the given rates. A query is late if it loses more answers
/// than its entry in `spare`. Jobs without a deadline yield to all others, and count as in time.
pub fn online_network(rates: &[Rate], jobs: &[PathJob], spare: &[usize]) -> Vec<bool> {
    let mut network = Network {
        jobs,
        links: rates.iter().copied().map(Link::new).collect(),
        spare,
        lost: vec![0; spare.len()],
        active: Vec::new(),
        in_time: vec![true; jobs.len()],
        now: 0,
    };
    network.run();
    network.in_time
}

/// Remaining data is counted in bits times 10¹², so that one bit per second serves one unit in each picosecond.
const UNITS_PER_BYTE: u128 = 8_000_000_000_000;

struct Network<'a> {
    jobs: &'a [PathJob],
    links: Vec<Link>,
    spare: &'a [usize],
    /// Late answers so far, by query.
    lost: Vec<usize>,
    /// Flows with a deadline that have arrived and can still be in time, earliest deadline first.
    active: Vec<Active>,
    in_time: Vec<bool>,
    /// Time in picoseconds.
    now: u64,
}

struct Active {
    job: usize,
    due: u64,
    left: u128,
    /// Rate of the slowest link, in bits per second.
    fastest: u64,
    /// Current rate in bits per second.
    rate: u64,
    is_admitted: bool,
}

struct Link {
    /// Capacity in bits per second.
    capacity: u64,
    /// Capacity that no flow uses.
    free: u64,
    /// Time that the admitted flows need, in picoseconds.
    work: u128,
    /// Admitted flows: whether the query is late, time that the flow needs, and position among the active flows.
    longest: BinaryHeap<(bool, u128, usize)>,
}

impl Link {
    fn new(rate: Rate) -> Self {
        Self {
            capacity: rate.as_bps().max(1),
            free: 0,
            work: 0,
            longest: BinaryHeap::new(),
        }
    }
}

impl Network<'_> {
    fn run(&mut self) {
        let jobs: Vec<Job> = self.jobs.iter().map(|path| path.job).collect();
        let mut arrivals = by_arrival(&jobs).into_iter().peekable();
        loop {
            let finish = self
                .active
                .iter()
                .filter_map(|flow| flow.end(self.now))
                .min();
            let arrival = arrivals.peek().map(|&job| jobs[job].arrival.as_ps());
            let Some(next) = finish.into_iter().chain(arrival).min() else {
                return;
            };
            let is_changed = self.serve_until(next);
            let mut has_arrivals = false;
            while let Some(job) = arrivals.next_if(|&job| jobs[job].arrival.as_ps() <= next) {
                self.arrive(job);
                has_arrivals = true;
            }
            if is_changed || has_arrivals {
                self.admit();
                self.allocate();
            }
        }
    }

    /// Transmits until `next` and removes flows that finish or can no longer be in time. Returns true if any was removed.
    fn serve_until(&mut self, next: u64) -> bool {
        let elapsed = u128::from(next - self.now);
        self.now = next;
        let before = self.active.len();
        let mut active = std::mem::take(&mut self.active);
        active.retain_mut(|flow| {
            flow.left = flow.left.saturating_sub(u128::from(flow.rate) * elapsed);
            self.can_be_in_time(flow) && flow.left > 0
        });
        self.active = active;
        self.active.len() < before
    }

    /// Returns true if a flow can be in time when it is alone. Otherwise records that it is late.
    fn can_be_in_time(&mut self, flow: &Active) -> bool {
        let soonest = u128::from(self.now) + flow.left.div_ceil(u128::from(flow.fastest));
        let is_possible = soonest <= u128::from(flow.due);
        if !is_possible {
            self.in_time[flow.job] = false;
            if let Some(query) = self.jobs[flow.job].query {
                self.lost[query] += 1;
            }
        }
        is_possible
    }

    fn arrive(&mut self, job: usize) {
        let path = &self.jobs[job];
        let Some(deadline) = path.job.deadline else {
            return;
        };
        let capacities = path.links.iter().map(|&link| self.links[link].capacity);
        let flow = Active {
            job,
            due: deadline.as_ps(),
            left: u128::from(path.job.bytes) * UNITS_PER_BYTE,
            fastest: capacities.min().unwrap_or(1),
            rate: 0,
            is_admitted: false,
        };
        if self.can_be_in_time(&flow) {
            let place = self.active.partition_point(|other| other.due <= flow.due);
            self.active.insert(place, flow);
        }
    }

    /// Applies the rule of Moore and Hodgson to every link.
    fn admit(&mut self) {
        for link in &mut self.links {
            link.work = 0;
            link.longest.clear();
        }
        for position in 0..self.active.len() {
            let flow = &mut self.active[position];
            flow.is_admitted = true;
            let (left, due) = (flow.left, flow.due);
            let path = &self.jobs[flow.job];
            let is_spoiled = path
                .query
                .is_some_and(|query| self.lost[query] > self.spare[query]);
            for &link in &path.links {
                let link = &mut self.links[link];
                let work = left / u128::from(link.capacity);
                link.work += work;
                link.longest.push((is_spoiled, work, position));
            }
            for &link in &path.links {
                while u128::from(self.now) + self.links[link].work > u128::from(due) {
                    let Some((_, _, longest)) = self.links[link].longest.pop() else {
                        break;
                    };
                    self.postpone(longest);
                }
            }
        }
    }

    fn postpone(&mut self, position: usize) {
        let flow = &mut self.active[position];
        if !flow.is_admitted {
            return;
        }
        flow.is_admitted = false;
        for &link in &self.jobs[flow.job].links {
            let link = &mut self.links[link];
            link.work -= flow.left / u128::from(link.capacity);
        }
    }

    /// Gives each flow the rate that the earlier ones leave on its path: admitted flows, then postponed ones.
    fn allocate(&mut self) {
        for link in &mut self.links {
            link.free = link.capacity;
        }
        for is_admitted in [true, false] {
            let flows = self.active.iter_mut();
            for flow in flows.filter(|flow| flow.is_admitted == is_admitted) {
                let path = &self.jobs[flow.job].links;
                let free = path.iter().map(|&link| self.links[link].free);
                flow.rate = free.min().unwrap_or(0);
                for &link in path {
                    self.links[link].free -= flow.rate;
                }
            }
        }
    }
}

impl Active {
    /// Returns the time at which the flow ends at its current rate, or `None` if it has none.
    fn end(&self, now: u64) -> Option<u64> {
        if self.rate == 0 {
            return None;
        }
        let duration = self.left.div_ceil(u128::from(self.rate));
        Some(u64::try_from(u128::from(now) + duration).unwrap_or(u64::MAX))
    }
}

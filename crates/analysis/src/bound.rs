//! Best possible results: lower bounds on the late answers and queries under any transport, and the results of online
//! schedulers of the receivers' links and, if racks have less capacity than their hosts, of all links.
//!
//! [`crate::demand`] lists every message with the earliest time at which any transport can have it submitted. For
//! each link that flows share, [`crate::fluid`] computes how many of them must be late. Each flow has one receiving and
//! one sending link, so the numbers of different receiving links add up, and so do those of sending links. The bound is
//! the larger of the two sums.
//!
//! - Late even alone: the minimum time of a flow is its propagation, one packet of minimum size through every switch,
//!   and its bytes over the slowest stage. A flow that exceeds its deadline alone is late in any case and takes no
//!   capacity.
//! - The links of a rack to other racks count as one link with their total capacity. If more flows are late there than
//!   on the links of the rack's hosts, that number is used for the rack.
//! - All other parts of the network are free, as are acknowledgements, handshakes and flows without deadlines.
//! - Queries are a relaxation: on the root's link, a query takes only the smallest sufficient answers. For trees with
//!   several layers, only the root's link and each answer alone count.
//!
//! These bounds hold for every transport, with one condition, reported by [`Late::if_prompt`]: if an answer's clock
//! starts when its query reaches the leaf, which is the default (`deadline_from = "response"`), or an aggregator, then
//! a transport that delays queries gains time for their answers. The bound then holds for transports that deliver
//! queries at once.

mod best;

pub use best::{Best, BestGroup, BestPossible, BestQueries};

use crate::demand::{Clock, Demand, DemandFlow, DemandQuery};
use crate::fluid::{
    Batch, Job, PathJob, fewest_late, fewest_late_batches, online, online_batches, online_network,
};
use duetime_core::{Rate, Time};
use duetime_results::Class;
use duetime_scenario::Scenario;
use duetime_sim::SetupError;
use duetime_sim::topology::Network;
use duetime_sim::unloaded::{SharedLink, Tier, max_payload};
use std::collections::BTreeMap;

/// Best possible result of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunBound {
    /// Bound for all measured flows with deadlines, or `None` if some workload's demand is unknown.
    pub all: Option<Late>,
    /// Bounds for measured flows with deadlines, by workload and class.
    pub groups: BTreeMap<(u16, Class), Late>,
    /// Bounds for measured queries that are judged, by workload.
    pub queries: BTreeMap<u16, Late>,
    /// Workloads with unknown demand.
    pub unknown: Vec<u16>,
}

/// Late flows or queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Late {
    /// Total number of flows or queries.
    pub asked: u64,
    /// Number that is late under any transport.
    pub late: u64,
    /// Number that is late under the online schedule.
    pub online: u64,
    /// Number that is late under the online schedule of all links, or `None` if the links between racks are no limit.
    pub network: Option<u64>,
    /// True if the bound holds only for transports that deliver queries without delay.
    pub if_prompt: bool,
}

impl RunBound {
    /// Returns the bound for all judged queries, or `None` if some workload's demand is unknown. Workloads have no
    /// queries in common, so their bounds add up.
    pub fn all_queries(&self) -> Option<Late> {
        let add = |sum: Late, late: &Late| Late {
            asked: sum.asked + late.asked,
            late: sum.late + late.late,
            online: sum.online + late.online,
            network: sum.network.zip(late.network).map(|(a, b)| a + b),
            if_prompt: sum.if_prompt || late.if_prompt,
        };
        let known = self.unknown.is_empty();
        let start = Late {
            network: Some(0),
            ..Late::default()
        };
        known.then(|| self.queries.values().fold(start, add))
    }

    /// Computes the bound for run `run` of a scenario on its network.
    pub fn of(scenario: &Scenario, run: u64, network: &Network) -> Result<Self, SetupError> {
        let demand = Demand::new(scenario, run, network)?;
        let site = Site {
            network,
            demand: &demand,
        };
        let in_time = InTime {
            online: site.online_flows(),
            network: site.network_flows(),
        };
        let mut sets: BTreeMap<(u16, Class), Vec<usize>> = BTreeMap::new();
        for (index, flow) in demand.flows.iter().enumerate() {
            if flow.message.measured && flow.message.deadline.is_some() {
                let group = (flow.message.workload, flow.message.class);
                sets.entry(group).or_default().push(index);
            }
        }
        let groups: BTreeMap<_, _> = sets
            .iter()
            .map(|(&group, set)| (group, site.flows(set, &in_time)))
            .collect();
        let all = match groups.values().next() {
            Some(only) if groups.len() == 1 => Some(*only),
            Some(_) => {
                let together: Vec<usize> = sets.values().flatten().copied().collect();
                let together = site.flows(&together, &in_time);
                // Groups have no flow in common, so their bounds add up as well.
                let apart: u64 = groups.values().map(|group| group.late).sum();
                Some(Late {
                    late: together.late.max(apart),
                    ..together
                })
            }
            None => None,
        };
        let all = all.filter(|_| demand.unknown.is_empty());
        Ok(Self {
            all,
            groups,
            queries: site.queries(&in_time),
            unknown: demand.unknown.clone(),
        })
    }
}

/// Returns true if two scenarios differ only in the options of their transports (except the packet size), switches,
/// records and drain time.
pub fn same_demand(a: &Scenario, b: &Scenario) -> bool {
    let same = Scenario {
        name: b.name.clone(),
        transports: b.transports.clone(),
        switch: b.switch.clone(),
        record: b.record.clone(),
        lab: b.lab,
        drain: b.drain,
        ..a.clone()
    };
    max_payload(a) == max_payload(b) && same == *b
}

/// For each flow, true if it is in time.
struct InTime {
    /// Under the online schedule of the receivers' links.
    online: Vec<bool>,
    /// Under the online schedule of all links.
    network: Option<Vec<bool>>,
}

fn late_of(set: &[usize], in_time: &[bool]) -> u64 {
    set.iter().filter(|&&index| !in_time[index]).count() as u64
}

struct Site<'a> {
    network: &'a Network,
    demand: &'a Demand,
}

impl Site<'_> {
    /// Returns the bound for a set of flows.
    fn flows(&self, set: &[usize], in_time: &InTime) -> Late {
        let flow = |&index: &usize| &self.demand.flows[index];
        let mut links: BTreeMap<usize, Vec<Job>> = BTreeMap::new();
        for flow in set.iter().map(flow) {
            // If the deadline depends on other answers, only the time allowed is known, not the deadline itself.
            if flow.is_infeasible() || flow.clock == Clock::Answers {
                continue;
            }
            for (link, job) in self.jobs(flow) {
                links.entry(link).or_default().push(job);
            }
        }
        let late = |link: &SharedLink, jobs: &Vec<Job>| fewest_late(link.rate, jobs).late;
        let infeasible = (set.iter().map(flow)).filter(|flow| flow.is_infeasible());
        Late {
            asked: set.len() as u64,
            late: (infeasible.count() + self.over_links(&links, late)) as u64,
            online: late_of(set, &in_time.online),
            network: in_time
                .network
                .as_ref()
                .map(|in_time| late_of(set, in_time)),
            if_prompt: set.iter().map(flow).any(|flow| flow.clock == Clock::Query),
        }
    }

    /// Returns a flow with a deadline as a job on each link that it crosses.
    fn jobs(&self, flow: &DemandFlow) -> impl Iterator<Item = (usize, Job)> {
        let (at, bytes, deadline) = (
            flow.message.submitted,
            flow.wire_bytes,
            flow.message.deadline,
        );
        self.demand.crossings(flow).map(move |crossing| {
            let job = Job {
                arrival: at + crossing.before,
                bytes,
                // The subtraction cannot underflow, because a feasible flow's deadline is later than `after`.
                deadline: deadline
                    .map(|deadline| Time::ZERO + (deadline.since(Time::ZERO + crossing.after))),
            };
            (crossing.link, job)
        })
    }

    /// Adds up the late jobs of all links: for each rack the larger of its hosts' links and the links between it and
    /// others, and for all racks the larger of both directions.
    fn over_links<T>(
        &self,
        links: &BTreeMap<usize, T>,
        late: impl Fn(&SharedLink, &T) -> usize,
    ) -> usize {
        // Late jobs by direction and rack: at the rack's hosts, and between the rack and others.
        let mut racks: BTreeMap<(bool, u32), (usize, usize)> = BTreeMap::new();
        for (&index, jobs) in links {
            let link = &self.demand.links()[index];
            let late = late(link, jobs);
            let inward = matches!(link.tier, Tier::Receiving | Tier::RackIn);
            match link.tier {
                Tier::Sending | Tier::Receiving => {
                    let rack = self.network.switch_of(link.node);
                    racks.entry((inward, rack)).or_default().0 += late;
                }
                Tier::RackOut | Tier::RackIn => {
                    racks.entry((inward, link.node)).or_default().1 += late;
                }
            }
        }
        let sum = |direction: bool| -> usize {
            let racks = racks.iter().filter(|((inward, _), _)| *inward == direction);
            racks.map(|(_, late)| late.0.max(late.1)).sum()
        };
        sum(true).max(sum(false))
    }

    /// Returns, for each flow, true if the online schedule of its receiver's link meets its deadline.
    fn online_flows(&self) -> Vec<bool> {
        let mut in_time = vec![true; self.demand.flows.len()];
        let mut links: BTreeMap<usize, Vec<(usize, Job)>> = BTreeMap::new();
        for (index, flow) in self.demand.flows.iter().enumerate() {
            if flow.message.deadline.is_none() {
                continue;
            }
            if flow.is_infeasible() {
                in_time[index] = false;
                continue;
            }
            if let Some((link, job)) = self.jobs(flow).find(|(link, _)| self.is_receiving(*link)) {
                links.entry(link).or_default().push((index, job));
            }
        }
        for (link, flows) in links {
            let jobs: Vec<Job> = flows.iter().map(|(_, job)| *job).collect();
            let met = online(self.demand.links()[link].rate, &jobs);
            for ((index, _), met) in flows.into_iter().zip(met) {
                in_time[index] = met;
            }
        }
        in_time
    }

    /// Returns, for each flow, true if the online schedule of all links meets its deadline and the budget of its query.
    /// Returns `None` if each rack has as much capacity to others as its hosts have, because then the schedule hardly
    /// differs from that of the receivers' links.
    fn network_flows(&self) -> Option<Vec<bool>> {
        let links = self.demand.links();
        if !self.has_scarce_racks() {
            return None;
        }
        let mut query_of = BTreeMap::new();
        for (number, query) in self.demand.queries.iter().enumerate() {
            query_of.extend(query.answers.iter().map(|&answer| (answer, number)));
        }
        let queries = self.demand.queries.iter();
        let spare: Vec<usize> = queries
            .map(|query| query.answers.len().saturating_sub(Self::needed(query)))
            .collect();
        let mut in_time = vec![true; self.demand.flows.len()];
        let (mut indices, mut jobs) = (Vec::new(), Vec::new());
        for (index, flow) in self.demand.flows.iter().enumerate() {
            let query = query_of.get(&index).copied();
            let budget = query.and_then(|query| self.demand.queries[query].due);
            let deadline = flow.message.deadline.into_iter().chain(budget).min();
            let Some(deadline) = deadline else { continue };
            let crossings: Vec<_> = self.demand.crossings(flow).collect();
            let receiving = crossings
                .iter()
                .find(|crossing| self.is_receiving(crossing.link));
            let Some(receiving) = receiving else { continue };
            let arrival = flow.message.submitted + receiving.before;
            let latest = if flow.earliest > deadline {
                arrival
            } else {
                Time::ZERO + deadline.since(Time::ZERO + receiving.after)
            };
            indices.push(index);
            jobs.push(PathJob {
                job: Job {
                    arrival,
                    bytes: flow.wire_bytes,
                    deadline: Some(latest),
                },
                links: crossings.iter().map(|crossing| crossing.link).collect(),
                query,
            });
        }
        let rates: Vec<Rate> = links.iter().map(|link| link.rate).collect();
        let met = online_network(&rates, &jobs, &spare);
        for (index, met) in indices.into_iter().zip(met) {
            in_time[index] = met;
        }
        Some(in_time)
    }

    /// Returns true if the links between some rack and others have less capacity than those of the rack's hosts.
    fn has_scarce_racks(&self) -> bool {
        let mut racks: BTreeMap<(bool, u32), (u64, u64)> = BTreeMap::new();
        for link in self.demand.links() {
            let inward = matches!(link.tier, Tier::Receiving | Tier::RackIn);
            let bps = link.rate.as_bps();
            match link.tier {
                Tier::Sending | Tier::Receiving => {
                    let rack = self.network.switch_of(link.node);
                    racks.entry((inward, rack)).or_default().0 += bps;
                }
                Tier::RackOut | Tier::RackIn => {
                    racks.entry((inward, link.node)).or_default().1 += bps;
                }
            }
        }
        // A network of one switch has no other racks.
        let mut racks = racks.values();
        racks.any(|&(hosts, others)| others > 0 && others < hosts)
    }

    fn is_receiving(&self, link: usize) -> bool {
        self.demand.links()[link].tier == Tier::Receiving
    }

    /// Returns the bounds for the queries of each workload.
    fn queries(&self, in_time: &InTime) -> BTreeMap<u16, Late> {
        let met = self.online_queries(&in_time.online);
        let mut workloads: BTreeMap<u16, Late> = BTreeMap::new();
        let mut claims: BTreeMap<u16, BTreeMap<usize, Vec<Batch>>> = BTreeMap::new();
        for (query, met) in self
            .demand
            .queries
            .iter()
            .zip(met)
            .filter(|(query, _)| query.measured)
        {
            let sum = workloads.entry(query.workload).or_default();
            sum.asked += 1;
            sum.online += u64::from(!met);
            if let Some(in_time) = &in_time.network {
                let arrived = query.answers.iter().filter(|&&answer| in_time[answer]);
                let is_met = arrived.count() >= Self::needed(query);
                *sum.network.get_or_insert_default() += u64::from(!is_met);
            }
            sum.if_prompt |=
                query.due.is_none() && self.answers(query).any(|flow| flow.clock != Clock::Fixed);
            if self.is_infeasible(query) {
                sum.late += 1;
                continue;
            }
            let links = claims.entry(query.workload).or_default();
            for (link, batch) in self.batches(query) {
                links.entry(link).or_default().push(batch);
            }
        }
        for (workload, links) in claims {
            let late =
                |link: &SharedLink, batches: &Vec<Batch>| fewest_late_batches(link.rate, batches);
            let late = self.over_links(&links, late) as u64;
            workloads.entry(workload).or_default().late += late;
        }
        workloads
    }

    fn answers<'a>(&'a self, query: &'a DemandQuery) -> impl Iterator<Item = &'a DemandFlow> {
        query.answers.iter().map(|&index| &self.demand.flows[index])
    }

    /// Returns the minimum number of the root's children whose answers a query needs.
    fn needed(query: &DemandQuery) -> usize {
        query.needed.div_ceil(query.leaves_per_answer.max(1)) as usize
    }

    /// Returns true if a query is late even if it is alone.
    fn is_infeasible(&self, query: &DemandQuery) -> bool {
        if query.reachable < query.needed {
            return true;
        }
        // Without a budget, each answer must meet its own deadline over the root's link.
        let by_deadlines = query.due.is_none() && query.leaves_per_answer == 1;
        by_deadlines && self.answers(query).all(|flow| flow.clock != Clock::Answers) && {
            let possible: Vec<(usize, Job)> = self
                .answers(query)
                .filter(|flow| !flow.is_infeasible())
                .filter_map(|flow| self.jobs(flow).find(|(link, _)| self.is_receiving(*link)))
                .collect();
            let jobs: Vec<Job> = possible.iter().map(|(_, job)| *job).collect();
            let late = possible.first().map_or(0, |&(link, _)| {
                fewest_late(self.demand.links()[link].rate, &jobs).late
            });
            jobs.len() - late < Self::needed(query)
        }
    }

    /// Returns the answers that a query needs over each link towards its root. Links that it does not need are left
    /// out.
    fn batches(&self, query: &DemandQuery) -> Vec<(usize, Batch)> {
        let latest = || {
            self.answers(query)
                .filter_map(|flow| flow.message.deadline)
                .max()
        };
        let by_deadlines = query.due.is_none() && query.leaves_per_answer == 1;
        let Some(due) = query.due.or_else(|| latest().filter(|_| by_deadlines)) else {
            return Vec::new();
        };
        let mut links: BTreeMap<usize, Batch> = BTreeMap::new();
        for flow in self.answers(query) {
            for crossing in self.demand.crossings(flow) {
                if !matches!(
                    self.demand.links()[crossing.link].tier,
                    Tier::Receiving | Tier::RackIn
                ) {
                    continue;
                }
                // Answers from different hosts take different times after the link; the shortest is valid for all.
                let latest = Time::ZERO + due.since(Time::ZERO + crossing.after);
                let batch = links.entry(crossing.link).or_insert_with(|| Batch {
                    flows: Vec::new(),
                    needed: 0,
                    deadline: latest,
                });
                batch.deadline = batch.deadline.max(latest);
                batch
                    .flows
                    .push((flow.message.submitted + crossing.before, flow.wire_bytes));
            }
        }
        let all = query.answers.len();
        let needed = Self::needed(query);
        let claims = links.into_iter().map(|(link, mut batch)| {
            // Answers that do not cross the link do not use it.
            batch.needed = needed.saturating_sub(all - batch.flows.len());
            (link, batch)
        });
        claims.filter(|(_, batch)| batch.needed > 0).collect()
    }

    /// Returns, for each query, true if the online schedule of its root's link meets its budget or deadlines.
    fn online_queries(&self, in_time: &[bool]) -> Vec<bool> {
        let mut links: BTreeMap<usize, Vec<(usize, Batch)>> = BTreeMap::new();
        let mut met = vec![false; self.demand.queries.len()];
        for (index, query) in self.demand.queries.iter().enumerate() {
            if query.reachable < query.needed {
                continue;
            }
            if query.due.is_none() {
                let arrived = query.answers.iter().filter(|&&answer| in_time[answer]);
                met[index] = arrived.count() >= Self::needed(query);
                continue;
            }
            met[index] = query.needed == 0;
            let batches = self.batches(query).into_iter();
            if let Some((link, batch)) = batches
                .into_iter()
                .find(|(link, _)| self.is_receiving(*link))
            {
                links.entry(link).or_default().push((index, batch));
            }
        }
        for (link, queries) in links {
            let (indices, batches): (Vec<usize>, Vec<Batch>) = queries.into_iter().unzip();
            let in_time = online_batches(self.demand.links()[link].rate, &batches);
            for (index, in_time) in indices.into_iter().zip(in_time) {
                met[index] = in_time;
            }
        }
        met
    }
}

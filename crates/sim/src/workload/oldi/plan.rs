//! Constant properties of the trees of a workload: their hosts, and every draw, keyed by (role, query).

use super::super::context::{Call, Context, Draft, Key};
use super::super::deadlines::recorded_share;
use super::super::place::Place;
use super::super::token::{At, Due, MAX_ROLES};
use super::super::{Wake, draw};
use super::estimate::Declared;
use super::forest::{Forest, Recorded};
use super::setup::{check, place_recorded, place_roles};
use super::shape::Shape;
use crate::SetupError;
use duetime_core::random::Purpose;
use duetime_core::{Bytes, Span, Time};
use duetime_results::record::Class;
use duetime_scenario::model::{self, Deadline, DeadlineFrom, Gap, GiveUp, QueryArrival};

/// Constant properties of the trees of a workload.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) workload: u16,
    pub(super) config: model::Oldi,
    pub(super) forest: Forest,
    /// True if the nodes' connections are persistent, so that they are open before the first query.
    pub(super) keeps_connections: bool,
    /// Index of the workload's first tree among the trees of all workloads.
    first_tree: u32,
    /// Host of each role.
    pub(super) hosts: Vec<u32>,
    /// Gap between the queries of each tree, or `None` if they are back to back. Empty if queries are recorded.
    pub(super) gaps: Vec<Option<Gap>>,
    /// Sorted hosts of each tree, if requests to leaves can be hedged or retried.
    pub(super) members: Vec<Vec<u32>>,
    /// Expected response times, if leaves are hedged at a percentile.
    pub(super) declared: Option<Declared>,
}

impl Plan {
    pub(super) fn new(config: &model::Oldi, place: &Place<'_>) -> Result<Self, SetupError> {
        check(config, place)?;
        let shape = Shape::new(&config.fan_in);
        let trees = u64::from(config.applications) * u64::from(config.trees);
        let roles = trees * u64::from(shape.nodes());
        if roles >= MAX_ROLES {
            return Err(SetupError::TooLarge {
                what: "number of nodes of all trees",
                value: roles,
                allowed: MAX_ROLES - 1,
            });
        }
        let mut stream = place
            .context
            .stream(Key::new(place.workload, 0, 0), Purpose::Placement);
        let hosts = place_roles(config, &shape, trees as u32, place, &mut stream)?;
        let first_tree = place.trees_before;
        let mut plan = Self {
            workload: place.workload,
            keeps_connections: place.keeps_connections(),
            config: config.clone(),
            forest: Forest::Regular(shape),
            first_tree,
            hosts,
            gaps: Vec::new(),
            members: Vec::new(),
            declared: None,
        };
        if config.has_hedges_or_retries() {
            plan.members = plan.hosts_by_tree();
        }
        plan.declared = Declared::new(config, &plan, place);
        plan.gaps = (0..trees as u32)
            .map(|tree| plan.gap(tree, place))
            .collect::<Result<_, _>>()?;
        Ok(plan)
    }

    /// Creates one tree for each recorded query.
    pub(super) fn recorded(spans: &model::Spans, place: &Place<'_>) -> Result<Self, SetupError> {
        let roles: usize = spans.queries.iter().map(|query| query.nodes.len()).sum();
        if roles as u64 >= MAX_ROLES {
            return Err(SetupError::TooLarge {
                what: "number of nodes of all recorded queries",
                value: roles as u64,
                allowed: MAX_ROLES - 1,
            });
        }
        let recorded = Recorded::new(&spans.queries).map_err(|error| place.invalid(error))?;
        let forest = Forest::Recorded(recorded);
        let mut stream = place
            .context
            .stream(Key::new(place.workload, 0, 0), Purpose::Placement);
        Ok(Self {
            workload: place.workload,
            keeps_connections: place.keeps_connections(),
            config: common_config(spans),
            hosts: place_recorded(spans, &forest, place, &mut stream)?,
            forest,
            first_tree: place.trees_before,
            gaps: Vec::new(),
            members: Vec::new(),
            declared: None,
        })
    }

    pub(super) fn root(&self, tree: u32) -> u32 {
        self.forest.root(tree)
    }

    pub(super) fn tree(&self, role: u32) -> u32 {
        self.forest.tree(role)
    }

    /// Returns the tree of a query.
    pub(super) fn tree_of(&self, query: u64) -> u32 {
        (query >> 32) as u32 - self.first_tree
    }

    /// Returns true if the tree's next query waits for the answer to the previous one.
    pub(super) fn is_back_to_back(&self, tree: u32) -> bool {
        self.gaps.get(tree as usize).is_some_and(Option::is_none)
    }

    pub(super) fn application(&self, tree: u32) -> usize {
        (tree / self.config.trees) as usize
    }

    fn hosts_by_tree(&self) -> Vec<Vec<u32>> {
        let trees = self.hosts.chunks(self.forest.nodes(0) as usize);
        let sorted = trees.map(|hosts| {
            let mut hosts = hosts.to_vec();
            hosts.sort_unstable();
            hosts.dedup();
            hosts
        });
        sorted.collect()
    }

    /// Returns true if the role is a leaf whose requests can be hedged, retried or cancelled.
    pub(super) fn tracks(&self, role: u32) -> bool {
        self.config.tracks_leaves() && self.forest.is_leaf(role)
    }

    pub(super) fn host(&self, role: u32) -> u32 {
        self.hosts[role as usize]
    }

    pub(super) fn depth(&self, role: u32) -> usize {
        self.forest.depth(role)
    }

    pub(super) fn parent(&self, role: u32) -> u32 {
        self.forest.parent(role)
    }

    pub(super) fn children(&self, role: u32) -> std::ops::Range<u32> {
        self.forest.children(role)
    }

    /// Returns the query's id, [`QueryRecord::query`](duetime_results::record::QueryRecord::query): the index of the
    /// tree among all trees of the scenario, and the index of the query in the tree.
    pub(super) fn query(&self, tree: u32, number: u32) -> u64 {
        u64::from(self.first_tree + tree) << 32 | u64::from(number)
    }

    /// Returns the wake-up at which the next query of a tree arrives.
    pub(super) fn arrival(&self, root: u32, number: u32, at: Time) -> Wake {
        let query = At {
            role: root,
            number,
            attempt: 0,
            measured: false,
        };
        self.wake(self.host(root), Due::Arrival, query, at)
    }

    /// Schedules a wake-up that the query waits for.
    pub(super) fn await_wake(&self, call: &mut Call<'_>, due: Due, query: At, at: Time) {
        let host = self.wake_host(call.context, due, query);
        call.actions.wakes.push(self.wake(host, due, query, at));
        call.actions.awaited += i64::from(query.measured);
    }

    pub(super) fn wake(&self, host: u32, due: Due, query: At, at: Time) -> Wake {
        Wake {
            host,
            at,
            workload: self.workload,
            token: due.token(query),
        }
    }

    /// Returns the host of a wake-up.
    pub(super) fn wake_host(&self, context: &Context, due: Due, query: At) -> u32 {
        match due {
            Due::Connect if query.attempt > 0 => self.host(query.role),
            Due::Ask | Due::Hedge | Due::Retry | Due::Connect => self.host(self.parent(query.role)),
            Due::Arrival | Due::Answer | Due::Timeout | Due::Computed => {
                self.host_of(context, query)
            }
        }
    }

    pub(super) fn key(&self, role: u32, number: u32) -> Key {
        Key::new(self.workload, u64::from(role), u64::from(number))
    }

    pub(super) fn arrival_key(&self, tree: u32, number: u32) -> Key {
        self.key(self.root(tree), number)
    }

    /// Returns the number of answers that a role needs before it answers; 0 for a leaf.
    pub(super) fn needed(&self, role: u32) -> u32 {
        match self.forest.fan_in(role) {
            0 => 0,
            fan_in => needed(fan_in, self.config.complete_at),
        }
    }

    /// Returns the number of leaves whose answers satisfy the objective of a tree's queries.
    pub(super) fn leaves_needed(&self, tree: u32) -> u32 {
        needed(self.forest.leaves(tree), self.config.objective.answers)
    }

    /// Returns the size of a role's answer in bytes.
    pub(super) fn answer_bytes(&self, context: &Context, role: u32, number: u32) -> u64 {
        if let Some(recorded) = self.forest.recorded() {
            return recorded.role(role).response;
        }
        let application = self.application(self.tree(role));
        let size = self.config.answer(application, self.depth(role) - 1);
        draw::size(
            size,
            &mut context.stream(self.key(role, number), Purpose::Size),
        )
    }

    /// Returns the budget of a tree's queries, counted from their arrival at the root.
    pub(super) fn budget(&self, tree: u32) -> Option<Span> {
        self.config.budget(self.application(tree))
    }

    /// Returns true if a tree's queries have a budget or deadlines by which they can be late.
    pub(super) fn can_be_late(&self, tree: u32) -> bool {
        self.config.can_be_late(self.application(tree))
    }

    /// Returns the gap between the queries of a tree, or `None` if they are back to back.
    fn gap(&self, tree: u32, place: &Place<'_>) -> Result<Option<Gap>, SetupError> {
        let gap = match &self.config.arrival {
            QueryArrival::BackToBack => return Ok(None),
            QueryArrival::Every(gap) => gap.clone(),
            &QueryArrival::Load {
                load,
                poisson,
                each_tree,
            } => {
                let root = self.host(self.root(tree)) as usize;
                let rate = place.network.links[place.network.downlink[root] as usize].rate;
                let wire = |application| {
                    draw::mean_wire(self.config.answer(application, 0), place.context.header)
                };
                let answer = if each_tree {
                    wire(self.application(tree))
                } else {
                    let applications = self.config.applications;
                    (0..applications as usize).map(wire).sum::<f64>() / f64::from(applications)
                };
                let bits = 8.0 * answer * f64::from(self.forest.fan_in(self.root(tree)));
                let mean = draw::scale(Span::from_secs(1), bits / (load * rate.as_bps() as f64));
                if poisson {
                    Gap::Exponential(mean)
                } else {
                    Gap::Fixed(mean)
                }
            }
        };
        if draw::mean_gap(&gap) == Span::ZERO {
            return Err(place
                .invalid("the mean gap between the queries of a tree is zero; it must be longer"));
        }
        Ok(Some(gap))
    }

    /// Returns the start jitter between the arrival of a query at the parent of `child` and its submission to `child`.
    pub(super) fn ask_jitter(&self, context: &Context, child: u32, number: u32) -> Span {
        context.jitter(self.host(self.parent(child)), self.key(child, number))
    }

    /// Sends a query to a child. `asked` is the time at which its parent received the query.
    pub(super) fn send_query(&self, call: &mut Call<'_>, child: At, asked: Time) {
        let At { role, number, .. } = child;
        let mut stream = call
            .context
            .stream(self.key(role, number).other(), Purpose::Deadline);
        let deadline = draw::deadline(&self.config.query_deadline, &mut stream);
        let draft = Draft {
            workload: self.workload,
            class: Class::Query,
            query: Some(self.query(self.tree(role), number)),
            source: self.host(self.parent(role)),
            destination: self.host_of(call.context, child),
            bytes: match self.forest.recorded() {
                Some(recorded) => recorded.role(role).request.max(1),
                None => self.config.query.0.max(1),
            },
            deadline: deadline.map(|span| call.now + span),
            tag: child.tag(),
            leaves: [0; 2],
            siblings: 0,
            asked,
            waited: Span::ZERO,
            measured: child.measured,
        };
        call.context.send(call.actions, call.now, &draft);
    }

    /// Schedules the time at which the root of a back-to-back tree moves on without the missing answers, so that a lost
    /// answer cannot stop the tree.
    pub(super) fn limit_root(&self, call: &mut Call<'_>, root: At) {
        if let Some(timeout) = self.children_timeout(call.context, root.role, root.number) {
            let wake = self.wake(
                self.host(root.role),
                Due::Timeout,
                At {
                    measured: false,
                    ..root
                },
                call.now + timeout,
            );
            call.actions.wakes.push(wake);
        }
    }

    /// Schedules the time at which an aggregator that has just received a query stops waiting for answers. `at_parent`
    /// is the time at which its parent received the query.
    pub(super) fn limit_aggregator(&self, call: &mut Call<'_>, query: At, at_parent: Time) {
        let At { role, number, .. } = query;
        let at = match self.config.give_up {
            GiveUp::Never => None,
            GiveUp::After(span) => Some(call.now + span),
            GiveUp::Own => self
                .relative_deadline(call.context, role, number)
                .map(|deadline| (at_parent + deadline).max(call.now)),
            GiveUp::Children => self
                .children_timeout(call.context, role, number)
                .map(|timeout| call.now + timeout),
        };
        if let Some(at) = at {
            self.await_wake(call, Due::Timeout, query, at);
        }
    }

    /// Returns the deadline of a role's answer, relative to the start of its clock.
    pub(super) fn relative_deadline(
        &self,
        context: &Context,
        role: u32,
        number: u32,
    ) -> Option<Span> {
        let deadlines = &self.config.deadline;
        let deadline = &deadlines[self.application(self.tree(role)) % deadlines.len()];
        let budget = draw::deadline(
            deadline,
            &mut context.stream(self.key(role, number), Purpose::Deadline),
        )?;
        Some(draw::scale(budget, self.share(role)))
    }

    /// Returns the share of the budget that a role's answer may use.
    fn share(&self, role: u32) -> f64 {
        let depth = self.depth(role);
        if let Some(recorded) = self.forest.recorded() {
            return recorded_share(recorded.role(role).layers as usize, depth);
        }
        self.config
            .layer_share
            .get(depth - 1)
            .copied()
            .unwrap_or(1.0)
    }

    /// Returns the sum of a leaf's computation and jitter.
    pub(super) fn leaf_delay(&self, context: &Context, query: At) -> Span {
        let (compute, jitter) = self.leaf_delays(context, query);
        compute + jitter
    }

    /// Returns a leaf's computation and its jitter.
    pub(super) fn leaf_delays(&self, context: &Context, query: At) -> (Span, Span) {
        if let Some(recorded) = self.forest.recorded() {
            return (recorded.role(query.role).compute, Span::ZERO);
        }
        let mut stream = context.stream(self.attempt_key(query), Purpose::Compute);
        let compute = draw::gap(&self.config.compute, &mut stream);
        (compute, draw::gap(&self.config.jitter, &mut stream))
    }

    /// Returns a node's computation before its answer, and the further delay of the answer.
    pub(super) fn delays(&self, context: &Context, query: At) -> (Span, Span) {
        if self.forest.is_leaf(query.role) {
            self.leaf_delays(context, query)
        } else {
            (self.aggregate_delay(context, query), Span::ZERO)
        }
    }

    /// Returns the computation of an aggregator.
    pub(super) fn aggregate_delay(&self, context: &Context, query: At) -> Span {
        let At { role, number, .. } = query;
        if let Some(recorded) = self.forest.recorded() {
            return recorded.role(role).compute;
        }
        let mut stream = context.stream(self.key(role, number), Purpose::Compute);
        draw::gap(&self.config.aggregate_compute, &mut stream)
    }

    /// Returns a node's delay before its answer: the computation and, at a leaf, the jitter.
    pub(super) fn delay(&self, context: &Context, query: At) -> Span {
        if self.forest.is_leaf(query.role) {
            self.leaf_delay(context, query)
        } else {
            self.aggregate_delay(context, query)
        }
    }

    /// Returns the start jitter between a node's computation and its answer.
    pub(super) fn answer_jitter(&self, context: &Context, query: At) -> Span {
        context.jitter(self.host(query.role), self.attempt_key(query).other())
    }

    /// Returns how long a node waits for answers after it received a query: until the last of its children's deadlines,
    /// or `None` if a child has no deadline. If deadlines count from the submission of the answers, messages are
    /// assumed to take no time.
    fn children_timeout(&self, context: &Context, role: u32, number: u32) -> Option<Span> {
        let deadline = |child| {
            let relative = self.relative_deadline(context, child, number)?;
            let query = At {
                role: child,
                number,
                attempt: 0,
                measured: false,
            };
            Some(match self.config.deadline_from {
                DeadlineFrom::Query => relative,
                DeadlineFrom::Response if self.children(child).is_empty() => {
                    relative + self.leaf_delay(context, query)
                }
                DeadlineFrom::Response => {
                    let computes = self.aggregate_delay(context, query);
                    relative + self.children_timeout(context, child, number)? + computes
                }
            })
        };
        // A node waits without limit for a child that has no deadline.
        self.children(role)
            .map(deadline)
            .try_fold(Span::ZERO, |longest, span| Some(longest.max(span?)))
    }
}

/// Returns the options of recorded queries as those of generated trees. Options that differ between queries are in the
/// forest.
fn common_config(spans: &model::Spans) -> model::Oldi {
    model::Oldi {
        applications: 1,
        trees: spans.queries.len() as u32,
        fan_in: Vec::new(),
        query: Bytes(0),
        response: Vec::new(),
        layer_response: Vec::new(),
        deadline: vec![spans.deadline],
        layer_share: Vec::new(),
        deadline_from: spans.deadline_from,
        query_deadline: Deadline::None,
        arrival: QueryArrival::Every(Gap::ZERO),
        compute: Gap::ZERO,
        aggregate_compute: Gap::ZERO,
        jitter: Gap::ZERO,
        complete_at: spans.complete_at,
        objective: spans.objective.clone(),
        give_up: spans.give_up,
        hedge: None,
        retry: None,
        cancel_spares: false,
        share_hosts: true,
    }
}

/// Returns the number of answers needed from `fan_in` children, at least 1, if a share of `complete_at` is enough; the
/// share is in (0, 1].
pub fn needed(fan_in: u32, complete_at: f64) -> u32 {
    // A share such as 0.95 is inexact as a float; its product with an integer must not be rounded up because of that.
    (libm::ceil(complete_at * f64::from(fan_in) - 1e-9) as u32).clamp(1, fan_in.max(1))
}

#[cfg(test)]
mod tests {
    use super::needed;

    #[test]
    fn needed_rounds_up_except_for_float_error() {
        // As floats, 0.07 × 100 is slightly more than 7.
        assert_eq!(
            [needed(100, 0.07), needed(40, 0.95), needed(3, 0.5)],
            [7, 38, 2]
        );
        assert_eq!([needed(10, 1e-12), needed(10, 1.0)], [1, 10]);
    }
}

//! What never changes about the trees of a workload: where they are, and every draw, named by (role, query).

use super::super::context::{Context, Draft, Key};
use super::super::{Place, Wake, draw};
use super::Call;
use super::estimate::Declared;
use super::forest::{Forest, Recorded};
use super::setup::{check, place_recorded, place_roles};
use super::shape::Shape;
use super::token::{At, Due, MAX_ROLES};
use crate::SetupError;
use duetime_core::random::Purpose;
use duetime_core::{Bytes, Span, Time};
use duetime_results::record::Class;
use duetime_scenario::model::{self, Deadline, DeadlineFrom, Gap, GiveUp, QueryArrival};

/// What never changes.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) workload: u16,
    pub(super) config: model::Oldi,
    pub(super) forest: Forest,
    /// True if the nodes' connections are kept, so that they are open before the first query.
    pub(super) keeps_connections: bool,
    /// Number of the first tree among the trees of all workloads.
    first_tree: u32,
    /// Per role: its host.
    pub(super) hosts: Vec<u32>,
    /// Per tree: between its queries; `None`: back to back. Empty where queries are recorded.
    pub(super) gaps: Vec<Option<Gap>>,
    /// Per tree, where leaves may be asked again: its hosts, sorted.
    pub(super) members: Vec<Vec<u32>>,
    /// Expected answer times, where leaves are hedged at a percentile.
    pub(super) declared: Option<Declared>,
}

impl Plan {
    pub(super) fn new(config: &model::Oldi, place: &Place<'_>) -> Result<Self, SetupError> {
        check(config, place)?;
        let shape = Shape::new(&config.fan_in);
        let trees = u64::from(config.applications) * u64::from(config.trees);
        let roles = trees * u64::from(shape.nodes());
        if roles >= MAX_ROLES {
            let what = "number of nodes of all trees";
            return Err(SetupError::TooLarge {
                what,
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
        if config.asks_again() {
            plan.members = plan.hosts_by_tree();
        }
        plan.declared = Declared::of(config, &plan, place);
        plan.gaps = (0..trees as u32)
            .map(|tree| plan.gap(tree, place))
            .collect::<Result<_, _>>()?;
        Ok(plan)
    }

    /// The trees of recorded queries, one for each.
    pub(super) fn recorded(spans: &model::Spans, place: &Place<'_>) -> Result<Self, SetupError> {
        let roles: usize = spans.queries.iter().map(|query| query.nodes.len()).sum();
        if roles as u64 >= MAX_ROLES {
            return Err(SetupError::TooLarge {
                what: "number of nodes of all recorded queries",
                value: roles as u64,
                allowed: MAX_ROLES - 1,
            });
        }
        let recorded = Recorded::new(&spans.queries).map_err(|wrong| place.invalid(wrong))?;
        let forest = Forest::Recorded(recorded);
        let mut stream = place
            .context
            .stream(Key::new(place.workload, 0, 0), Purpose::Placement);
        Ok(Self {
            workload: place.workload,
            keeps_connections: place.keeps_connections(),
            config: shared_by(spans),
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

    /// The tree of a query.
    pub(super) fn tree_of(&self, query: u64) -> u32 {
        (query >> 32) as u32 - self.first_tree
    }

    /// Whether a tree's next query waits for the answer before.
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

    /// Whether this role is a leaf that may be asked again or cancelled.
    pub(super) fn follows(&self, role: u32) -> bool {
        self.config.follows_leaves() && self.forest.is_leaf(role)
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

    /// `QueryRecord::query`: the tree among all trees of the scenario, and the number of the query there.
    pub(super) fn query(&self, tree: u32, number: u32) -> u64 {
        u64::from(self.first_tree + tree) << 32 | u64::from(number)
    }

    /// The wake at which the next query of a tree arrives.
    pub(super) fn arrival(&self, root: u32, number: u32, at: Time) -> Wake {
        let query = At {
            role: root,
            number,
            attempt: 0,
            measured: false,
        };
        self.wake(self.host(root), Due::Arrival, query, at)
    }

    /// Asks for a wake that the query waits for.
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

    /// The host at which a wake is due.
    pub(super) fn wake_host(&self, context: &Context, due: Due, query: At) -> u32 {
        match due {
            Due::Connect if query.attempt > 0 => self.host(query.role),
            Due::Ask | Due::Hedge | Due::Retry | Due::Connect => self.host(self.parent(query.role)),
            Due::Arrival | Due::Answer | Due::GiveUp | Due::Computed => {
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

    /// Answers that a role needs before its own is complete; 0 at a leaf.
    pub(super) fn needed(&self, role: u32) -> u32 {
        match self.forest.fan_in(role) {
            0 => 0,
            fan_in => needed(fan_in, self.config.complete_at),
        }
    }

    /// Leaves whose answers are enough for the objective of a tree's queries.
    pub(super) fn leaves_needed(&self, tree: u32) -> u32 {
        needed(self.forest.leaves(tree), self.config.objective.answers)
    }

    /// The bytes of a role's answer.
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

    /// The budget of a tree's queries, from their arrival at the root.
    pub(super) fn budget(&self, tree: u32) -> Option<Span> {
        self.config.budget(self.application(tree))
    }

    /// Whether anything says when a tree's query is late.
    pub(super) fn is_judged(&self, tree: u32) -> bool {
        self.config.is_judged(self.application(tree))
    }

    /// Between the queries of a tree; `None`: back to back.
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

    /// Between the arrival of a query at the parent of `child` and its hand-over to that child.
    pub(super) fn ask_jitter(&self, context: &Context, child: u32, number: u32) -> Span {
        context.jitter(self.host(self.parent(child)), self.key(child, number))
    }

    /// Asks a child; its parent got the query at `asked`.
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
            asked,
            waited: Span::ZERO,
            measured: child.measured,
        };
        call.context.send(call.actions, call.now, &draft);
    }

    /// Asks for the wake at which the root of a back-to-back tree goes on without the answers that it lacks: one that
    /// never comes must not stop a tree whose next query waits for it.
    pub(super) fn limit_root(&self, call: &mut Call<'_>, root: At) {
        if let Some(patience) = self.patience(call.context, root.role, root.number) {
            let wake = self.wake(
                self.host(root.role),
                Due::GiveUp,
                At {
                    measured: false,
                    ..root
                },
                call.now + patience,
            );
            call.actions.wakes.push(wake);
        }
    }

    /// Asks for the wake at which an aggregator that has just got a query stops waiting for answers; its parent got the
    /// query at `at_parent`.
    pub(super) fn limit_aggregator(&self, call: &mut Call<'_>, query: At, at_parent: Time) {
        let At { role, number, .. } = query;
        let at = match self.config.give_up {
            GiveUp::Never => None,
            GiveUp::After(span) => Some(call.now + span),
            GiveUp::Own => self
                .relative_deadline(call.context, role, number)
                .map(|own| (at_parent + own).max(call.now)),
            GiveUp::Children => self
                .patience(call.context, role, number)
                .map(|patience| call.now + patience),
        };
        if let Some(at) = at {
            self.await_wake(call, Due::GiveUp, query, at);
        }
    }

    /// The deadline of a role's answer, relative to its clock's start.
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

    /// The share of the budget that a role's answer has.
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

    /// A leaf's computation and its jitter.
    pub(super) fn leaf_delay(&self, context: &Context, query: At) -> Span {
        let (compute, jitter) = self.leaf_delays(context, query);
        compute + jitter
    }

    /// Returns a leaf's computation and its jitter, separately.
    pub(super) fn leaf_delays(&self, context: &Context, query: At) -> (Span, Span) {
        if let Some(recorded) = self.forest.recorded() {
            return (recorded.role(query.role).compute, Span::ZERO);
        }
        let mut stream = context.stream(self.question_key(query), Purpose::Compute);
        let compute = draw::gap(&self.config.compute, &mut stream);
        (compute, draw::gap(&self.config.jitter, &mut stream))
    }

    /// Returns the computation of a node before its answer, and the further delay of its answer after it.
    pub(super) fn delays(&self, context: &Context, query: At) -> (Span, Span) {
        if self.forest.is_leaf(query.role) {
            self.leaf_delays(context, query)
        } else {
            (self.aggregate_delay(context, query), Span::ZERO)
        }
    }

    /// An aggregator's computation.
    pub(super) fn aggregate_delay(&self, context: &Context, query: At) -> Span {
        let At { role, number, .. } = query;
        if let Some(recorded) = self.forest.recorded() {
            return recorded.role(role).compute;
        }
        let mut stream = context.stream(self.key(role, number), Purpose::Compute);
        draw::gap(&self.config.aggregate_compute, &mut stream)
    }

    /// Returns the computation of a node before its answer.
    pub(super) fn delay(&self, context: &Context, query: At) -> Span {
        if self.forest.is_leaf(query.role) {
            self.leaf_delay(context, query)
        } else {
            self.aggregate_delay(context, query)
        }
    }

    /// Returns the start jitter between a node's computation and its answer.
    pub(super) fn answer_jitter(&self, context: &Context, query: At) -> Span {
        context.jitter(self.host(query.role), self.question_key(query).other())
    }

    /// How long after it got a query a node waits for answers: until the last of its children's deadlines. Where
    /// these start at the hand-over of the answers, it reckons with that as if messages took no time.
    fn patience(&self, context: &Context, role: u32, number: u32) -> Option<Span> {
        let deadline = |child| {
            let own = self.relative_deadline(context, child, number)?;
            let query = At {
                role: child,
                number,
                attempt: 0,
                measured: false,
            };
            Some(match self.config.deadline_from {
                DeadlineFrom::Query => own,
                DeadlineFrom::Response if self.children(child).is_empty() => {
                    own + self.leaf_delay(context, query)
                }
                DeadlineFrom::Response => {
                    let computes = self.aggregate_delay(context, query);
                    own + self.patience(context, child, number)? + computes
                }
            })
        };
        // A child without a deadline is waited for without end.
        self.children(role)
            .map(deadline)
            .try_fold(Span::ZERO, |longest, span| Some(longest.max(span?)))
    }
}

/// The share of the deadline that answers so many links below the root of a recorded tree of `layers` layers have.
pub(crate) fn recorded_share(layers: usize, depth: usize) -> f64 {
    (layers + 1 - depth) as f64 / layers as f64
}

/// What recorded queries have in common with those of trees that are drawn; what differs from query to query is in the
/// forest.
fn shared_by(spans: &model::Spans) -> model::Oldi {
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

/// Answers needed of `fan_in` children, where a share of `complete_at` is enough, in (0, 1]; at least one.
pub fn needed(fan_in: u32, complete_at: f64) -> u32 {
    // A share such as 0.95 is not exact; its product with a whole number must not round up past that.
    (libm::ceil(complete_at * f64::from(fan_in) - 1e-9) as u32).clamp(1, fan_in.max(1))
}

#[cfg(test)]
mod tests {
    use super::needed;

    #[test]
    fn a_share_of_the_children_is_rounded_up_but_not_for_its_last_bit() {
        // As floats, 0.07 × 100 is a little more than 7.
        assert_eq!(
            [needed(100, 0.07), needed(40, 0.95), needed(3, 0.5)],
            [7, 38, 2]
        );
        assert_eq!([needed(10, 1e-12), needed(10, 1.0)], [1, 10]);
    }
}

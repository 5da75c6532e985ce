//! Partition-aggregate trees: queries go down as messages, answers come up (D2TCP §2, D3 §2.1).
//!
//! The root asks its children; an inner node asks its own; a leaf computes and answers. An inner node answers when
//! enough of its children have, or when the last of their deadlines has passed. Nothing acts at a distance: what a
//! node knows came in a message, or is a draw named by (role, query) that any node can make.

use super::context::{Context, Draft, Key};
use super::{Actions, Message, Place, Wake, draw};
use crate::SetupError;
use duetime_core::random::Purpose;
use duetime_core::{Span, Time};
use duetime_results::record::{Class, QueryRecord};
use duetime_scenario::model::{self, Deadline, DeadlineFrom, Gap, QueryArrival};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// All trees of one workload. A role is tree × nodes per tree + node; a message's tag is its child's role.
#[derive(Clone, Debug)]
pub(crate) struct Oldi {
    plan: Arc<Plan>,
    /// Per tree, at its root's host: its queries, by number.
    records: Vec<Vec<QueryRecord>>,
    /// Per role, at its host: the queries not yet answered, by number. Never iterated.
    open: Vec<FxHashMap<u32, Open>>,
}

/// What never changes.
#[derive(Debug)]
struct Plan {
    workload: u16,
    config: model::Oldi,
    shape: Shape,
    /// Number of the first tree among the trees of all workloads.
    first_tree: u32,
    /// Per role: its host.
    hosts: Vec<u32>,
    /// Per tree: between its queries; `None`: back to back.
    gaps: Vec<Option<Gap>>,
}

/// A query at a node below the root.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// When the parent got it.
    at_parent: Time,
    /// Answers still missing before this node may answer.
    missing: u32,
}

/// What a wake is for. Its token is the kind (4 bits), the role (28 bits) and the query's number (32 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// The tree of this root gets a query.
    Arrival = 0,
    /// The parent of this role hands its query over.
    Ask = 1,
    /// This role hands its answer over.
    Answer = 2,
    /// This role waits no longer.
    GiveUp = 3,
}

const MAX_ROLES: u64 = 1 << 28;

impl Oldi {
    pub(super) fn new(config: &model::Oldi, place: &Place<'_>) -> Result<Self, SetupError> {
        check(config, place)?;
        let shape = Shape::new(&config.fan_in);
        let trees = u64::from(config.applications) * u64::from(config.trees);
        let roles = trees * u64::from(shape.nodes());
        if roles >= MAX_ROLES {
            return Err(SetupError::TooLarge {
                what: "number of nodes of all trees",
                value: roles,
                allowed: MAX_ROLES,
            });
        }
        let mut stream = place
            .context
            .stream(Key::new(place.workload, 0, 0), Purpose::Placement);
        let hosts = place_roles(config, &shape, trees as u32, place, &mut stream)?;
        let mut plan = Plan {
            workload: place.workload,
            config: config.clone(),
            shape,
            first_tree: place.trees_before,
            hosts,
            gaps: Vec::new(),
        };
        plan.gaps = (0..trees as u32)
            .map(|tree| plan.gap(tree, place))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            plan: Arc::new(plan),
            records: vec![Vec::new(); trees as usize],
            open: vec![FxHashMap::default(); roles as usize],
        })
    }

    pub(super) fn trees(&self) -> u32 {
        self.records.len() as u32
    }

    pub(super) fn start(
        &self,
        context: &Context,
        owned: &dyn Fn(u32) -> bool,
        actions: &mut Actions,
    ) {
        for tree in 0..self.trees() {
            let root = self.plan.root(tree);
            if owned(self.plan.host(root)) {
                let mut stream = context.stream(self.plan.arrival_key(tree, 0), Purpose::Arrival);
                let gap = self.plan.gaps[tree as usize];
                let first = gap.map_or(Span::ZERO, |gap| draw::first_gap(gap, &mut stream));
                let wake = self.plan.wake(Due::Arrival, root, 0, Time::ZERO + first);
                context.start_at(actions, wake.at, Span::ZERO, wake);
            }
        }
    }

    pub(super) fn wake(
        &mut self,
        context: &mut Context,
        now: Time,
        token: u64,
        actions: &mut Actions,
    ) {
        let (due, role, number) = (
            token >> 60,
            (token >> 32) as u32 & (MAX_ROLES - 1) as u32,
            token as u32,
        );
        if due == Due::Arrival as u64 {
            self.query_arrives(context, now, role / self.plan.shape.nodes(), actions);
        } else if due == Due::Ask as u64 {
            self.plan.send_query(context, now, role, number, actions);
        } else if due == Due::Answer as u64 {
            self.answer(context, now, role, number, actions);
        } else {
            self.give_up(context, now, role, number, actions);
        }
    }

    pub(super) fn delivered(
        &mut self,
        context: &mut Context,
        now: Time,
        message: &Message,
        actions: &mut Actions,
    ) {
        let (role, number) = (message.tag, message.query.unwrap_or_default() as u32);
        match message.class {
            Class::Query => {
                self.query_delivered(context, now, role, number, message.handed_over, actions)
            }
            _ => self.answer_delivered(context, now, role, number, message.deadline, actions),
        }
    }

    pub(super) fn take_queries(&mut self, records: &mut Vec<QueryRecord>) {
        records.extend(self.records.iter_mut().flat_map(std::mem::take));
    }

    /// The deadline drawn for an answer, relative to its clock's start.
    pub(super) fn drawn_deadline(&self, context: &Context, message: &Message) -> Option<Span> {
        self.plan.relative_deadline(
            context,
            message.tag,
            message.query.unwrap_or_default() as u32,
        )
    }

    fn query_arrives(
        &mut self,
        context: &mut Context,
        now: Time,
        tree: u32,
        actions: &mut Actions,
    ) {
        let plan = Arc::clone(&self.plan);
        let (root, records) = (plan.root(tree), &mut self.records[tree as usize]);
        let number = records.len() as u32;
        records.push(QueryRecord {
            query: plan.query(tree, number),
            workload: plan.workload,
            application: plan.application(tree) as u16,
            root: plan.host(root),
            start: now,
            complete: None,
            children: plan.shape.fan_in(0),
            answered: 0,
            in_time: 0,
            counted: context.counted(now),
        });
        if let Some(gap) = plan.gaps[tree as usize] {
            let next = now
                + draw::gap(
                    gap,
                    &mut context.stream(plan.arrival_key(tree, number + 1), Purpose::Arrival),
                );
            let wake = plan.wake(Due::Arrival, root, number + 1, next);
            context.start_at(actions, next, Span::ZERO, wake);
        } else if let Some(patience) = plan.patience(context, root, number) {
            // An answer that never comes must not stop a tree whose next query waits for it.
            actions
                .wakes
                .push(plan.wake(Due::GiveUp, root, number, now + patience));
        }
        plan.ask(context, now, root, number, actions);
    }

    fn query_delivered(
        &mut self,
        context: &mut Context,
        now: Time,
        role: u32,
        number: u32,
        handed_over: Time,
        actions: &mut Actions,
    ) {
        let plan = Arc::clone(&self.plan);
        let asked = plan.ask_jitter(context, role, number);
        let at_parent = Time::from_ps(handed_over.as_ps() - asked.as_ps());
        let depth = plan.depth(role);
        let missing = if plan.shape.is_leaf(depth) {
            0
        } else {
            plan.needed(depth)
        };
        self.open[role as usize].insert(number, Open { at_parent, missing });
        if missing == 0 {
            let delay = plan.leaf_delay(context, role, number);
            self.answer_after(context, now, role, number, delay, actions);
        } else {
            if let Some(patience) = plan.patience(context, role, number) {
                actions
                    .wakes
                    .push(plan.wake(Due::GiveUp, role, number, now + patience));
            }
            plan.ask(context, now, role, number, actions);
        }
    }

    fn answer_delivered(
        &mut self,
        context: &mut Context,
        now: Time,
        child: u32,
        number: u32,
        deadline: Option<Time>,
        actions: &mut Actions,
    ) {
        let plan = Arc::clone(&self.plan);
        let parent = plan.parent(child);
        let depth = plan.depth(parent);
        if depth > 0 {
            // None: this node has answered without it.
            let Some(open) = self.open[parent as usize]
                .get_mut(&number)
                .filter(|open| open.missing > 0)
            else {
                return;
            };
            open.missing -= 1;
            if open.missing == 0 {
                self.answer_after(context, now, parent, number, Span::ZERO, actions);
            }
            return;
        }
        let tree = plan.tree(parent);
        let record = &mut self.records[tree as usize][number as usize];
        record.answered += 1;
        record.in_time += u32::from(deadline.is_none_or(|deadline| now <= deadline));
        if record.answered == plan.needed(0) {
            record.complete = Some(now);
            self.next_back_to_back(context, now, tree, number, actions);
        }
    }

    fn give_up(
        &mut self,
        context: &mut Context,
        now: Time,
        role: u32,
        number: u32,
        actions: &mut Actions,
    ) {
        if self.plan.depth(role) == 0 {
            self.next_back_to_back(context, now, self.plan.tree(role), number, actions);
        } else if let Some(open) = self.open[role as usize]
            .get_mut(&number)
            .filter(|open| open.missing > 0)
        {
            open.missing = 0;
            self.answer_after(context, now, role, number, Span::ZERO, actions);
        }
    }

    /// Starts the next query of a back-to-back tree, once for each query.
    fn next_back_to_back(
        &mut self,
        context: &Context,
        now: Time,
        tree: u32,
        number: u32,
        actions: &mut Actions,
    ) {
        let is_last = self.records[tree as usize].len() as u32 == number + 1;
        if self.plan.gaps[tree as usize].is_none() && is_last {
            let wake = self
                .plan
                .wake(Due::Arrival, self.plan.root(tree), number + 1, now);
            context.start_at(actions, now, Span::ZERO, wake);
        }
    }

    fn answer_after(
        &mut self,
        context: &mut Context,
        now: Time,
        role: u32,
        number: u32,
        delay: Span,
        actions: &mut Actions,
    ) {
        let jitter = context.jitter(self.plan.host(role), self.plan.key(role, number).other());
        let at = now + delay + jitter;
        if at == now {
            self.answer(context, now, role, number, actions);
        } else {
            actions
                .wakes
                .push(self.plan.wake(Due::Answer, role, number, at));
        }
    }

    fn answer(
        &mut self,
        context: &mut Context,
        now: Time,
        role: u32,
        number: u32,
        actions: &mut Actions,
    ) {
        let Some(open) = self.open[role as usize].remove(&number) else {
            return;
        };
        let plan = &self.plan;
        let clock = match plan.config.deadline_from {
            DeadlineFrom::Query => open.at_parent,
            DeadlineFrom::Response => now,
        };
        let tree = plan.tree(role);
        let size = plan.response(plan.application(tree));
        let draft = Draft {
            workload: plan.workload,
            class: Class::Response,
            query: Some(plan.query(tree, number)),
            source: plan.host(role),
            destination: plan.host(plan.parent(role)),
            bytes: draw::size(
                size,
                &mut context.stream(plan.key(role, number), Purpose::Size),
            ),
            deadline: plan
                .relative_deadline(context, role, number)
                .map(|span| clock + span),
            tag: role,
        };
        context.send(actions, now, &draft);
    }
}

impl Plan {
    fn root(&self, tree: u32) -> u32 {
        tree * self.shape.nodes()
    }

    fn tree(&self, role: u32) -> u32 {
        role / self.shape.nodes()
    }

    fn application(&self, tree: u32) -> usize {
        (tree / self.config.trees) as usize
    }

    fn response(&self, application: usize) -> &model::Size {
        &self.config.response[application % self.config.response.len()]
    }

    fn host(&self, role: u32) -> u32 {
        self.hosts[role as usize]
    }

    fn depth(&self, role: u32) -> usize {
        self.shape.depth(role % self.shape.nodes())
    }

    fn parent(&self, role: u32) -> u32 {
        let node = role % self.shape.nodes();
        role - node + self.shape.parent(node)
    }

    fn children(&self, role: u32) -> std::ops::Range<u32> {
        let node = role % self.shape.nodes();
        let children = self.shape.children(node);
        role - node + children.start..role - node + children.end
    }

    /// `QueryRecord::query`: the tree among all trees of the scenario, and the number of the query there.
    fn query(&self, tree: u32, number: u32) -> u64 {
        u64::from(self.first_tree + tree) << 32 | u64::from(number)
    }

    fn wake(&self, due: Due, role: u32, number: u32, at: Time) -> Wake {
        let token = (due as u64) << 60 | u64::from(role) << 32 | u64::from(number);
        Wake {
            host: self.wake_host(due, role),
            at,
            workload: self.workload,
            token,
        }
    }

    fn wake_host(&self, due: Due, role: u32) -> u32 {
        self.host(if due == Due::Ask {
            self.parent(role)
        } else {
            role
        })
    }

    fn key(&self, role: u32, number: u32) -> Key {
        Key::new(self.workload, u64::from(role), u64::from(number))
    }

    fn arrival_key(&self, tree: u32, number: u32) -> Key {
        self.key(self.root(tree), number)
    }

    /// Answers that a node at this depth needs before its own is complete.
    fn needed(&self, depth: usize) -> u32 {
        needed(self.shape.fan_in(depth), self.config.complete_at)
    }

    /// Between the queries of a tree; `None`: back to back.
    fn gap(&self, tree: u32, place: &Place<'_>) -> Result<Option<Gap>, SetupError> {
        let gap = match self.config.arrival {
            QueryArrival::BackToBack => return Ok(None),
            QueryArrival::Every(gap) => gap,
            QueryArrival::Load { load, poisson } => {
                let root = self.host(self.root(tree)) as usize;
                let rate = place.network.links[place.network.downlink[root] as usize].rate;
                let answer =
                    draw::mean_wire(self.response(self.application(tree)), place.context.header);
                let bits = 8.0 * answer * f64::from(self.shape.fan_in(0));
                let mean = draw::scale(Span::from_secs(1), bits / (load * rate.as_bps() as f64));
                if poisson {
                    Gap::Exponential(mean)
                } else {
                    Gap::Fixed(mean)
                }
            }
        };
        if draw::mean_gap(gap) == Span::ZERO {
            return Err(place
                .invalid("the mean gap between the queries of a tree is zero; it must be longer"));
        }
        Ok(Some(gap))
    }

    /// Hands a node's query to all its children, each after its start jitter.
    fn ask(&self, context: &mut Context, now: Time, role: u32, number: u32, actions: &mut Actions) {
        for child in self.children(role) {
            let jitter = self.ask_jitter(context, child, number);
            if jitter == Span::ZERO {
                self.send_query(context, now, child, number, actions);
            } else {
                actions
                    .wakes
                    .push(self.wake(Due::Ask, child, number, now + jitter));
            }
        }
    }

    fn ask_jitter(&self, context: &Context, child: u32, number: u32) -> Span {
        context.jitter(self.host(self.parent(child)), self.key(child, number))
    }

    fn send_query(
        &self,
        context: &mut Context,
        now: Time,
        child: u32,
        number: u32,
        actions: &mut Actions,
    ) {
        let mut stream = context.stream(self.key(child, number).other(), Purpose::Deadline);
        let deadline = draw::deadline(&self.config.query_deadline, &mut stream);
        let draft = Draft {
            workload: self.workload,
            class: Class::Query,
            query: Some(self.query(self.tree(child), number)),
            source: self.host(self.parent(child)),
            destination: self.host(child),
            bytes: self.config.query.0.max(1),
            deadline: deadline.map(|span| now + span),
            tag: child,
        };
        context.send(actions, now, &draft);
    }

    /// The deadline of a role's answer, relative to its clock's start.
    fn relative_deadline(&self, context: &Context, role: u32, number: u32) -> Option<Span> {
        let deadlines = &self.config.deadline;
        let deadline = &deadlines[self.application(self.tree(role)) % deadlines.len()];
        let budget = draw::deadline(
            deadline,
            &mut context.stream(self.key(role, number), Purpose::Deadline),
        )?;
        Some(draw::scale(budget, self.share(self.depth(role))))
    }

    /// The share of the budget that answers of nodes at this depth have.
    fn share(&self, depth: usize) -> f64 {
        self.config
            .layer_share
            .get(depth - 1)
            .copied()
            .unwrap_or(1.0)
    }

    /// A leaf's computation and its jitter.
    fn leaf_delay(&self, context: &Context, role: u32, number: u32) -> Span {
        let mut stream = context.stream(self.key(role, number), Purpose::Compute);
        draw::gap(self.config.compute, &mut stream) + draw::gap(self.config.jitter, &mut stream)
    }

    /// How long after it got a query a node waits for answers: until the last of its children's deadlines. Where
    /// these start at the hand-over of the answers, it reckons with that as if messages took no time.
    fn patience(&self, context: &Context, role: u32, number: u32) -> Option<Span> {
        let deadline = |child| {
            let own = self.relative_deadline(context, child, number)?;
            Some(match self.config.deadline_from {
                DeadlineFrom::Query => own,
                DeadlineFrom::Response if self.children(child).is_empty() => {
                    own + self.leaf_delay(context, child, number)
                }
                DeadlineFrom::Response => own + self.patience(context, child, number)?,
            })
        };
        // A child without a deadline is waited for without end.
        self.children(role)
            .map(deadline)
            .try_fold(Span::ZERO, |longest, span| Some(longest.max(span?)))
    }
}

/// Answers needed of `fan_in` children.
pub(crate) fn needed(fan_in: u32, complete_at: f64) -> u32 {
    // A share such as 0.95 is not exact; its product with a whole number must not round up past that.
    (libm::ceil(complete_at * f64::from(fan_in) - 1e-9) as u32).clamp(1, fan_in.max(1))
}

/// Every node of a tree, breadth first: the root is 0, each layer follows the one above it.
#[derive(Debug)]
pub(crate) struct Shape {
    fan_in: Vec<u32>,
    /// Per depth: its first node; one more at the end.
    first: Vec<u32>,
}

impl Shape {
    pub(crate) fn new(fan_in: &[u32]) -> Self {
        let mut first = vec![0, 1];
        let mut width = 1u64;
        for &children in fan_in {
            width = (width * u64::from(children)).min(MAX_ROLES);
            let end = u64::from(first[first.len() - 1]) + width;
            first.push(end.min(MAX_ROLES) as u32);
        }
        Self {
            fan_in: fan_in.to_vec(),
            first,
        }
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.first[self.first.len() - 1]
    }

    fn depth(&self, node: u32) -> usize {
        self.first
            .iter()
            .rposition(|&first| first <= node)
            .unwrap_or(0)
    }

    fn is_leaf(&self, depth: usize) -> bool {
        depth == self.fan_in.len()
    }

    /// Children of a node at this depth.
    fn fan_in(&self, depth: usize) -> u32 {
        self.fan_in.get(depth).copied().unwrap_or(0)
    }

    fn parent(&self, node: u32) -> u32 {
        let depth = self.depth(node).max(1);
        self.first[depth - 1] + (node - self.first[depth]) / self.fan_in[depth - 1]
    }

    fn children(&self, node: u32) -> std::ops::Range<u32> {
        let depth = self.depth(node);
        let Some(&fan_in) = self.fan_in.get(depth) else {
            return 0..0;
        };
        let start = self.first[depth + 1] + (node - self.first[depth]) * fan_in;
        start..start + fan_in
    }
}

fn check(config: &model::Oldi, place: &Place<'_>) -> Result<(), SetupError> {
    if config.applications == 0 || config.trees == 0 {
        let found = format!(
            "{} applications of {} trees",
            config.applications, config.trees
        );
        return Err(place.invalid(format!("{found}; at least one of each is needed")));
    }
    if config.fan_in.is_empty() || config.fan_in.contains(&0) {
        return Err(place.invalid(format!(
            "`fan_in` is {:?}; every layer needs at least 1",
            config.fan_in
        )));
    }
    if config.response.is_empty() || config.deadline.is_empty() {
        return Err(place.invalid("`response` and `deadline` need at least one entry each"));
    }
    if !(config.complete_at > 0.0 && config.complete_at <= 1.0) {
        return Err(place.invalid(format!(
            "`complete_at` is {}; allowed is above 0 to 1",
            config.complete_at
        )));
    }
    if let QueryArrival::Load { load, .. } = config.arrival
        && !(load > 0.0 && load.is_finite())
    {
        return Err(place.invalid(format!("`load` is {load}; it must be above 0")));
    }
    if config.query_deadline != Deadline::None && config.query.0 == 0 {
        return Err(
            place.invalid("`query` is 0 B, but queries have a deadline; at least 1 B is needed")
        );
    }
    Ok(())
}

/// Puts every role on a host. Without sharing, all roles take different random hosts. With it, each tree takes the
/// hosts in a random order of its own, again from the start when they are used up; never a child with its parent.
fn place_roles(
    config: &model::Oldi,
    shape: &Shape,
    trees: u32,
    place: &Place<'_>,
    stream: &mut duetime_core::random::Stream,
) -> Result<Vec<u32>, SetupError> {
    let hosts = place.network.hosts();
    let nodes = shape.nodes();
    let roles = u64::from(trees) * u64::from(nodes);
    if !config.share_hosts {
        if roles > u64::from(hosts) {
            return Err(SetupError::TooFewHosts {
                workload: place.name.to_owned(),
                what: format!("{trees} trees of {nodes} nodes"),
                needed: roles,
                hosts,
                hint: "; use fewer trees, a smaller fan-in, or `share_hosts = true`",
            });
        }
        let mut order = stream.permutation(hosts as usize);
        order.truncate(roles as usize);
        return Ok(order);
    }
    let mut placed: Vec<u32> = Vec::with_capacity(roles as usize);
    for _ in 0..trees {
        let order = stream.permutation(hosts as usize);
        let root = placed.len();
        placed.push(order[0]);
        let mut others = order[1..].iter().copied().cycle();
        for node in 1..nodes {
            let parent = placed[root + shape.parent(node) as usize];
            // Two in a row differ where there are three hosts; with two, the layers take turns.
            let mut host = others.next().unwrap_or(order[0]);
            if host == parent {
                host = others.next().unwrap_or(order[0]);
            }
            placed.push(if host == parent { order[0] } else { host });
        }
    }
    Ok(placed)
}

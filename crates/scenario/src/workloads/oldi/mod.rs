//! Partition-aggregate trees.
//!
//! - [`answers`]: sizes and deadlines of the answers, by application and by layer.
//! - [`arrival`]: arrival of queries at the roots.
//! - [`hedge`]: second queries for slow answers.
//! - [`retry`]: further queries after timeouts.

mod answers;
mod arrival;
mod hedge;
mod retry;

pub(crate) use hedge::HEDGE;
pub(crate) use retry::RETRY;

use super::common::COMMON;
use super::give_up::GIVE_UPS;
use super::objective::{self, OBJECTIVE};
use crate::codec::Codec;
use crate::diagnostic::Result;
use crate::distribution::delay;
use crate::keys::Kind::{
    self, Any, Boolean, Choice, Frequency, Integer, List, Number, OneOrMore, Share, Size, Time,
};
use crate::keys::{SOME_TIME, declare};
use crate::model::{DeadlineFrom, Objective, Oldi, WorkloadKind};
use crate::table::Reader;
use crate::values::word;
use answers::{fan_in, layer_share, responses, scaled_deadlines};

pub(super) static OLDI: Codec<WorkloadKind> = Codec {
    table: TREES.table,
    read: |reader| (TREES.read)(reader).map(WorkloadKind::Oldi),
    write: |kind| match kind {
        WorkloadKind::Oldi(oldi) => (TREES.write)(oldi),
        _ => None,
    },
};

declare! {
    /// Partition-aggregate trees: a parent queries its children, which all answer at the same time (D2TCP §2, D3 §2.1).
    static TREES: "workload of kind \"oldi\"" after COMMON {
        /// Number of applications. Application i uses entry i of `response` and `deadline`, repeating the lists.
        applications: Integer(1, 1_000), default 1;
        /// Trees per application.
        trees: Integer(1, 100_000), default 1;
        /// Children per node. A list has one entry per layer, the root's first.
        fan_in: OneOrMore(&Integer(1, 100_000));
        /// Size of a query.
        query: Size(1, 1_000_000_000), default "1 KB";
        /// Size of each answer. A list has one entry per application.
        response: OneOrMore(&Kind::Sizes), otherwise "one of `response` and `layer_response`";
        /// Size of each layer's answers instead of `response`: one entry per entry of `fan_in`, answers to the root
        /// first.
        layer_response: List(&Kind::Sizes), otherwise "see `response`";
        /// Deadline of each answer. A list, or a list in `base`, has one entry per application.
        deadline: OneOrMore(&Kind::Deadline), default "none";
        /// Factor on all deadlines of answers, including their variation. Below 1 they are tighter.
        deadline_scale: Number(0.01, 100.0), default 1;
        /// Deadline of layer i's answers as a share of `deadline`; the first is 1.
        layer_share: List(&Share(0.001, 1.0)), otherwise "equal steps: 1, 1/2 for two layers";
        /// Start of the deadline: the arrival of the query, so that it includes computation, or the submission of the
        /// answer.
        deadline_from: word::<DeadlineFrom>(), default "response";
        /// Deadline of the query messages.
        query_deadline: Kind::Deadline, default "none";
        /// Mean bytes of answers on the wire per second, as a share of the parent's access link.
        load: Share(0.0001, 0.99),
            otherwise "one of `load`, `rate`, `every` and `arrival = \"back-to-back\"`";
        /// `tree`: every tree offers `load`, so trees with small answers send more queries. `workload`: all trees send
        /// queries at the same rate and offer `load` on average.
        load_over: Choice(&["tree", "workload"]), default "tree";
        /// Queries per second of all trees together.
        rate: Frequency, otherwise "see `load`";
        /// Time between queries of a tree.
        every: Kind::Gap, otherwise "see `load`";
        /// Arrival process at `load` or `rate`. `back-to-back`: each query arrives when the previous answer is
        /// complete.
        arrival: Choice(&["poisson", "periodic", "back-to-back"]), default "poisson";
        /// Computation time of a leaf.
        compute: Kind::Gap, default "0 us";
        /// Computation time of an aggregator, after it has the answers that it needs or times out.
        aggregate_compute: Kind::Gap, default "0 us";
        /// Additional delay of a leaf's answer.
        jitter: Kind::Gap, default "0 us";
        /// Share of the children whose answers complete a parent's answer.
        complete_at: Share(0.001, 1.0), default 1;
        /// Objective of queries: `{ within = "5 ms", answers = "99 %", share = "99.9 %" }`.
        objective: Kind::Table(&OBJECTIVE), otherwise "defaults below";
        /// Timeout after which an aggregator answers with the answers that it has: `children`, the last deadline of
        /// its children; `own`, its own deadline, from the arrival of the query at its parent; `never`; or a time
        /// from the arrival of its query. Roots of back-to-back trees always continue at their children's deadlines.
        give_up: Any(&[Choice(GIVE_UPS), Time(SOME_TIME.0, SOME_TIME.1)]), default "children";
        /// Hedging: a second query for a slow answer, sent to another host.
        hedge: Kind::Table(HEDGE.table), otherwise "none";
        /// Retries: another query after a timeout.
        retry: Kind::Table(RETRY.table), otherwise "none";
        /// Makes a parent with enough answers of its leaves cancel the others, as in storage with coded reads:
        /// computations stop and answers are aborted. A root needs the answers of the objective, an aggregator
        /// `complete_at`.
        cancel_spares: Boolean, default false;
        /// Lets a host have several roles at the same time. Each tree takes hosts in a random order and repeats it
        /// when all are used.
        share_hosts: Boolean, default false;
    } for Oldi {
        applications, trees, fan_in: fan_in, query, deadline: scaled_deadlines, deadline_from, query_deadline,
        compute: delay, aggregate_compute: delay, jitter: delay, complete_at, give_up, hedge: hedge::read,
        retry: retry::read, cancel_spares, share_hosts, response: |reader, _| Ok(responses(reader)?.0),
        layer_response: |reader, _| Ok(responses(reader)?.1), layer_share: layer_share, arrival: arrival::read,
        objective: objective_of
    }
}

fn objective_of(reader: &Reader<'_>, _: &'static str) -> Result<Objective> {
    let deadlines = scaled_deadlines(reader, "deadline")?;
    let fan_in = fan_in(reader, "fan_in")?;
    let leaves = fan_in.iter().map(|&children| u64::from(children)).product();
    objective::read(reader, &deadlines, Some(leaves))
}

//! The resolved scenario as JSON: what a run's manifest keeps. Quantities are integers in their smallest unit, named
//! in the key, so that equal scenarios give equal text.

use crate::model::{
    Amount, Buffer, Connection, Deadline, DeadlineFrom, Destination, Gap, GiveUp, Intensity, Link,
    Nic, Oldi, QueryArrival, Scenario, Size, Switch, Topology, TraceFlow, Workload, WorkloadKind,
};
use crate::transports;
use duetime_core::Span;
use duetime_core::random::mix;
use serde_json::{Value, json};

/// Everything that the scenario means, with no default left open; its keys are sorted. A trace is kept as the number
/// of its flows and a digest of them.
pub fn resolved_json(scenario: &Scenario) -> Value {
    let record = &scenario.record;
    json!({
        "name": scenario.name,
        "transports": scenario.transports.iter().map(transports::kept).collect::<Vec<_>>(),
        "seeds": scenario.seeds,
        "seed": scenario.seed,
        "warm_up_ps": scenario.warm_up.as_ps(),
        "duration_ps": scenario.duration.as_ps(),
        "drain_ps": scenario.drain.as_ps(),
        "topology": topology(&scenario.topology),
        "switch": switch(&scenario.switch),
        "host": {
            "nic": match scenario.host.nic { Nic::Pull => "pull", Nic::Fifo => "fifo" },
            "frame_overhead_bytes": scenario.host.frame_overhead,
            "start_jitter": scenario.host.start_jitter,
            "send_jitter_ps": scenario.host.send_jitter.as_ps(),
        },
        "workloads": scenario.workloads.iter().map(workload).collect::<Vec<_>>(),
        "record": {
            "every_ps": record.every.map(duetime_core::Span::as_ps),
            "links": record.links,
            "pcap": record.pcap,
            "snap_length_bytes": record.snap_length,
        },
    })
}

fn topology(topology: &Topology) -> Value {
    match topology {
        Topology::Star { hosts, link } => {
            json!({ "kind": "star", "hosts": hosts, "link": cable(link) })
        }
        Topology::Dumbbell {
            left,
            right,
            link,
            bottleneck,
        } => json!({
            "kind": "dumbbell",
            "left": left,
            "right": right,
            "link": cable(link),
            "bottleneck": cable(bottleneck),
        }),
        Topology::D3Testbed { link } => json!({ "kind": "d3-testbed", "link": cable(link) }),
        Topology::LeafSpine {
            racks,
            hosts_per_rack,
            spines,
            host_link,
            uplink,
        } => json!({
            "kind": "leaf-spine",
            "racks": racks,
            "hosts_per_rack": hosts_per_rack,
            "spines": spines,
            "host_link": cable(host_link),
            "uplink": cable(uplink),
        }),
        Topology::FatTree { k, link } => json!({ "kind": "fat-tree", "k": k, "link": cable(link) }),
        Topology::Graph { nodes, edges } => json!({
            "kind": "graph",
            "nodes": nodes.iter().map(|node| json!({ "name": node.name, "host": node.host })).collect::<Vec<_>>(),
            "links": edges
                .iter()
                .map(|edge| json!({ "between": [edge.a, edge.b], "link": cable(&edge.link) }))
                .collect::<Vec<_>>(),
        }),
    }
}

fn cable(link: &Link) -> Value {
    json!({ "rate_bps": link.rate.as_bps(), "latency_ps": link.latency.as_ps(), "loss": link.loss })
}

fn switch(switch: &Switch) -> Value {
    json!({
        "buffer": match switch.buffer {
            Buffer::Unlimited => json!({ "kind": "unlimited" }),
            Buffer::Static(size) => json!({ "kind": "static", "size": amount(size) }),
            Buffer::Dynamic { pool, alpha } => {
                json!({ "kind": "dynamic", "pool_bytes": pool.0, "alpha": alpha })
            }
        },
        "ecn_threshold": switch
            .ecn_threshold
            .iter()
            .map(|(rate, threshold)| json!({ "from_rate_bps": rate.as_bps(), "threshold": amount(*threshold) }))
            .collect::<Vec<_>>(),
    })
}

fn amount(amount: Amount) -> Value {
    match amount {
        Amount::Packets(packets) => json!({ "packets": packets }),
        Amount::Bytes(bytes) => json!({ "bytes": bytes }),
    }
}

fn workload(workload: &Workload) -> Value {
    json!({
        "name": workload.name,
        "transport": workload.transport.as_ref().map(transports::kept),
        "connection": match workload.connection {
            Connection::PerFlow => "per-flow",
            Connection::Persistent => "persistent",
        },
        "does": does(&workload.kind),
    })
}

fn does(kind: &WorkloadKind) -> Value {
    match kind {
        WorkloadKind::Oldi(trees) => oldi(trees),
        WorkloadKind::Burst {
            senders,
            receiver,
            from,
            size,
            deadline,
            at,
            repeat,
            every,
            jitter,
        } => with_jitter(
            *jitter,
            json!({
                "kind": "burst",
                "senders": senders,
                "receiver": receiver,
                "from": from,
                "size": bytes(size),
                "deadline": due(deadline),
                "at_ps": at.as_ps(),
                "repeat": repeat,
                "every_ps": every.as_ps(),
            }),
        ),
        WorkloadKind::Poisson {
            size,
            deadline,
            intensity,
            destination,
        } => json!({
            "kind": "poisson",
            "size": bytes(size),
            "deadline": due(deadline),
            "intensity": match intensity {
                Intensity::Load(load) => json!({ "load": load }),
                Intensity::FlowsPerSecond(rate) => json!({ "flows_per_second": rate }),
            },
            "destination": match destination {
                Destination::Uniform => json!("uniform"),
                Destination::Host(host) => json!(host),
            },
        }),
        WorkloadKind::Background {
            count,
            size,
            deadline,
            every,
            to_roots_of,
        } => json!({
            "kind": "background",
            "count": count,
            "size": bytes(size),
            "deadline": due(deadline),
            "every": gap(*every),
            "to_roots_of": to_roots_of,
        }),
        WorkloadKind::Permutation { size, deadline, at } => json!({
            "kind": "permutation",
            "size": bytes(size),
            "deadline": due(deadline),
            "at_ps": at.as_ps(),
        }),
        WorkloadKind::Long { pairs, at, jitter } => with_jitter(
            *jitter,
            json!({ "kind": "long", "pairs": pairs, "at_ps": at.as_ps() }),
        ),
        WorkloadKind::Trace { flows } => {
            json!({ "kind": "trace", "flows": flows.len(), "digest": format!("{:016x}", digest(flows)) })
        }
    }
}

/// No jitter is left out: runs of scenarios without one keep the names that they had before there was the key.
fn with_jitter(jitter: Span, mut does: Value) -> Value {
    if jitter > Span::ZERO {
        does["jitter_ps"] = json!(jitter.as_ps());
    }
    does
}

fn oldi(oldi: &Oldi) -> Value {
    json!({
        "kind": "oldi",
        "applications": oldi.applications,
        "trees": oldi.trees,
        "fan_in": oldi.fan_in,
        "query_bytes": oldi.query.0,
        "response": oldi.response.iter().map(bytes).collect::<Vec<_>>(),
        "deadline": oldi.deadline.iter().map(due).collect::<Vec<_>>(),
        "layer_share": oldi.layer_share,
        "deadline_from": match oldi.deadline_from {
            DeadlineFrom::Query => "query",
            DeadlineFrom::Response => "response",
        },
        "query_deadline": due(&oldi.query_deadline),
        "arrival": match oldi.arrival {
            QueryArrival::Load {
                load,
                poisson,
                each_tree,
            } => {
                let over = if each_tree { "tree" } else { "workload" };
                json!({ "load": load, "poisson": poisson, "load_over": over })
            }
            QueryArrival::Every(every) => json!({ "every": gap(every) }),
            QueryArrival::BackToBack => json!("back-to-back"),
        },
        "compute": gap(oldi.compute),
        "jitter": gap(oldi.jitter),
        "complete_at": oldi.complete_at,
        "objective": {
            "within_ps": oldi.objective.within.iter().map(|within| within.as_ps()).collect::<Vec<_>>(),
            "answers": oldi.objective.answers,
            "share": oldi.objective.share,
        },
        "give_up": match oldi.give_up {
            GiveUp::Children => json!("children"),
            GiveUp::Own => json!("own"),
            GiveUp::Never => json!("never"),
            GiveUp::After(span) => json!({ "after_ps": span.as_ps() }),
        },
        "share_hosts": oldi.share_hosts,
    })
}

fn bytes(size: &Size) -> Value {
    match size {
        Size::Fixed(bytes) => json!({ "bytes": bytes.0 }),
        Size::Uniform(low, high) => json!({ "uniform_bytes": [low.0, high.0] }),
        Size::Cdf { name, points } => json!({ "cdf": name, "points": points }),
    }
}

fn due(deadline: &Deadline) -> Value {
    match deadline {
        Deadline::None => Value::Null,
        Deadline::Added { base, added } => json!({ "base_ps": base.as_ps(), "added": added }),
        Deadline::Around { base, variation } => {
            json!({ "base_ps": base.as_ps(), "around": variation })
        }
        Deadline::Exponential { mean, floor } => {
            json!({ "mean_ps": mean.as_ps(), "floor_ps": floor.as_ps() })
        }
        Deadline::AddedExponential { base, mean } => {
            json!({ "base_ps": base.as_ps(), "added_mean_ps": mean.as_ps() })
        }
    }
}

fn gap(gap: Gap) -> Value {
    match gap {
        Gap::Fixed(span) => json!({ "fixed_ps": span.as_ps() }),
        Gap::Uniform(low, high) => json!({ "uniform_ps": [low.as_ps(), high.as_ps()] }),
        Gap::Exponential(mean) => json!({ "exponential_ps": mean.as_ps() }),
    }
}

fn digest(flows: &[TraceFlow]) -> u64 {
    flows.iter().fold(flows.len() as u64, |digest, flow| {
        let ends = u64::from(flow.source) << 32 | u64::from(flow.destination);
        let deadline = flow.deadline.map_or(u64::MAX, duetime_core::Span::as_ps);
        [flow.start.as_ps(), ends, flow.size.0, deadline]
            .into_iter()
            .fold(digest, mix)
    })
}

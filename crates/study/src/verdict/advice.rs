//! Names of the limits, and settings to try against them.

use duetime_analysis::explain::{Limit, Place};
use duetime_core::{Rate, Span};
use duetime_proto::tcp;
use duetime_scenario::Scenario;
use duetime_scenario::model::{Amount, Buffer, Connection, Topology, Transport};

use crate::text;

/// Advice as text, with the settings that implement it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    /// Sentence without a full stop; empty without advice.
    pub text: String,
    /// Settings, each with its values, the current value first.
    pub settings: Vec<(String, Vec<String>)>,
    /// True if the advice includes `dctcp` with ECN marking.
    pub includes_dctcp: bool,
}

/// Returns the name of a limit as a cause of late queries.
pub fn cause(limit: Limit, queue: Option<(Place, Option<&str>)>) -> String {
    let name = match limit {
        Limit::RetransmissionTimeout => "retransmission timeouts",
        Limit::TailLossProbe => "tail loss probes",
        Limit::LossRecovery => "loss recovery",
        Limit::Handshake => "handshakes",
        Limit::Queue => {
            return match queue {
                Some((_, Some(link))) => format!("queueing, mostly at {link}"),
                Some((Place::ToHost, None)) => "queueing at switch ports to hosts".to_owned(),
                Some((Place::Between, None)) => "queueing between switches".to_owned(),
                Some((Place::FromHost, None)) => "queueing at the hosts' own ports".to_owned(),
                None => "queueing".to_owned(),
            };
        }
        Limit::Transmission => "transmission",
        Limit::RoundTrips => "round trips while the window grows",
        Limit::EarlierMessages => "earlier messages of the connection",
        Limit::Pause => "pauses without a granted rate",
        Limit::Allocation => "allocations below the requested rate",
        Limit::Grant => "grants to more urgent messages",
        Limit::Postponed => "answers postponed by the receiver's overload check",
        Limit::Hosts => "propagation and network stacks",
        Limit::Server => "waits for a free server",
        Limit::Computing => "computation",
        Limit::HedgeOrRetryWait => "waits before a hedge or a retry",
        Limit::AggregatorTimeout => "aggregator timeouts",
        Limit::Unfinished => "aborted or unfinished answers",
    };
    name.to_owned()
}

/// Returns the advice for a workload with `limit` as the most frequent limit of its late queries.
pub fn advise(scenario: &Scenario, limit: Limit, workload: u16) -> Advice {
    let transport = &scenario.transports[0];
    let budget = scenario
        .objective(usize::from(workload))
        .and_then(|objective| objective.within.first().copied());
    match limit {
        Limit::RetransmissionTimeout => {
            let mut tries = Tries::default();
            tries.add("a deeper buffer", deeper_buffer(scenario));
            tries.add(
                "a smaller `rto_min`",
                smaller_rto(transport, budget.unwrap_or(Span::from_ms(40))),
            );
            tries.ecn(transport);
            tries.done()
        }
        Limit::TailLossProbe | Limit::LossRecovery => {
            let mut tries = Tries::default();
            tries.add("a deeper buffer", deeper_buffer(scenario));
            tries.ecn(transport);
            tries.done()
        }
        Limit::Handshake => {
            let connection = scenario.workloads[usize::from(workload)].connection;
            let mut tries = Tries::default();
            if connection == Connection::PerFlow {
                let key = workload_key(scenario, workload, "connection");
                tries.add(
                    "persistent connections",
                    Some((key, vec!["per-flow".to_owned(), "persistent".to_owned()])),
                );
            }
            tries.done()
        }
        // Alone on the network, answers queue behind one another: all of them cross the link, under any transport.
        Limit::Queue if scenario.workloads.len() == 1 => {
            let mut tries = Tries::default();
            tries.add("faster host links", faster_host_links(scenario));
            tries.name("smaller answers");
            tries.name("less load");
            tries.done()
        }
        Limit::Queue => {
            let mut tries = Tries::default();
            // Before a priority class, since classes share the buffer: losses can replace the waits.
            tries.ecn(transport);
            tries.add(
                "a priority class for the queries",
                lower_class(scenario, workload),
            );
            if tries.names.is_empty() {
                return without_settings("faster links, smaller answers or less load");
            }
            tries.done()
        }
        Limit::Transmission => {
            let mut tries = Tries::default();
            tries.add(
                "cancelling spare answers",
                cancelled_spares(scenario, workload),
            );
            tries.name("faster links, smaller answers or a smaller fan-in");
            tries.done()
        }
        Limit::RoundTrips => {
            let mut tries = Tries::default();
            if let Some((prefix, config)) = window(transport) {
                let now = config.initial_window;
                let values = vec![now.to_string(), now.saturating_mul(4).to_string()];
                tries.add(
                    "a larger initial window",
                    Some((format!("{prefix}.initial_window"), values)),
                );
            }
            tries.done()
        }
        Limit::EarlierMessages => {
            let key = workload_key(scenario, workload, "connection");
            let values = vec!["persistent".to_owned(), "per-flow".to_owned()];
            let mut tries = Tries::default();
            tries.add(
                "a separate connection for each message",
                Some((key, values)),
            );
            tries.done()
        }
        Limit::Pause | Limit::Allocation | Limit::Grant | Limit::Postponed => {
            without_settings("fewer or smaller concurrent answers with deadlines, or faster links")
        }
        Limit::Hosts => {
            without_settings("a larger budget: the transport can save little of this time")
        }
        Limit::Server => {
            let mut tries = Tries::default();
            if let Some(servers) = scenario.host.servers.slots() {
                let values =
                    [servers.slots, servers.slots.saturating_mul(2)].map(|slots| slots.to_string());
                tries.add(
                    "more servers on each host",
                    Some(("host.servers.slots".to_owned(), values.to_vec())),
                );
            }
            tries.done()
        }
        Limit::Computing => without_settings(
            "faster computation or a larger budget: no transport can save this time",
        ),
        Limit::HedgeOrRetryWait => without_settings("an earlier hedge or retry"),
        Limit::AggregatorTimeout => without_settings("a shorter aggregator timeout (`give_up`)"),
        Limit::Unfinished => Advice::default(),
    }
}

fn without_settings(change: &str) -> Advice {
    Advice {
        text: format!("Try {change}"),
        ..Advice::default()
    }
}

/// Collector of changes to try.
#[derive(Default)]
struct Tries {
    names: Vec<String>,
    settings: Vec<(String, Vec<String>)>,
    includes_dctcp: bool,
}

impl Tries {
    /// Adds a change with its setting and values, unless `setting` is `None`.
    fn add(&mut self, name: &str, setting: Option<(String, Vec<String>)>) {
        if let Some(setting) = setting {
            self.name(name);
            self.settings.push(setting);
        }
    }

    /// Adds a change without a setting.
    fn name(&mut self, name: &str) {
        self.names.push(name.to_owned());
    }

    /// Adds ECN marking for a transport that does not react to marks.
    fn ecn(&mut self, transport: &Transport) {
        if lacks_marks(transport) {
            self.includes_dctcp = true;
            self.name("ECN marking with `dctcp`");
        }
    }

    fn done(self) -> Advice {
        Advice {
            text: match &self.names[..] {
                [] => String::new(),
                names => format!("Try {}", text::either(names)),
            },
            settings: self.settings,
            includes_dctcp: self.includes_dctcp,
        }
    }
}

/// Returns the full key of a workload's setting.
fn workload_key(scenario: &Scenario, workload: u16, key: &str) -> String {
    match scenario.workloads.len() {
        1 => format!("workload.{key}"),
        _ => format!(
            "workload.{}.{key}",
            scenario.workloads[usize::from(workload)].name
        ),
    }
}

/// Returns the setting of a buffer four times as deep, or `None` if it is unlimited or the transport's queues replace it.
fn deeper_buffer(scenario: &Scenario) -> Option<(String, Vec<String>)> {
    const FACTOR: u64 = 4;
    if scenario.transports[0].protocol.replaces_buffers() {
        return None;
    }
    let values = match scenario.switch.buffer {
        Buffer::Unlimited => return None,
        Buffer::Static(Amount::Packets(packets)) => {
            [u64::from(packets), u64::from(packets) * FACTOR]
                .map(|packets| format!("{packets} packets"))
        }
        Buffer::Static(Amount::Bytes(bytes)) => [bytes, bytes * FACTOR]
            .map(|bytes| format!("{{ kind = \"static\", size = \"{bytes} B\" }}")),
        Buffer::Dynamic { pool, alpha: 1.0 } => {
            [pool.0, pool.0 * FACTOR].map(|bytes| format!("{bytes} B"))
        }
        Buffer::Dynamic { pool, alpha } => [pool.0, pool.0 * FACTOR].map(|bytes| {
            format!("{{ kind = \"dynamic\", pool = \"{bytes} B\", alpha = {alpha} }}")
        }),
    };
    Some(("switch.buffer".to_owned(), values.to_vec()))
}

/// Returns the setting of a smaller minimum retransmission timeout, or `None` if it is small enough. A quarter of the
/// budget leaves time for a retransmitted segment; the range is 5 ms, just above a clock tick of Linux at 250 Hz, to 10
/// ms.
fn smaller_rto(transport: &Transport, budget: Span) -> Option<(String, Vec<String>)> {
    let (prefix, config) = window(transport)?;
    let quarter_ms = budget.as_ps() / Span::from_ms(4).as_ps();
    let least = Span::from_ms(quarter_ms.clamp(5, 10));
    (least < config.rto_min).then(|| {
        let values = [config.rto_min, least].map(|rto| format!("{} ms", rto.as_ps() as f64 / 1e9));
        (format!("{prefix}.rto_min"), values.to_vec())
    })
}

/// Returns the options of a window protocol and the table of the scenario file that sets them, or `None` for other
/// protocols.
fn window(transport: &Transport) -> Option<(String, &tcp::Config)> {
    let config = transport.protocol.window_options()?;
    let prefix = match transport.name.as_str() {
        "tcp" | "tcp-prio" => "tcp".to_owned(),
        name @ ("dctcp" | "d2tcp" | "cubic") => name.to_owned(),
        variant => format!("variant.{variant}"),
    };
    Some((prefix, config))
}

/// Returns true if the transport fills its window without reacting to marks. Other protocols need no marks: D3 gets its
/// rates from routers.
fn lacks_marks(transport: &Transport) -> bool {
    let protocol = &transport.protocol;
    protocol.window_options().is_some() && !protocol.reacts_to_marks()
}

/// Returns the setting that cancels spare answers, or `None` if there are none or they are cancelled already.
fn cancelled_spares(scenario: &Scenario, workload: u16) -> Option<(String, Vec<String>)> {
    let oldi = scenario.oldi(usize::from(workload))?;
    let has_spares = oldi.objective.answers < 1.0 && oldi.fan_in.len() == 1;
    (has_spares && !oldi.cancel_spares).then(|| {
        let key = workload_key(scenario, workload, "cancel_spares");
        (key, vec!["false".to_owned(), "true".to_owned()])
    })
}

/// Returns the setting of host links at twice the rate, or `None` for a graph, whose links have separate entries.
fn faster_host_links(scenario: &Scenario) -> Option<(String, Vec<String>)> {
    let (key, link) = match &scenario.topology {
        Topology::Star { link, .. }
        | Topology::Dumbbell { link, .. }
        | Topology::D3Testbed { link }
        | Topology::FatTree { link, .. } => ("link", link),
        Topology::LeafSpine { host_link, .. } => ("host_link", host_link),
        Topology::Graph { .. } => return None,
    };
    let twice = Rate::from_bps(link.rate.as_bps().saturating_mul(2));
    let values = [link.rate, twice].map(|rate| rate.to_string());
    Some((format!("topology.{key}.rate"), values.to_vec()))
}

/// Returns the setting of a lower priority class for the other workload, or `None` if there is not exactly one other
/// workload or classes are in use already.
fn lower_class(scenario: &Scenario, workload: u16) -> Option<(String, Vec<String>)> {
    if scenario.workload_classes() > 1 {
        return None;
    }
    let others = (0..).take(scenario.workloads.len());
    let mut others = others.filter(|&other| other != workload);
    let (Some(other), None) = (others.next(), others.next()) else {
        return None;
    };
    let key = workload_key(scenario, other, "priority");
    Some((key, vec!["0".to_owned(), "1".to_owned()]))
}

//! What to change first against a limit, from the settings of the scenario.

use duetime_core::{Rate, Span};
use duetime_proto::tcp;
use duetime_proto::window::CongestionControl;
use duetime_results::explain::limit::Limit;
use duetime_scenario::Scenario;
use duetime_scenario::model::{Amount, Buffer, Connection, Protocol, Topology, Transport};

use super::accounting::Place;
use crate::text;

/// Advice in words, and the settings that follow it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    /// What to try, without a full stop; empty if there is nothing to say.
    pub words: String,
    /// Settings, each with its values, the present one first.
    pub settings: Vec<(String, Vec<String>)>,
}

/// Returns what a query does meanwhile, as in `The largest part of its time is …`.
pub fn waiting(limit: Limit, queue: Option<(Place, Option<&str>)>) -> String {
    let words = match limit {
        Limit::RetransmissionTimeout => "waiting for a retransmission timeout",
        Limit::TailLossProbe => "waiting for a tail loss probe",
        Limit::LossRecovery => "repairing losses",
        Limit::Handshake => "the handshake",
        Limit::Queue => {
            return match queue {
                Some((_, Some(link))) => format!("queueing, most of it at {link}"),
                Some((Place::ToHost, None)) => "queueing at switch ports to hosts".to_owned(),
                Some((Place::Between, None)) => "queueing between switches".to_owned(),
                Some((Place::FromHost, None)) => "queueing at hosts' own ports".to_owned(),
                None => "queueing".to_owned(),
            };
        }
        Limit::Transmission => "transmission on links",
        Limit::RoundTrips => "round trips until the window has grown",
        Limit::EarlierMessages => "waiting behind earlier messages of the connection",
        Limit::Pause => "waiting for routers to grant a rate",
        Limit::Allocation => "sending at less than the requested rate",
        Limit::Hosts => "propagation and the hosts' network stacks",
        Limit::Server => "waiting for a free server",
        Limit::Computing => "computing",
        Limit::AskingAgain => "the wait before a hedge or a retry",
        Limit::Patience => "an aggregator's timeout",
        Limit::Unfinished => "an answer that was given up",
    };
    words.to_owned()
}

/// Returns what to change first where `limit` is the most frequent one of a workload's late queries.
pub fn of(scenario: &Scenario, limit: Limit, workload: u16) -> Advice {
    let transport = &scenario.transports[0];
    let budget = scenario
        .objective(usize::from(workload))
        .and_then(|of| of.within.first().copied());
    match limit {
        Limit::RetransmissionTimeout => {
            let mut tries = Tries::default();
            tries.add("a deeper buffer", deeper(scenario));
            tries.add(
                "a smaller `rto_min`",
                earlier_timeout(transport, budget.unwrap_or(Span::from_ms(40))),
            );
            tries.with("ECN marking with `dctcp`", !answers_to_marks(transport))
        }
        Limit::TailLossProbe | Limit::LossRecovery => {
            let mut tries = Tries::default();
            tries.add("a deeper buffer", deeper(scenario));
            tries.with("ECN marking with `dctcp`", !answers_to_marks(transport))
        }
        Limit::Handshake => {
            let connection = scenario.workloads[usize::from(workload)].connection;
            let mut tries = Tries::default();
            if connection == Connection::PerFlow {
                let key = of_workload(scenario, workload, "connection");
                tries.add(
                    "connections that are kept",
                    Some((key, vec!["per-flow".to_owned(), "persistent".to_owned()])),
                );
            }
            tries.done()
        }
        // Alone on the network, answers queue behind one another: all of them cross the link, under any transport.
        Limit::Queue if scenario.workloads.len() == 1 => {
            let mut tries = Tries::default();
            tries.add("faster host links", faster_host_links(scenario));
            tries.words.push("smaller answers".to_owned());
            tries.with("less load", true)
        }
        Limit::Queue => {
            let mut tries = Tries::default();
            tries.add(
                "a priority class for the queries",
                class(scenario, workload),
            );
            tries.with("ECN marking with `dctcp`", !answers_to_marks(transport));
            if tries.words.is_empty() {
                return words("faster links, smaller answers or less load");
            }
            tries.done()
        }
        Limit::Transmission => {
            let mut tries = Tries::default();
            tries.add("cancelling the spare answers", spares(scenario, workload));
            tries.with("faster links, smaller answers or a smaller fan-in", true)
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
            let key = of_workload(scenario, workload, "connection");
            let values = vec!["persistent".to_owned(), "per-flow".to_owned()];
            let mut tries = Tries::default();
            tries.add("a connection for each message", Some((key, values)));
            tries.done()
        }
        Limit::Pause | Limit::Allocation => {
            words("fewer or smaller answers with deadlines at a time, or faster links")
        }
        Limit::Hosts => words("a looser budget: little of this time is the transport's"),
        Limit::Server => {
            let mut tries = Tries::default();
            if let Some(of) = scenario.host.servers.slots() {
                let values = [of.slots, of.slots.saturating_mul(2)].map(|slots| slots.to_string());
                tries.add(
                    "more servers on each host",
                    Some(("host.servers.slots".to_owned(), values.to_vec())),
                );
            }
            tries.done()
        }
        Limit::Computing => {
            words("faster computation or a looser budget: no transport can save this time")
        }
        Limit::AskingAgain => words("an earlier hedge or retry"),
        Limit::Patience => words("a shorter timeout of the aggregators (`give_up`)"),
        Limit::Unfinished => Advice::default(),
    }
}

fn words(what: &str) -> Advice {
    Advice {
        words: format!("Try {what}"),
        settings: Vec::new(),
    }
}

/// Things to try, one by one.
#[derive(Default)]
struct Tries {
    words: Vec<String>,
    settings: Vec<(String, Vec<String>)>,
}

impl Tries {
    /// Adds a setting with its values, if there is one to change.
    fn add(&mut self, words: &str, setting: Option<(String, Vec<String>)>) {
        if let Some(setting) = setting {
            self.words.push(words.to_owned());
            self.settings.push(setting);
        }
    }

    fn with(&mut self, words: &str, applies: bool) -> Advice {
        if applies {
            self.words.push(words.to_owned());
        }
        Advice {
            words: if self.words.is_empty() {
                String::new()
            } else {
                format!("Try {}", text::either(&self.words))
            },
            settings: self.settings.clone(),
        }
    }

    fn done(&mut self) -> Advice {
        self.with("", false)
    }
}

/// The key of a setting of one workload.
fn of_workload(scenario: &Scenario, workload: u16, key: &str) -> String {
    match scenario.workloads.len() {
        1 => format!("workload.{key}"),
        _ => format!(
            "workload.{}.{key}",
            scenario.workloads[usize::from(workload)].name
        ),
    }
}

/// A buffer four times as deep.
fn deeper(scenario: &Scenario) -> Option<(String, Vec<String>)> {
    const TIMES: u64 = 4;
    let values = match scenario.switch.buffer {
        Buffer::Unlimited => return None,
        Buffer::Static(Amount::Packets(packets)) => {
            [u64::from(packets), u64::from(packets) * TIMES].map(|of| format!("{of} packets"))
        }
        Buffer::Static(Amount::Bytes(bytes)) => [bytes, bytes * TIMES]
            .map(|bytes| format!("{{ kind = \"static\", size = \"{bytes} B\" }}")),
        Buffer::Dynamic { pool, alpha: 1.0 } => {
            [pool.0, pool.0 * TIMES].map(|bytes| format!("{bytes} B"))
        }
        Buffer::Dynamic { pool, alpha } => [pool.0, pool.0 * TIMES].map(|bytes| {
            format!("{{ kind = \"dynamic\", pool = \"{bytes} B\", alpha = {alpha} }}")
        }),
    };
    Some(("switch.buffer".to_owned(), values.to_vec()))
}

/// A retransmission timeout of a quarter of the budget, so that a segment that is sent again can be in time; from 5 ms,
/// more than a tick of Linux's clock at 250 Hz, to 10 ms.
fn earlier_timeout(transport: &Transport, budget: Span) -> Option<(String, Vec<String>)> {
    let (prefix, config) = window(transport)?;
    let quarter_ms = budget.as_ps() / Span::from_ms(4).as_ps();
    let least = Span::from_ms(quarter_ms.clamp(5, 10));
    (least < config.rto_min).then(|| {
        let values = [config.rto_min, least].map(|of| format!("{} ms", of.as_ps() as f64 / 1e9));
        (format!("{prefix}.rto_min"), values.to_vec())
    })
}

/// The options of a window protocol, and the table of the file that sets them.
fn window(transport: &Transport) -> Option<(String, &tcp::Config)> {
    let Protocol::Tcp(config) = &transport.protocol else {
        return None;
    };
    let prefix = match transport.name.as_str() {
        "tcp" | "tcp-prio" => "tcp".to_owned(),
        name @ ("dctcp" | "d2tcp" | "cubic") => name.to_owned(),
        variant => format!("variant.{variant}"),
    };
    Some((prefix, config))
}

fn answers_to_marks(transport: &Transport) -> bool {
    match &transport.protocol {
        Protocol::Tcp(config) => matches!(
            config.congestion_control,
            CongestionControl::Dctcp(_) | CongestionControl::D2tcp(..)
        ),
        // D3 takes rates from routers instead.
        Protocol::D3(_) => true,
    }
}

/// Cancelled spares, where a query needs fewer answers than it asks for.
fn spares(scenario: &Scenario, workload: u16) -> Option<(String, Vec<String>)> {
    let oldi = scenario.oldi(usize::from(workload))?;
    let has_spares = oldi.objective.answers < 1.0 && oldi.fan_in.len() == 1;
    (has_spares && !oldi.cancel_spares).then(|| {
        let key = of_workload(scenario, workload, "cancel_spares");
        (key, vec!["false".to_owned(), "true".to_owned()])
    })
}

/// Host links at twice the rate; `None` for a graph, whose links have separate entries.
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

/// A lower class for the one other workload that shares the queues.
fn class(scenario: &Scenario, workload: u16) -> Option<(String, Vec<String>)> {
    if scenario.own_classes() > 1 {
        return None;
    }
    let others = (0..).take(scenario.workloads.len());
    let mut others = others.filter(|&other| other != workload);
    let (Some(other), None) = (others.next(), others.next()) else {
        return None;
    };
    let key = of_workload(scenario, other, "priority");
    Some((key, vec!["0".to_owned(), "1".to_owned()]))
}

//! Small experiments of the papers, from their folders under `papers/`, shown at their bottleneck.

use crate::error::Error;
use crate::port::{Flow, Port};
use crate::scenario;
use duetime_core::{Span, Time};
use duetime_results::{FlowRecord, RunRecords};
use duetime_scenario::{Document, Scenario, Sources, TraceRow};
use duetime_sim::topology::Network;
use duetime_sim::{Keep, Options, Watch};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use toml::{Table, Value as Toml};

/// Experiment of a paper.
struct Story {
    id: &'static str,
    scenario: &'static str,
    experiment: &'static str,
    /// Files that the scenario references, by path.
    files: &'static [(&'static str, &'static str)],
    /// Description of what to observe.
    about: &'static str,
}

macro_rules! paper {
    ($folder:literal, $file:literal) => {
        include_str!(concat!("../../../papers/", $folder, "/", $file))
    };
}

const STORIES: [Story; 3] = [
    Story {
        id: "d3-fig01",
        scenario: paper!("d3/fig01", "scenario.toml"),
        experiment: paper!("d3/fig01", "experiment.toml"),
        files: &[],
        about: "With equal shares, the flow with the earlier deadline is late. If it gets just the rate it needs, both are in time.",
    },
    Story {
        id: "d3-fig02",
        scenario: paper!("d3/fig02", "scenario.toml"),
        experiment: paper!("d3/fig02", "experiment.toml"),
        files: &[],
        about: "Six flows on a link that can finish five of them in time. With equal shares, all are late; quenching one saves the others.",
    },
    Story {
        id: "d2tcp-fig06",
        scenario: paper!("d2tcp/fig06", "scenario.toml"),
        experiment: paper!("d2tcp/fig06", "experiment.toml"),
        files: &[
            ("flow-0.csv", paper!("d2tcp/fig06", "flow-0.csv")),
            ("flow-1.csv", paper!("d2tcp/fig06", "flow-1.csv")),
            ("flow-2.csv", paper!("d2tcp/fig06", "flow-2.csv")),
            ("flow-3.csv", paper!("d2tcp/fig06", "flow-3.csv")),
        ],
        about: "Four flows with near and far deadlines. D2TCP reduces the windows of flows with near deadlines less after marks.",
    },
];

/// Returns the stories with their panels and schemes.
pub fn all() -> Vec<Value> {
    let describe = |story: &Story| {
        let experiment = story.experiment();
        json!({
            "id": story.id,
            "title": text(&experiment, "title"),
            "source": text(&experiment, "source"),
            "about": story.about,
            "panels": choices(&experiment, "panel").iter().map(name).collect::<Vec<_>>(),
            "schemes": choices(&experiment, "scheme").iter().map(name).collect::<Vec<_>>(),
        })
    };
    STORIES.iter().map(describe).collect()
}

/// Simulates the first run of a story with a panel and a scheme. Returns the port and a description of its flows.
pub fn play(id: &str, panel: Option<&str>, scheme: &str) -> Result<(Port, Value), Error> {
    let names = STORIES.map(|story| story.id).join(", ");
    let story = STORIES.iter().find(|story| story.id == id);
    let story =
        story.ok_or_else(|| Error::plain(format!("`{id}`: unknown story")).allowed(names))?;
    let experiment = story.experiment();
    let scheme = choose(&experiment, "scheme", scheme)?;
    let panel = panel
        .map(|panel| choose(&experiment, "panel", panel))
        .transpose()?;
    let mut document = Document::parse(story.scenario, scenario::NAME)?;
    for choice in panel.iter().chain([&scheme]) {
        let set = choice.get("set").and_then(Toml::as_table);
        for (key, value) in set.into_iter().flatten() {
            document.set(key, &value.to_string())?;
        }
    }
    let (scenario, _) = scenario::resolve(&document, story)?;
    let (port, records) = watch(&scenario)?;
    let late = port
        .flows()
        .iter()
        .filter(|flow| flow.met == Some(false))
        .count();
    let summary = port.summary();
    let description = json!({
        "id": id,
        "title": text(&experiment, "title"),
        "source": text(&experiment, "source"),
        "scheme": name(&scheme),
        "panel": panel.as_ref().map(name),
        "transport": scenario.transports[0].name,
        "in_time": port.flows().len() - late,
        "packet_hops": records.totals.packet_hops,
        "digest": duetime_results::digest(&records).to_string(),
        "port": summary,
    });
    Ok((port, description))
}

/// Simulates the first run with the first transport twice: to find its flows, then to trace them at the last port,
/// which all of them cross.
fn watch(scenario: &Scenario) -> Result<(Port, RunRecords), Error> {
    let first = duetime_sim::run(scenario, 0, 0, &Options::default())?.records;
    let network = Network::build(&scenario.topology)?;
    let Some(destination) = first.flows.first().map(|flow| flow.destination) else {
        return Err(Error::plain("the scenario has no flows"));
    };
    let link = network.downlink[destination as usize];
    let last = first.flows.iter().map(|flow| {
        let end = flow.finish.unwrap_or(Time::ZERO);
        end.max(flow.deadline.unwrap_or(Time::ZERO))
    });
    let end = last.max().unwrap_or(Time::ZERO) + Span::from_us(100);
    let options = Options {
        watch: Watch::Flows(
            first
                .flows
                .iter()
                .map(|flow| flow.flow)
                .collect::<BTreeSet<_>>(),
        ),
        keep: Keep::Port(link),
        windows: Some(Span::from_ps((end.as_ps() / 1_000).max(1))),
        ..Options::default()
    };
    let watched = duetime_sim::run(scenario, 0, 0, &options)?;
    let one_flow_per_workload = scenario.workloads.len() == first.flows.len();
    let named = |(index, flow): (usize, &FlowRecord)| Flow {
        name: if one_flow_per_workload {
            scenario.workloads[usize::from(flow.workload)]
                .name
                .replace('-', " ")
        } else {
            format!("flow {}", index + 1)
        },
        number: flow.flow,
        bytes: flow.size_bytes,
        start: flow.start,
        deadline: flow.deadline,
        finish: flow.finish,
        quenched: flow.quenched,
        met: flow.met(),
        timeouts: flow.timeouts,
        retransmits: flow.retransmits,
    };
    let flows = watched
        .records
        .flows
        .iter()
        .enumerate()
        .map(named)
        .collect();
    let port = Port::of(scenario, &network, link, (flows, end), &watched);
    Ok((port, watched.records))
}

impl Story {
    fn experiment(&self) -> Table {
        self.experiment
            .parse()
            .expect("the experiments are valid TOML, which a test checks")
    }
}

impl Sources for Story {
    fn read_text(&self, path: &str) -> Result<String, String> {
        let found = self.files.iter().find(|(name, _)| *name == path);
        found
            .map(|(_, text)| (*text).to_owned())
            .ok_or_else(|| "no such file".to_owned())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err("pages do not support Parquet".to_owned())
    }
}

/// Returns the tables of a kind that are simulated.
fn choices(experiment: &Table, kind: &str) -> Vec<Table> {
    let list = experiment.get(kind).and_then(Toml::as_array);
    let tables = list.into_iter().flatten().filter_map(Toml::as_table);
    tables
        .filter(|table| !table.contains_key("method"))
        .cloned()
        .collect()
}

fn choose(experiment: &Table, kind: &str, name: &str) -> Result<Table, Error> {
    let all = choices(experiment, kind);
    let names: Vec<String> = all.iter().map(|table| text(table, "name")).collect();
    let found = all.into_iter().find(|table| text(table, "name") == name);
    found.ok_or_else(|| Error::plain(format!("`{name}`: unknown {kind}")).allowed(names.join(", ")))
}

fn name(table: &Table) -> Value {
    json!({ "name": text(table, "name"), "label": text(table, "label") })
}

fn text(table: &Table, key: &str) -> String {
    table
        .get(key)
        .and_then(Toml::as_str)
        .unwrap_or_default()
        .to_owned()
}

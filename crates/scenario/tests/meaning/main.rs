//! Meaning of a file: defaults, layers of options, values set by key path, sweeps.

mod resolved;
mod set;
mod transports;
mod workloads;

use duetime_core::{Bytes, Rate, Span};
use duetime_proto::d3;
use duetime_proto::tcp;
use duetime_scenario::model::{
    Amount, Buffer, Deadline, Gap, Protocol, QueryArrival, Scenario, SourceGap, Transport,
    WorkloadKind,
};
use duetime_scenario::{NoFiles, load};

/// Example of the design document.
const EXAMPLE: &str = r#"
name = "search-fanout"
transport = ["tcp", "dctcp", "d3", "d2tcp"]
seeds = 20
duration = "1 s"

[topology]
kind = "leaf-spine"
racks = 26
hosts_per_rack = 40
host_link = { rate = "1 Gbps", latency = "20 us" }
uplink    = { rate = "40 Gbps", latency = "20 us" }

[switch]
buffer = "4 MB"
ecn_threshold = "20 packets"

[[workload]]
kind = "oldi"                 # a parent queries its leaves, all answer at once
trees = 5
fan_in = 40
response = "10 KB"
deadline = { base = "35 ms", variation = "uniform 50%" }
load = 0.15

[[workload]]
kind = "background"
size = "1 MB"
every = "exponential 300 ms"
"#;

fn with(overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<(String, String)> = overrides
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    load(EXAMPLE, "scenarios/x.toml", &overrides, &NoFiles)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn extended(more: &str) -> Scenario {
    let text = format!("{EXAMPLE}\n{more}");
    load(&text, "x.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"))
}

fn window<'s>(scenario: &'s Scenario, name: &str) -> &'s tcp::Config {
    let config = transport(scenario, name).protocol.window_options();
    config.unwrap_or_else(|| panic!("{name} is no window protocol"))
}

fn rates<'s>(scenario: &'s Scenario, name: &str) -> &'s d3::Config {
    let Protocol::D3(config) = &transport(scenario, name).protocol else {
        panic!("{name} is no D3");
    };
    config
}

fn transport<'s>(scenario: &'s Scenario, name: &str) -> &'s Transport {
    scenario
        .transports
        .iter()
        .find(|transport| transport.name == name)
        .expect(name)
}

fn trees(scenario: &Scenario) -> &duetime_scenario::model::Oldi {
    match &scenario.workloads[0].kind {
        WorkloadKind::Oldi(oldi) => oldi,
        other => panic!("{other:?}"),
    }
}

#[test]
fn design_example() {
    let scenario = with(&[]);
    assert_eq!((scenario.seeds, scenario.seed), (20, 1));
    assert_eq!(
        (scenario.warm_up, scenario.drain),
        (Span::ZERO, Span::from_secs(10))
    );
    assert_eq!(
        scenario.switch.buffer,
        Buffer::Dynamic {
            pool: Bytes(4_000_000),
            alpha: 1.0
        }
    );
    assert_eq!(
        scenario.switch.ecn_threshold,
        [(Rate::default(), Amount::Packets(20))]
    );
    let oldi = trees(&scenario);
    assert_eq!(
        oldi.deadline,
        [Deadline::Added {
            base: Span::from_ms(35),
            added: 0.5
        }]
    );
    assert_eq!(
        oldi.arrival,
        QueryArrival::Load {
            load: 0.15,
            poisson: true,
            each_tree: true,
        }
    );
    assert_eq!(oldi.layer_share, [1.0]);
    let WorkloadKind::Background {
        count: 1, every, ..
    } = &scenario.workloads[1].kind
    else {
        panic!()
    };
    let mean = Span::from_ms(300);
    assert_eq!(*every, SourceGap::Given(Gap::Exponential(mean)));
    assert_eq!(scenario.workloads[1].name, "background");
}

#[test]
fn background_by_gap_or_load() {
    let every = |keys: &str| {
        let scenario = extended(&format!(
            "[[workload]]\nkind = \"background\"\nsize = \"1 KB\"\n{keys}\n"
        ));
        match &scenario.workloads[2].kind {
            WorkloadKind::Background { every, .. } => every.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(every("load = 0.3"), SourceGap::AtLoad(0.3));
    assert_eq!(every("load = \"30 %\""), SourceGap::AtLoad(0.3));
    let gap = Gap::Uniform(Span::from_ms(1), Span::from_ms(5));
    assert_eq!(
        every("every = \"uniform 1 ms..5 ms\""),
        SourceGap::Given(gap)
    );
}

//! Files in `scenarios/` load and match their comments.

#![expect(clippy::disallowed_methods, reason = "the test reads files")]

use duetime_core::{Bytes, Rate, Span};
use duetime_scenario::model::{
    Amount, Buffer, Deadline, Protocol, QueryArrival, Size, Topology, WorkloadKind,
};
use duetime_scenario::{Scenario, Sources, TraceRow, load};
use std::path::PathBuf;

struct Folder(PathBuf);

impl Sources for Folder {
    fn read_text(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.0.join(path)).map_err(|error| error.to_string())
    }

    fn read_trace(&self, _: &str) -> Result<Vec<TraceRow>, String> {
        Err("no Parquet here".to_owned())
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn read(name: &str) -> Scenario {
    let file = format!("{name}.toml");
    let text = std::fs::read_to_string(folder().join(&file)).expect(&file);
    load(&text, &file, &[], &Folder(folder())).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn all_load_and_have_the_names_of_their_files() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|suffix| suffix == "toml") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            assert_eq!(read(&name).name, name);
            count += 1;
        }
    }
    assert!(count >= 9, "{count} scenarios");
}

#[test]
fn w1_is_an_incast() {
    let w1 = read("w1");
    assert_eq!(w1.topology.hosts(), 41);
    assert_eq!(w1.switch.buffer, Buffer::Static(Amount::Packets(1000)));
    assert_eq!(
        w1.switch.ecn_threshold,
        [(Rate::default(), Amount::Packets(20))]
    );
    let Protocol::Tcp(config) = &w1.transports[0].protocol else {
        panic!("not a window protocol")
    };
    assert_eq!(config.delayed_ack, 1);
    let WorkloadKind::Burst {
        senders,
        receiver,
        size,
        ..
    } = &w1.workloads[0].kind
    else {
        panic!("no burst")
    };
    assert_eq!(
        (*senders, *receiver, size),
        (40, Some(0), &Size::Fixed(Bytes(10_000_000)))
    );
    assert_eq!(
        (w1.duration, w1.drain),
        (Span::from_ms(1), Span::from_secs(100))
    );
}

#[test]
fn w2_is_a_permutation() {
    let w2 = read("w2");
    let Topology::LeafSpine {
        racks: 25,
        hosts_per_rack: 40,
        spines: 1,
        uplink,
        ..
    } = w2.topology
    else {
        panic!("not 25 x 40")
    };
    assert_eq!(
        (uplink.rate, uplink.latency),
        (Rate::from_gbps(40), Span::from_us(20))
    );
    let expected = [
        (Rate::default(), Amount::Packets(20)),
        (Rate::from_gbps(40), Amount::Packets(65)),
    ];
    assert_eq!(w2.switch.ecn_threshold, expected);
}

#[test]
fn search_fanout_has_enough_deadline_flows() {
    let search = read("search-fanout");
    assert_eq!(search.topology.hosts(), 1000);
    let WorkloadKind::Oldi(oldi) = &search.workloads[0].kind else {
        panic!("not trees")
    };
    assert_eq!(
        (oldi.applications, oldi.trees, &oldi.fan_in[..]),
        (5, 5, &[40][..])
    );
    assert_eq!(
        oldi.deadline[4],
        Deadline::Added {
            base: Span::from_ms(45),
            added: 0.5
        }
    );
    let QueryArrival::Load { load, .. } = oldi.arrival else {
        panic!("no load")
    };
    let seconds = (search.duration.as_secs_f64() - search.warm_up.as_secs_f64()).max(0.0);
    assert!(seconds >= 1.0);
    let flows: f64 = oldi
        .response
        .iter()
        .map(|size| {
            let Size::Fixed(bytes) = size else {
                panic!("not fixed")
            };
            let wire = bytes.0 as f64 * 1500.0 / 1460.0;
            load * 125e6 * seconds / wire * f64::from(oldi.trees)
        })
        .sum();
    assert!(flows >= 20_000.0 * 1.1, "{flows} deadline flows");
}

//! Values set by key path, and sweeps.

use crate::{EXAMPLE, trees, window, with};
use duetime_core::{Bytes, Rate, Span};
use duetime_scenario::model::{Amount, Buffer, Deadline, Size, Topology, WorkloadKind};
use duetime_scenario::sweep::grid;
use duetime_scenario::{Axis, Document, NoFiles, load};

#[test]
fn values_override_the_file() {
    let scenario = with(&[
        ("seeds", "3"),
        ("workload.fan_in", "10"),
        ("workload.oldi.deadline.base", "20 ms"),
        ("workload.background.size", "uniform 2 KB..50 KB"),
        ("workload[1].count", "7"),
        ("workload.background.to_roots_of", "oldi"),
        ("topology.uplink.rate", "10 Gbps"),
        ("switch.buffer", "100 packets"),
        ("tcp.rto_min", "300 ms"),
        ("transport", r#"["tcp"]"#),
    ]);
    assert_eq!(scenario.seeds, 3);
    assert_eq!(trees(&scenario).fan_in, [10]);
    assert_eq!(
        trees(&scenario).deadline,
        [Deadline::Added {
            base: Span::from_ms(20),
            added: 0.5
        }]
    );
    let WorkloadKind::Background {
        count,
        size,
        to_roots_of,
        ..
    } = &scenario.workloads[1].kind
    else {
        panic!()
    };
    assert_eq!(
        (*count, size, to_roots_of),
        (7, &Size::Uniform(Bytes(2_000), Bytes(50_000)), &Some(0))
    );
    let Topology::LeafSpine { uplink, .. } = &scenario.topology else {
        panic!()
    };
    assert_eq!(uplink.rate, Rate::from_gbps(10));
    assert_eq!(scenario.switch.buffer, Buffer::Static(Amount::Packets(100)));
    assert_eq!(window(&scenario, "tcp").rto_min, Span::from_ms(300));
    assert_eq!(scenario.transports.len(), 1);
}

#[test]
fn sweep_axes_can_be_set() {
    let text = format!(
        "{EXAMPLE}\n[sweep]\nworkload.fan_in = [5, 10]\nworkload.response = [\"1 KB\", \"10 KB\"]\n\
         \"workload.load\" = \"0.05..0.15:0.05\"\n"
    );
    let document = Document::parse(&text, "x.toml").unwrap();
    let axes = document.sweep().unwrap_or_else(|error| panic!("{error}"));
    let axis = |key: &str, values: &[&str]| Axis {
        key: key.to_owned(),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    assert_eq!(
        axes,
        [
            axis("workload.fan_in", &["5", "10"]),
            axis("workload.response", &["1 KB", "10 KB"]),
            axis("workload.load", &["0.05", "0.1", "0.15"]),
        ]
    );
    let points = grid(&axes);
    assert_eq!(points.len(), 12);
    let last =
        load(&text, "x.toml", &points[11], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        (&trees(&last).fan_in[..], &trees(&last).response[..]),
        (&[10][..], &[Size::Fixed(Bytes(10_000))][..])
    );
}

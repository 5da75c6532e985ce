//! What the file means: defaults, layers of options, values set over it, sweeps.

use duetime_core::{Bytes, Rate, Span};
use duetime_proto::d3::{self, BaseRate};
use duetime_proto::tcp;
use duetime_proto::window::{Completion, CongestionControl};
use duetime_scenario::model::{
    Amount, Buffer, Deadline, Gap, GiveUp, Intensity, Objective, Protocol, QueryArrival, Scenario,
    Size, Topology, Transport, WorkloadKind,
};
use duetime_scenario::sweep::grid;
use duetime_scenario::{Axis, Document, NoFiles, load, resolved_json};

/// The example of the design document.
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
    match &transport(scenario, name).protocol {
        Protocol::Tcp(config) => config,
        Protocol::D3(_) => panic!("{name} is no window protocol"),
    }
}

fn rates<'s>(scenario: &'s Scenario, name: &str) -> &'s d3::Config {
    match &transport(scenario, name).protocol {
        Protocol::D3(config) => config,
        Protocol::Tcp(_) => panic!("{name} is no D3"),
    }
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
fn the_example_of_the_design_means_what_it_says() {
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
    } = scenario.workloads[1].kind
    else {
        panic!()
    };
    assert_eq!(every, Gap::Exponential(Span::from_ms(300)));
    assert_eq!(scenario.workloads[1].name, "background");
}

#[test]
fn a_query_is_in_time_by_its_objective_or_by_what_its_answers_say() {
    let objective = |overrides: &[(&str, &str)]| trees(&with(overrides)).objective.clone();
    let own_deadlines = Objective {
        within: vec![],
        answers: 1.0,
        share: None,
    };
    assert_eq!(objective(&[]), own_deadlines);
    let fixed = ("workload.deadline", "\"5 ms\"");
    let from_the_answers = Objective {
        within: vec![Span::from_ms(5)],
        answers: 0.99,
        share: None,
    };
    assert_eq!(
        objective(&[fixed, ("workload.complete_at", "0.99")]),
        from_the_answers
    );
    let given = r#"{ within = ["7 ms", "8 ms"], answers = "95 %", share = "99.9 %" }"#;
    let own = Objective {
        within: vec![Span::from_ms(7), Span::from_ms(8)],
        answers: 0.95,
        share: Some(0.999),
    };
    assert_eq!(objective(&[fixed, ("workload.objective", given)]), own);
    // Half an objective takes the rest from the answers.
    assert_eq!(
        objective(&[fixed, ("workload.objective", "{ answers = 0.5 }")]),
        Objective {
            within: vec![Span::from_ms(5)],
            answers: 0.5,
            share: None,
        }
    );
}

#[test]
fn an_aggregator_gives_up_when_the_file_says() {
    let give_up = |value: &str| trees(&with(&[("workload.give_up", value)])).give_up;
    assert_eq!(trees(&with(&[])).give_up, GiveUp::Children);
    assert_eq!(give_up("\"children\""), GiveUp::Children);
    assert_eq!(give_up("\"own\""), GiveUp::Own);
    assert_eq!(give_up("\"never\""), GiveUp::Never);
    assert_eq!(give_up("\"5 ms\""), GiveUp::After(Span::from_ms(5)));
}

#[test]
fn without_options_the_transports_have_the_defaults_of_the_protocols() {
    let scenario = with(&[(
        "transport",
        r#"["tcp", "dctcp", "d2tcp", "d3", "rcpdc", "tcp-prio", "rcpdc-prio"]"#,
    )]);
    assert_eq!(*window(&scenario, "tcp"), tcp::Config::default());
    assert_eq!(*rates(&scenario, "d3"), d3::Config::default());
    assert_eq!(
        *rates(&scenario, "rcpdc"),
        d3::Config {
            ignore_deadlines: true,
            ..d3::Config::default()
        }
    );
    let priorities: Vec<u8> = scenario.transports.iter().map(|t| t.priorities).collect();
    assert_eq!(priorities, [1, 1, 1, 1, 1, 2, 2]);
    let CongestionControl::D2tcp(marks, deadlines) = window(&scenario, "d2tcp").congestion_control
    else {
        panic!()
    };
    assert_eq!((marks.gain_shift, marks.initial_alpha.to_bits()), (4, 0));
    assert_eq!(
        (deadlines.d_min, deadlines.d_max, deadlines.d_expired),
        (0.5, 2.0, 0.5)
    );
}

#[test]
fn options_go_from_the_general_to_the_special() {
    let scenario = extended(
        r#"
[tcp]
rto_min = "20 ms"
min_window = 1
[dctcp]
initial_alpha = 1
min_window = 2
[d2tcp]
min_window = 3
imminence = [0.67, 1.5]
completion = "precise"
"#,
    );
    let floors = ["tcp", "dctcp", "d2tcp"].map(|name| window(&scenario, name).min_window);
    assert_eq!(floors, [1, 2, 3]);
    let timeouts = ["tcp", "dctcp", "d2tcp"].map(|name| window(&scenario, name).rto_initial);
    assert_eq!(timeouts, [Span::from_ms(20); 3]);
    let CongestionControl::D2tcp(marks, deadlines) = window(&scenario, "d2tcp").congestion_control
    else {
        panic!()
    };
    assert_eq!(marks.initial_alpha.to_bits(), 1f64.to_bits());
    assert_eq!(deadlines.d_expired.to_bits(), 0.67f64.to_bits());
    assert_eq!(deadlines.completion, Completion::Precise);
}

#[test]
fn d3s_deadline_policy_and_target() {
    let scenario = with(&[
        ("d3.target", "95%"),
        ("d3.speculative", "true"),
        ("d3.speculative_rises", "2"),
        ("d3.speculative_growth", "0.25"),
        ("d3.late", "extend"),
        ("d3.late_extension", "150%"),
    ]);
    let d3 = rates(&scenario, "d3");
    assert_eq!(d3.target_256, 243);
    assert!(d3.speculative);
    let speculation = d3::Speculation {
        rises: 2,
        growth_permille: 250,
    };
    assert_eq!(d3.speculation, speculation);
    assert_eq!(
        (d3.late, d3.late_extension_permille),
        (d3::Late::Extend, 1_500)
    );
    for (key, value) in [
        ("d3.target", "101%"),
        ("d3.target", "0"),
        ("d3.speculative_rises", "0"),
        ("d3.speculative_growth", "-10%"),
        ("d3.late_extension", "0%"),
        ("d3.speculative", "4"),
    ] {
        let set = [(key.to_owned(), value.to_owned())];
        let error = load(EXAMPLE, "x.toml", &set, &NoFiles)
            .expect_err(key)
            .to_string();
        assert!(
            error.contains(key) && error.contains("allowed: "),
            "{error}"
        );
    }
}

#[test]
fn a_variant_changes_its_base_alone() {
    let text = format!(
        "{}{}",
        EXAMPLE.replace(
            r#"["tcp", "dctcp", "d3", "d2tcp"]"#,
            r#"["tcp", "tcp-300", "d3-authors", "prio4"]"#
        ),
        r#"
transport = "tcp-300"
[tcp]
rto_min = "20 ms"
initial_window = 10
[[variant]]
name = "tcp-300"
base = "tcp"
rto_min = "300 ms"
[[variant]]
name = "d3-authors"
base = "d3"
profile = "d2tcp-authors"
alpha = 0.5
[[variant]]
name = "prio4"
base = "tcp-prio"
classes = 4
"#
    );
    let scenario = load(&text, "x.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(window(&scenario, "tcp").rto_min, Span::from_ms(20));
    let variant = window(&scenario, "tcp-300");
    assert_eq!(
        (variant.rto_min, variant.initial_window),
        (Span::from_ms(300), 10)
    );
    let d3 = rates(&scenario, "d3-authors");
    assert_eq!(
        (d3.base_rate, d3.alpha_256),
        (BaseRate::Segment(Span::from_us(200)), 128)
    );
    assert_eq!(transport(&scenario, "prio4").priorities, 4);
    let fixed = scenario.workloads[1]
        .transport
        .as_ref()
        .expect("a transport of its own");
    assert_eq!(fixed.name, "tcp-300");
}

#[test]
fn values_are_set_over_the_file() {
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
fn a_sweep_in_the_file_gives_axes_that_can_be_set() {
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

#[test]
fn finite_workloads_need_no_duration() {
    let text = r#"
transport = "tcp"
topology = { kind = "star", hosts = 4, link = { rate = "1 Gbps", latency = "0 us", loss = "1%" } }
[[workload]]
kind = "burst"
senders = 3
size = "1 KB"
at = "1 ms"
repeat = 3
every = "10 ms"
"#;
    let scenario =
        load(text, "runs/a.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.name, "a");
    assert_eq!(
        (scenario.duration, scenario.drain),
        (Span::from_ms(22), Span::from_secs(100))
    );
    assert!(
        matches!(scenario.topology, Topology::Star { link, .. } if link.loss.to_bits() == 0.01f64.to_bits())
    );
    let spread = [("workload.jitter".to_owned(), "5 ms".to_owned())];
    let scenario =
        load(text, "runs/a.toml", &spread, &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.duration, Span::from_ms(27));
}

#[test]
fn starts_may_be_spread_over_a_jitter() {
    let of = |keys: &str| {
        let text = format!(
            r#"
transport = "tcp"
duration = "1 s"
topology = {{ kind = "star", hosts = 4, link = {{ rate = "1 Gbps", latency = "0 us" }} }}
[[workload]]
kind = "burst"
senders = 3
size = "1 KB"
repeat = 3
every = "10 ms"
{keys}
[[workload]]
kind = "long"
pairs = [[0, 1]]
{keys}
"#
        );
        let scenario =
            load(&text, "a.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
        let jitter = |index: usize| match scenario.workloads[index].kind {
            WorkloadKind::Burst { jitter, .. } | WorkloadKind::Long { jitter, .. } => jitter,
            _ => unreachable!("a burst and a long flow"),
        };
        let kept = resolved_json(&scenario)["workloads"].clone();
        let written = |index: usize| kept[index]["does"]["jitter_ps"].clone();
        ((jitter(0), jitter(1)), (written(0), written(1)))
    };
    let none = (serde_json::Value::Null, serde_json::Value::Null);
    let ten = Span::from_ms(10);
    assert_eq!(of(""), ((Span::ZERO, Span::ZERO), none.clone()));
    assert_eq!(of("jitter = \"0 us\""), ((Span::ZERO, Span::ZERO), none));
    // As long as the gap is the longest that bursts may have.
    let kept = serde_json::json!(10_000_000_000_u64);
    assert_eq!(of("jitter = \"10 ms\""), ((ten, ten), (kept.clone(), kept)));
}

#[test]
fn every_form_of_size_deadline_gap_and_arrival() {
    let deadline = |text: &str| trees(&with(&[("workload.deadline", text)])).deadline[0];
    let ms = Span::from_ms;
    assert_eq!(deadline("none"), Deadline::None);
    assert_eq!(
        deadline("30 ms"),
        Deadline::Added {
            base: ms(30),
            added: 0.0
        }
    );
    assert_eq!(
        deadline(r#"{ base = "30 ms", variation = "around 10%" }"#),
        Deadline::Around {
            base: ms(30),
            variation: 0.1
        }
    );
    assert_eq!(
        deadline(r#"{ base = "30 ms", variation = "exponential" }"#),
        Deadline::AddedExponential {
            base: ms(30),
            mean: ms(30)
        }
    );
    assert_eq!(
        deadline(r#"{ base = "30 ms", variation = "exponential 5 ms" }"#),
        Deadline::AddedExponential {
            base: ms(30),
            mean: ms(5)
        }
    );
    assert_eq!(
        deadline(r#"{ mean = "30 ms", floor = "5 ms" }"#),
        Deadline::Exponential {
            mean: ms(30),
            floor: ms(5)
        }
    );
    let size = |text: &str| trees(&with(&[("workload.response", text)])).response[0].clone();
    let points = vec![(2_000.0, 0.0), (2_000.0, 0.5), (4_000.0, 1.0)];
    assert_eq!(
        size(r#"{ points = [["2 KB", 0.5], ["4 KB", 1]] }"#),
        Size::Cdf {
            name: "points".to_owned(),
            points
        }
    );
    assert!(matches!(size("hadoop"), Size::Cdf { name, .. } if name == "hadoop"));
    assert!(matches!(size(r#"{ cdf = "storage" }"#), Size::Cdf { name, .. } if name == "storage"));
    let jitter = trees(&with(&[("workload.jitter", "uniform 0 us..5 ms")])).jitter;
    assert_eq!(jitter, Gap::Uniform(Span::ZERO, ms(5)));
    let periodic = trees(&with(&[("workload.arrival", "periodic")])).arrival;
    assert_eq!(
        periodic,
        QueryArrival::Load {
            load: 0.15,
            poisson: false,
            each_tree: true,
        }
    );
    let even = trees(&with(&[("workload.load_over", "workload")])).arrival;
    assert_eq!(
        even,
        QueryArrival::Load {
            load: 0.15,
            poisson: true,
            each_tree: false,
        }
    );
    let scale = |deadline: &str| {
        let keys = [
            ("workload.deadline", deadline),
            ("workload.deadline_scale", "0.5"),
        ];
        trees(&with(&keys)).deadline[0]
    };
    assert_eq!(
        [
            scale(r#"{ base = "30 ms", variation = "uniform 50%" }"#),
            scale(r#"{ base = "30 ms", variation = "around 10%" }"#),
            scale(r#"{ mean = "30 ms", floor = "5 ms" }"#),
            scale(r#"{ base = "30 ms", variation = "exponential" }"#),
            scale("\"none\""),
        ],
        [
            Deadline::Added {
                base: ms(15),
                added: 0.5
            },
            Deadline::Around {
                base: ms(15),
                variation: 0.1
            },
            Deadline::Exponential {
                mean: ms(15),
                floor: Span::from_us(2_500)
            },
            Deadline::AddedExponential {
                base: ms(15),
                mean: ms(15)
            },
            Deadline::None,
        ]
    );
    let text = EXAMPLE.replace("load = 0.15", "arrival = \"back-to-back\"");
    let scenario = load(&text, "x.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(trees(&scenario).arrival, QueryArrival::BackToBack);
    let scenario =
        extended("[[workload]]\nkind = \"poisson\"\nsize = \"1 KB\"\nrate = \"0.5 /s\"\n");
    let WorkloadKind::Poisson { intensity, .. } = &scenario.workloads[2].kind else {
        panic!()
    };
    assert_eq!(*intensity, Intensity::FlowsPerSecond(0.5));
}

#[test]
fn the_resolved_text_is_the_meaning_and_not_the_spelling() {
    let same = EXAMPLE
        .replace("\"35 ms\"", "\"0.035 s\"")
        .replace("seeds = 20", "seeds = 20\nseed = 1");
    let same = load(&same, "other.toml", &[], &NoFiles).unwrap();
    let text = |scenario: &Scenario| resolved_json(scenario).to_string();
    assert_eq!(text(&with(&[])), text(&same));
    for (key, value) in [
        ("seed", "2"),
        ("workload.deadline.variation", "uniform 49%"),
        ("tcp.delayed_ack", "1"),
        ("tcp.limited_transmit", "false"),
        ("tcp.growth", "acknowledgements"),
        ("tcp.slow_start_limit", "2"),
        (
            "tcp.ack_coalescing",
            "{ segments = 10, within = \"50 us\" }",
        ),
        ("d3.request_bytes", "wire"),
        ("d3.request_lag", "false"),
        ("d3.repair", "false"),
        ("d3.queue_sample", "instant"),
        ("d3.reset_intervals", "8"),
        ("d3.target", "95%"),
        ("d3.cap_to_remaining", "true"),
        ("d3.request_backoff", "3"),
        ("d3.allocation", "edge"),
        ("d3.speculative", "true"),
        ("d3.speculative_rises", "3"),
        ("d3.speculative_growth", "20%"),
        ("d3.late_extension", "50%"),
        ("host.nic", "fifo"),
        ("record.every", "1 ms"),
        ("workload.background.connection", "persistent"),
    ] {
        assert_ne!(text(&with(&[])), text(&with(&[(key, value)])), "{key}");
    }
}

#[test]
fn the_resolved_form_names_each_option_with_its_unit() {
    let resolved = resolved_json(&with(&[("transport", r#"["d2tcp", "d3"]"#)]));
    let options = |index: usize| &resolved["transports"][index]["options"];
    let names = |index: usize| {
        let options = options(index).as_object().expect("a table");
        options.keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        names(0),
        "ack_coalescing congestion_control delayed_ack_segments delayed_ack_timeout_ps growth \
         initial_ssthresh_segments initial_window_segments limited_transmit min_window_segments mss_bytes \
         receive_window_bytes rto_initial_ps rto_max_ps rto_min_ps slow_start_limit_segments slow_start_restart"
    );
    assert_eq!(
        options(0)["congestion_control"].to_string(),
        r#"{"deadlines":{"completion":"approximate","expired":0.5,"imminence":[0.5,2.0]},"kind":"d2tcp","marks":{"gain_shift":4,"initial_alpha":0.0}}"#
    );
    assert_eq!(
        names(1),
        "allocation alpha_256 alpha_reference base_rate beta_256 cap_to_left cap_to_remaining ignore_deadlines late \
         late_extension_permille mtu_bytes pause_new quench quench_strict queue_in_service queue_sample repair \
         request_backoff request_bytes request_lag reset_intervals reverse_request rounding rto_min_ps scale speculative \
         speculative_growth_permille speculative_rises target_256 update_interval_ps"
    );
    assert_eq!(
        resolved["topology"].to_string(),
        r#"{"host_link":{"latency_ps":20000000,"loss":0.0,"rate_bps":1000000000},"hosts_per_rack":40,"kind":"leaf-spine","racks":26,"spines":1,"uplink":{"latency_ps":20000000,"loss":0.0,"rate_bps":40000000000}}"#
    );
}

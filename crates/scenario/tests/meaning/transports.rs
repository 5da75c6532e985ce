//! Options of transports: defaults and precedence of layers.

use crate::{EXAMPLE, extended, rates, transport, window, with};
use duetime_core::Span;
use duetime_proto::d3::{self, BaseRate};
use duetime_proto::window::{Completion, CongestionControl};
use duetime_proto::{pfabric, tcp};
use duetime_scenario::model::Protocol;
use duetime_scenario::{NoFiles, load};

#[test]
fn defaults() {
    let scenario = with(&[(
        "transport",
        r#"["tcp", "dctcp", "d2tcp", "d3", "rcpdc", "tcp-prio", "rcpdc-prio"]"#,
    )]);
    let linux = window(&scenario, "tcp");
    assert_eq!(
        (linux.initial_window, linux.rto_min),
        (10, Span::from_ms(200))
    );
    let paper = extended("[tcp]\nprofile = \"paper\"\n");
    assert_eq!(*window(&paper, "tcp"), tcp::Config::default());
    assert_eq!(*rates(&scenario, "d3"), d3::Config::default());
    assert_eq!(
        *rates(&scenario, "rcpdc"),
        d3::Config::default().with(|c| c.host.ignore_deadlines = true)
    );
    let priorities: Vec<u8> = scenario.transports.iter().map(|t| t.priorities).collect();
    assert_eq!(priorities, [1, 1, 1, 1, 1, 2, 2]);
    let CongestionControl::D2tcp(marks, deadlines) = window(&scenario, "d2tcp").congestion_control
    else {
        panic!()
    };
    assert_eq!(
        (marks.gain_shift, marks.initial_alpha.to_bits()),
        (4, 1f64.to_bits())
    );
    assert_eq!(
        (deadlines.d_min, deadlines.d_max, deadlines.d_expired),
        (0.5, 2.0, 0.5)
    );
}

#[test]
fn specific_layers_override_general_ones() {
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
    assert_eq!(timeouts, [Span::from_secs(1); 3]);
    let probes = ["tcp", "dctcp", "d2tcp"].map(|name| window(&scenario, name).max_ack_delay);
    assert_eq!(probes, [Span::from_ms(20); 3]);
    let CongestionControl::D2tcp(marks, deadlines) = window(&scenario, "d2tcp").congestion_control
    else {
        panic!()
    };
    assert_eq!(marks.initial_alpha.to_bits(), 1f64.to_bits());
    assert_eq!(deadlines.d_expired.to_bits(), 0.67f64.to_bits());
    assert_eq!(deadlines.completion, Completion::Precise);
}

#[test]
fn newreno_disables_options_that_need_sack() {
    let scenario = extended("[tcp]\nrecovery = \"newreno\"\n");
    let tcp = window(&scenario, "tcp");
    assert_eq!((tcp.rack, tcp.tail_loss_probe), (false, false));
    assert_eq!((tcp.rate_reduction, tcp.window_validation), (false, false));
    assert_eq!(tcp.initial_window, 10);
}

#[test]
fn linux_profile_is_the_default() {
    let scenario = extended(
        r#"
[[variant]]
name = "cubic-of-papers"
base = "cubic"
profile = "paper"
[[variant]]
name = "shy"
base = "dctcp"
initial_window = 4
initial_alpha = 0.5
rto_min = "2 s"
[[workload]]
kind = "background"
size = "1 MB"
every = "1 s"
transport = "cubic"
[[workload]]
kind = "background"
size = "1 MB"
every = "1 s"
transport = "cubic-of-papers"
[[workload]]
kind = "background"
size = "1 MB"
every = "1 s"
transport = "shy"
"#,
    );
    let linux = *window(&scenario, "tcp");
    let expected = tcp::Config {
        initial_window: 10,
        min_window: 2,
        rto_min: Span::from_ms(200),
        rto_initial: Span::from_secs(1),
        rto_max: Span::from_secs(120),
        delayed_ack: 2,
        delayed_ack_timeout: Span::from_ms(40),
        slow_start_limit: 1_000,
        recovery: tcp::Recovery::Sack,
        rack: true,
        tail_loss_probe: true,
        max_ack_delay: Span::from_ms(200),
        timeout_min: Span::from_ms(8),
        rate_reduction: true,
        window_validation: true,
        quick_ack: 16,
        ..tcp::Config::default()
    };
    assert_eq!(linux, expected);
    let own = |workload: usize| {
        let transport = scenario.workloads[workload].transport.as_ref();
        match transport.map(|transport| &transport.protocol) {
            Some(Protocol::Tcp(config)) => *config,
            other => panic!("{other:?}"),
        }
    };
    let count = scenario.workloads.len();
    let hystart = |config: tcp::Config| match config.congestion_control {
        CongestionControl::Cubic(cubic) => cubic.hystart,
        other => panic!("{other:?}"),
    };
    let alpha = |config: &tcp::Config| match config.congestion_control {
        CongestionControl::Dctcp(marks) | CongestionControl::D2tcp(marks, _) => marks.initial_alpha,
        other => panic!("{other:?}"),
    };
    assert!(hystart(own(count - 3)) && own(count - 3).rack);
    for name in ["dctcp", "d2tcp"] {
        assert_eq!(alpha(window(&scenario, name)).to_bits(), 1f64.to_bits());
        assert_eq!(window(&scenario, name).initial_window, 10);
    }
    let papers = own(count - 2);
    assert!(!hystart(papers) && papers.recovery == tcp::Recovery::NewReno);
    assert_eq!(papers.rto_initial, Span::from_ms(10));
    let shy = own(count - 1);
    assert_eq!(
        (shy.initial_window, alpha(&shy).to_bits()),
        (4, 0.5f64.to_bits())
    );
    assert_eq!(
        (shy.rto_min, shy.rto_initial),
        (Span::from_secs(2), Span::from_secs(2))
    );
    assert!(shy.rack, "of `[tcp]`");
}

#[test]
fn d3_deadline_policy_and_target() {
    let scenario = with(&[
        ("d3.target", "95%"),
        ("d3.speculative", "true"),
        ("d3.speculative_rises", "2"),
        ("d3.speculative_growth", "0.25"),
        ("d3.late", "extend"),
        ("d3.late_extension", "150%"),
    ]);
    let d3 = rates(&scenario, "d3");
    assert_eq!(d3.router.target_256, 243);
    assert!(d3.host.policy.speculative);
    let speculation = d3::Speculation {
        rises: 2,
        growth_permille: 250,
    };
    assert_eq!(d3.host.policy.speculation, speculation);
    assert_eq!(
        (d3.host.policy.late, d3.host.policy.late_extension_permille),
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
fn variant_changes_only_its_base() {
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
        (d3.router.base_rate, d3.router.alpha_256),
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
fn pfabric_options_override_the_network() {
    let text = r#"
name = "x"
transport = ["pfabric", "paper"]
duration = "1 ms"
[topology]
kind = "star"
hosts = 3
link = { rate = "10 Gbps", latency = "1 us" }
[[workload]]
kind = "long"
pairs = [[0, 1]]
[[variant]]
name = "paper"
base = "pfabric"
window = 12
rto = "45 us"
queue = "36 KB"
"#;
    let scenario = load(text, "x", &[], &NoFiles).expect("a scenario");
    let found: Vec<_> = (scenario.transports.iter())
        .map(|transport| match transport.protocol {
            Protocol::PFabric(config) => config,
            _ => unreachable!("pFabric"),
        })
        .collect();
    let paper = pfabric::Config {
        window: Some(12),
        rto: Some(Span::from_us(45)),
        queue: Some(36_000),
        ..pfabric::Config::default()
    };
    assert_eq!(found, [pfabric::Config::default(), paper]);
}

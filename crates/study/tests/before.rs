//! What is told before a run: settings without effect, too few queries for a target, and the effort.

use duetime_scenario::{Axis, sweep::grid};
use duetime_sim::describe::{Description, describe};
use duetime_study::{About, Effort, Plan, Request, warnings};

const SERVICE: &str = r#"
transport = ["dctcp", "cubic"]
seeds = 2
duration = "500 ms"

[topology]
kind = "star"
hosts = 11
link = { rate = "10 Gbps", latency = "2 us" }

[[workload]]
kind = "oldi"
name = "feed"
fan_in = 10
response = "10 KB"
rate = "1000 /s"
objective = { within = "5 ms", answers = 1, share = "99 %" }
"#;

struct Asked<'a> {
    text: String,
    settings: &'a [(&'a str, &'a str)],
    vary: &'a [&'a str],
    transports: &'a [&'a str],
}

impl Default for Asked<'_> {
    fn default() -> Self {
        Self {
            text: SERVICE.to_owned(),
            settings: &[],
            vary: &[],
            transports: &[],
        }
    }
}

fn planned(of: Asked<'_>) -> (Plan, Vec<(String, Description)>) {
    let axes = of
        .vary
        .iter()
        .map(|text| Axis::parse(text).expect("an axis"));
    let axes: Vec<Axis> = axes.collect();
    let points = if axes.is_empty() {
        Vec::new()
    } else {
        grid(&axes)
    };
    let settings = of.settings.iter();
    let plan = Plan::new(Request {
        text: of.text,
        file: "service.toml".into(),
        settings: settings
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        transports: of.transports.iter().map(|&name| name.to_owned()).collect(),
        points,
    })
    .expect("a plan");
    let points = plan.points.iter();
    let described = points
        .map(|point| {
            let described = describe(&point.scenario).expect("a network");
            (point.label(), described)
        })
        .collect();
    (plan, described)
}

/// The texts of what is told about one thing.
fn told(of: Asked<'_>, about: About) -> Vec<String> {
    let (plan, described) = planned(of);
    let warnings = warnings::of_plan(&plan, &described).into_iter();
    let about = warnings.filter(|warning| warning.about == about);
    about.map(|warning| warning.text).collect()
}

#[test]
fn a_service_with_enough_queries_gets_no_warning() {
    for about in [About::NoEffect, About::FewQueries] {
        assert_eq!(told(Asked::default(), about), [""; 0]);
    }
}

#[test]
fn marks_that_are_off_leave_dctcp_without_effect() {
    let off = Asked {
        settings: &[("switch.ecn_threshold", "off")],
        ..Asked::default()
    };
    assert_eq!(
        told(off, About::NoEffect),
        ["`ecn_threshold` is off: dctcp receives no marks and reacts to losses only."]
    );
    let cubic = Asked {
        settings: &[("switch.ecn_threshold", "off")],
        transports: &["cubic"],
        ..Asked::default()
    };
    assert_eq!(told(cubic, About::NoEffect), [""; 0], "CUBIC needs none");
}

#[test]
fn points_that_run_the_same_are_named() {
    let vary = Asked {
        vary: &["cubic.rto_min=5 ms,10 ms,20 ms"],
        transports: &["dctcp"],
        ..Asked::default()
    };
    let told_equal = told(vary, About::NoEffect);
    assert_eq!(told_equal.len(), 1, "{told_equal:?}");
    let both = "cubic.rto_min=10 ms equals cubic.rto_min=5 ms, cubic.rto_min=20 ms equals cubic.rto_min=5 ms";
    assert!(told_equal[0].contains(both), "{told_equal:?}");
    let both = Asked {
        vary: &["cubic.rto_min=5 ms,10 ms,20 ms"],
        ..Asked::default()
    };
    assert_eq!(told(both, About::NoEffect), [""; 0], "CUBIC reads it");
}

#[test]
fn a_setting_that_nothing_reads_is_named() {
    let unread = Asked {
        settings: &[("d3.rto_min", "20 ms"), ("duration", "600 ms")],
        ..Asked::default()
    };
    let told_unread = told(unread, About::NoEffect);
    assert_eq!(told_unread.len(), 1, "{told_unread:?}");
    assert!(
        told_unread[0].starts_with("`d3.rto_min=20 ms` has no effect"),
        "{told_unread:?}"
    );
    let same = Asked {
        settings: &[("duration", "500 ms")],
        ..Asked::default()
    };
    assert_eq!(told(same, About::NoEffect).len(), 1, "as in the file");
}

#[test]
fn too_few_queries_for_a_target_give_the_number_needed() {
    // 0.99^n < 0.05 from n = 299 on.
    let of = |duration: &'static str| Asked {
        text: SERVICE.replace("500 ms", duration),
        ..Asked::default()
    };
    let few = told(of("10 ms"), About::FewQueries);
    assert_eq!(
        few,
        [
            "About 20 queries of `feed` will be measured, too few to show 99.0 %: at least 299 are needed. Increase `seeds` or \
             `duration`."
        ]
    );
    assert_eq!(told(of("149 ms"), About::FewQueries).len(), 1, "298");
    assert_eq!(told(of("150 ms"), About::FewQueries), [""; 0], "300");
}

#[test]
fn the_effort_is_that_of_all_runs() {
    let (plan, described) = planned(Asked::default());
    let effort = Effort::of(&plan, &described, 2).expect("a sustained load");
    assert_eq!(effort.runs, 4);
    // 500 queries of 10 answers of 7 packets over 2 links, and what goes with them.
    let data = 4.0 * 500.0 * 10.0 * 7.0 * 2.0;
    assert!(
        effort.packet_hops > data && effort.packet_hops < 3.0 * data,
        "{effort}"
    );
    let one = Effort::of(&plan, &described, 1).expect("the same");
    assert!((one.wall_s / effort.wall_s - 2.0).abs() < 1e-9);
    assert!((effort.memory_bytes / one.memory_bytes - 2.0).abs() < 1e-9);
}

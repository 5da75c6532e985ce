//! Tests of warnings and effort before a run.

use duetime_analysis::{Description, describe};
use duetime_scenario::{Axis, sweep::grid};
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

struct Input<'a> {
    text: String,
    settings: &'a [(&'a str, &'a str)],
    vary: &'a [&'a str],
    transports: &'a [&'a str],
}

impl Default for Input<'_> {
    fn default() -> Self {
        Self {
            text: SERVICE.to_owned(),
            settings: &[],
            vary: &[],
            transports: &[],
        }
    }
}

fn planned(input: Input<'_>) -> (Plan, Vec<(String, Description)>) {
    let axes = input
        .vary
        .iter()
        .map(|text| Axis::parse(text).expect("an axis"));
    let axes: Vec<Axis> = axes.collect();
    let points = if axes.is_empty() {
        Vec::new()
    } else {
        grid(&axes)
    };
    let settings = input.settings.iter();
    let plan = Plan::new(Request {
        text: input.text,
        file: "service.toml".into(),
        settings: settings
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        transports: input
            .transports
            .iter()
            .map(|&name| name.to_owned())
            .collect(),
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

/// Returns the texts of the warnings on a topic.
fn warned(input: Input<'_>, about: About) -> Vec<String> {
    let (plan, described) = planned(input);
    let warnings = warnings::of_plan(&plan, &described).into_iter();
    let about = warnings.filter(|warning| warning.about == about);
    about.map(|warning| warning.text).collect()
}

#[test]
fn no_warning_without_a_problem() {
    for about in [About::NoEffect, About::FewQueries] {
        assert_eq!(warned(Input::default(), about), [""; 0]);
    }
}

#[test]
fn warns_about_dctcp_without_marks() {
    let off = Input {
        settings: &[("switch.ecn_threshold", "off")],
        ..Input::default()
    };
    assert_eq!(
        warned(off, About::NoEffect),
        ["`ecn_threshold` is off: dctcp receives no marks and reacts to losses only."]
    );
    let cubic = Input {
        settings: &[("switch.ecn_threshold", "off")],
        transports: &["cubic"],
        ..Input::default()
    };
    assert_eq!(warned(cubic, About::NoEffect), [""; 0], "CUBIC needs none");
}

#[test]
fn warns_about_identical_points() {
    let vary = Input {
        vary: &["cubic.rto_min=5 ms,10 ms,20 ms"],
        transports: &["dctcp"],
        ..Input::default()
    };
    let texts = warned(vary, About::NoEffect);
    assert_eq!(texts.len(), 1, "{texts:?}");
    let both = "cubic.rto_min=10 ms equals cubic.rto_min=5 ms, cubic.rto_min=20 ms equals cubic.rto_min=5 ms";
    assert!(texts[0].contains(both), "{texts:?}");
    let both = Input {
        vary: &["cubic.rto_min=5 ms,10 ms,20 ms"],
        ..Input::default()
    };
    assert_eq!(warned(both, About::NoEffect), [""; 0], "CUBIC reads it");
}

#[test]
fn warns_about_settings_without_effect() {
    let unread = Input {
        settings: &[("d3.rto_min", "20 ms"), ("duration", "600 ms")],
        ..Input::default()
    };
    let texts = warned(unread, About::NoEffect);
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert!(
        texts[0].starts_with("`d3.rto_min=20 ms` has no effect"),
        "{texts:?}"
    );
    let same = Input {
        settings: &[("duration", "500 ms")],
        ..Input::default()
    };
    assert_eq!(warned(same, About::NoEffect).len(), 1, "as in the file");
}

#[test]
fn warns_about_too_few_queries() {
    // 0.99^n < 0.05 from n = 299 on.
    let with = |duration: &'static str| Input {
        text: SERVICE.replace("500 ms", duration),
        ..Input::default()
    };
    let few = warned(with("10 ms"), About::FewQueries);
    assert_eq!(
        few,
        [
            "About 20 queries of `feed` will be measured, too few to show 99.0 %: at least 299 are needed. Increase \
             `seeds` or `duration`."
        ]
    );
    assert_eq!(warned(with("149 ms"), About::FewQueries).len(), 1, "298");
    assert_eq!(warned(with("150 ms"), About::FewQueries), [""; 0], "300");
}

#[test]
fn effort_covers_all_runs() {
    let (plan, described) = planned(Input::default());
    let effort = Effort::of(&plan, &described, 2).expect("a sustained load");
    assert_eq!(effort.runs, 4);
    // 500 queries with 10 answers of 7 packets over 2 links, plus queries and acknowledgements.
    let data = 4.0 * 500.0 * 10.0 * 7.0 * 2.0;
    assert!(
        effort.packet_hops > data && effort.packet_hops < 3.0 * data,
        "{effort}"
    );
    let one = Effort::of(&plan, &described, 1).expect("the same");
    assert!((one.wall_s / effort.wall_s - 2.0).abs() < 1e-9);
    assert!((effort.memory_bytes / one.memory_bytes - 2.0).abs() < 1e-9);
}

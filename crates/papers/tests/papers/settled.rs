//! Campaigns that end when their verdicts are settled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duetime_papers::{Extent, PaperRow, Verdict, run_campaign};
use duetime_study::{Silent, Simulator};

use crate::campaign::{Counting, execution, run};
use crate::shared::{EXPERIMENT, SCENARIO, campaign, papers, place};

/// Returns an experiment with two transports, two axis values and 12 repetitions, of which 3 are quick. Its first check
/// has a wide bound, and that of the second is `high`.
fn experiment(high: f64) -> String {
    let cut = EXPERIMENT
        .find("[[scheme]]\nname = \"free\"")
        .expect("schemes");
    let common = EXPERIMENT[..cut]
        .replace("full = 5, quick = 2", "full = 12, quick = 3")
        .replace("metric = \"missed\"", "metric = \"fct-mean\"");
    let check = |text: &str, at: u32, high: f64| {
        format!(
            "[[check]]\ntext = \"{text}\"\nleft = {{ scheme = \"dctcp\", at = {at} }}\n\
             relation = \"within\"\nlow = 0\nhigh = {high}\nstated = false\n\n"
        )
    };
    common + &check("wide", 2, 1000.0) + &check("narrow", 5, high)
}

fn row<'a>(rows: &'a [PaperRow], point: &str) -> &'a PaperRow {
    rows.iter().find(|row| row.point == point).expect(point)
}

#[test]
fn only_points_of_open_verdicts_are_repeated() {
    // The bound is the mean over all repetitions, so no number of them is clear of it.
    let wide = papers("settled-wide", &experiment(1000.0), SCENARIO);
    let (rows, _) = run(
        &campaign(&wide, Extent::Full),
        &place("settled-wide-out"),
        &Simulator,
    );
    let mean = row(&rows, "narrow").ours.expect("a mean");
    let papers = papers("settled", &experiment(mean + 1e-9), SCENARIO);
    let settled = campaign(&papers, Extent::Settled);
    let engine = Counting::default();
    let out = place("settled-out");
    let (rows, outcome) = run(&settled, &out, &engine);
    // The two points that are only drawn have one batch of 3, the wide check's two, and the narrow check's all four.
    assert_eq!(engine.runs.load(Ordering::Relaxed), 2 * 3 + 6 + 12);
    assert_eq!((outcome.finished, outcome.missing), (24, 0));
    let seeds = ["wide", "narrow"].map(|point| row(&rows, point).seeds);
    assert_eq!(seeds, [Some(6), Some(12)]);
    assert!(rows.iter().all(|row| row.verdict == Verdict::Holds));

    // A repeated campaign runs nothing, and one that was stopped in any stage gives the same rows.
    let engine = Counting::default();
    assert_eq!(run(&settled, &out, &engine).0, rows);
    assert_eq!(engine.runs.load(Ordering::Relaxed), 0);
    let stopped = place("settled-stopped");
    for stop_after in [5, 8, 4] {
        let cancel = Arc::new(AtomicBool::new(false));
        let engine = Counting {
            stop_after: Some((stop_after, Arc::clone(&cancel))),
            ..Counting::default()
        };
        let stopped = run_campaign(&settled, &stopped, &execution(1, &cancel), &engine, &Silent);
        assert!(stopped.expect("a campaign").1.cancelled);
    }
    assert_eq!(run(&settled, &stopped, &Simulator).0, rows);

    // Further runs in the folder change nothing.
    let (full, outcome) = run(&campaign(&papers, Extent::Full), &out, &Simulator);
    assert_eq!((outcome.kept, outcome.finished), (24, 48));
    assert_eq!(row(&full, "wide").seeds, Some(12));
    assert_eq!(run(&settled, &out, &Simulator).0, rows);
}

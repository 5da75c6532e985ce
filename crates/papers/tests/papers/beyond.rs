//! Our own experiments: selection, the bounds on answers and queries, and the generated page.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use duetime_analysis::bound::RunBound;
use duetime_papers::{
    Campaign, Extent, PaperRow, Verdict, choose, library, papers_md, rows, run_campaign,
};
use duetime_scenario::NoFiles;
use duetime_sim::topology::Network;
use duetime_store::IfExists;
use duetime_study::{Execution, Silent, Simulator};

use crate::shared::{EXPERIMENT, SCENARIO, add, place};

/// Two trees whose answers overload their roots' links at times.
const TREES: &str = r#"
transport = "due"
duration = "60 ms"

[topology]
kind = "star"
hosts = 18
link = { rate = "1 Gbps", latency = "20 us" }

[[workload]]
kind = "oldi"
name = "search"
trees = 2
fan_in = 8
response = "uniform 40 KB..120 KB"
deadline = { base = "6 ms", variation = "uniform 50%" }
load = 0.5
"#;

const CHECKS: &str = r#"
title = "Trees"
source = "ours"
metric = "missed"
repetitions = { full = 3, quick = 3 }

[[figure]]
metric = "queries-missed"

[[scheme]]
name = "due"
set = { transport = "due" }

[[scheme]]
name = "bound"
method = "fluid"

[[scheme]]
name = "online"
method = "fluid"

[[published]]
scheme = "bound"
kind = "not-stated"
source = "ours"

[[published]]
scheme = "bound"
metric = "queries-missed"
kind = "not-stated"
source = "ours"

[[published]]
scheme = "online"
metric = "queries-missed"
kind = "not-stated"
source = "ours"

[[check]]
text = "due misses at least the bound"
left = { scheme = "due" }
right = { scheme = "bound" }
relation = "difference"
low = 0
stated = false

[[check]]
text = "due loses no query"
metric = "queries-missed"
left = { scheme = "due" }
relation = "within"
low = 0
high = 0
stated = false
"#;

/// Runs the experiment `beyond/trees`. Returns its rows and page.
fn run(name: &str) -> (Vec<PaperRow>, String) {
    let papers = place(name).join("papers");
    add(&papers, "beyond/trees", CHECKS, TREES);
    let experiments = library(&papers).unwrap_or_else(|error| panic!("{error}"));
    let campaign = Campaign::new(experiments, vec![0], Extent::Full).expect("a campaign");
    let execution = Execution {
        jobs: 2,
        threads: 1,
        if_exists: IfExists::Resume,
        cancel: Arc::new(AtomicBool::new(false)),
    };
    let out = place(&format!("{name}-out"));
    let (results, outcome) =
        run_campaign(&campaign, &out, &execution, &Simulator, &Silent).expect("a campaign");
    assert!(outcome.failures.is_empty());
    let rows = rows(&results);
    let page = papers_md(&results, &rows);
    (rows, page)
}

#[test]
fn all_selects_only_the_papers() {
    let papers = place("beyond-choice").join("papers");
    add(&papers, "beyond/trees", CHECKS, TREES);
    add(&papers, "test/burst", EXPERIMENT, SCENARIO);
    let experiments = library(&papers).unwrap_or_else(|error| panic!("{error}"));
    let chosen = |words: &[&str]| -> Vec<String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let chosen = choose(&experiments, &words).expect("known words");
        chosen
            .iter()
            .map(|&index| experiments[index].id())
            .collect()
    };
    assert_eq!(chosen(&["all"]), ["test/burst"]);
    assert_eq!(chosen(&["beyond"]), ["beyond/trees"]);
    assert_eq!(chosen(&["beyond/trees"]), ["beyond/trees"]);
    assert_eq!(chosen(&["all", "beyond"]), ["beyond/trees", "test/burst"]);
}

#[test]
fn bounds_are_those_of_the_analysis() {
    let (rows, _) = run("beyond-bound");
    let scenario = duetime_study::load(TREES, "trees.toml", &[], &NoFiles).expect("a scenario");
    let network = Network::build(&scenario.topology).expect("a network");
    let mut counts = [(0, 0); 3];
    for run in 0..3 {
        let bound = RunBound::of(&scenario, run, &network).expect("a bound");
        let answers = bound.all.expect("known demand");
        let queries = bound.all_queries().expect("known demand");
        for (sum, (late, asked)) in counts.iter_mut().zip([
            (answers.late, answers.asked),
            (queries.late, queries.asked),
            (queries.online, queries.asked),
        ]) {
            *sum = (sum.0 + late, sum.1 + asked);
        }
    }
    for (row, (late, asked)) in rows.iter().zip(counts) {
        let percent = 100.0 * late as f64 / asked as f64;
        assert_eq!(row.ours, Some(percent), "{} {}", row.scheme, row.point);
        assert!(late > 0 && late < asked, "{} {}", row.scheme, row.point);
    }
    let check = rows
        .iter()
        .find(|row| row.point == "due misses at least the bound");
    assert_eq!(check.expect("a row").verdict, Verdict::Holds);
}

#[test]
fn page_has_every_check_and_the_values() {
    let (rows, page) = run("beyond-page");
    assert!(page.contains("1 of 2 (50 %) hold"), "{page}");
    let lost = rows.iter().find(|row| row.point == "due loses no query");
    assert_eq!(lost.expect("a row").verdict, Verdict::Missed);
    assert!(
        page.contains("| beyond/trees | due misses at least the bound | "),
        "{page}"
    );
    assert!(page.contains("missed: above, cause unknown |"), "{page}");
    let bound = rows[1].ours.expect("a value");
    let row = format!("| bound | {} |", duetime_study::text::significant(bound));
    let queries = page.split("Late queries (%):").nth(1).expect("a table");
    assert!(queries.contains(&row), "{page}");
}

//! Tests of whole studies: missing runs are made, failures are reported, and the results do not depend on the jobs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use duetime_scenario::{Axis, Scenario, sweep::grid};
use duetime_sim::{Options, RunOutput};
use duetime_store::{IfExists, RunFolder, RunKey};
use duetime_study::{
    Choice, Engine, Event, Execution, Explained, ExplainedFlow, FlowChoice, Listener, Outcome,
    Plan, Request, RunChoice, Silent, Simulator, StudyError, execute, explain, gather, report,
    text,
};

const BURST: &str = r#"
transport = ["dctcp", "d2tcp"]
seeds = 2

[topology]
kind = "star"
hosts = 6
link = { rate = "1 Gbps", latency = "20 us" }

[switch]
buffer = "100 KB"

[[workload]]
kind = "burst"
senders = 5
size = "uniform 10 KB..40 KB"
deadline = "1 ms"
repeat = 3
every = "5 ms"
"#;

fn plan(vary: &[&str]) -> Plan {
    let axes: Vec<Axis> = vary
        .iter()
        .map(|text| Axis::parse(text).expect("an axis"))
        .collect();
    let points = if axes.is_empty() {
        Vec::new()
    } else {
        grid(&axes)
    };
    let request = Request {
        text: BURST.to_owned(),
        file: "burst.toml".into(),
        settings: Vec::new(),
        transports: Vec::new(),
        points,
    };
    Plan::new(request).expect("a plan")
}

fn place(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    path
}

fn execution(jobs: usize) -> Execution {
    Execution {
        jobs,
        threads: 1,
        if_exists: IfExists::Resume,
        cancel: Arc::new(AtomicBool::new(false)),
    }
}

fn run(plan: &Plan, path: &Path, jobs: usize, engine: &dyn Engine) -> Outcome {
    execute(plan, path, &execution(jobs), engine, &Silent).expect("a study")
}

/// Returns the digest of every run in the folder.
fn digests(plan: &Plan, path: &Path) -> BTreeMap<RunKey, String> {
    let folder = RunFolder::open(path).expect("a folder");
    let runs = plan.keys().into_iter();
    runs.map(|key| {
        (
            key.clone(),
            folder.read_run(&key).expect("a run").info.digest,
        )
    })
    .collect()
}

/// Simulator that counts its runs and can make one of them fail.
#[derive(Default)]
struct Counting {
    runs: AtomicUsize,
    fails: Option<(usize, u64)>,
    panics: bool,
}

impl Engine for Counting {
    fn run(
        &self,
        scenario: &Scenario,
        transport: usize,
        run: u64,
        options: &Options,
    ) -> Result<RunOutput, String> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        if self.fails == Some((transport, run)) {
            assert!(!self.panics, "a bug");
            return Err("no luck".to_owned());
        }
        Simulator.run(scenario, transport, run, options)
    }
}

#[test]
fn results_do_not_depend_on_jobs() {
    let plan = plan(&["workload.senders=2,5"]);
    let (one, three) = (place("study-jobs-1"), place("study-jobs-3"));
    assert_eq!(
        run(&plan, &one, 1, &Simulator),
        run(&plan, &three, 3, &Simulator)
    );
    assert_eq!(digests(&plan, &one), digests(&plan, &three));
    assert_eq!(digests(&plan, &one).len(), 8);
}

#[test]
fn only_missing_runs_are_made() {
    let path = place("study-missing");
    let small = plan(&["workload.senders=2,3"]);
    assert_eq!(run(&small, &path, 2, &Simulator).finished, 8);
    let before = digests(&small, &path);

    let engine = Counting::default();
    assert_eq!(run(&small, &path, 2, &engine).kept, 8);
    assert_eq!(engine.runs.into_inner(), 0, "no run is missing");

    let folder = RunFolder::open(&path).expect("a folder");
    let keys = small.keys();
    fs::remove_dir_all(folder.run_path(&keys[3])).expect("a run is removed");
    fs::write(folder.run_path(&keys[5]).join("flows.parquet"), b"damaged")
        .expect("a run is damaged");
    let engine = Counting::default();
    let outcome = run(&small, &path, 2, &engine);
    assert_eq!((outcome.kept, outcome.finished), (6, 8));
    assert_eq!(engine.runs.into_inner(), 2);
    assert_eq!(
        digests(&small, &path),
        before,
        "the repeated runs are the same"
    );

    let larger = plan(&["workload.senders=2,3,4"]);
    let outcome = run(&larger, &path, 2, &Simulator);
    assert_eq!(
        (outcome.kept, outcome.finished),
        (8, 12),
        "a wider sweep keeps what it shares"
    );
}

#[test]
fn rejects_runs_of_another_scenario() {
    let path = place("study-other");
    let first = plan(&[]);
    run(&first, &path, 1, &Simulator);
    let before = digests(&first, &path);
    let mut request = first.request.clone();
    request
        .settings
        .push(("switch.buffer".to_owned(), "50 KB".to_owned()));
    let other = Plan::new(request).expect("a plan");
    let error =
        execute(&other, &path, &execution(1), &Simulator, &Silent).expect_err("another scenario");
    assert!(error.to_string().contains("buffer"), "{error}");
    let refuse = Execution {
        if_exists: IfExists::Refuse,
        ..execution(1)
    };
    assert!(matches!(
        execute(&first, &path, &refuse, &Simulator, &Silent),
        Err(StudyError::Store(_))
    ));
    assert_eq!(digests(&first, &path), before, "the folder is unchanged");
}

#[test]
fn failed_run_is_reported_and_others_continue() {
    for (name, panics) in [("study-failed", false), ("study-panicked", true)] {
        let path = place(name);
        let plan = plan(&[]);
        let engine = Counting {
            fails: Some((1, 0)),
            panics,
            ..Counting::default()
        };
        let outcome = run(&plan, &path, 2, &engine);
        assert_eq!(
            (outcome.finished, outcome.failures.len(), outcome.missing),
            (3, 1, 0)
        );
        let (failed, why) = &outcome.failures[0];
        assert_eq!((failed.transport.as_str(), failed.run), ("d2tcp", 0));
        assert!(
            why.contains(if panics { "a bug" } else { "no luck" }),
            "{why}"
        );

        let folder = RunFolder::open(&path).expect("a folder");
        let (gathered, page) = report(&plan, &folder).expect("a report");
        assert_eq!(gathered.absent.len(), 1);
        let html = fs::read_to_string(page).expect("a page");
        assert!(html.contains("1 run failed or missing") && html.contains(why.as_str()));

        assert_eq!(
            run(&plan, &path, 2, &Simulator).finished,
            4,
            "the failed run is repeated"
        );
        assert!(
            gather(&plan, &folder, |_, _| {})
                .expect("runs")
                .absent
                .is_empty()
        );
    }
}

/// Listener that stops the study when a run has finished.
struct Stop(Arc<AtomicBool>, Mutex<Vec<Event>>);

impl Listener for Stop {
    fn on(&self, event: &Event) {
        if let Event::RunFinished { .. } = event {
            self.0.store(true, Ordering::Relaxed);
        }
        self.1
            .lock()
            .expect("no panic holds it")
            .push(event.clone());
    }
}

#[test]
fn stopped_study_resumes() {
    let path = place("study-stopped");
    let plan = plan(&["workload.senders=2..5:1"]);
    let execution = execution(1);
    let listener = Stop(Arc::clone(&execution.cancel), Mutex::default());
    let outcome = execute(&plan, &path, &execution, &Simulator, &listener).expect("a study");
    assert!(outcome.cancelled);
    assert_eq!((outcome.finished, outcome.missing), (1, 15));
    let events = listener.1.into_inner().expect("no panic holds it");
    assert!(matches!(
        events.first(),
        Some(Event::StudyStarted {
            runs: 16,
            kept: 0,
            ..
        })
    ));
    assert!(matches!(
        events.last(),
        Some(Event::StudyFinished {
            finished: 1,
            missing: 15,
            cancelled: true,
            ..
        })
    ));
    let outcome = run(&plan, &path, 2, &Simulator);
    assert_eq!(
        (outcome.kept, outcome.finished, outcome.missing),
        (1, 16, 0)
    );
}

fn flow(folder: &RunFolder, plan: &Plan, which: &RunChoice, choice: FlowChoice) -> ExplainedFlow {
    match explain(folder, plan, which, Choice::Flow(choice), &Simulator) {
        Ok(Explained::Flow(flow)) => *flow,
        other => panic!("a flow: {other:?}"),
    }
}

#[test]
fn explanation_adds_up_to_completion_time() {
    let path = place("study-explain");
    let plan = plan(&[]);
    run(&plan, &path, 2, &Simulator);
    let folder = RunFolder::open(&path).expect("a folder");
    for transport in ["dctcp", "d2tcp"] {
        let which = RunChoice {
            transport: Some(transport.to_owned()),
            run: 1,
            ..RunChoice::default()
        };
        for row in 0..15 {
            let choice = FlowChoice::Row(row);
            let explained = flow(&folder, &plan, &which, choice);
            let total: u64 = explained
                .explanation
                .parts()
                .values()
                .map(|part| part.as_ps())
                .sum();
            assert_eq!(
                Some(total),
                explained.flow.completion().map(duetime_core::Span::as_ps)
            );
            assert!(explained.events.len() > 10, "the flow was traced");
        }
        let worst = flow(&folder, &plan, &which, FlowChoice::Worst).flow;
        let run = RunKey::new(transport, 1);
        let flows = folder.read_run(&run).expect("a run").records.flows;
        assert!(
            flows
                .iter()
                .all(|flow| flow.completion() <= worst.completion())
        );
    }
    let message = |which: &RunChoice, flow| {
        explain(&folder, &plan, which, Choice::Flow(flow), &Simulator)
            .expect_err("a bad choice")
            .to_string()
    };
    let which = RunChoice {
        transport: Some("dctcp".to_owned()),
        run: 0,
        ..RunChoice::default()
    };
    assert!(message(&which, FlowChoice::Id(7)).contains("no flow 7"));
    assert!(message(&which, FlowChoice::Row(99)).contains("no row 99"));
    assert!(message(&RunChoice::default(), FlowChoice::Worst).contains("dctcp, d2tcp"));
    assert!(message(&RunChoice { run: 2, ..which }, FlowChoice::Worst).contains("0 to 1"));
}

#[test]
fn report_is_self_contained() {
    for (name, vary) in [
        ("study-report", &[][..]),
        // The curve of the 99th percentile needs 1,000 flows.
        (
            "study-report-sweep",
            &["workload.senders=2,5", "workload.repeat=300"][..],
        ),
    ] {
        let path = place(name);
        let plan = plan(vary);
        run(&plan, &path, 2, &Simulator);
        let folder = RunFolder::open(&path).expect("a folder");
        let (_, page) = report(&plan, &folder).expect("a report");
        let html = fs::read_to_string(page).expect("a page");
        let page = html.replace("http://www.w3.org/", "").replace("url(#", "");
        for outside in [
            "http:", "https:", "src=", "url(", "@import", "<link", "fetch(", "import(", "import {",
        ] {
            assert!(!page.contains(outside), "{outside} in {name}");
        }
        assert_eq!(page.matches("<script").count(), 1, "one inline script");
        assert!(html.matches("<svg").count() >= 2, "inline figures");
        assert!(html.contains("Missed deadlines") && html.contains("d2tcp"));
        assert!(html.contains("senders = 5"), "the scenario is included");
    }
}

/// Two trees of four leaves, and a trace in which some flows have no deadline.
const SERVICE: &str = r#"
transport = ["tcp", "dctcp"]
seeds = 2
duration = "100 ms"

[topology]
kind = "star"
hosts = 12
link = { rate = "1 Gbps", latency = "20 us" }

[[workload]]
name = "feed"
kind = "oldi"
trees = 2
fan_in = 4
response = "40 KB"
deadline = "20 ms"
every = "exponential 10 ms"
objective = { within = "2 ms", answers = "75 %", share = "99 %" }

[[workload]]
name = "mixed"
kind = "trace"
file = "mixed.csv"
"#;

#[test]
fn page_starts_with_queries_in_time() {
    let path = place("study-service");
    fs::create_dir_all(&path).expect("a folder");
    let file = path.join("service.toml");
    fs::write(&file, SERVICE).expect("a scenario");
    // Two flows with a deadline, three without.
    fs::write(
        path.join("mixed.csv"),
        "start_ns,source,destination,size_bytes,deadline_ns\n\
         0,0,1,10000,5000000\n1000,1,2,10000,\n2000,2,3,10000,9000000\n3000,3,4,10000,\n4000,4,5,10000,\n",
    )
    .expect("a trace");
    let plan = Plan::new(Request {
        text: SERVICE.to_owned(),
        file,
        settings: Vec::new(),
        transports: Vec::new(),
        points: Vec::new(),
    })
    .expect("a plan");
    let out = path.join("out");
    run(&plan, &out, 2, &Simulator);
    let folder = RunFolder::open(&out).expect("a folder");
    let (gathered, page) = report(&plan, &folder).expect("a report");
    let html = fs::read_to_string(page).expect("a page");
    let judged = gathered
        .cells
        .iter()
        .map(|cell| cell.summary.objective.expect("judged"));
    let most = judged
        .max_by(|a, b| a.in_time.value.total_cmp(&b.in_time.value))
        .expect("two transports");
    let answer = format!(
        "{} of {} queries had 3 of 4 answers within 2 ms under ",
        text::percent_near(most.in_time.value, Some(0.99)),
        text::count(most.queries as f64)
    );
    let at = |text: &str| {
        html.find(text)
            .unwrap_or_else(|| panic!("no `{text}` in the page"))
    };
    assert!(
        at(&answer) < at("class=\"card\""),
        "the sentence comes first"
    );
    assert!(at("class=\"card\"") < at("<h2>Flows with deadlines"));
    // The best possible is in the sentence and on a card.
    let best = gathered.best_at(0).and_then(|best| best.objective);
    let best = text::percent(best.expect("a bound").in_time().value);
    assert!(at(&format!("the best possible is {best}.")) < at("class=\"card\""));
    assert!(at("no transport can do better") < at("<h2>Flows with deadlines"));
    assert!(html.contains("The target is 99.0 % of the queries."));
    // Each transport has a card with the budget and the share of requested answers in time.
    assert_eq!(html.matches("class=\"card\"").count(), 2);
    assert_eq!(html.matches(">2 ms</text>").count(), 2);
    let asked = gathered.cells[0].summary.queries[0].asked;
    let asked = format!(
        "of {} requested answers were in time",
        text::count(asked as f64)
    );
    assert_eq!(html.matches(&asked).count(), 2);
    assert!(
        html.contains("from\u{a0}2\u{a0}seeds"),
        "the interval shows that it is from two seeds"
    );

    // Only flows with a deadline count, as in the terminal's table.
    let row = html
        .split("<tr>")
        .find(|row| row.contains(">mixed</span>"))
        .expect("a row");
    assert!(row.contains("</th><td class=\"number\">4</td>"), "{row}");
}

//! Tests of capacity searches on a small scenario: by definition, and resumed after a stop.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use duetime_results::RunSummary;
use duetime_scenario::Scenario;
use duetime_sim::{Options, RunOutput};
use duetime_store::IfExists;
use duetime_study::capacity::{
    Capacity, Check, Deadlines, Prober, Quantity, Search, Stopped, Subject,
};
use duetime_study::{Engine, Event, Execution, Listener, Request, Simulator};

/// Six flows fit into the deadline, and possibly more, depending on the random sizes.
const BURST: &str = r#"
transport = ["tcp", "dctcp"]
seeds = 3

[topology]
kind = "star"
hosts = 17
link = { rate = "1 Gbps", latency = "20 us" }

[switch]
buffer = "100 KB"

[tcp]
profile = "paper"
[[workload]]
kind = "burst"
senders = 8
receiver = 0
size = "uniform 10 KB..20 KB"
deadline = "1.2 ms"
repeat = 5
every = "10 ms"
"#;

fn subject(text: &str, quantity: Quantity) -> Subject {
    let request = Request {
        text: text.to_owned(),
        file: "burst.toml".into(),
        settings: Vec::new(),
        transports: Vec::new(),
        points: Vec::new(),
    };
    Subject::new(request, quantity, &[], None).expect("a subject")
}

fn journal(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("capacity-{name}"));
    let _ = fs::remove_dir_all(&path);
    path
}

/// Returns the files of a journal.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Listener that collects events about damage.
#[derive(Default)]
struct Damage(Mutex<Vec<String>>);

impl Listener for Damage {
    fn on(&self, event: &Event) {
        if let Event::Damaged { name, reason } = event {
            let mut messages = self.0.lock().expect("no panic holds it");
            messages.push(format!("{name}: {reason}"));
        }
    }
}

fn find(
    subject: &Subject,
    search: &Search,
    path: &Path,
    jobs: usize,
    engine: &dyn Engine,
    cancel: &Arc<AtomicBool>,
) -> Result<Capacity, Stopped> {
    let damage = Damage::default();
    let found = find_with_listener(subject, search, path, jobs, engine, cancel, &damage);
    assert_eq!(damage.0.into_inner().expect("no panic held it"), [""; 0]);
    found
}

fn find_with_listener(
    subject: &Subject,
    search: &Search,
    path: &Path,
    jobs: usize,
    engine: &dyn Engine,
    cancel: &Arc<AtomicBool>,
    listener: &dyn Listener,
) -> Result<Capacity, Stopped> {
    let execution = Execution {
        jobs,
        threads: 1,
        if_exists: IfExists::Resume,
        cancel: Arc::clone(cancel),
    };
    let prober = Prober::new(engine, &execution, path, listener).expect("a journal");
    prober.find(subject, 1, search)
}

fn never() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

/// Simulator that counts its runs and sets the stop flag after some of them.
struct Counting {
    runs: AtomicUsize,
    stop_after: usize,
    cancel: Arc<AtomicBool>,
}

impl Counting {
    fn new(stop_after: usize) -> Self {
        Self {
            runs: AtomicUsize::new(0),
            stop_after,
            cancel: never(),
        }
    }
}

impl Engine for Counting {
    fn run(
        &self,
        scenario: &Scenario,
        transport: usize,
        run: u64,
        options: &Options,
    ) -> Result<RunOutput, String> {
        if self.runs.fetch_add(1, Ordering::Relaxed) + 1 >= self.stop_after {
            self.cancel.store(true, Ordering::Relaxed);
        }
        Simulator.run(scenario, transport, run, options)
    }
}

/// Returns the simulated deadlines at a position, without the search.
fn seen(subject: &Subject, position: u32) -> Deadlines {
    let scenario = subject.scenario(position).expect("a scenario");
    (0..u64::from(scenario.seeds)).fold(Deadlines::default(), |sum, run| {
        let output = duetime_sim::run(&scenario, 1, run, &Options::default()).expect("a run");
        let summary = RunSummary::of(run, &output.records);
        Deadlines {
            met: sum.met + summary.met(),
            measured: sum.measured + summary.deadline_flows(),
        }
    })
}

#[test]
fn capacity_matches_its_definition() {
    let subject = subject(BURST, Quantity::Senders);
    for target in ["99%", "90%"] {
        let search = Search {
            check: Check::All,
            ..subject.search(target.parse().expect("a target"))
        };
        let found = find(
            &subject,
            &search,
            &journal("definition"),
            2,
            &Simulator,
            &never(),
        );
        let found = found.expect("an answer");
        let short = |&x: &u32| !search.target.is_reached(seen(&subject, x));
        let first = (1..=16).find(short).expect("16 senders are too many");
        assert_eq!(found.value, first - 1, "{target}");
        assert!(found.value >= 3, "some fit: {}", found.value);
        for tried in &found.curve {
            assert_eq!(tried.deadlines, seen(&subject, tried.x), "at {}", tried.x);
        }
    }
}

/// Tree with answers after about 2 ms. 80 % of the queries need 9 of 10 answers in time.
const TREE: &str = r#"
transport = ["tcp", "dctcp"]
seeds = 3
duration = "100 ms"

[topology]
kind = "star"
hosts = 21
link = { rate = "1 Gbps", latency = "20 us" }

[[workload]]
kind = "oldi"
trees = 1
fan_in = 10
response = "uniform 5 KB..40 KB"
deadline = "3 ms"
every = "exponential 5 ms"
objective = { within = "3 ms", answers = "90 %", share = "80 %" }
"#;

#[test]
fn counts_queries_by_their_records() {
    let subject = subject(TREE, Quantity::Budget);
    let search = subject.search(subject.target(Quantity::Budget));
    assert_eq!(search.target, "80%".parse().expect("a target"));
    let path = journal("queries");
    let found = find(&subject, &search, &path, 2, &Simulator, &never()).expect("an answer");
    // By the records: queries with enough answers within the budget, of all measured queries.
    let seen = |position: u32| {
        let scenario = subject.scenario(position).expect("a scenario");
        let runs = (0..u64::from(scenario.seeds)).map(|run| {
            let output = duetime_sim::run(&scenario, 1, run, &Options::default()).expect("a run");
            let measured = |query: &&duetime_results::QueryRecord| query.measured;
            let queries: Vec<_> = output
                .records
                .queries
                .iter()
                .filter(measured)
                .cloned()
                .collect();
            let met = queries.iter().filter(|query| {
                let took = query.enough.map(|enough| enough.since(query.start));
                let budget = subject.value(position).expect("milliseconds");
                took.is_some_and(|took| took.as_secs_f64() * 1e3 <= budget)
            });
            Deadlines {
                met: met.count() as u64,
                measured: queries.len() as u64,
            }
        });
        runs.fold(Deadlines::default(), |sum, one| Deadlines {
            met: sum.met + one.met,
            measured: sum.measured + one.measured,
        })
    };
    for tried in &found.curve {
        assert_eq!(
            tried.deadlines,
            seen(tried.x),
            "at {}",
            subject.text(tried.x)
        );
    }
    assert!(search.target.is_reached(seen(found.value)));
    assert!(!search.target.is_reached(seen(found.value + 1)));

    // The journal already holds the answers of these runs.
    let engine = Counting::new(usize::MAX);
    let answers = subject
        .on(duetime_study::capacity::On::Answers)
        .expect("deadlines");
    let other = find(&answers, &search, &path, 2, &engine, &never()).expect("an answer");
    let new = other
        .curve
        .iter()
        .filter(|tried| !found.curve.iter().any(|known| known.x == tried.x));
    assert_eq!(engine.runs.into_inner(), 3 * new.count());
}

#[test]
fn finds_the_tightest_deadlines() {
    let subject = subject(BURST, Quantity::Deadline);
    let search = subject.search(Quantity::Deadline.target());
    let found = find(
        &subject,
        &search,
        &journal("deadline"),
        2,
        &Simulator,
        &never(),
    );
    let found = found.expect("an answer");
    assert!(search.target.is_reached(seen(&subject, found.value)));
    assert!(!search.target.is_reached(seen(&subject, found.value + 1)));
    let factor = subject.value(found.value).expect("a factor");
    assert!((0.3..4.0).contains(&factor), "x {factor}");
}

#[test]
fn stopped_search_resumes() {
    let subject = subject(BURST, Quantity::Senders);
    let search = subject.search(Quantity::Senders.target());
    let uninterrupted = Counting::new(usize::MAX);
    let once = find(
        &subject,
        &search,
        &journal("whole"),
        2,
        &uninterrupted,
        &never(),
    )
    .expect("an answer");
    let all = uninterrupted.runs.into_inner();

    let path = journal("stopped");
    let stopped = Counting::new(5);
    let cancel = Arc::clone(&stopped.cancel);
    let end = find(&subject, &search, &path, 1, &stopped, &cancel);
    assert!(matches!(end, Err(Stopped::Cancelled)), "{end:?}");
    let kept = files(&path).len();
    assert_eq!(kept, stopped.runs.into_inner(), "finished runs are kept");
    let rest = Counting::new(usize::MAX);
    let again = find(&subject, &search, &path, 2, &rest, &never()).expect("an answer");
    assert_eq!(again, once, "the result is the same");
    assert_eq!(rest.runs.into_inner() + kept, all, "no run is repeated");

    // Another target tries other values; shared values are not repeated.
    let other = subject.search("90%".parse().expect("a target"));
    let shared = Counting::new(usize::MAX);
    let found = find(&subject, &other, &path, 2, &shared, &never()).expect("an answer");
    assert!(found.value >= again.value);
    assert!(
        shared.runs.into_inner() < 3 * found.curve.len(),
        "some runs are reused"
    );
}

#[test]
fn only_the_damaged_run_is_repeated() {
    let subject = subject(BURST, Quantity::Senders);
    let search = subject.search(Quantity::Senders.target());
    let path = journal("damaged");
    let undamaged = find(&subject, &search, &path, 2, &Simulator, &never()).expect("an answer");
    let file = files(&path).remove(1);
    let mut bytes = fs::read(&file).expect("a file");
    *bytes.last_mut().expect("a byte") ^= 1;
    fs::write(&file, &bytes).expect("a file");
    let (engine, damage) = (Counting::new(usize::MAX), Damage::default());
    let again = find_with_listener(&subject, &search, &path, 2, &engine, &never(), &damage);
    assert_eq!(again.expect("an answer"), undamaged);
    assert_eq!(engine.runs.into_inner(), 1);
    let messages = damage.0.into_inner().expect("no panic held it").join("\n");
    let name = file.file_name().expect("a name").to_string_lossy();
    assert!(
        messages.contains("dctcp run") && messages.contains(&*name),
        "{messages}"
    );
}

#[test]
fn journal_runs_are_not_shared_between_scenarios() {
    let path = journal("another");
    let first = subject(BURST, Quantity::Senders);
    let search = first.search(Quantity::Senders.target());
    find(&first, &search, &path, 2, &Simulator, &never()).expect("an answer");
    let other = subject(&BURST.replace("100 KB", "50 KB"), Quantity::Senders);
    let engine = Counting::new(usize::MAX);
    let found = find(&other, &search, &path, 2, &engine, &never()).expect("an answer");
    assert_eq!(engine.runs.into_inner(), 3 * found.curve.len());
}

#[test]
fn rejects_scenario_without_measured_flows() {
    // The last burst is at 40 ms.
    let late = format!("warm_up = \"40.5 ms\"\n{BURST}");
    let subject = subject(&late, Quantity::Senders);
    let search = subject.search(Quantity::Senders.target());
    let end = find(&subject, &search, &journal("none"), 1, &Simulator, &never());
    let why = end.expect_err("no flow").to_string();
    assert!(
        why.contains("dctcp at 8 senders") && why.contains("`duration`"),
        "{why}"
    );
}

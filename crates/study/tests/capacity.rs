//! Capacity searches on a real, small scenario: against the definition, stopped and taken up again.

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

/// Six flows fit into the deadline; how many more depends on the sizes drawn.
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

/// The files of a journal.
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

/// Keeps the events that name damage.
#[derive(Default)]
struct Damage(Mutex<Vec<String>>);

impl Listener for Damage {
    fn on(&self, event: &Event) {
        if let Event::Damaged { name, reason } = event {
            let mut said = self.0.lock().expect("no panic holds it");
            said.push(format!("{name}: {reason}"));
        }
    }
}

fn find(
    subject: &Subject,
    of: &Search,
    path: &Path,
    jobs: usize,
    engine: &dyn Engine,
    cancel: &Arc<AtomicBool>,
) -> Result<Capacity, Stopped> {
    let damage = Damage::default();
    let found = find_telling(subject, of, path, jobs, engine, cancel, &damage);
    assert_eq!(damage.0.into_inner().expect("no panic held it"), [""; 0]);
    found
}

fn find_telling(
    subject: &Subject,
    of: &Search,
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
    prober.find(subject, 1, of)
}

fn never() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

/// The simulator, that counts its runs, and is stopped from inside after some of them.
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

/// What the simulator says at a position, without any of this crate's search.
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
fn the_answer_is_the_definitions() {
    let subject = subject(BURST, Quantity::Senders);
    for target in ["99%", "90%"] {
        let of = Search {
            check: Check::All,
            ..subject.search(target.parse().expect("a target"))
        };
        let found = find(
            &subject,
            &of,
            &journal("definition"),
            2,
            &Simulator,
            &never(),
        );
        let found = found.expect("an answer");
        let short = |&x: &u32| !of.target.is_reached(seen(&subject, x));
        let first = (1..=16).find(short).expect("16 senders are too many");
        assert_eq!(found.value, first - 1, "{target}");
        assert!(found.value >= 3, "some fit: {}", found.value);
        for tried in &found.curve {
            assert_eq!(tried.deadlines, seen(&subject, tried.x), "at {}", tried.x);
        }
    }
}

/// A tree whose answers come in about 2 ms, and are wanted after 9 of 10 for 80 % of the queries.
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
fn queries_are_counted_as_their_records_say() {
    let subject = subject(TREE, Quantity::Budget);
    let of = subject.search(subject.target(Quantity::Budget));
    assert_eq!(of.target, "80%".parse().expect("a target"));
    let path = journal("queries");
    let found = find(&subject, &of, &path, 2, &Simulator, &never()).expect("an answer");
    // From the records alone: enough leaves' answers by the end of the budget, of all queries that arrived.
    let seen = |position: u32| {
        let scenario = subject.scenario(position).expect("a scenario");
        let runs = (0..u64::from(scenario.seeds)).map(|run| {
            let output = duetime_sim::run(&scenario, 1, run, &Options::default()).expect("a run");
            let measured = |of: &&duetime_results::QueryRecord| of.measured;
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
    assert!(of.target.is_reached(seen(found.value)));
    assert!(!of.target.is_reached(seen(found.value + 1)));

    // What the runs saw of answers is in the journal already.
    let engine = Counting::new(usize::MAX);
    let answers = subject
        .on(duetime_study::capacity::On::Answers)
        .expect("deadlines");
    let other = find(&answers, &of, &path, 2, &engine, &never()).expect("an answer");
    let new = other
        .curve
        .iter()
        .filter(|tried| !found.curve.iter().any(|of| of.x == tried.x));
    assert_eq!(engine.runs.into_inner(), 3 * new.count());
}

#[test]
fn tighter_deadlines_are_found_by_their_factor() {
    let subject = subject(BURST, Quantity::Deadline);
    let of = subject.search(Quantity::Deadline.target());
    let found = find(&subject, &of, &journal("deadline"), 2, &Simulator, &never());
    let found = found.expect("an answer");
    assert!(of.target.is_reached(seen(&subject, found.value)));
    assert!(!of.target.is_reached(seen(&subject, found.value + 1)));
    let factor = subject.value(found.value).expect("a factor");
    assert!((0.3..4.0).contains(&factor), "x {factor}");
}

#[test]
fn a_stopped_search_goes_on_where_it_was() {
    let subject = subject(BURST, Quantity::Senders);
    let of = subject.search(Quantity::Senders.target());
    let whole = Counting::new(usize::MAX);
    let once = find(&subject, &of, &journal("whole"), 2, &whole, &never()).expect("an answer");
    let all = whole.runs.into_inner();

    let path = journal("stopped");
    let stopped = Counting::new(5);
    let cancel = Arc::clone(&stopped.cancel);
    let end = find(&subject, &of, &path, 1, &stopped, &cancel);
    assert!(matches!(end, Err(Stopped::Cancelled)), "{end:?}");
    let kept = files(&path).len();
    assert_eq!(kept, stopped.runs.into_inner(), "what was finished is kept");
    let rest = Counting::new(usize::MAX);
    let again = find(&subject, &of, &path, 2, &rest, &never()).expect("an answer");
    assert_eq!(again, once, "and the answer is the same");
    assert_eq!(rest.runs.into_inner() + kept, all, "nothing is run twice");

    // Another target asks for other values; those that it shares are not run again.
    let other = subject.search("90%".parse().expect("a target"));
    let shared = Counting::new(usize::MAX);
    let found = find(&subject, &other, &path, 2, &shared, &never()).expect("an answer");
    assert!(found.value >= again.value);
    assert!(
        shared.runs.into_inner() < 3 * found.curve.len(),
        "some were there"
    );
}

#[test]
fn a_damaged_file_is_named_and_its_run_alone_is_made_again() {
    let subject = subject(BURST, Quantity::Senders);
    let of = subject.search(Quantity::Senders.target());
    let path = journal("damaged");
    let whole = find(&subject, &of, &path, 2, &Simulator, &never()).expect("an answer");
    let file = files(&path).remove(1);
    let mut bytes = fs::read(&file).expect("a file");
    *bytes.last_mut().expect("a byte") ^= 1;
    fs::write(&file, &bytes).expect("a file");
    let (engine, damage) = (Counting::new(usize::MAX), Damage::default());
    let again = find_telling(&subject, &of, &path, 2, &engine, &never(), &damage);
    assert_eq!(again.expect("an answer"), whole);
    assert_eq!(engine.runs.into_inner(), 1);
    let said = damage.0.into_inner().expect("no panic held it").join("\n");
    let name = file.file_name().expect("a name").to_string_lossy();
    assert!(
        said.contains("dctcp run") && said.contains(&*name),
        "{said}"
    );
}

#[test]
fn another_scenario_finds_nothing_of_its_own_in_the_journal() {
    let path = journal("another");
    let first = subject(BURST, Quantity::Senders);
    let of = first.search(Quantity::Senders.target());
    find(&first, &of, &path, 2, &Simulator, &never()).expect("an answer");
    let other = subject(&BURST.replace("100 KB", "50 KB"), Quantity::Senders);
    let engine = Counting::new(usize::MAX);
    let found = find(&other, &of, &path, 2, &engine, &never()).expect("an answer");
    assert_eq!(engine.runs.into_inner(), 3 * found.curve.len());
}

#[test]
fn a_scenario_that_counts_no_flow_is_refused_in_words() {
    // The last burst is at 40 ms.
    let late = format!("warm_up = \"40.5 ms\"\n{BURST}");
    let subject = subject(&late, Quantity::Senders);
    let of = subject.search(Quantity::Senders.target());
    let end = find(&subject, &of, &journal("none"), 1, &Simulator, &never());
    let why = end.expect_err("no flow").to_string();
    assert!(
        why.contains("dctcp at 8 senders") && why.contains("`duration`"),
        "{why}"
    );
}

//! The papers' campaign as a whole: experiments are read with messages that help, finished points survive anything, and
//! what must be equal is equal in the campaign's own output.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use duetime_scenario::Scenario;
use duetime_sim::{Options, RunOutput};
use duetime_store::IfExists;
use duetime_study::paper::{
    Campaign, CampaignOutcome, Counts, PaperRow, Verdict, campaign_page, choose, drawings, library,
    papers_md, rows, run_campaign,
};
use duetime_study::{Engine, Event, Execution, Listener, Silent, Simulator};

const SCENARIO: &str = r#"
transport = "dctcp"

[topology]
kind = "star"
hosts = 6
link = { rate = "1 Gbps", latency = "20 us" }

[switch]
buffer = "100 KB"
ecn_threshold = "5 packets"

[[workload]]
kind = "burst"
senders = 5
size = "uniform 20 KB..100 KB"
deadline = "2 ms"
repeat = 3
every = "5 ms"
"#;

const EXPERIMENT: &str = r#"
title = "A burst"
source = "nowhere"
metric = "missed"
repetitions = { full = 5, quick = 2 }

[axis]
key = "workload.senders"
label = "Senders"
values = [2, 5]

[[scheme]]
name = "dctcp"
set = { transport = "dctcp" }

[[scheme]]
name = "d2tcp"
set = { transport = "d2tcp", "d2tcp.imminence" = [1.0, 1.0] }

[[scheme]]
name = "free"
set = { transport = "d2tcp" }

[[scheme]]
name = "optimum"
method = "fluid"

[[scheme]]
name = "edf"
method = "fluid"

[[published]]
scheme = "dctcp"
at = 5
kind = "not-stated"
source = "ours"

[[check]]
text = "D2TCP capped to [1, 1] is DCTCP"
left = { scheme = "d2tcp" }
right = { scheme = "dctcp" }
relation = "same"
stated = true

[[check]]
text = "D2TCP is DCTCP"
left = { scheme = "free", at = 5 }
right = { scheme = "dctcp", at = 5 }
relation = "same"
stated = true

[[check]]
text = "EDF misses no fewer than the optimum"
left = { scheme = "edf" }
right = { scheme = "optimum" }
relation = "difference"
low = 0
stated = false

[[check]]
text = "No transport misses fewer than the optimum"
left = { scheme = "free" }
right = { scheme = "optimum" }
relation = "difference"
low = 0
stated = false
"#;

const READING: &str =
    "# A burst\n\n## Misses\n\n**D2TCP is DCTCP**: it is not, and so it should be.\n";

/// An empty place of its own.
fn place(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("papers-{name}"));
    let _ = fs::remove_dir_all(&path);
    path
}

/// A library of one experiment, `test/burst`.
fn papers(name: &str, experiment: &str, scenario: &str) -> PathBuf {
    let papers = place(name).join("papers");
    let folder = papers.join("test/burst");
    fs::create_dir_all(&folder).expect("a folder");
    for (file, text) in [
        ("experiment.toml", experiment),
        ("scenario.toml", scenario),
        ("reading.md", READING),
    ] {
        fs::write(folder.join(file), text).expect("a file");
    }
    papers
}

fn campaign(papers: &Path, quick: bool) -> Campaign {
    let experiments = library(papers).unwrap_or_else(|error| panic!("{error}"));
    let chosen = choose(&experiments, &["all".to_owned()]).expect("all");
    Campaign::new(experiments, chosen, quick).unwrap_or_else(|error| panic!("{error}"))
}

fn execution(jobs: usize, cancel: &Arc<AtomicBool>) -> Execution {
    Execution {
        jobs,
        threads: 1,
        if_exists: IfExists::Resume,
        cancel: Arc::clone(cancel),
    }
}

/// Runs a campaign into `out`; gives its rows and what became of it.
fn run(campaign: &Campaign, out: &Path, engine: &dyn Engine) -> (Vec<PaperRow>, CampaignOutcome) {
    let cancel = Arc::new(AtomicBool::new(false));
    let (results, outcome) =
        run_campaign(campaign, out, &execution(2, &cancel), engine, &Silent).expect("a campaign");
    (rows(&results), outcome)
}

/// Every file below a folder, with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).expect("a file"));
        }
    }
    found
}

/// The same by path within the folder.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let within = |path: PathBuf| path.strip_prefix(folder).expect("below").to_path_buf();
    files(folder)
        .into_iter()
        .map(|(path, bytes)| (within(path), bytes))
        .collect()
}

/// The simulator, with its runs counted; it stops the campaign after so many, and fails at one scheme's seed.
#[derive(Default)]
struct Counting {
    runs: AtomicUsize,
    stop_after: Option<(usize, Arc<AtomicBool>)>,
    fails_at: Option<u64>,
    panics_at: Option<u64>,
    /// Once something was written here, no new folder can be made here.
    full: Option<PathBuf>,
    /// Held while the folder is made full, so that no run begins then.
    filling: Mutex<()>,
}

impl Engine for Counting {
    fn run(
        &self,
        scenario: &Scenario,
        transport: usize,
        run: u64,
        options: &Options,
    ) -> Result<RunOutput, String> {
        let filling = self.filling.lock().expect("no panic holds it");
        let before = self.runs.fetch_add(1, Ordering::Relaxed);
        if let Some((after, cancel)) = &self.stop_after
            && before + 1 == *after
        {
            cancel.store(true, Ordering::Relaxed);
        }
        if let Some(points) = &self.full {
            let paths = (0..=u8::MAX).map(|folder| points.join(format!("{folder:02x}")));
            if paths.clone().any(|path| path.exists()) {
                for path in paths.filter(|path| !path.exists()) {
                    // It fails where the other worker has just made the folder.
                    fs::write(path, "").ok();
                }
            }
        }
        drop(filling);
        assert!(self.panics_at != Some(run), "a bug");
        if self.fails_at == Some(run) {
            return Err("no luck".to_owned());
        }
        Simulator.run(scenario, transport, run, options)
    }
}

/// Keeps the events that name damage.
#[derive(Default)]
struct Damage(Mutex<Vec<String>>);

impl Listener for Damage {
    fn on(&self, event: &Event) {
        if let Event::PointDamaged { name, reason } = event {
            self.0
                .lock()
                .expect("no panic holds it")
                .push(format!("{name}: {reason}"));
        }
    }
}

fn refusal(name: &str, from: &str, to: &str) -> String {
    assert!(EXPERIMENT.contains(from), "{from}");
    let papers = papers(name, &EXPERIMENT.replacen(from, to, 1), SCENARIO);
    match library(&papers) {
        Err(error) => error.to_string(),
        Ok(experiments) => Campaign::new(experiments, vec![0], true)
            .expect_err("a mistake")
            .to_string(),
    }
}

#[test]
fn mistakes_are_named_with_file_line_value_and_what_is_allowed() {
    let said = refusal("metric", "\"missed\"", "\"mised\"");
    assert!(said.contains("experiment.toml:4:10"), "{said}");
    assert!(said.contains("did you mean `missed`?"), "{said}");
    let said = refusal("key", "[axis]\nkey", "[axis]\nkye");
    assert!(
        said.contains("experiment.toml:8:1") && said.contains("kye"),
        "{said}"
    );
    let said = refusal("at", "at = 5", "at = 7");
    assert!(
        said.contains("not a value of the axis") && said.contains("allowed: 2, 5"),
        "{said}"
    );
    let said = refusal(
        "scheme",
        "left = { scheme = \"free\", at = 5 }",
        "left = { scheme = \"fre\" }",
    );
    assert!(said.contains("has no scheme `fre`"), "{said}");
    let said = refusal("kind", "kind = \"not-stated\"", "kind = \"predicted\"");
    assert!(said.contains("has no `value`"), "{said}");
    let said = refusal(
        "setting",
        "key = \"workload.senders\"",
        "key = \"workload.sender\"",
    );
    assert!(
        said.contains("did you mean `senders`?") && said.contains("scheme dctcp"),
        "{said}"
    );
    let said = refusal(
        "workload",
        "at = 5\nkind",
        "at = 5\nworkload = \"bust\"\nkind",
    );
    assert!(
        said.contains("experiment.toml:35:12") && said.contains("allowed: burst"),
        "{said}"
    );
    let said = refusal(
        "several",
        "set = { transport = \"dctcp\" }",
        "set = { transport = [\"tcp\", \"d3\"] }",
    );
    assert!(said.contains("several transports (tcp, d3)"), "{said}");
}

#[test]
fn a_fitted_value_cannot_pass_for_a_prediction() {
    let fitted = |scheme: &str, published: &str| {
        let calibration = format!(
            "{EXPERIMENT}\n[[calibration]]\nkey = \"switch.buffer\"\nvalue = \"100 KB\"\non = {{ scheme = \"{scheme}\", at = 5 }}\n"
        );
        calibration.replacen("kind = \"not-stated\"", published, 1)
    };
    let read = |name: &str, text: &str| library(&papers(name, text, SCENARIO)).map(|_| ());
    let own =
        read("fitted-own", &fitted("d2tcp", "kind = \"not-stated\"")).expect_err("its own curve");
    assert!(
        own.to_string().contains("fitted on d2tcp's own curve"),
        "{own}"
    );
    let silent = read(
        "fitted-silent",
        &fitted("dctcp", "kind = \"predicted\"\nvalue = 1"),
    )
    .expect_err("silent");
    assert!(
        silent.to_string().contains("kind = \"calibrated\""),
        "{silent}"
    );
    read(
        "fitted-said",
        &fitted("dctcp", "kind = \"calibrated\"\nvalue = 1"),
    )
    .expect("said");
}

#[test]
fn a_curve_cannot_predict_itself_through_another_experiment() {
    // `burst` publishes a prediction for its D2TCP curve; `other` fitted the buffer on that curve.
    let predicted = EXPERIMENT.replacen(
        "scheme = \"dctcp\"\nat = 5\nkind = \"not-stated\"",
        "scheme = \"free\"\nat = 5\nkind = \"predicted\"\nvalue = 1",
        1,
    );
    let predicted = predicted.replace("\"free\"", "\"d2tcp-free\"");
    let other = |name: &str, key: &str, value: &str| {
        let papers = papers(name, &predicted, SCENARIO);
        let folder = papers.join("test/other");
        fs::create_dir_all(&folder).expect("a folder");
        let fitted = format!(
            "{EXPERIMENT}\n[[calibration]]\nkey = \"{key}\"\nvalue = \"{value}\"\n\
             on = {{ experiment = \"burst\", scheme = \"d2tcp-free\", at = 2 }}\n"
        );
        let scenario = SCENARIO.replace("100 KB\"\necn", "90 KB\"\necn");
        for (file, text) in [
            ("experiment.toml", fitted.as_str()),
            ("scenario.toml", &scenario),
            ("reading.md", READING),
        ] {
            fs::write(folder.join(file), text).expect("a file");
        }
        library(&papers)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    // The threshold is the same in both: what was fitted at 2 senders is read at 5.
    let said = other("silent-shared", "switch.ecn_threshold", "5 packets").expect_err("shared");
    assert!(
        said.contains("test/burst's curve of d2tcp-free reads switch.ecn_threshold = 5 packets"),
        "{said}"
    );
    // The buffer is not: what `burst` reads was not fitted on it.
    assert_eq!(other("not-shared", "switch.buffer", "90 KB"), Ok(()));
    let said = other("stale", "switch.buffer", "80 KB").expect_err("nobody reads it");
    assert!(
        said.contains("no scenario here reads switch.buffer = 80 KB"),
        "{said}"
    );
}

#[test]
fn the_experiments_of_this_repository_can_be_read_and_expanded() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let experiments = library(&papers).unwrap_or_else(|error| panic!("{error}"));
    for of in &experiments {
        let headings: Vec<&str> = of
            .reading
            .lines()
            // Our own experiments may also say what they showed.
            .filter(|line| line.starts_with("## ") && *line != "## What was seen")
            .collect();
        let expected = [
            "## What the paper leaves open",
            "## What was chosen, and why",
            "## Calibrated and predicted",
            "## Misses",
        ];
        assert_eq!(headings, expected, "{}/reading.md", of.id());
    }
    let all: Vec<usize> = (0..experiments.len()).collect();
    for quick in [true, false] {
        let experiments = library(&papers).expect("it was just read");
        let campaign = Campaign::new(experiments, all.clone(), quick);
        let campaign = campaign.unwrap_or_else(|error| panic!("{error}"));
        assert!(campaign.runs() > 0);
    }
}

#[test]
fn every_scheme_of_this_repository_looks_the_same_in_every_figure() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let experiments = library(&papers).unwrap_or_else(|error| panic!("{error}"));
    for of in &experiments {
        for scheme in &of.schemes {
            assert!(
                duetime_figures::has_fixed_look(&scheme.name),
                "{}: give scheme `{}` a colour and a dash pattern in `figures`' palette",
                of.id(),
                scheme.name
            );
        }
    }
}

#[test]
fn unknown_names_suggest_the_nearest() {
    let experiments = library(&papers("names", EXPERIMENT, SCENARIO)).expect("a library");
    let said = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        choose(&experiments, &words).map_err(|error| error.to_string())
    };
    assert_eq!(said(&["test"]), Ok(vec![0]));
    assert_eq!(said(&["test", "burst"]), Ok(vec![0]));
    assert_eq!(said(&["test/burst"]), Ok(vec![0]));
    let error = said(&["test", "brust"]).expect_err("no such experiment");
    assert!(error.contains("did you mean `burst`?"), "{error}");
    let error = said(&["tset"]).expect_err("no such paper");
    assert!(error.contains("did you mean `test`?"), "{error}");
    for word in ["burst", "bursst"] {
        let error = said(&[word]).expect_err("no paper before it");
        assert!(error.contains("did you mean `test burst`?"), "{error}");
    }
    let error = said(&["quite-another"]).expect_err("nothing like it");
    assert!(
        error.contains("`quite-another`. There are: test, all, test/burst"),
        "{error}"
    );
}

#[test]
fn what_must_be_equal_is_equal_and_the_optimum_bounds_all() {
    let papers = papers("equal", EXPERIMENT, SCENARIO);
    let campaign = campaign(&papers, false);
    let (rows, outcome) = run(&campaign, &place("equal-out"), &Simulator);
    assert_eq!((outcome.finished, outcome.failures.len()), (30, 0));
    let verdict = |text: &str| {
        let row = rows.iter().find(|row| row.point == text).expect(text);
        row.verdict
    };
    assert_eq!(verdict("D2TCP capped to [1, 1] is DCTCP"), Verdict::Holds);
    assert_eq!(
        verdict("D2TCP is DCTCP"),
        Verdict::Missed,
        "the check can fail"
    );
    assert_eq!(
        verdict("EDF misses no fewer than the optimum"),
        Verdict::Holds
    );
    assert_eq!(
        verdict("No transport misses fewer than the optimum"),
        Verdict::Holds
    );
    let counts = Counts::of(&rows);
    assert_eq!((counts.orderings.good, counts.orderings.of), (1, 2));
    assert_eq!((counts.looser_bounds.good, counts.looser_bounds.of), (2, 2));
    assert_eq!((counts.numbers.of, counts.not_stated), (0, 1));
}

#[test]
fn d3_without_deadlines_is_rcpdc() {
    let experiment = EXPERIMENT
        .replace("transport = \"dctcp\"", "transport = \"rcpdc\"")
        .replace(
            "transport = \"d2tcp\", \"d2tcp.imminence\" = [1.0, 1.0]",
            "transport = \"d3\"",
        )
        .replace("metric = \"missed\"", "metric = \"fct-mean\"");
    let scenario = SCENARIO.replace("deadline = \"2 ms\"\n", "");
    let papers = papers("rcpdc", &experiment, &scenario);
    let (rows, _) = run(&campaign(&papers, true), &place("rcpdc-out"), &Simulator);
    let same = rows
        .iter()
        .find(|row| row.point == "D2TCP capped to [1, 1] is DCTCP");
    assert_eq!(same.expect("the check").verdict, Verdict::Holds);
}

#[test]
fn a_campaign_that_was_stopped_leaves_the_same_bytes() {
    let papers = papers("resume", EXPERIMENT, SCENARIO);
    let campaign = campaign(&papers, false);
    let (whole, stopped) = (place("resume-whole"), place("resume-stopped"));
    let (expected, _) = run(&campaign, &whole, &Simulator);
    for stop_after in [1, 7, 12, 3] {
        let cancel = Arc::new(AtomicBool::new(false));
        let engine = Counting {
            stop_after: Some((stop_after, Arc::clone(&cancel))),
            ..Counting::default()
        };
        let (_, outcome) = run_campaign(
            &campaign,
            &stopped,
            &execution(1, &cancel),
            &engine,
            &Silent,
        )
        .expect("a campaign");
        assert!(outcome.cancelled && outcome.missing > 0);
    }
    let engine = Counting::default();
    let (rows, outcome) = run(&campaign, &stopped, &engine);
    assert!(outcome.kept > 0, "something survived");
    assert_eq!(outcome.kept + engine.runs.load(Ordering::Relaxed), 30);
    assert_eq!(rows, expected);
    assert_eq!(content(&stopped), content(&whole));
}

#[test]
fn a_full_campaign_takes_over_the_runs_of_a_quick_one() {
    let papers = papers("quick", EXPERIMENT, SCENARIO);
    let out = place("quick-out");
    let quick = Counting::default();
    run(&campaign(&papers, true), &out, &quick);
    assert_eq!(quick.runs.load(Ordering::Relaxed), 12);
    let full = Counting::default();
    let (_, outcome) = run(&campaign(&papers, false), &out, &full);
    assert_eq!((outcome.kept, full.runs.load(Ordering::Relaxed)), (12, 18));
}

#[test]
fn a_damaged_file_is_named_and_only_its_runs_are_made_again() {
    let papers = papers("damage", EXPERIMENT, SCENARIO);
    let campaign = campaign(&papers, true);
    let out = place("damage-out");
    let (expected, _) = run(&campaign, &out, &Simulator);
    let whole = content(&out);
    let files: Vec<PathBuf> = files(&out).into_keys().collect();
    let spoil: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.clear(),
        |bytes| *bytes.last_mut().expect("a byte") ^= 4,
        |bytes| bytes.extend(b"more"),
    ];
    for (file, spoil) in files.iter().zip(spoil) {
        let mut bytes = fs::read(file).expect("a file");
        spoil(&mut bytes);
        fs::write(file, bytes).expect("a file");
        let (engine, damage) = (Counting::default(), Damage::default());
        let cancel = Arc::new(AtomicBool::new(false));
        let (results, outcome) =
            run_campaign(&campaign, &out, &execution(2, &cancel), &engine, &damage)
                .expect("a campaign");
        assert_eq!(rows(&results), expected);
        assert_eq!(engine.runs.load(Ordering::Relaxed), 2, "its batch alone");
        assert_eq!(outcome.damaged.len(), 1);
        let said = damage.0.into_inner().expect("no panic held it").join("\n");
        assert!(
            said.contains(&file.display().to_string()) && said.contains("test/burst"),
            "{said}"
        );
        assert_eq!(content(&out), whole);
    }
}

#[test]
fn a_failed_run_is_told_and_the_others_are_kept() {
    let papers = papers("failure", EXPERIMENT, SCENARIO);
    let campaign = campaign(&papers, false);
    let out = place("failure-out");
    let engine = Counting {
        fails_at: Some(4),
        ..Counting::default()
    };
    let (_, outcome) = run(&campaign, &out, &engine);
    assert_eq!(outcome.failures.len(), 6, "one batch of each point");
    assert!(outcome.failures.iter().all(|(_, why)| why == "no luck"));
    let engine = Counting::default();
    run(&campaign, &out, &engine);
    assert_eq!(engine.runs.load(Ordering::Relaxed), 6);
}

#[test]
fn a_worker_that_panics_takes_no_other_run_with_it() {
    let papers = papers("panic", EXPERIMENT, SCENARIO);
    let campaign = campaign(&papers, false);
    let engine = Counting {
        panics_at: Some(4),
        ..Counting::default()
    };
    let (_, outcome) = run(&campaign, &place("panic-out"), &engine);
    assert_eq!((outcome.failures.len(), outcome.missing), (6, 0));
    assert!(
        outcome
            .failures
            .iter()
            .all(|(_, why)| why.contains("a bug"))
    );
    assert!(outcome.finished > 0, "the others are kept");
}

#[test]
fn a_full_disk_stops_the_campaign_and_loses_no_finished_point() {
    let papers = papers("full", EXPERIMENT, SCENARIO);
    let campaign = campaign(&papers, false);
    let (whole, full) = (place("full-whole"), place("full-out"));
    let (expected, _) = run(&campaign, &whole, &Simulator);
    let points = full.join("points");
    let engine = Counting {
        full: Some(points.clone()),
        ..Counting::default()
    };
    let (_, outcome) = run(&campaign, &full, &engine);
    assert!(!outcome.failures.is_empty() && outcome.missing > 0);
    assert!(
        outcome
            .failures
            .iter()
            .all(|(_, why)| why.contains("points"))
    );
    assert!(
        engine.runs.load(Ordering::Relaxed) < 30,
        "no run is made that cannot be kept"
    );
    let finished = outcome.finished;
    assert!(finished > 0, "some were written before");
    // There is room again.
    for folder in 0..=u8::MAX {
        let path = points.join(format!("{folder:02x}"));
        if path.is_file() {
            fs::remove_file(path).expect("a file goes");
        }
    }
    let (rows, outcome) = run(&campaign, &full, &Simulator);
    assert_eq!((outcome.kept, outcome.finished), (finished, 30));
    assert_eq!(rows, expected);
    assert_eq!(content(&full), content(&whole));
}

#[test]
fn schedulers_alone_need_no_simulation() {
    let cut = EXPERIMENT
        .find("[[scheme]]\nname = \"dctcp\"")
        .expect("schemes");
    let experiment = format!(
        "method = \"fluid\"\n{}{}",
        &EXPERIMENT[..cut],
        r#"
[[scheme]]
name = "fair-share"
[[scheme]]
name = "edf"
[[scheme]]
name = "optimum"

[[check]]
text = "order"
left = { scheme = "fair-share" }
right = { scheme = "edf" }
relation = "difference"
low = 0
stated = false
"#
    );
    let papers = papers("fluid", &experiment, &SCENARIO.replace("2 ms", "1 ms"));
    let engine = Counting::default();
    let (rows, outcome) = run(&campaign(&papers, false), &place("fluid-out"), &engine);
    assert_eq!((outcome.finished, outcome.failures), (30, Vec::new()));
    assert_eq!(engine.runs.load(Ordering::Relaxed), 0);
    assert_eq!(rows[0].verdict, Verdict::Holds);
}

#[test]
fn every_method_has_its_drawings_and_the_page_and_the_document_hold_all() {
    let sampled = format!("{SCENARIO}\n[record]\nevery = \"100 us\"\n");
    let methods = [
        ("simulate", "", 1),
        ("scatter", "\n[scatter]\nruns = 2\n", 6),
        (
            "distribution",
            "\n[distribution]\nof = \"queue\"\nat = [5]\n",
            2,
        ),
        (
            "series",
            "\n[series]\nof = \"throughput\"\nat = 5\naverage = \"500 us\"\n",
            4,
        ),
    ];
    for (method, table, figures) in methods {
        let experiment = format!("method = \"{method}\"\n{EXPERIMENT}{table}");
        let papers = papers(&format!("draw-{method}"), &experiment, &sampled);
        let campaign = campaign(&papers, true);
        let cancel = Arc::new(AtomicBool::new(false));
        let out = place(&format!("draw-{method}-out"));
        let (results, _) =
            run_campaign(&campaign, &out, &execution(2, &cancel), &Simulator, &Silent)
                .expect("a campaign");
        let (rows, drawn) = (rows(&results), drawings(&results));
        assert_eq!(drawn.len(), figures, "{method}");
        let page = campaign_page(&results, &rows, &drawn).expect("a page");
        assert_eq!(page.matches("<svg").count(), figures, "{method}");
        assert!(!page.contains("http://") || page.matches("http://www.w3.org").count() == figures);
        assert!(page.contains("D2TCP capped to [1, 1] is DCTCP"));
        let document = papers_md(&results, &rows);
        assert!(
            document.contains("- **D2TCP is DCTCP**: it is not, and so it should be."),
            "{document}"
        );
    }
}

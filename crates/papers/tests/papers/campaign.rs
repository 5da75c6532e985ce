//! Campaigns: stored points survive failures, and output is equal where required.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use duetime_papers::{
    Campaign, Counts, Extent, Line, PaperRow, Section, Sections, Verdict, campaign_page, choose,
    drawings, library, papers_md, rows, run_campaign, sections, store_sections,
};
use duetime_scenario::Scenario;
use duetime_sim::{Options, RunOutput};
use duetime_store::IfExists;
use duetime_study::{Engine, Event, Execution, Listener, Outcome, Silent, Simulator};

use crate::shared::{EXPERIMENT, SCENARIO, campaign, papers, place};

pub fn execution(jobs: usize, cancel: &Arc<AtomicBool>) -> Execution {
    Execution {
        jobs,
        threads: 1,
        if_exists: IfExists::Resume,
        cancel: Arc::clone(cancel),
    }
}

/// Runs a campaign into `out` and returns its rows and outcome.
pub fn run(campaign: &Campaign, out: &Path, engine: &dyn Engine) -> (Vec<PaperRow>, Outcome) {
    let cancel = Arc::new(AtomicBool::new(false));
    let (results, outcome) =
        run_campaign(campaign, out, &execution(2, &cancel), engine, &Silent).expect("a campaign");
    (rows(&results), outcome)
}

/// Returns the bytes of every file below a folder.
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

/// Returns the bytes of every file by path relative to the folder.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let within = |path: PathBuf| path.strip_prefix(folder).expect("below").to_path_buf();
    files(folder)
        .into_iter()
        .map(|(path, bytes)| (within(path), bytes))
        .collect()
}

/// A simulator that counts its runs. It can cancel the campaign after some runs, and fail or panic at a seed.
#[derive(Default)]
pub struct Counting {
    pub runs: AtomicUsize,
    pub stop_after: Option<(usize, Arc<AtomicBool>)>,
    pub fails_at: Option<u64>,
    pub panics_at: Option<u64>,
    /// Folder that accepts no new subfolders after the first, as if the disk were full.
    pub full: Option<PathBuf>,
    /// Held while the folder is filled, so that no run starts meanwhile.
    pub filling: Mutex<()>,
}

impl Engine for Counting {
    fn run(
        &self,
        scenario: &Scenario,
        transport: usize,
        run: u64,
        options: &Options,
    ) -> Result<RunOutput, String> {
        let filling = self.filling.lock().expect("not poisoned");
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
                    // Fails if the other worker has just created the folder.
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

/// Listener that records damaged files.
#[derive(Default)]
struct Damage(Mutex<Vec<String>>);

impl Listener for Damage {
    fn on(&self, event: &Event) {
        if let Event::Damaged { name, reason } = event {
            self.0
                .lock()
                .expect("not poisoned")
                .push(format!("{name}: {reason}"));
        }
    }
}

#[test]
fn equalities_hold_and_optimum_bounds_all() {
    let papers = papers("equal", EXPERIMENT, SCENARIO);
    let campaign = campaign(&papers, Extent::Full);
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
    let (rows, _) = run(
        &campaign(&papers, Extent::Quick),
        &place("rcpdc-out"),
        &Simulator,
    );
    let same = rows
        .iter()
        .find(|row| row.point == "D2TCP capped to [1, 1] is DCTCP");
    assert_eq!(same.expect("the check").verdict, Verdict::Holds);
}

#[test]
fn stopped_campaign_leaves_same_bytes() {
    let papers = papers("resume", EXPERIMENT, SCENARIO);
    let campaign = campaign(&papers, Extent::Full);
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
fn full_campaign_reuses_quick_runs() {
    let papers = papers("quick", EXPERIMENT, SCENARIO);
    let out = place("quick-out");
    let quick = Counting::default();
    run(&campaign(&papers, Extent::Quick), &out, &quick);
    assert_eq!(quick.runs.load(Ordering::Relaxed), 12);
    let full = Counting::default();
    let (_, outcome) = run(&campaign(&papers, Extent::Full), &out, &full);
    assert_eq!((outcome.kept, full.runs.load(Ordering::Relaxed)), (12, 18));
}

#[test]
fn damaged_file_is_reported_and_rerun() {
    let papers = papers("damage", EXPERIMENT, SCENARIO);
    let campaign = campaign(&papers, Extent::Quick);
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
        assert_eq!(engine.runs.load(Ordering::Relaxed), 2, "only its batch");
        assert_eq!(outcome.damaged.len(), 1);
        let message = damage.0.into_inner().expect("not poisoned").join("\n");
        assert!(
            message.contains(&file.display().to_string()) && message.contains("test/burst"),
            "{message}"
        );
        assert_eq!(content(&out), whole);
    }
}

#[test]
fn failed_run_is_reported_others_are_stored() {
    let papers = papers("failure", EXPERIMENT, SCENARIO);
    let campaign = campaign(&papers, Extent::Full);
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
fn panicking_worker_fails_only_its_run() {
    let papers = papers("panic", EXPERIMENT, SCENARIO);
    let campaign = campaign(&papers, Extent::Full);
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
    assert!(outcome.finished > 0, "the others are stored");
}

#[test]
fn full_disk_stops_campaign_without_loss() {
    let papers = papers("full", EXPERIMENT, SCENARIO);
    let campaign = campaign(&papers, Extent::Full);
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
        "no run starts if it cannot be stored"
    );
    let finished = outcome.finished;
    assert!(finished > 0, "some were written before");
    // Files can be written again.
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
fn schedulers_need_no_simulation() {
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
    let (rows, outcome) = run(
        &campaign(&papers, Extent::Full),
        &place("fluid-out"),
        &engine,
    );
    assert_eq!((outcome.finished, outcome.failures), (30, Vec::new()));
    assert_eq!(engine.runs.load(Ordering::Relaxed), 0);
    assert_eq!(rows[0].verdict, Verdict::Holds);
}

#[test]
fn every_method_is_drawn_on_page_and_document() {
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
        let campaign = campaign(&papers, Extent::Quick);
        let cancel = Arc::new(AtomicBool::new(false));
        let out = place(&format!("draw-{method}-out"));
        let (results, _) =
            run_campaign(&campaign, &out, &execution(2, &cancel), &Simulator, &Silent)
                .expect("a campaign");
        let (rows, drawn) = (rows(&results), drawings(&results));
        assert_eq!(drawn.len(), figures, "{method}");
        let kept = store_sections(
            &out,
            &campaign.experiments,
            &sections(&results, &rows, &drawn),
        );
        let page = campaign_page(&kept.expect("sections"), 1).expect("a page");
        assert_eq!(page.matches("<svg").count(), figures, "{method}");
        assert!(!page.contains("http://") || page.matches("http://www.w3.org").count() == figures);
        assert!(page.contains("D2TCP capped to [1, 1] is DCTCP"));
        let document = papers_md(&results, &rows);
        assert!(
            document.contains("[missed](../papers/test/burst/reading.md#misses)"),
            "{document}"
        );
    }
}

/// Runs the selected experiments into `out` and returns the sections stored there.
fn keep(papers: &Path, which: &[&str], out: &Path) -> Sections {
    let experiments = library(papers).expect("a library");
    let which: Vec<String> = which.iter().map(|&word| word.to_owned()).collect();
    let chosen = choose(&experiments, &which).expect("experiments");
    let campaign = Campaign::new(experiments, chosen, Extent::Quick).expect("a campaign");
    let cancel = Arc::new(AtomicBool::new(false));
    let (results, _) = run_campaign(&campaign, out, &execution(2, &cancel), &Simulator, &Silent)
        .expect("a campaign");
    let new = sections(&results, &rows(&results), &drawings(&results));
    store_sections(out, &campaign.experiments, &new).expect("sections")
}

#[test]
fn page_keeps_earlier_experiments() {
    let papers = papers("accumulate", EXPERIMENT, SCENARIO);
    let second = papers.join("test/fig07");
    fs::create_dir_all(&second).expect("a folder");
    for file in ["experiment.toml", "scenario.toml", "reading.md"] {
        fs::copy(papers.join("test/burst").join(file), second.join(file)).expect("a copy");
    }
    let out = place("accumulate-out");
    let first = keep(&papers, &["test/burst"], &out);
    assert_eq!(first.all.len(), 1);
    let both = keep(&papers, &["test/fig07"], &out);
    let ids: Vec<String> = both.all.iter().map(Section::id).collect();
    assert_eq!(ids, ["test/burst", "test/fig07"]);
    assert_eq!(both.all[0], first.all[0], "the first is unchanged");
    assert_eq!(both.rows().count(), 2 * first.rows().count());
    let page = campaign_page(&both, 2).expect("a page");
    assert!(page.contains("TEST, burst") && page.contains("TEST, Figure 7"));
    assert!(page.contains("duetime paper all --quick"));

    // Outdated sections are shown with a warning; unreadable ones are reported.
    let text = fs::read_to_string(second.join("experiment.toml")).expect("a file");
    fs::write(
        second.join("experiment.toml"),
        text.replace("values = [2, 5]", "values = [2, 3, 5]"),
    )
    .expect("a change");
    let path = out.join("experiments/test-burst.json");
    let whole = fs::read(&path).expect("a section");
    fs::write(&path, &whole[..whole.len() / 2]).expect("half of it");
    let experiments = library(&papers).expect("a library");
    let left = store_sections(&out, &experiments, &[]).expect("sections");
    assert_eq!(left.outdated, ["test/fig07"]);
    assert!(left.unreadable[0].starts_with("test/burst: "), "{left:?}");
    let page = campaign_page(&left, 2).expect("a page");
    assert!(page.contains("fig07 is outdated"));
    assert!(page.contains("fig07 --quick") && !page.contains("paper all"));
}

#[test]
fn stated_bounds_are_drawn_and_panels_share_axes() {
    let bound = r#"
[[check]]
text = "Free stays below 7 %"
left = { scheme = "free", at = 5 }
right = { value = 7 }
relation = "less"
stated = true

[[check]]
text = "DCTCP misses at least 2 %, in our interpretation"
left = { scheme = "dctcp", at = 5 }
right = { value = 2 }
relation = "greater"
stated = false
"#;
    let panels = r#"
[[panel]]
name = "small"
set = { "workload.size" = "2 KB" }
[[panel]]
name = "large"
set = { "workload.size" = "400 KB" }
"#;
    let (head, schemes) = EXPERIMENT
        .split_once("\n[[scheme]]")
        .expect("schemes after the axis");
    let experiment = format!("{head}\n{panels}\n[[scheme]]{schemes}{bound}");
    let papers = papers("bounds", &experiment, SCENARIO);
    let kept = keep(&papers, &["all"], &place("bounds-out"));
    let figures = &kept.all[0].figures;
    let [small, large] = [0, 1].map(|index: usize| figures[index].svg.as_str());
    assert!(small.contains("<title>published, at most: free, 5: 7 %</title>"));
    assert!(
        !small.contains("at least"),
        "bounds of ours are not the paper's"
    );
    assert!(
        !large.contains("published bound"),
        "the check is on the first panel"
    );
    // 0 % in one panel, far more in the other: the same axis from zero.
    let labels = |svg: &str| -> Vec<String> {
        let ends = svg.split("text-anchor=\"end\">").skip(1);
        ends.map(|rest| rest.split('<').next().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(labels(small), labels(large));
    assert_eq!(labels(large)[0], "0");
    let row = kept.rows().find(|row| row.point == "Free stays below 7 %");
    let row = row.expect("the check");
    assert_eq!((row.published, row.ours), (Some(7.0), Some(0.0)));
    assert_eq!(Line::of(row).published, "below 7 %");
}

#[test]
fn series_has_configured_axes() {
    let links = "links = [\"host0->switch\", \"host1->switch\", \"switch->host5\"]";
    let sampled = format!("{SCENARIO}\n[record]\nevery = \"100 us\"\n{links}\n");
    let table = r#"
[y]
label = "Throughput"
unit = "Gbps"
range = [0, 2]

[series]
of = "throughput"
at = 5
average = "500 us"
until = "40 ms"
names = { "host0->switch" = "the first" }
"#;
    let experiment = format!("method = \"series\"\n{EXPERIMENT}{table}");
    let papers = papers("axes", &experiment, &sampled);
    let kept = keep(&papers, &["all"], &place("axes-out"));
    let svg = &kept.all[0].figures[0].svg;
    assert!(svg.contains("Throughput (Gbps)") && svg.contains(">the first</text>"));
    assert!(svg.contains("text-anchor=\"end\">2</text>"), "{svg}");
    assert!(svg.contains(">Time (ms)</text>") && svg.contains(">40</text>"));
    assert!(!svg.contains("host1"), "links without a name are not drawn");
    let last = &kept.all[0].figures.last().expect("a main drawing").svg;
    assert!(!last.contains("Gbps"), "the y axis belongs to the series");
}

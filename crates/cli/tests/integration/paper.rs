//! `duetime paper` on experiments of this repository: an interrupted campaign resumes and produces the same files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::sandbox::Sandbox;

/// Experiments of a campaign that takes a second and writes a dozen files of points.
const EXPERIMENTS: [&str; 3] = ["d3", "fig01", "fig02"];

/// Returns the command that runs the campaign in `sandbox`, with its results in `out`.
fn command(sandbox: &Sandbox) -> Command {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let mut command = Command::new(env!("CARGO_BIN_EXE_duetime"));
    command.arg("paper").args(EXPERIMENTS);
    command.args(["--quick", "--jobs", "1", "--json", "--out", "out"]);
    command.args(["--write-docs", "out/papers.md", "--papers"]);
    command.arg(papers).current_dir(&sandbox.0);
    command
}

/// Runs the campaign to completion. Returns standard output and standard error.
fn complete(sandbox: &Sandbox) -> (String, String) {
    let output = command(sandbox).output().expect("the binary starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let texts = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{}", texts.1);
    texts
}

/// Returns the bytes of every file below a folder, including temporary files, by relative path.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = fs::read(&path) {
                let name = path.strip_prefix(folder).expect("below").to_path_buf();
                found.insert(name, bytes);
            }
        }
    }
    found
}

/// Returns the files of measured points.
fn points(sandbox: &Sandbox) -> Vec<PathBuf> {
    let folder = sandbox.0.join("out/points");
    let names = content(&folder).into_keys();
    names
        .filter(|name| name.extension().is_some_and(|ending| ending == "json"))
        .map(|name| folder.join(name))
        .collect()
}

/// Starts the campaign and waits for `files` files of points.
fn start_until(sandbox: &Sandbox, files: usize) -> Child {
    let mut child = command(sandbox)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    while points(sandbox).len() < files {
        let ended = child.try_wait().expect("a child");
        assert!(
            ended.is_none(),
            "the campaign ended before it wrote {files} files"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

/// Returns the numbers of all runs and of reused runs in the progress output.
fn run_counts(err: &str) -> (usize, usize) {
    let line = err.lines().find(|line| line.starts_with("papers: "));
    let numbers: Vec<usize> = line
        .expect("a first line")
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    (numbers[0], numbers.get(1).copied().unwrap_or(0))
}

#[cfg(unix)]
#[test]
fn interrupted_campaign_resumes_to_same_files() {
    let (uninterrupted, stopped) = (Sandbox::new("paper-complete"), Sandbox::new("paper-killed"));
    let expected = complete(&uninterrupted).0;
    let all = points(&uninterrupted).len();
    assert!(all > 10, "{all} files");

    start_until(&stopped, 1).kill().expect("SIGKILL");
    let after_kill = points(&stopped).len();
    assert!((1..all).contains(&after_kill), "{after_kill} of {all}");

    let child = start_until(&stopped, all / 3);
    let interrupt = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status();
    assert!(interrupt.expect("a signal").success());
    let output = child.wait_with_output().expect("an end");
    let err = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("repeat the command to complete them"), "{err}");
    assert!(
        output.stdout.is_empty(),
        "no verdicts on a partial campaign"
    );
    assert!(points(&stopped).len() < all);

    let mut child = start_until(&stopped, all / 2);
    child.kill().expect("SIGKILL");
    child.wait().expect("an end");

    let (out, err) = complete(&stopped);
    assert!(run_counts(&err).1 > 0, "some runs were reused: {err}");
    assert_eq!(out, expected);
    let (left, right) = (content(&stopped.0), content(&uninterrupted.0));
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&left), names(&right));
    for (name, bytes) in &left {
        assert!(bytes == &right[name], "{} differs", name.display());
    }
    for ending in ["svg", "png", "html", "md", "jsonl"] {
        let has_ending = |name: &PathBuf| name.extension().is_some_and(|found| found == ending);
        assert!(left.keys().any(has_ending), "a campaign leaves .{ending}");
    }
}

#[test]
fn unwritable_results_are_not_invalid_input() {
    let sandbox = Sandbox::new("paper-blocked");
    fs::create_dir(sandbox.0.join("out")).expect("a folder");
    sandbox.file("out/experiments", "a file in place of a folder");
    let output = command(&sandbox).output().expect("the binary starts");
    let err = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("cannot create `out/experiments`"), "{err}");
    assert!(!output.stdout.is_empty(), "the results are printed");
}

#[test]
fn only_damaged_points_are_repeated() {
    let sandbox = Sandbox::new("paper-damaged");
    let (expected, err) = complete(&sandbox);
    let (runs, _) = run_counts(&err);
    let before = content(&sandbox.0);
    let points = points(&sandbox);
    let (cut, changed) = (&points[1], &points[points.len() / 2]);
    let mut bytes = fs::read(cut).expect("a point");
    bytes.truncate(bytes.len() / 2);
    fs::write(cut, bytes).expect("a file");
    let mut bytes = fs::read(changed).expect("a point");
    *bytes.last_mut().expect("a byte") ^= 1;
    fs::write(changed, bytes).expect("a file");

    let (out, err) = complete(&sandbox);
    // `3-20.json` contains runs 3 to 19.
    let runs_of = |path: &PathBuf| {
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let (from, to) = name.split_once('-').expect("a range");
        to.parse::<usize>().expect("a number") - from.parse::<usize>().expect("a number")
    };
    assert_eq!(
        run_counts(&err),
        (runs, runs - runs_of(cut) - runs_of(changed))
    );
    for path in [cut, changed] {
        let name = path.file_name().expect("a name").to_string_lossy();
        let folder = path.parent().and_then(Path::file_name).expect("a digest");
        let is_repeated = |line: &&str| {
            line.contains("repeating")
                && line.contains(&*name)
                && line.contains(&*folder.to_string_lossy())
        };
        assert!(err.lines().any(|line| is_repeated(&line)), "{name}: {err}");
    }
    assert_eq!(out, expected);
    assert!(content(&sandbox.0) == before, "the same bytes");
}

#[test]
fn unknown_experiment_suggests_the_nearest() {
    let sandbox = Sandbox::new("paper-unknown");
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let papers = papers.to_string_lossy();
    for (words, near) in [
        (&["figg10"][..], "`d3 fig10`"),
        (&["d3", "figg10"][..], "`fig10`"),
        (&["d4"][..], "`d3`"),
    ] {
        let mut arguments = vec!["paper", "--papers", &papers];
        arguments.extend(words);
        sandbox
            .duetime_args(&arguments)
            .refused(&["did you mean", near]);
    }
    assert!(sandbox.names().is_empty(), "nothing is written");
}

#[test]
fn quick_without_names_runs_all() {
    let sandbox = Sandbox::new("paper-all");
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    for name in ["fig01", "fig02"] {
        let to = sandbox.0.join("papers/d3").join(name);
        fs::create_dir_all(&to).expect("a folder");
        for (file, bytes) in content(&papers.join("d3").join(name)) {
            fs::write(to.join(file), bytes).expect("a file");
        }
    }
    let listed = sandbox.duetime("paper --papers papers").ok();
    assert!(
        listed.contains("d3 fig01") && listed.contains("d3 fig02"),
        "{listed}"
    );
    assert_eq!(sandbox.names(), ["papers"], "nothing is run");
    let rows = sandbox.duetime("paper --quick --papers papers --json").ok();
    for name in ["fig01", "fig02"] {
        assert!(
            rows.contains(&format!("\"experiment\":\"{name}\"")),
            "{rows}"
        );
    }
}

#[test]
fn experiments_are_built_in() {
    let sandbox = Sandbox::new("paper-built-in");
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let listed = sandbox.duetime("paper").ok();
    assert!(sandbox.names().is_empty(), "nothing is written");
    for experiment in content(&papers)
        .into_keys()
        .filter(|file| file.ends_with("experiment.toml"))
    {
        let parts: Vec<_> = experiment
            .iter()
            .map(|part| part.to_string_lossy())
            .collect();
        let name = format!("{} {} ", parts[0], parts[1]);
        assert!(listed.contains(&name), "{name} is missing");
    }
    let papers = papers.to_string_lossy();
    let built_in = sandbox.duetime("paper d3 fig02 --quick --json --out a -q");
    assert_eq!(
        built_in
            .err
            .lines()
            .filter(|line| line.contains("run"))
            .count(),
        0,
        "{}",
        built_in.err
    );
    let mut other = vec![
        "paper", "d3", "fig02", "--quick", "--json", "--out", "b", "--papers",
    ];
    other.push(&papers);
    assert_eq!(built_in.ok(), sandbox.duetime_args(&other).ok());
    sandbox
        .duetime("paper --papers nowhere")
        .refused(&["cannot read the folder of experiments `nowhere`"]);
}

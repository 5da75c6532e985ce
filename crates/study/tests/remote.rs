//! Tests that a study with remote runs equals a local one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use duetime_scenario::{Axis, sweep::grid};
use duetime_store::{Copies, Files, IfExists, Manifest, Recording, RunFolder, StoreError};
use duetime_study::remote::{Remote, RunSpec, make};
use duetime_study::{End, Execution, Plan, Request, Silent, Simulator, StudyError, execute};

const TRACE: &str = r#"
name = "trace"
transport = ["dctcp", "d3"]
seeds = 2
[topology]
kind = "star"
hosts = 6
link = { rate = "1 Gbps", latency = "20 us" }
[[workload]]
kind = "trace"
file = "flows.csv"
[[workload]]
kind = "burst"
senders = 2
size = "uniform 10 KB..40 KB"
deadline = "1 ms"
"#;

/// Creates the folder with the trace file, and returns a sweep of two points.
fn request(place: &Path) -> Request {
    fs::create_dir_all(place).unwrap();
    let flows = "start_ns,source,destination,size_bytes\n1000,0,1,20000\n2000,2,1,30000\n";
    fs::write(place.join("flows.csv"), flows).unwrap();
    Request {
        text: TRACE.to_owned(),
        file: place.join("trace.toml"),
        settings: Vec::new(),
        transports: vec!["d3".to_owned(), "tcp".to_owned()],
        points: grid(&[Axis::parse("workload.burst.senders=2,4").unwrap()]),
    }
}

fn place(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    path
}

fn execution() -> Execution {
    Execution {
        jobs: 2,
        threads: 1,
        if_exists: IfExists::Resume,
        cancel: Arc::new(AtomicBool::new(false)),
    }
}

/// Returns all files of runs except `run.json`, which holds the wall time.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.join("points")];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if path.file_name().unwrap() != "run.json" {
            let name = path.strip_prefix(folder).unwrap().to_path_buf();
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

fn piece(plan: &Plan, task: usize, place: PathBuf) -> RunSpec {
    let job = plan.jobs()[task];
    let run = plan.describe(job);
    RunSpec {
        point: job.point,
        transport: run.transport,
        run: run.run,
        place,
    }
}

#[test]
fn remote_runs_equal_local_runs() {
    let base = place("remote-same");
    let plan = Plan::new(request(&base)).unwrap();
    let here = base.join("here");
    execute(&plan, &here, &execution(), &Simulator, &Silent).unwrap();

    let files_of = Files::relative_to(&plan.request.file);
    let recording = Recording::new(&files_of);
    Plan::reading(plan.request.clone(), &recording).unwrap();
    let copies = Copies(recording.into_files());
    assert!(copies.0.contains_key("flows.csv"));
    // The other machine has the manifest and the copies, but not the file.
    let text = serde_json::to_vec(&duetime_study::manifest(&plan)).unwrap();
    let manifest = Manifest::from_json(&text, Path::new("manifest.json")).unwrap();
    fs::remove_file(base.join("flows.csv")).unwrap();

    let out = base.join("out");
    let staging = out.join(".staging");
    let mut remote = Remote::begin(plan.clone(), &out, IfExists::Resume, &Silent).unwrap();
    fs::create_dir(&staging).unwrap();
    let tasks = remote.missing();
    assert_eq!(tasks, (0..8).collect::<Vec<_>>());
    let staged = |task: usize| staging.join(task.to_string());
    // Leave out the last task.
    let pieces: Vec<RunSpec> = tasks[..7]
        .iter()
        .map(|&task| piece(&plan, task, staged(task)))
        .collect();
    let ends = make(
        &manifest,
        &copies,
        &pieces,
        &execution(),
        &Simulator,
        &Silent,
    )
    .unwrap();
    assert!(ends.iter().all(|end| matches!(end, End::Kept(()))));
    // A run of another task is rejected.
    assert!(remote.adopt(1, &staged(0), &Silent).is_err());
    for task in 0..6 {
        remote.adopt(task, &staged(task), &Silent).unwrap();
    }
    remote.fail(6, "lost", &Silent).unwrap();
    assert_eq!(remote.missing(), [7]);
    let (_, outcome) = remote.end(false, &Silent).unwrap();
    assert_eq!((outcome.finished, outcome.missing), (6, 1));
    assert_eq!(outcome.failures.len(), 1);
    let states = RunFolder::open(&out).unwrap().manifest().unwrap().runs;
    assert_eq!(states[6].reason.as_deref(), Some("lost"));

    // Missing runs are made locally.
    fs::remove_dir_all(&staging).unwrap();
    request(&base);
    let outcome = execute(&plan, &out, &execution(), &Simulator, &Silent).unwrap();
    assert_eq!((outcome.kept, outcome.finished), (6, 8));
    assert_eq!(files(&out), files(&here));
}

#[test]
fn rejects_unknown_points_and_transports() {
    let base = place("remote-refused");
    let plan = Plan::new(request(&base)).unwrap();
    let manifest = duetime_study::manifest(&plan);
    let files = Files::relative_to(&plan.request.file);
    let refused = |change: &dyn Fn(&mut RunSpec)| {
        let mut piece = piece(&plan, 0, base.join("0"));
        change(&mut piece);
        let made = make(
            &manifest,
            &files,
            &[piece],
            &execution(),
            &Simulator,
            &Silent,
        );
        made.unwrap_err().to_string()
    };
    assert!(refused(&|piece| piece.point = 2).contains("no point 2"));
    assert!(refused(&|piece| piece.transport = "d4".to_owned()).contains("d4"));
    let other = String::from_utf8(serde_json::to_vec(&manifest).unwrap()).unwrap();
    let other = other.replace("\"format\":1", "\"format\":99");
    let error = Manifest::from_json(other.as_bytes(), Path::new("plan.json")).unwrap_err();
    assert!(error.to_string().contains("99"), "{error}");
}

#[test]
fn rejects_folder_of_another_study() {
    let base = place("remote-other");
    let plan = Plan::new(request(&base)).unwrap();
    let out = base.join("out");
    execute(&plan, &out, &execution(), &Simulator, &Silent).unwrap();
    let mut other = request(&base);
    other.settings = vec![("workload.burst.size".to_owned(), "9 KB".to_owned())];
    let other = Plan::new(other).unwrap();
    let error = Remote::begin(other, &out, IfExists::Resume, &Silent).err();
    let error = error.expect("an error");
    assert!(matches!(
        error,
        StudyError::Store(StoreError::NotResumable { .. })
    ));
}

//! Behaviour of the run folder: complete runs or none, and clear error messages.

mod support;

use std::fs;
use std::path::Path;

use duetime_core::Time;
use duetime_results::RunRecords;
use duetime_store::{Captures, IfExists, RunFolder, RunKey, State, StoreError, pcapng, point_id};
use support::{Scratch, manifest, new_folder, notes, records};

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Keys of a study of two transports with three seeds.
fn keys() -> Vec<RunKey> {
    ["tcp", "d2tcp"]
        .iter()
        .flat_map(|transport| (0..3).map(|run| RunKey::new(transport, run)))
        .collect()
}

#[test]
fn run_reads_back_exactly() {
    let scratch = Scratch::new("reads-back");
    let folder = new_folder(&scratch.join("out"));
    let values = [("switch.buffer".to_owned(), "4 MB".to_owned())];
    let key = RunKey {
        point: Some(point_id(&values)),
        ..RunKey::new("d2tcp", 7)
    };
    let written = folder.write_run(&key, &records(), &notes(), None).unwrap();
    let folder = RunFolder::open(folder.path()).unwrap();
    let read = folder.read_run(&key).unwrap();
    assert_eq!(read.records, records());
    assert_eq!(read.info, written);
    assert_eq!(read.info.digest, "00c0ffee");
    let expected = scratch.join("out/points/switch.buffer=4+MB/runs/d2tcp/7");
    assert_eq!(folder.run_path(&key), expected);
    assert_eq!(
        names(&expected),
        [
            "flows.parquet",
            "ports.parquet",
            "queries.parquet",
            "queues.parquet",
            "run.json",
            "servers.parquet",
            "throughput.parquet"
        ]
    );
}

#[test]
fn empty_run_reads_back() {
    let scratch = Scratch::new("empty");
    let folder = new_folder(&scratch.join("out"));
    let key = RunKey::new("tcp", 0);
    folder
        .write_run(&key, &RunRecords::default(), &notes(), None)
        .unwrap();
    assert_eq!(
        folder.read_run(&key).unwrap().records,
        RunRecords::default()
    );
}

#[test]
fn equal_runs_give_equal_bytes() {
    let scratch = Scratch::new("equal");
    let key = RunKey::new("tcp", 0);
    let write = |name| {
        new_folder(&scratch.join(name))
            .write_run(&key, &records(), &notes(), None)
            .unwrap()
    };
    assert_eq!(write("a").files, write("b").files);
}

#[test]
fn captures_are_stored_with_the_run() {
    let scratch = Scratch::new("captures");
    let folder = new_folder(&scratch.join("out"));
    let key = RunKey::new("tcp", 0);
    let packet = pcapng::Packet {
        link: 0,
        at: Time::from_ps(5_000),
        original_bytes: 1_500,
        bytes: &[0x45; 40],
    };
    let links = ["a->b".to_owned()];
    let captures = Captures {
        links: &links,
        packets: &[packet],
    };
    let info = folder
        .write_run(&key, &records(), &notes(), Some(captures))
        .unwrap();
    let length = fs::metadata(folder.run_path(&key).join("capture.pcapng"))
        .unwrap()
        .len();
    assert_eq!(info.files["capture.pcapng"].bytes, length);
    assert_eq!(folder.scan(&[key]).done.len(), 1);
}

#[test]
fn killed_writer_leaves_no_finished_run() {
    let scratch = Scratch::new("killed");
    let folder = new_folder(&scratch.join("out"));
    let key = RunKey::new("tcp", 1);
    // A process that dies just before the rename leaves all files in the hidden folder.
    folder
        .write_run(&RunKey::new("tcp", 0), &records(), &notes(), None)
        .unwrap();
    fs::rename(
        scratch.join("out/runs/tcp/0"),
        scratch.join("out/runs/tcp/.1.partial"),
    )
    .unwrap();
    assert!(!folder.has_run(&key));
    assert_eq!(folder.missing(&keys()), keys());
    assert!(folder.read_run(&key).is_err());
    // The next attempt succeeds and removes the leftovers.
    folder.write_run(&key, &records(), &notes(), None).unwrap();
    assert_eq!(names(&scratch.join("out/runs/tcp")), ["1"]);
}

#[test]
fn panicking_writer_cleans_up() {
    let scratch = Scratch::new("half-way");
    let folder = new_folder(&scratch.join("out"));
    let mut records = records();
    records.series[0].link = 99; // no such link; detected after the first tables are written
    let key = RunKey::new("tcp", 0);
    let write = std::panic::AssertUnwindSafe(|| folder.write_run(&key, &records, &notes(), None));
    assert!(std::panic::catch_unwind(write).is_err());
    assert!(!folder.has_run(&key));
    assert!(names(&scratch.join("out/runs/tcp")).is_empty());
}

#[test]
fn failed_write_names_path_and_leaves_nothing() {
    let scratch = Scratch::new("failed-write");
    let folder = new_folder(&scratch.join("out"));
    // A file blocks the parent folder of the run.
    fs::create_dir_all(scratch.join("out/runs/tcp")).unwrap();
    fs::write(scratch.join("out/runs/d2tcp"), "in the way").unwrap();
    let error = folder
        .write_run(&RunKey::new("d2tcp", 0), &records(), &notes(), None)
        .unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("out/runs/d2tcp") && message.contains("Not a directory"),
        "{message}"
    );
    assert_eq!(names(&scratch.join("out/runs")), ["d2tcp", "tcp"]);
}

/// Damages a file.
type Damage = fn(&Path);

#[test]
fn damage_is_detected_and_named() {
    let scratch = Scratch::new("damage");
    let folder = new_folder(&scratch.join("out"));
    let keys = [RunKey::new("tcp", 0)];
    let key = &keys[0];
    let damages: [(&str, Damage); 3] = [
        ("checksum differs", |path| {
            let mut bytes = fs::read(path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(path, bytes).unwrap();
        }),
        ("were written", |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("is missing", |path| fs::remove_file(path).unwrap()),
    ];
    for name in ["flows", "queries", "ports", "queues", "throughput"] {
        for (reason, damage) in damages {
            folder.write_run(key, &records(), &notes(), None).unwrap();
            let path = folder.run_path(key).join(format!("{name}.parquet"));
            damage(&path);
            let scan = folder.scan(&keys);
            let message = scan.damaged[0].1.to_string();
            assert!(
                message.contains(&path.display().to_string()) && message.contains(reason),
                "{message}"
            );
            assert_eq!(folder.read_run(key).unwrap_err().to_string(), message);
            assert_eq!(folder.missing(&keys), keys);
        }
    }
    fs::write(folder.run_path(key).join("run.json"), "{").unwrap();
    assert!(
        matches!(&folder.scan(&keys).damaged[0].1, StoreError::Damaged { path, .. } if path.ends_with("run.json"))
    );
    fs::remove_file(folder.run_path(key).join("run.json")).unwrap();
    assert!(
        folder.scan(&keys).damaged[0]
            .1
            .to_string()
            .contains("no run.json")
    );
    // Writing the run again repairs it.
    folder.write_run(key, &records(), &notes(), None).unwrap();
    assert_eq!(folder.read_run(key).unwrap().records, records());
}

#[test]
fn resume_finds_missing_runs() {
    let scratch = Scratch::new("resume");
    let path = scratch.join("out");
    let folder = new_folder(&path);
    for key in &keys()[..4] {
        folder.write_run(key, &records(), &notes(), None).unwrap();
    }
    folder
        .write_failure(&keys()[4], "path longer than six hops")
        .unwrap();
    drop(folder);
    let folder = RunFolder::create(&path, IfExists::Resume, &manifest()).unwrap();
    assert_eq!(folder.missing(&keys()), keys()[4..]);
    let scan = folder.scan(&keys());
    assert_eq!(scan.done.len(), 4);
    assert_eq!(
        scan.failed,
        [(keys()[4].clone(), "path longer than six hops".to_owned())]
    );
    assert_eq!(scan.missing, keys()[5..]);
    folder
        .write_run(&keys()[4], &records(), &notes(), None)
        .unwrap();
    assert!(folder.scan(&keys()).failed.is_empty());
}

#[test]
fn resume_rejects_another_scenario() {
    let scratch = Scratch::new("not-mixed");
    let path = scratch.join("out");
    drop(new_folder(&path));
    let mut other = manifest();
    other.scenario["workloads"][0]["fan_in"][0] = 20.into();
    let message = RunFolder::create(&path, IfExists::Resume, &other)
        .unwrap_err()
        .to_string();
    assert!(
        message.ends_with("cannot be resumed: its scenario has workload.fan_in = 40, not 20"),
        "{message}"
    );
    assert_eq!(
        RunFolder::open(&path).unwrap().manifest().unwrap().scenario,
        manifest().scenario
    );
}

#[test]
fn earlier_results_are_refused_or_replaced() {
    let scratch = Scratch::new("earlier");
    let path = scratch.join("out");
    let folder = new_folder(&path);
    folder
        .write_run(&keys()[0], &records(), &notes(), None)
        .unwrap();
    fs::write(path.join("my-notes.txt"), "keep").unwrap();
    drop(folder);
    let message = RunFolder::create(&path, IfExists::Refuse, &manifest())
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("already holds results of \"fan-out\""),
        "{message}"
    );
    assert!(RunFolder::open(&path).unwrap().has_run(&keys()[0]));
    let folder = RunFolder::create(&path, IfExists::Replace, &manifest()).unwrap();
    assert!(!folder.has_run(&keys()[0]));
    assert_eq!(names(&path), ["manifest.json", "my-notes.txt"]);
}

#[test]
fn foreign_folders_are_not_modified() {
    let scratch = Scratch::new("foreign");
    let path = scratch.join("photos");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("cat.jpg"), "meow").unwrap();
    for policy in [IfExists::Refuse, IfExists::Resume, IfExists::Replace] {
        let message = RunFolder::create(&path, policy, &manifest())
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("photos` is not a run folder")
                && message.contains("choose another path"),
            "{message}"
        );
    }
    assert_eq!(names(&path), ["cat.jpg"]);
    // Other programs may also have a manifest.json and a folder `runs`.
    let path = scratch.join("app");
    fs::create_dir_all(path.join("runs")).unwrap();
    fs::write(path.join("manifest.json"), "{\"name\": \"app\"}").unwrap();
    let message = RunFolder::create(&path, IfExists::Replace, &manifest())
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("app/manifest.json` is damaged: it was not written by duetime"),
        "{message}"
    );
    assert_eq!(names(&path), ["manifest.json", "runs"]);
    let path = scratch.join("photos");
    let message = RunFolder::open(&path).unwrap_err().to_string();
    assert!(
        message.starts_with("there is no run folder at"),
        "{message}"
    );
}

#[test]
fn file_instead_of_folder_or_parent() {
    let scratch = Scratch::new("file");
    let file = scratch.join("out");
    fs::write(&file, "a file").unwrap();
    let message = RunFolder::create(&file, IfExists::Replace, &manifest())
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("out` is a file; a run folder is a directory"),
        "{message}"
    );
    let message = RunFolder::create(&file.join("below"), IfExists::Refuse, &manifest())
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("out/below") && message.contains("Not a directory"),
        "{message}"
    );
    assert_eq!(fs::read(&file).unwrap(), b"a file");
}

#[cfg(target_os = "linux")]
#[test]
fn unwritable_path_is_named_and_nothing_remains() {
    let message = RunFolder::create(Path::new("/proc/out/a"), IfExists::Refuse, &manifest())
        .unwrap_err()
        .to_string();
    assert!(
        message.starts_with("cannot create `/proc/out/a`: "),
        "{message}"
    );
    // The manifest cannot be replaced because its name is taken by a directory.
    let scratch = Scratch::new("unwritable");
    let path = scratch.join("new/out");
    fs::create_dir_all(path.join("manifest.json")).unwrap();
    assert!(RunFolder::create(&path, IfExists::Resume, &manifest()).is_err());
    assert_eq!(names(&path), ["manifest.json"]);
}

#[test]
fn one_writer_at_a_time_and_many_readers() {
    let scratch = Scratch::new("busy");
    let path = scratch.join("out");
    let writer = new_folder(&path);
    let message = RunFolder::create(&path, IfExists::Resume, &manifest())
        .unwrap_err()
        .to_string();
    assert!(
        message.ends_with("is being written by another process"),
        "{message}"
    );
    assert!(RunFolder::open(&path).is_ok());
    drop(writer);
    assert!(RunFolder::create(&path, IfExists::Resume, &manifest()).is_ok());
}

#[test]
fn manifest_and_summary_read_back() {
    let scratch = Scratch::new("manifest");
    let folder = new_folder(&scratch.join("out"));
    let mut manifest = manifest();
    manifest.finish();
    manifest.runs = vec![duetime_store::RunState {
        point: None,
        transport: "tcp".to_owned(),
        run: 0,
        state: State::Done,
        digest: Some("00c0ffee".to_owned()),
        reason: None,
    }];
    folder.write_manifest(&manifest).unwrap();
    assert_eq!(folder.manifest().unwrap(), manifest);
    folder
        .write_summary(&serde_json::json!({"missed": 0.25}))
        .unwrap();
    let summary = fs::read_to_string(scratch.join("out/summary.json")).unwrap();
    assert_eq!(summary, "{\n  \"missed\": 0.25\n}\n");
    fs::write(scratch.join("out/manifest.json"), "{}").unwrap();
    let message = RunFolder::open(folder.path()).unwrap_err().to_string();
    assert!(
        message.contains("manifest.json` is damaged: missing field"),
        "{message}"
    );
}

#[test]
fn staged_run_is_adopted_whole_or_not_at_all() {
    let scratch = Scratch::new("adopted");
    let folder = new_folder(&scratch.join("out"));
    let key = RunKey::new("tcp", 1);
    folder.write_failure(&key, "a worker was lost").unwrap();
    let staging = scratch.join("out/.staging");
    fs::create_dir(&staging).unwrap();
    let staged = staging.join("1.a");
    duetime_store::write_run(&staged, &key, &records(), &notes(), None).unwrap();
    let other = folder.adopt_run(&RunKey::new("tcp", 2), &staged);
    assert!(other.unwrap_err().to_string().contains("tcp, run 2"));
    let flows = staged.join("flows.parquet");
    let whole = fs::read(&flows).unwrap();
    fs::write(&flows, &whole[1..]).unwrap();
    let damaged = folder.adopt_run(&key, &staged).unwrap_err();
    assert!(damaged.to_string().contains("flows.parquet"), "{damaged}");
    assert!(!folder.has_run(&key));
    fs::write(&flows, &whole).unwrap();
    folder.adopt_run(&key, &staged).unwrap();
    assert_eq!(folder.read_run(&key).unwrap().records, records());
    assert!(names(&staging).is_empty());
    assert_eq!(folder.scan(&[key]).failed, []);
}

#[test]
fn abandoned_worker_writes_nothing() {
    let scratch = Scratch::new("given-up");
    let staged = scratch.join("gone/1.a");
    let key = RunKey::new("tcp", 1);
    assert!(duetime_store::write_run(&staged, &key, &records(), &notes(), None).is_err());
    assert!(!scratch.join("gone").exists());
}

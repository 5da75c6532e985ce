//! Sessions of several commands: run, inspect, resume.

use std::fs;

use crate::sandbox::{Sandbox, TINY};
use serde_json::Value;

fn json_lines(out: &str) -> Vec<Value> {
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn run_prints_table_and_writes_folder() {
    let sandbox = Sandbox::new("run");
    sandbox.file("tiny.toml", TINY);
    let out = sandbox.duetime("run tiny.toml").ok();
    let head = out
        .lines()
        .find(|line| line.starts_with("transport"))
        .expect("a table");
    assert!(head.contains("missed") && head.contains("p99"), "{out}");
    for transport in ["dctcp", "d2tcp"] {
        let burst = |line: &&str| line.starts_with(transport) && line.contains("burst");
        assert!(
            out.lines()
                .find(burst)
                .is_some_and(|line| line.contains('%')),
            "{out}"
        );
    }
    assert!(out.contains("report  out/tiny/report.html"), "{out}");
    assert_eq!(sandbox.names(), ["out", "tiny.toml"]);
    for file in [
        "manifest.json",
        "summary.json",
        "report.html",
        "runs/d2tcp/1/flows.parquet",
    ] {
        assert!(sandbox.0.join("out/tiny").join(file).is_file(), "{file}");
    }
    let manifest: Value =
        serde_json::from_str(&sandbox.read("out/tiny/manifest.json")).expect("JSON");
    let states: Vec<&Value> = manifest["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| &run["state"])
        .collect();
    assert_eq!(states, ["done"; 4]);
    assert_eq!(manifest["scenario_text"], TINY);

    sandbox
        .duetime("run tiny.toml")
        .refused(&["out/tiny", "--resume", "--overwrite"]);
    let again = sandbox.duetime("run tiny.toml --resume");
    assert!(again.err.contains("4 already finished"), "{}", again.err);
    assert_eq!(again.ok(), out, "same table");
    assert_eq!(
        sandbox
            .duetime("run tiny.toml --overwrite --jobs 1 --threads 2")
            .ok(),
        out,
        "independent of the split"
    );
}

#[test]
fn json_has_a_line_per_event_and_row() {
    let sandbox = Sandbox::new("json");
    sandbox.file("tiny.toml", TINY);
    let output =
        sandbox.duetime("run tiny.toml --json --transport d2tcp --seeds 3 --seed 7 --out here");
    assert_eq!(output.err, "", "standard error is empty");
    let lines = json_lines(&output.ok());
    let events = |event: &str| {
        lines
            .iter()
            .filter(|line| line["event"] == event)
            .collect::<Vec<_>>()
    };
    assert_eq!(events("study-started").len(), 1);
    assert_eq!(events("study-started")[0]["runs"], 3);
    assert_eq!(events("run-started").len(), 3);
    let finished = events("run-finished");
    assert_eq!(finished.len(), 3);
    assert!(
        finished
            .iter()
            .all(|line| line["packet_hops"].as_u64() > Some(0) && line["transport"] == "d2tcp")
    );
    let rows = events("row");
    assert_eq!(rows.len(), 2, "a burst and a background");
    let burst = rows
        .iter()
        .find(|row| row["workload_name"] == "burst")
        .expect("the burst");
    assert_eq!(burst["deadlines"]["flows"], 60);
    assert!(
        burst["deadlines"]["missed"]["interval"]["low"].is_number(),
        "{burst}"
    );
    assert_eq!(lines.last().expect("lines")["report"], "here/report.html");
}

#[test]
fn manifest_is_a_sweep_plan() {
    let sandbox = Sandbox::new("planned");
    sandbox.file("tiny.toml", TINY);
    let first = "sweep tiny.toml --vary workload.burst.senders=2,3 --seeds 1 --set drain=1s";
    sandbox.duetime(&format!("{first} --out first")).ok();
    sandbox
        .duetime("sweep first/manifest.json --out second")
        .ok();
    assert_eq!(
        sandbox.read("first/summary.json"),
        sandbox.read("second/summary.json")
    );
    let again = sandbox.duetime("sweep first/manifest.json --out first");
    assert!(again.err.contains("already finished"), "{}", again.err);
    let choice = sandbox.duetime("sweep first/manifest.json --seeds 2 --out third");
    assert_eq!(choice.code, 2);
    assert!(
        choice.err.contains("a plan cannot be combined"),
        "{}",
        choice.err
    );
    sandbox.duetime("run tiny.toml --seeds 1 --out run").ok();
    let run = sandbox.duetime("sweep run/manifest.json --out third");
    assert!(run.err.contains("no points"), "{}", run.err);
    sandbox.file("broken.json", "{\"format\": 99}");
    let broken = sandbox.duetime("sweep broken.json --out third");
    assert!(broken.err.contains("format 99"), "{}", broken.err);
    assert!(!sandbox.0.join("third").exists());
}

#[test]
fn sweep_runs_only_missing_runs() {
    let sandbox = Sandbox::new("sweep");
    sandbox.file("tiny.toml", TINY);
    let sweep = "sweep tiny.toml --vary workload.burst.senders=2..4:1 --seeds 1 --json";
    let dry = json_lines(&sandbox.duetime(&format!("{sweep} --dry-run")).ok());
    assert_eq!(
        (&dry[0]["runs"], &dry[0]["missing"]),
        (&Value::from(6), &Value::from(6))
    );
    assert_eq!(sandbox.names(), ["tiny.toml"], "a dry run writes nothing");

    let finished = |out: String| {
        let lines = json_lines(&out).into_iter();
        let finished = lines.filter(|line| line["event"] == "run-finished");
        finished
            .map(|line| line["folder"].as_str().expect("a folder").to_owned())
            .collect::<Vec<_>>()
    };
    let first = finished(sandbox.duetime(sweep).ok());
    assert_eq!(first.len(), 6);
    let summary = sandbox.read("out/tiny/summary.json");
    assert!(
        finished(sandbox.duetime(sweep).ok()).is_empty(),
        "all runs are finished"
    );

    fs::remove_dir_all(sandbox.0.join(&first[2])).expect("a run can be removed");
    let dry = json_lines(&sandbox.duetime(&format!("{sweep} --dry-run")).ok());
    assert_eq!(dry[0]["missing"], 1);
    assert_eq!(finished(sandbox.duetime(sweep).ok()), [first[2].as_str()]);
    assert_eq!(
        sandbox.read("out/tiny/summary.json"),
        summary,
        "same result"
    );

    let text = sandbox.duetime("sweep tiny.toml --vary workload.burst.senders=2..5:1 --seeds 1");
    assert!(
        text.err
            .contains("8 runs into out/tiny, 6 already finished"),
        "{}",
        text.err
    );
    let out = text.ok();
    assert!(
        out.lines()
            .any(|line| line.starts_with("workload.burst.senders=5")),
        "{out}"
    );
    let other = "sweep tiny.toml --vary workload.burst.senders=2..4:1 --set switch.buffer=50KB";
    sandbox
        .duetime(other)
        .refused(&["out/tiny", "cannot be resumed", "buffer"]);
}

#[test]
fn explanation_adds_up() {
    let sandbox = Sandbox::new("explain");
    sandbox.file("tiny.toml", TINY);
    sandbox.duetime("run tiny.toml --no-report").ok();
    assert!(!sandbox.0.join("out/tiny/report.html").exists());
    let text = sandbox
        .duetime("explain out/tiny worst --transport d2tcp --run 1")
        .ok();
    assert!(
        text.contains("d2tcp run 1") && text.contains("completion time"),
        "{text}"
    );
    assert!(
        text.contains("queue of ") && text.contains("propagation"),
        "{text}"
    );
    let json = sandbox
        .duetime("explain out/tiny worst --transport d2tcp --run 1 --json")
        .ok();
    let explanation: Value = serde_json::from_str(&json).expect("JSON");
    let parts = explanation["parts"].as_array().expect("parts").iter();
    let sum: u64 = parts
        .map(|part| part["ps"].as_u64().expect("picoseconds"))
        .sum();
    assert_eq!(Some(sum), explanation["completion_ps"].as_u64());
    let id = explanation["flow"].as_u64().expect("an id");
    let by_id = sandbox
        .duetime(&format!(
            "explain out/tiny {id} --transport d2tcp --run 1 --json --events"
        ))
        .ok();
    let by_id: Value = serde_json::from_str(&by_id).expect("JSON");
    assert_eq!(by_id["parts"], explanation["parts"]);
    assert!(
        by_id["events"]
            .as_array()
            .is_some_and(|events| events.len() > 10)
    );

    sandbox
        .duetime("explain out/tiny worst")
        .refused(&["--transport", "dctcp, d2tcp"]);
    sandbox
        .duetime("explain out/tiny worst --transport tcp")
        .refused(&["tcp", "dctcp, d2tcp"]);
    sandbox
        .duetime("explain out/tiny best --transport d2tcp")
        .refused(&["best", "worst-missed"]);
    sandbox
        .duetime("explain out/tiny worst --transport d2tcp --run 9")
        .refused(&["no run 9", "0 to 1"]);
}

#[test]
fn study_is_read_from_its_folder() {
    let sandbox = Sandbox::new("again");
    sandbox.file("tiny.toml", TINY);
    sandbox.duetime("run tiny.toml --transport dctcp").ok();
    let page = sandbox.read("out/tiny/report.html");
    fs::remove_file(sandbox.0.join("tiny.toml")).expect("the scenario can be removed");
    assert_eq!(
        sandbox.duetime("report out/tiny").ok(),
        "out/tiny/report.html\n"
    );
    assert_eq!(sandbox.read("out/tiny/report.html"), page, "byte for byte");
    assert!(page.contains("<metadata>[{") && page.contains("<script type=\"module\">"));
    let fetched = ["src=", "url(http", "import ", "@import", "<link"];
    assert!(
        fetched.iter().all(|part| !page.contains(part)),
        "the page is self-contained"
    );

    let out = sandbox.duetime("export out/tiny --csv").ok();
    assert!(out.contains("10 files in out/tiny/csv"), "{out}");
    let flows = sandbox.read("out/tiny/csv/runs/dctcp/0/flows.csv");
    let head = flows.lines().next().expect("a head");
    assert!(
        head.contains("fct_ns") && head.contains("deadline_ns"),
        "{head}"
    );
    assert!(flows.lines().count() > 20);
}

#[test]
fn topology_and_workload_describe_scenario() {
    let sandbox = Sandbox::new("show");
    sandbox.file("tiny.toml", TINY);
    let out = sandbox
        .duetime("topology tiny.toml --set topology.hosts=9")
        .ok();
    assert!(
        out.lines()
            .any(|line| line.split_whitespace().eq(["hosts", "9"])),
        "{out}"
    );
    let out = sandbox.duetime("workload tiny.toml").ok();
    assert!(
        out.contains("burst (burst)") && out.contains("20 KB"),
        "{out}"
    );
    let json: Value =
        serde_json::from_str(&sandbox.duetime("workload tiny.toml --json").ok()).expect("JSON");
    assert_eq!(json.as_array().map(Vec::len), Some(2));
    assert_eq!(sandbox.names(), ["tiny.toml"]);
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_no_partial_run() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};

    let sandbox = Sandbox::new("ctrl-c");
    sandbox.file("long.toml", &TINY.replace("20 ms", "20000 s"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_duetime"))
        .args(["run", "long.toml", "--json", "--out", "out/long"])
        .current_dir(&sandbox.0)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("\"progress\"") {
        line.clear();
        assert!(
            out.read_line(&mut line).expect("a line") > 0,
            "the run ended too early"
        );
    }
    let kill = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status()
        .expect("a signal");
    assert!(kill.success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("the rest");
    assert_eq!(child.wait().expect("an end").code(), Some(1));
    let lines = json_lines(&rest);
    let end = lines
        .iter()
        .find(|line| line["event"] == "study-finished")
        .expect("an end");
    assert_eq!(
        (&end["cancelled"], &end["missing"]),
        (&Value::from(true), &Value::from(4))
    );
    let manifest: Value =
        serde_json::from_str(&sandbox.read("out/long/manifest.json")).expect("JSON");
    assert_eq!(manifest["runs"][0]["state"], "missing");
    assert!(!sandbox.0.join("out/long/runs").exists(), "no partial run");
}

//! Tests of the testbed, which require root and a kernel with BTF. Otherwise they print a line and are skipped.

#![cfg(all(feature = "lab", target_os = "linux"))]

mod kernel;
mod machine;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use machine::{Machine, Traces};
use serde_json::Value;

/// Burst of two flows between three hosts, which takes some tenths of a second.
const BURST: &str = r#"
name = "burst"
transport = ["tcp", "cubic", "dctcp", "d2tcp", "tcp-prio", "d3", "rcpdc", "due"]
[topology]
kind = "star"
hosts = 3
link = { rate = "100 Mbps", latency = "100 us" }
[switch]
buffer = { kind = "static", size = "300 KB" }
ecn_threshold = "30 KB"
[tcp]
rto_min = "200 ms"
[[workload]]
kind = "burst"
senders = 2
receiver = 0
size = "500 KB"
deadline = "2 s"
"#;

fn duetime(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_duetime"));
    command.args(arguments);
    command
}

/// Exit code and output of a command.
struct CommandOutput {
    code: Option<i32>,
    out: String,
    err: String,
}

fn output_of(arguments: &[&str]) -> CommandOutput {
    let output = duetime(arguments).output().expect("the binary starts");
    CommandOutput {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn burst_runs_under_all_transports() {
    let Some(machine) = Machine::take("a burst on the testbed") else {
        return;
    };
    let scenario = machine.file("burst.toml", BURST);
    let out = machine.path("out");
    let before = Traces::now();
    // Runs are invalid on a busy machine, but they must clean up anyway.
    let output = output_of(&["lab", "run", &scenario, "--out", &out, "--repeats", "10"]);
    assert_eq!(Traces::now(), before);
    if output.code == Some(3) {
        machine::say_skipped(
            "a burst's results",
            "this machine is too busy for valid runs",
        );
        return;
    }
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    for transport in [
        "tcp", "cubic", "dctcp", "d2tcp", "tcp-prio", "d3", "rcpdc", "due",
    ] {
        let flows = Path::new(&out)
            .join("runs")
            .join(transport)
            .join("0/flows.parquet");
        assert!(flows.is_file(), "{}", flows.display());
    }
    let text = fs::read_to_string(Path::new(&out).join("fidelity.json")).expect("the file exists");
    let fidelity: Value = serde_json::from_str(&text).expect("JSON");
    let runs = fidelity["runs"].as_array().expect("a list");
    let valid = |transport: &str| {
        let mut runs = runs.iter();
        runs.find(|run| run["transport"] == transport && run["invalid"] == serde_json::json!([]))
            .unwrap_or_else(|| panic!("no valid run of {transport}: {text}"))
    };
    assert_eq!(valid("tcp")["marks_made"], 0, "no ECN");
    for transport in ["dctcp", "d2tcp"] {
        let run = valid(transport);
        assert_eq!(run["with_ecn"], serde_json::json!([2, 2]), "{text}");
        assert!(run["marks_made"].as_u64() > Some(0), "{text}");
    }
    assert_eq!(valid("dctcp")["deadlines_set"], 0);
    assert_eq!(valid("d2tcp")["deadlines_set"], 2);
    assert_eq!(valid("d2tcp")["d3"], serde_json::json!([]));
    for transport in ["d3", "rcpdc"] {
        let run = valid(transport);
        assert_eq!(run["connections"], 2, "{text}");
        let ports = run["d3"].as_array().expect("a list");
        let requests = |link: &str| {
            let port = ports.iter().find(|port| port["link"] == link);
            port.and_then(|port| port["after"]["requests"].as_u64())
        };
        // Both flows send a request per round trip, and their acknowledgements do on the reverse path.
        assert!(requests("switch->host0") >= Some(20), "{text}");
        assert!(requests("switch->host2") >= Some(10), "{text}");
        for port in ports {
            for counter in ["flows", "demand_bps", "allocated_bps", "unanswered"] {
                assert_eq!(port["after"][counter], 0, "{counter} of {port}");
            }
        }
    }
}

#[test]
fn links_lose_packets() {
    let Some(machine) = Machine::take("links that lose packets") else {
        return;
    };
    let lossy = BURST.replacen("\"100 us\" }", "\"100 us\", loss = 0.03 }", 1);
    let scenario = machine.file("lossy.toml", &lossy);
    let out = machine.path("lossy");
    let run = ["lab", "run", &scenario, "--out", &out, "--repeats", "10"];
    let output = output_of(&[&run[..], &["--transport", "cubic"]].concat());
    if output.code == Some(3) {
        machine::say_skipped("losses of links", "this machine is too busy for valid runs");
        return;
    }
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    // About 700 packets cross two links. The table omits this column if there are no losses.
    assert!(output.out.contains("losses"), "{}", output.out);
}

#[test]
fn interrupted_testbed_leaves_nothing() {
    let Some(machine) = Machine::take("an interrupted testbed") else {
        return;
    };
    let scenario = machine.file("burst.toml", BURST);
    let before = Traces::now();
    let mut up = start_up(&scenario);
    let address = output_of(&["lab", "shell", "host1", "--", "ip", "-br", "addr"]);
    assert_eq!(address.code, Some(0), "{}{}", address.out, address.err);
    assert!(address.out.contains("10.0.0.2/32"), "{}", address.out);
    let unknown = output_of(&["lab", "shell", "host9", "--", "true"]);
    assert!(
        unknown.err.contains("host0, host1, host2, switch"),
        "{}",
        unknown.err
    );
    assert_ne!(
        Traces::now(),
        before,
        "a testbed leaves traces while it runs"
    );
    up.interrupt();
    assert_eq!(Traces::now(), before);
}

#[test]
fn clean_removes_file_of_killed_testbed() {
    let Some(machine) = Machine::take("a killed testbed") else {
        return;
    };
    let scenario = machine.file("burst.toml", BURST);
    let before = Traces::now();
    let state = kill_testbed(&scenario, &before);
    let shell = output_of(&["lab", "shell", "host0", "--", "true"]);
    assert!(shell.err.contains("no testbed is running"), "{}", shell.err);
    let clean = output_of(&["lab", "clean"]);
    assert!(clean.out.contains(&state), "{}{}", clean.out, clean.err);
    assert_eq!(Traces::now(), before);
}

#[test]
fn next_testbed_removes_file_of_killed_one() {
    let Some(machine) = Machine::take("a testbed after a killed one") else {
        return;
    };
    let scenario = machine.file("burst.toml", BURST);
    let before = Traces::now();
    let state = kill_testbed(&scenario, &before);
    let mut next = start_up(&scenario);
    assert!(!Path::new(&state).exists());
    next.interrupt();
    assert_eq!(Traces::now(), before);
}

/// Starts a testbed and kills it. Returns the path of its file, the only trace that is not in `before`.
fn kill_testbed(scenario: &str, before: &Traces) -> String {
    let mut up = start_up(scenario);
    let state = format!("/run/duetime/lab-{}.json", up.0.id());
    assert!(Path::new(&state).is_file());
    up.0.kill().expect("the process can be killed");
    up.0.wait().expect("the process ends");
    machine::wait_for(before, || Traces::now().with_files_of(before));
    assert!(Path::new(&state).is_file());
    state
}

/// Running testbed, killed if the test ends first.
struct Up(Child);

impl Up {
    /// Ends the testbed as Ctrl-C does.
    fn interrupt(&mut self) {
        let interrupt = Command::new("kill")
            .args(["-INT", &self.0.id().to_string()])
            .status();
        assert!(interrupt.expect("kill").success());
        assert!(self.0.wait().expect("the process ends").success());
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `duetime lab up` and waits until the testbed is up.
fn start_up(scenario: &str) -> Up {
    let up = Up(duetime(&["lab", "up", scenario, "--transport", "d2tcp"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts"));
    let state = format!("/run/duetime/lab-{}.json", up.0.id());
    let start = Instant::now();
    while !Path::new(&state).exists() {
        assert!(
            start.elapsed() < Duration::from_mins(2),
            "the testbed does not start"
        );
        sleep(Duration::from_millis(50));
    }
    up
}

#[test]
fn runs_need_the_kernels_controllers_for_themselves() {
    let Some(machine) = Machine::take("attached controllers") else {
        return;
    };
    let scenario = machine.file("burst.toml", BURST);
    let mut up = start_up(&scenario);
    let out = machine.path("refused");
    let run = [
        "lab",
        "run",
        &scenario,
        "--transport",
        "d2tcp",
        "--out",
        &out,
    ];
    let output = output_of(&run);
    assert_eq!(output.code, Some(1), "{}{}", output.out, output.err);
    let text = "already registered: another process has attached it";
    assert!(output.err.contains(text), "{}", output.err);
    up.interrupt();
}

#[test]
fn unsupported_scenarios_are_refused() {
    let Some(machine) = Machine::take("unsupported scenarios") else {
        return;
    };
    let refused = |from: &str, to: &str, arguments: &[&str], parts: &[&str]| {
        assert!(BURST.contains(from), "{from}");
        let scenario = machine.file("refused.toml", &BURST.replacen(from, to, 1));
        let out = machine.path("refused");
        let before = Traces::now();
        let output = output_of(&[&["lab", "run", &scenario, "--out", &out], arguments].concat());
        assert_eq!(output.code, Some(2), "{}{}", output.out, output.err);
        for part in parts {
            assert!(output.err.contains(part), "{part} in: {}", output.err);
        }
        assert!(!Path::new(&out).exists(), "nothing is written");
        assert_eq!(Traces::now(), before);
    };
    refused("hosts = 3", "hosts = 33", &[], &["33 hosts", "at most 32"]);
    refused(
        "\"d2tcp\"",
        "\"rcpdc-prio\"",
        &[],
        &["`rcpdc-prio`", "strict-priority classes"],
    );
    let all = "\"tcp\", \"cubic\", \"dctcp\", \"d2tcp\", \"tcp-prio\", \"d3\", \"rcpdc\", \"due\"]";
    refused(
        all,
        "\"d3\"]\n[d3]\nrounding = \"exact\"",
        &[],
        &["`d3`", "exact rates cannot be encoded on the wire"],
    );
    refused(
        all,
        "\"due\"]\n[due]\nannounced = 0.5",
        &[],
        &["`due`", "`announced`", "simulator only"],
    );
    refused(
        "hosts = 3",
        "hosts = 3",
        &["--scale", "7"],
        &["--scale", "100 Mbps", "7th"],
    );
}

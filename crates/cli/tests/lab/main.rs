//! The testbed, as root on a kernel with type information; each test says in one line what it skips and why.

#![cfg(all(feature = "lab", target_os = "linux"))]

mod machine;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use machine::{Machine, Traces};
use serde_json::Value;

/// Three hosts, a burst of two flows: some tenths of a second.
const BURST: &str = r#"
name = "burst"
transport = ["tcp", "cubic", "dctcp", "d2tcp", "tcp-prio", "d3", "rcpdc"]
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

/// What a command printed, and how it ended.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

fn say(arguments: &[&str]) -> Said {
    let output = duetime(arguments).output().expect("it starts");
    Said {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn a_burst_runs_under_all_transports_and_leaves_nothing_behind() {
    let Some(machine) = Machine::take("a burst on the testbed") else {
        return;
    };
    let scenario = machine.file("burst.toml", BURST);
    let out = machine.path("out");
    let before = Traces::now();
    // A busy machine makes runs invalid; this test is about what they leave.
    let said = say(&["lab", "run", &scenario, "--out", &out, "--repeats", "10"]);
    assert_eq!(Traces::now(), before);
    if said.code == Some(3) {
        machine::say_skipped(
            "a burst's results",
            "this machine is too busy for valid runs",
        );
        return;
    }
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    for transport in ["tcp", "cubic", "dctcp", "d2tcp", "tcp-prio", "d3", "rcpdc"] {
        let flows = Path::new(&out)
            .join("runs")
            .join(transport)
            .join("0/flows.parquet");
        assert!(flows.is_file(), "{}", flows.display());
    }
    let text = fs::read_to_string(Path::new(&out).join("fidelity.json")).expect("it is there");
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
        // Both flows ask there, once a round trip, and their acknowledgements on the way back.
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
fn links_lose_packets_as_the_scenario_says() {
    let Some(machine) = Machine::take("links that lose packets") else {
        return;
    };
    let lossy = BURST.replacen("\"100 us\" }", "\"100 us\", loss = 0.03 }", 1);
    let scenario = machine.file("lossy.toml", &lossy);
    let out = machine.path("lossy");
    let run = ["lab", "run", &scenario, "--out", &out, "--repeats", "10"];
    let said = say(&[&run[..], &["--transport", "cubic"]].concat());
    if said.code == Some(3) {
        machine::say_skipped("losses of links", "this machine is too busy for valid runs");
        return;
    }
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    // Of some 700 packets, over two links: a table of the network without this column has none.
    assert!(said.out.contains("losses"), "{}", said.out);
}

#[test]
fn an_interrupted_testbed_takes_everything_with_it() {
    let Some(machine) = Machine::take("an interrupted testbed") else {
        return;
    };
    let scenario = machine.file("burst.toml", BURST);
    let before = Traces::now();
    let mut up = start_up(&scenario);
    let address = say(&["lab", "shell", "host1", "--", "ip", "-br", "addr"]);
    assert_eq!(address.code, Some(0), "{}{}", address.out, address.err);
    assert!(address.out.contains("10.0.0.2/32"), "{}", address.out);
    let nobody = say(&["lab", "shell", "host9", "--", "true"]);
    assert!(
        nobody.err.contains("host0, host1, host2, switch"),
        "{}",
        nobody.err
    );
    assert_ne!(
        Traces::now(),
        before,
        "a testbed leaves traces while it runs"
    );
    let interrupt = Command::new("kill")
        .args(["-INT", &up.0.id().to_string()])
        .status();
    assert!(interrupt.expect("kill").success());
    assert!(up.0.wait().expect("it ends").success());
    assert_eq!(Traces::now(), before);
}

#[test]
fn a_killed_testbed_leaves_a_file_that_clean_removes() {
    let Some(machine) = Machine::take("a killed testbed") else {
        return;
    };
    // Removes what an earlier killed testbed left, which this test would take for its own.
    say(&["lab", "clean"]);
    let scenario = machine.file("burst.toml", BURST);
    let before = Traces::now();
    let mut up = start_up(&scenario);
    let state = format!("/run/duetime/lab-{}.json", up.0.id());
    assert!(Path::new(&state).is_file());
    up.0.kill().expect("it can be killed");
    up.0.wait().expect("it ends");
    // The kernel takes namespaces and programs away in the background.
    machine::eventually(|| Traces::now().with_files_of(&before) == before);
    assert!(Path::new(&state).is_file());
    let gone = say(&["lab", "shell", "host0", "--", "true"]);
    assert!(gone.err.contains("no testbed is running"), "{}", gone.err);
    let clean = say(&["lab", "clean"]);
    assert!(clean.out.contains(&state), "{}{}", clean.out, clean.err);
    assert_eq!(Traces::now(), before);
}

/// A testbed that is up; killed when a test ends before it.
struct Up(Child);

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `duetime lab up`, once it is up.
fn start_up(scenario: &str) -> Up {
    let up = Up(duetime(&["lab", "up", scenario, "--transport", "d2tcp"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts"));
    let state = format!("/run/duetime/lab-{}.json", up.0.id());
    let began = Instant::now();
    while !Path::new(&state).exists() {
        assert!(
            began.elapsed() < Duration::from_mins(2),
            "it does not come up"
        );
        sleep(Duration::from_millis(50));
    }
    up
}

#[test]
fn what_the_testbed_cannot_do_is_said() {
    let Some(machine) = Machine::take("what the testbed cannot do") else {
        return;
    };
    let refused = |from: &str, to: &str, arguments: &[&str], parts: &[&str]| {
        assert!(BURST.contains(from), "{from}");
        let scenario = machine.file("refused.toml", &BURST.replacen(from, to, 1));
        let out = machine.path("refused");
        let before = Traces::now();
        let said = say(&[&["lab", "run", &scenario, "--out", &out], arguments].concat());
        assert_eq!(said.code, Some(2), "{}{}", said.out, said.err);
        for part in parts {
            assert!(said.err.contains(part), "{part} in: {}", said.err);
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
    refused(
        "\"tcp\", \"cubic\", \"dctcp\", \"d2tcp\", \"tcp-prio\", \"d3\", \"rcpdc\"]",
        "\"d3\"]\n[d3]\nrounding = \"exact\"",
        &[],
        &["`d3`", "exact rates cannot be encoded on the wire"],
    );
    refused(
        "hosts = 3",
        "hosts = 3",
        &["--scale", "7"],
        &["--scale", "100 Mbps", "7th"],
    );
}

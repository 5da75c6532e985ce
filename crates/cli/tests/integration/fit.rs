//! `duetime fit` and `duetime export --spans`.

use crate::sandbox::Sandbox;

/// Service that is quick to simulate: 8 of 16 hosts answer each query.
const SERVICE: &str = r#"name = "service"
transport = "dctcp"
duration = "400 ms"
[topology]
kind = "star"
hosts = 16
link = { rate = "1 Gbps", latency = "2 us" }
[[workload]]
kind = "oldi"
name = "reads"
trees = 2
fan_in = 8
share_hosts = true
response = "uniform 2 KB..6 KB"
rate = "1000 /s"
deadline = "2 ms"
objective = { within = "2 ms", answers = 1, share = "99 %" }
"#;

#[test]
fn exported_run_reproduces_its_scenario() {
    let sandbox = Sandbox::new("fit-back");
    sandbox.file("service.toml", SERVICE);
    sandbox.duetime("run service.toml -q --no-report").ok();
    let output = sandbox.duetime("export out/service --spans --csv").ok();
    assert!(output.contains("files in out/service/csv"), "{output}");
    for file in ["spans.jsonl", "flows.csv"] {
        let fit = format!(
            "fit out/service/csv/runs/dctcp/0/{file} --budget 2ms --link 1Gbps --hosts 16 --transport dctcp -o fitted-{}.toml",
            &file[..5]
        );
        let output = sandbox.duetime(&fit).ok();
        assert!(
            output.starts_with(
                "The fitted scenario reproduces answer size, fan-in and load within 5"
            ),
            "{output}"
        );
    }
    let fitted = sandbox.read("fitted-spans.toml");
    for expected in [
        "fan_in = 8 ",
        "response = \"uniform 2 KB..6 KB\"",
        "hosts = 16",
        "query = \"1 KB\"",
    ] {
        assert!(fitted.contains(expected), "{expected} in\n{fitted}");
    }
    sandbox.duetime("check fitted-flows.toml").ok();
    // Options supply what spans do not contain.
    assert!(!fitted.contains("poisson"), "{fitted}");
    let fit = "fit out/service/csv/runs/dctcp/0/spans.jsonl --budget 2ms --link 1Gbps --other-load 3% -o other-load.toml";
    sandbox.duetime(fit).ok();
    let fitted = sandbox.read("other-load.toml");
    for expected in ["size = \"web-search\"", "load = 0.03 "] {
        assert!(fitted.contains(expected), "{expected} in\n{fitted}");
    }
    // Exported spans can be replayed by `trace`.
    let replay = SERVICE
        .split("[[workload]]")
        .next()
        .expect("a head")
        .to_owned()
        + "[[workload]]\nkind = \"trace\"\nfile = \"out/service/csv/runs/dctcp/0/spans.jsonl\"\n";
    sandbox.file("replay.toml", &replay);
    let output = sandbox.duetime("workload replay.toml").ok();
    assert!(output.contains("largest fan-in"), "{output}");
}

#[test]
fn existing_file_is_kept() {
    let sandbox = Sandbox::new("fit-kept");
    sandbox.file(
        "calls.csv",
        "query,start_us,duration_us,bytes\na,0,200,4000\nb,900,250,5000\nc,2500,200,4500\n",
    );
    sandbox.file("mine.toml", "mine");
    sandbox
        .duetime("fit calls.csv -o mine.toml")
        .refused(&["mine.toml already exists", "--overwrite"]);
    assert_eq!(sandbox.read("mine.toml"), "mine");
    sandbox
        .duetime("fit calls.csv --overwrite -o mine.toml")
        .ok();
    assert!(sandbox.read("mine.toml").contains("kind = \"oldi\""));
}

#[test]
fn invalid_input_writes_nothing() {
    let sandbox = Sandbox::new("fit-refused");
    sandbox.file("calls.csv", "start_us,duration_us,bytes\n0,200,-5\n");
    let mut capture = vec![
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 96, 0, 0, 0, 101, 0, 0, 0,
    ];
    capture.extend([
        1, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0x45, 0, 0, 4,
    ]);
    capture.extend([1, 0, 0, 0, 9, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0x45]);
    std::fs::write(sandbox.0.join("cut.pcap"), capture).expect("a file can be written");
    for (arguments, parts) in [
        (
            "calls.csv",
            vec!["calls.csv:2:7: bytes = -5", "allowed: 1 to"],
        ),
        (
            "cut.pcap",
            vec!["cut.pcap: the capture ends in the middle of a packet: after packet 1"],
        ),
        ("none.csv", vec!["none.csv: cannot be read"]),
        ("calls.csv --kind pcap", vec!["neither pcap nor pcapng"]),
        (
            "calls.csv --budget 5",
            vec!["--budget 5: the unit of this time is missing"],
        ),
        (
            "calls.csv --other-load 2",
            vec!["--other-load 2: not a share; allowed: 0..=1, or a percentage"],
        ),
        (".", vec!["a folder"]),
    ] {
        sandbox
            .duetime(&format!("fit {arguments} -o fitted.toml"))
            .refused(&parts);
    }
    assert_eq!(sandbox.names(), ["calls.csv", "cut.pcap"]);
}

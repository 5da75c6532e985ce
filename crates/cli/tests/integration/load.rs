//! `duetime load` over loopback.
#![cfg(all(feature = "lab", target_os = "linux"))]

use crate::sandbox::Sandbox;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Server process that ends with the test.
struct Server(Child, String);

impl Server {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_duetime"))
            .args(["load", "serve", "127.0.0.1:0", "--rate", "1 Gbps"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("duetime runs");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("a line");
        let address = line.split([' ', ',']).nth(2).expect("its address");
        let address = address.to_owned();
        Self(child, address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn all_carriers_write_a_run_folder() {
    let servers = [Server::start(), Server::start()];
    let sandbox = Sandbox::new("load");
    let query = |more: &str| {
        let ask = format!(
            "load query --servers {},{} --fan-in 3 --rate 1Gbps {more}",
            servers[0].1, servers[1].1
        );
        sandbox.duetime(&ask)
    };
    let output = query(
        "--answer 30KB --deadline 5s --every 40ms --for 800ms --transport reno,cubic,d3,due --out out",
    )
    .ok();
    for name in ["reno", "cubic", "d3", "due"] {
        let line = output.lines().rev().find(|line| line.starts_with(name));
        assert!(line.is_some(), "{output}");
        let flows = sandbox.0.join(format!("out/runs/{name}/0/flows.parquet"));
        assert!(flows.is_file(), "{}", flows.display());
    }
    assert!(output.contains("100.00 % in time"), "{output}");
    assert!(output.contains(", 0 failed"), "{output}");
    let exported = sandbox.duetime("export out --csv").ok();
    assert!(!exported.is_empty());

    // The simulator runs the same load.
    let manifest: serde_json::Value =
        serde_json::from_str(&sandbox.read("out/manifest.json")).expect("JSON");
    let scenario = manifest["scenario_text"].as_str().expect("a text");
    sandbox.file("load.toml", scenario);
    sandbox
        .duetime("run load.toml --transport d3,due --out simulated")
        .ok();

    // JSON lines, then invalid input.
    let json =
        query("--for 100ms --every 20ms --deadline 5s --transport d3 --out json --json").ok();
    assert!(json.contains("\"event\":\"load\""), "{json}");
    query("--for 100ms --out out").refused(&["--overwrite"]);
    query("--query 5B").refused(&["5B", "36 B"]);
    query("--transport a_name_of_sixteen").refused(&["a_name_of_sixteen", "15 characters"]);
    let unknown = query("--for 50ms --every 10ms --transport nonsense --out unknown");
    assert_eq!(unknown.code, 1);
    assert!(
        unknown.out.contains("congestion control `nonsense`"),
        "{}",
        unknown.out
    );
}

//! Invalid input is refused with its location and the allowed values, and nothing is written.

use crate::sandbox::{Sandbox, TINY};

/// Runs the tiny scenario with `from` replaced by `to`, and checks that it is refused with a message that contains all
/// `parts` and that nothing is written.
#[track_caller]
fn refused(name: &str, from: &str, to: &str, parts: &[&str]) {
    assert!(TINY.contains(from), "the tiny scenario has `{from}`");
    let sandbox = Sandbox::new(name);
    sandbox.file("tiny.toml", &TINY.replacen(from, to, 1));
    sandbox.duetime("run tiny.toml").refused(parts);
    assert_eq!(sandbox.names(), ["tiny.toml"], "nothing is written");
}

#[test]
fn malformed_toml() {
    refused(
        "malformed",
        "seeds = 2",
        "seeds = = 2",
        &["tiny.toml:3:", "seeds = = 2"],
    );
}

#[test]
fn unknown_key_suggests_the_nearest() {
    refused(
        "unknown-key",
        "senders = 5",
        "sender = 5",
        &["tiny.toml:17:", "sender", "senders"],
    );
}

#[test]
fn missing_unit() {
    refused(
        "no-unit",
        "at = \"1 ms\"",
        "at = \"1\"",
        &["tiny.toml:20:", "workload", "at", "ms"],
    );
}

#[test]
fn wrong_unit() {
    refused(
        "wrong-unit",
        "rate = \"1 Gbps\"",
        "rate = \"1 ms\"",
        &["tiny.toml:9:", "rate", "Gbps"],
    );
}

#[test]
fn negative_value() {
    refused(
        "negative",
        "hosts = 8",
        "hosts = -8",
        &["tiny.toml:8:", "hosts", "-8"],
    );
}

#[test]
fn absurd_value() {
    refused(
        "absurd",
        "rate = \"1 Gbps\"",
        "rate = \"1000000 Gbps\"",
        &["tiny.toml:9:", "rate", "1000000 Gbps"],
    );
}

#[test]
fn nan() {
    refused(
        "nan",
        "{ base = \"2 ms\" }",
        "{ base = nan }",
        &["tiny.toml:19:", "nan"],
    );
}

#[test]
fn more_senders_than_hosts() {
    refused(
        "fan-in",
        "senders = 5",
        "senders = 50",
        &["tiny.toml:17:", "senders", "50", "7"],
    );
}

#[test]
fn unknown_transport() {
    let sandbox = Sandbox::new("unknown-transport");
    sandbox.file("tiny.toml", TINY);
    sandbox
        .duetime("run tiny.toml --transport d3tcp")
        .refused(&["d3tcp", "d3", "d2tcp"]);
    assert_eq!(sandbox.names(), ["tiny.toml"]);
}

#[test]
fn unknown_recorded_links() {
    let with = |record: &str| format!("{TINY}\n[record]\n{record}\n");
    for (key, value, line) in [
        (
            "links",
            "[\"host0->switch\", \"swich->host3\"]",
            "tiny.toml:34:27: record.links",
        ),
        ("pcap", "\"swich->host3\"", "tiny.toml:34:8: record.pcap"),
    ] {
        let sandbox = Sandbox::new(&format!("no-such-{key}"));
        sandbox.file("tiny.toml", &with(&format!("{key} = {value}")));
        for command in ["run tiny.toml", "check tiny.toml", "topology tiny.toml"] {
            sandbox.duetime(command).refused(&[
                &format!("{line} = \"swich->host3\": no such link"),
                "allowed: \"from->to\" with the names of two linked nodes, such as \"host0->switch\"",
                "did you mean \"switch->host3\"?",
            ]);
        }
        assert_eq!(sandbox.names(), ["tiny.toml"], "nothing is written");
    }
    let sandbox = Sandbox::new("no-such-link-set");
    sandbox.file("tiny.toml", TINY);
    sandbox
        .duetime_args(&[
            "run",
            "tiny.toml",
            "--set",
            "record.links=[\"host0->nowhere\"]",
        ])
        .refused(&[
            "--set:1:15: record.links = \"host0->nowhere\": no such link",
            "`duetime topology`",
        ]);
    // The nodes exist, but no link joins them.
    sandbox
        .duetime_args(&[
            "sweep",
            "tiny.toml",
            "--vary",
            "record.pcap=host0->switch,host0->host1",
        ])
        .refused(&["host0->host1", "no such link"]);
    assert_eq!(sandbox.names(), ["tiny.toml"], "nothing is written");
}

#[test]
fn missing_file() {
    let sandbox = Sandbox::new("missing-file");
    sandbox
        .duetime("run nowhere.toml")
        .refused(&["nowhere.toml", "cannot read"]);
    sandbox.duetime("report nowhere").refused(&["nowhere"]);
    sandbox
        .duetime("explain nowhere worst")
        .refused(&["nowhere"]);
    assert!(sandbox.names().is_empty());
}

#[test]
fn invalid_settings_on_the_command_line() {
    let sandbox = Sandbox::new("bad-settings");
    sandbox.file("tiny.toml", TINY);
    sandbox
        .duetime("run tiny.toml --set seeds")
        .refused(&["KEY=VALUE"]);
    sandbox
        .duetime("run tiny.toml --set switch.bufer=1")
        .refused(&["bufer", "buffer"]);
    sandbox
        .duetime("run tiny.toml --seeds 0")
        .refused(&["--seeds"]);
    sandbox
        .duetime("sweep tiny.toml --vary workload.senders")
        .refused(&["no values", "5..40:5"]);
    sandbox
        .duetime("sweep tiny.toml --vary workload.senders=5,3,5")
        .refused(&["5 is listed twice"]);
    sandbox
        .duetime("sweep tiny.toml --vary workload.sender=3,5")
        .refused(&["sender", "senders"]);
    sandbox
        .duetime("sweep tiny.toml --vary workload.senders=5,50")
        .refused(&["senders", "50"]);
    sandbox
        .duetime("sweep tiny.toml")
        .refused(&["--vary", "[sweep]"]);
    assert_eq!(sandbox.names(), ["tiny.toml"]);
}

#[test]
fn existing_output_folder() {
    let sandbox = Sandbox::new("exists");
    sandbox.file("tiny.toml", TINY);
    std::fs::create_dir(sandbox.0.join("mine")).expect("a folder");
    sandbox.file("mine/diary.txt", "dear diary");
    sandbox
        .duetime("run tiny.toml --out mine")
        .refused(&["mine"]);
    sandbox
        .duetime("run tiny.toml --out mine --overwrite")
        .refused(&["mine"]);
    sandbox
        .duetime("sweep tiny.toml --vary workload.senders=2,3 --out mine")
        .refused(&["mine"]);
    assert_eq!(
        sandbox.read("mine/diary.txt"),
        "dear diary",
        "other files are kept"
    );
    sandbox
        .duetime("run tiny.toml --out tiny.toml")
        .refused(&["tiny.toml"]);
    assert_eq!(sandbox.read("tiny.toml"), TINY);
}

#[test]
fn unwritable_output_folder() {
    let sandbox = Sandbox::new("unwritable");
    sandbox.file("tiny.toml", TINY);
    // Not even root can create a folder below these.
    sandbox
        .duetime("run tiny.toml --out tiny.toml/below")
        .refused(&["tiny.toml/below"]);
    sandbox
        .duetime("run tiny.toml --out /proc/duetime")
        .refused(&["/proc/duetime"]);
}

#[test]
fn scenario_from_standard_input() {
    let sandbox = Sandbox::new("stdin");
    sandbox.file("tiny.toml", TINY);
    let from_file = sandbox
        .duetime("run tiny.toml --out out/A --no-report")
        .ok();
    let read = sandbox
        .duetime_reading("run - --out out/B --no-report", TINY)
        .ok();
    assert_eq!(read.replace("out/B", "out/A"), from_file);
    // Relative paths start at the current folder, and the output folder has the scenario's name.
    sandbox.file(
        "flows.csv",
        "start_ns,source,destination,size_bytes\n0,0,1,20000\n",
    );
    let network = "transport = \"tcp\"\n[topology]\nkind = \"star\"\nhosts = 2\nlink = { rate = \"1 Gbps\", latency = \"1 us\" }\n";
    let trace = format!("{network}[[workload]]\nkind = \"trace\"\nfile = \"flows.csv\"\n");
    let out = sandbox.duetime_reading("run - --no-report", &trace).ok();
    assert!(out.contains("runs    out/scenario"), "{out}");
    let worst = sandbox.duetime("explain out/scenario worst").ok();
    assert!(worst.contains("20000 B"), "{worst}");
    sandbox
        .duetime_reading("check -", &TINY.replace("seeds = 2", "seeds = 0"))
        .refused(&["<stdin>:3:9: seeds = 0: too small"]);
}

#[test]
fn large_network_from_standard_input() {
    let sandbox = Sandbox::new("large-stdin");
    let large = "transport = \"tcp\"\n[topology]\nkind = \"star\"\nhosts = 2100\nlink = { rate = \"1 Gbps\", latency = \"1 us\" }\n\
         [[workload]]\nkind = \"burst\"\nsenders = 4\nsize = \"2 KB\"\n";
    let out = sandbox
        .duetime_reading("run - --no-report --seeds 1", large)
        .ok();
    assert!(out.contains("runs    out/scenario"), "{out}");
}

#[test]
fn scenario_that_is_not_utf8() {
    let sandbox = Sandbox::new("no-text");
    let text = [b"# f\xfcr uns\n", TINY.as_bytes()].concat();
    std::fs::write(sandbox.0.join("tiny.toml"), text).expect("a file");
    sandbox.duetime("run tiny.toml").refused(&[
        "tiny.toml:1:4: not UTF-8: byte 0xfc",
        "save the file as UTF-8",
    ]);
    assert_eq!(sandbox.names(), ["tiny.toml"]);
}

#[test]
fn paths_in_errors_include_the_scenario_folder() {
    let sandbox = Sandbox::new("folder");
    std::fs::create_dir(sandbox.0.join("mine")).expect("a folder");
    let text = TINY.replacen("size = \"20 KB\"", "size = { cdf = \"sizes.csv\" }", 1);
    sandbox.file("mine/tiny.toml", &text);
    sandbox.file("mine/sizes.csv", "# unit: KB\n1,0\n20,0.9\n");
    sandbox
        .duetime("check mine/tiny.toml")
        .refused(&["mine/sizes.csv:3:1: the CDF ends at 0.9"]);
}

#[test]
fn seeds_have_the_same_limits_everywhere() {
    let sandbox = Sandbox::new("seeds");
    sandbox.file("tiny.toml", TINY);
    sandbox
        .duetime("check tiny.toml --seeds 1000001")
        .refused(&["1000001 is not in 1..=1000000"]);
    sandbox.duetime("check tiny.toml --seeds 1000000").ok();
    sandbox.duetime("check tiny.toml --set seeds=1000000").ok();
    sandbox
        .duetime("check tiny.toml --set seeds=1000001")
        .refused(&["allowed: 1..=1000000"]);
    sandbox
        .duetime("check tiny.toml --seed 9223372036854775808")
        .refused(&["--seed", "9223372036854775807"]);
    sandbox
        .duetime("check tiny.toml --seed 9223372036854775807")
        .ok();
}

#[test]
fn changed_settings_prevent_resuming() {
    let sandbox = Sandbox::new("resume-key");
    sandbox.file("tiny.toml", TINY);
    sandbox.duetime("run tiny.toml --no-report").ok();
    for (set, message) in [
        (
            "workload.burst.senders=4",
            "its scenario has workload.burst.senders = 5, not 4",
        ),
        (
            "workload.burst.size=30 KB",
            "its scenario has workload.burst.size = 20 KB, not 30 KB",
        ),
        (
            "dctcp.delayed_ack=1",
            "its scenario has dctcp.delayed_ack = 2, not 1",
        ),
        (
            "switch.buffer=200 KB",
            "its scenario has switch.buffer.pool = 100 KB, not 200 KB",
        ),
    ] {
        sandbox
            .duetime_args(&["run", "tiny.toml", "--resume", "--set", set])
            .refused(&[message]);
    }
}

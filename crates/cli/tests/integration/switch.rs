//! `duetime switch`: invalid input, and forwarding if the tests run as root.
#![cfg(all(feature = "lab", target_os = "linux"))]

use crate::sandbox::Sandbox;
use std::process::Command;

#[test]
fn invalid_input_is_refused() {
    let sandbox = Sandbox::new("switch-input");
    let cases = [
        ("switch", "CONFIG.toml"),
        ("switch --interfaces a,b", "--rate"),
        (
            "switch --interfaces a,b --rate 100",
            "the unit of this rate is missing",
        ),
        ("switch --interfaces a,b --rate 1Gbps --buffer 5", "packets"),
        (
            "switch --interfaces a,b --rate 1Gbps --ecn-threshold 5q",
            "`q` is not a unit",
        ),
        (
            "switch --interfaces a --rate 1Gbps",
            "1 interfaces; allowed: 2 to 1024",
        ),
        ("switch --interfaces a,a --rate 1Gbps", "the same name"),
        ("switch --interfaces a,b --rate 1Gbps --classes 33", "33"),
        (
            "switch --interfaces a,b --rate 1Gbps --prometheus 9981",
            "--prometheus",
        ),
        (
            "switch missing.toml",
            "missing.toml: cannot read the switch",
        ),
    ];
    for (arguments, expected) in cases {
        sandbox.duetime(arguments).refused(&[expected]);
    }
    sandbox.file("switch.toml", "[port]\nrate = \"1 Gbps\"\nburst = 3\n");
    sandbox
        .duetime("switch switch.toml")
        .refused(&["switch.toml:3:1", "ecn_threshold"]);
}

/// Start of a script that creates two hosts behind a switch, in namespaces that end with the script. `$a` and `$b` are
/// processes in the hosts' namespaces; host b is 10.9.0.2.
const NETWORK: &str = "\
set -e
ip link add p0 type veth peer name a0
ip link add p1 type veth peer name b0
ip link set p0 up
ip link set p1 up
unshare -n sleep 20 & b=$!
unshare -n sleep 20 & a=$!
trap 'kill $a $b' EXIT
while [ /proc/$a/ns/net -ef /proc/$$/ns/net ] || [ /proc/$b/ns/net -ef /proc/$$/ns/net ]; do sleep 0.01; done
ip link set a0 netns $a
ip link set b0 netns $b
nsenter -n -t $a ip addr add 10.9.0.1/24 dev a0
nsenter -n -t $b ip addr add 10.9.0.2/24 dev b0
nsenter -n -t $a ip link set a0 up
nsenter -n -t $b ip link set b0 up
";

/// Returns the output of a script in new namespaces, or prints a line and returns `None` without root.
fn in_network(script: &str) -> Option<String> {
    let unshared = Command::new("unshare").args(["-n", "true"]).output();
    if !unshared.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: network namespaces need root");
        return None;
    }
    let output = Command::new("unshare")
        .args(["-n", "bash", "-c", &format!("{NETWORK}{script}")])
        .env("DUETIME", env!("CARGO_BIN_EXE_duetime"))
        .output()
        .expect("unshare is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn forwards_until_interrupted() {
    // Sending a datagram to an unknown address triggers ARP, which needs no Python, ping or netcat.
    let script = "\
$DUETIME switch --interfaces p0,p1 --rate '100 Mbps' --latency '1 ms' --ecn-threshold '20 packets' >report & s=$!
trap 'kill $a $b $s; rm -f report' EXIT
for _ in $(seq 200); do
  nsenter -n -t $a bash -c 'echo hello >/dev/udp/10.9.0.2/9' || true
  nsenter -n -t $a ip neigh show 10.9.0.2 | grep -q REACHABLE && break
  sleep 0.05
done
nsenter -n -t $a ip neigh show 10.9.0.2
kill -INT $s
wait $s
cat report
ip -d link show p0";
    let sandbox = Sandbox::new("switch-forwards");
    let script = format!("cd {}\n{script}", sandbox.0.display());
    let Some(out) = in_network(&script) else {
        return;
    };
    assert!(out.contains("REACHABLE"), "{out}");
    let port = out.lines().find(|line| line.starts_with("switch->p1"));
    let packets = port.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    assert!(packets.is_some_and(|packets| packets >= 2), "{out}");
    assert!(out.contains("later than due: median"), "{out}");
    assert!(out.contains("promiscuity 0"), "{out}");
}

#[test]
fn json_lines_and_cleanup_after_kill() {
    let script = "\
$DUETIME switch --interfaces p0,p1 --rate '100 Mbps' --for '2.5 s' --json
$DUETIME switch --interfaces p0,p1 --rate '100 Mbps' & s=$!
for _ in $(seq 100); do ip -d link show p0 | grep -q 'promiscuity 1' && break; sleep 0.05; done
ip -d link show p0 | grep -o 'promiscuity .'
kill -9 $s
wait $s || true
ip -d link show p0 | grep -o 'promiscuity .'";
    let Some(out) = in_network(script) else {
        return;
    };
    let events: Vec<serde_json::Value> = out
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let names: Vec<&str> = events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .collect();
    let (last, before) = names.split_last().expect("there are lines");
    assert_eq!(*last, "switch-finished", "{out}");
    assert!((1..=2).contains(&before.len()), "{out}");
    assert!(before.iter().all(|name| *name == "switch"), "{out}");
    let end = &events[before.len()];
    assert_eq!(end["interfaces"][1]["name"], "p1");
    assert_eq!(end["ports"].as_array().map(Vec::len), Some(4));
    assert!(
        end["wall_ns"]
            .as_u64()
            .is_some_and(|ns| ns >= 2_400_000_000),
        "{end}"
    );
    let states: Vec<&str> = out
        .lines()
        .filter(|line| line.starts_with("promiscuity"))
        .collect();
    assert_eq!(states, ["promiscuity 1", "promiscuity 0"]);
}

#[test]
fn d3_state_in_json_and_prometheus() {
    let script = "\
ip link set lo up
$DUETIME switch --interfaces p0,p1 --rate '100 Mbps' --d3 --for '2.5 s' --json --prometheus 127.0.0.1:9981 & s=$!
ask='exec 3<>/dev/tcp/127.0.0.1/9981; printf \"GET /metrics HTTP/1.1\\r\\n\\r\\n\" >&3; cat <&3'
for _ in $(seq 100); do
  page=$(bash -c \"$ask\" 2>/dev/null) || true
  case $page in *duetime_d3_flows*) break ;; esac
  sleep 0.05
done
wait $s
echo \"$page\"";
    let Some(out) = in_network(script) else {
        return;
    };
    let last = out
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .next_back();
    let end = last.expect("a line at the end");
    let d3 = &end["ports"][3]["d3"];
    let state = (&d3["flows"], &d3["capacity_bps"], &d3["scale"]);
    assert_eq!(
        state,
        (&0.into(), &100_000_000.into(), &(-3).into()),
        "{end}"
    );
    assert!(end["ports"][0].get("d3").is_none(), "{end}");
    for line in [
        "duetime_d3_capacity_bits_per_second{port=\"switch->p1\"} 100000000",
        "duetime_switch_queue_packets{port=\"switch->p0\"} 0",
    ] {
        assert!(
            out.lines().any(|found| found.trim_end() == line),
            "{line} in\n{out}"
        );
    }
}

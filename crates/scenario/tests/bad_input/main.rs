//! Error messages for each kind of mistake: file, line, value and the allowed values.

mod allowed;
mod bursts;
mod command_line;
mod hosts;
mod loads;
mod priorities;
mod services;
mod spans;
mod topologies;
mod traces;
mod transports;

use duetime_scenario::{Sources, TraceRow, load};

/// A valid scenario, in which each test makes one mistake. `workload` starts at line 13.
const GOOD: &str = r#"name = "search"
transport = ["tcp", "d3"]
seeds = 3
duration = "1 s"

[topology]
kind = "star"
hosts = 1000
link = { rate = "1 Gbps", latency = "20 us" }

[switch]
buffer = "4 MB"
[[workload]]
kind = "oldi"
fan_in = 40
response = "10 KB"
deadline = { base = "35 ms", variation = "uniform 50%" }
load = 0.15
"#;

struct Files(&'static [(&'static str, &'static str)]);

impl Sources for Files {
    fn read_text(&self, path: &str) -> Result<String, String> {
        let file = self.0.iter().find(|(name, _)| *name == path);
        file.map(|(_, text)| (*text).to_owned())
            .ok_or_else(|| "no such file".to_owned())
    }

    fn read_trace(&self, path: &str) -> Result<Vec<TraceRow>, String> {
        self.read_text(path).map(|_| Vec::new())
    }
}

/// Returns the error message of `GOOD` with `from` replaced by `to`.
#[track_caller]
fn error_text(from: &str, to: &str) -> String {
    assert_eq!(
        GOOD.matches(from).count(),
        1,
        "`{from}` is not in the scenario once"
    );
    error_of(&GOOD.replacen(from, to, 1), &[])
}

#[track_caller]
fn error_of(text: &str, files: &'static [(&'static str, &'static str)]) -> String {
    match load(text, "search.toml", &[], &Files(files)) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn answers_of_layers_larger_than_a_port() {
    let text = GOOD
        .replacen("\"4 MB\"", "{ kind = \"static\", size = \"1499 B\" }", 1)
        .replacen("response = \"10 KB\"", "layer_response = [\"10 KB\"]", 1);
    let error_text = error_of(&text, &[]);
    assert!(
        error_text.contains("workload `oldi` sends packets of 1.5 KB under `tcp`"),
        "{error_text}"
    );
}

#[test]
fn valid_scenario_loads() {
    let files = Files(&[]);
    load(GOOD, "search.toml", &[], &files).unwrap_or_else(|error| panic!("{error}"));
}

/// Declares a test per mistake: replaced text, replacement and error message.
macro_rules! mistakes {
    ($($name:ident: $from:expr => $to:expr, $message:expr;)*) => {
        $(#[test]
        fn $name() {
            assert_eq!(error_text($from, $to), $message.trim_matches('\n'));
        })*
    };
}

mistakes! {
    malformed_toml: "seeds = 3" => "seeds = = 3", r"
search.toml:3:9: extra `=`, expected nothing
   3 | seeds = = 3
     |         ^
";
    duplicate_key: "seeds = 3" => "seeds = 3\nseeds = 4", r"
search.toml:4:1: duplicate key
   4 | seeds = 4
     | ^^^^^
";
    unknown_table: "[switch]" => "[swich]", r"
search.toml:11:2: swich: unknown key in scenario
   11 | [swich]
      |  ^^^^^
   allowed: name, transport, seeds, seed, warm_up, duration, drain, topology, switch, host, workload, record, lab, tcp, dctcp, d2tcp, cubic, d3, rcpdc, due, pfabric, homa, pdq, sird, priority, variant, sweep
   help: did you mean `switch`?
";
    unknown_key: "fan_in" => "fan_ni", r#"
search.toml:15:1: workload.fan_ni: unknown key in workload of kind "oldi"
   15 | fan_ni = 40
      | ^^^^^^
   allowed: kind, name, transport, connection, priority, applications, trees, fan_in, query, response, layer_response, deadline, deadline_scale, layer_share, deadline_from, query_deadline, load, load_over, rate, every, arrival, compute, aggregate_compute, jitter, complete_at, objective, give_up, hedge, retry, cancel_spares, share_hosts
   help: did you mean `fan_in`?
"#;
    unknown_kind: "\"oldi\"" => "\"odli\"", r#"
search.toml:14:8: workload.kind = "odli": not one of the choices
   14 | kind = "odli"
      |        ^^^^^^
   allowed: "oldi", "burst", "poisson", "background", "permutation", "long", "trace"
   help: did you mean "oldi"?
"#;
    unknown_transport: "\"d3\"]" => "\"d4\"]", r#"
search.toml:2:21: transport = "d4": no such transport
   2 | transport = ["tcp", "d4"]
     |                     ^^^^
   allowed: "tcp", "dctcp", "d2tcp", "cubic", "rcpdc", "d3", "due", "pfabric", "homa", "pdq", "sird", "tcp-prio", "rcpdc-prio"
   help: did you mean "d3"?
"#;
    segment_larger_than_the_pool: "\"4 MB\"" => "\"1500 B\"\n[tcp]\nmss = \"9000 B\"", r#"
search.toml:12:10: switch.buffer = "1500 B": an empty port holds packets of up to 1.5 KB, but workload `oldi` sends packets of 9.04 KB under `tcp`, which would all be dropped
   12 | buffer = "1500 B"
      |          ^^^^^^^^
   allowed: space for at least 9.04 KB at a port
   help: or a smaller `mss` of the transport
"#;
    packet_larger_than_the_share_of_a_port: "\"4 MB\"" => "{ kind = \"dynamic\", pool = \"16 KB\", alpha = 0.1 }\n[d3]\nmtu = \"4 KB\"", r#"
search.toml:12:10: switch.buffer: an empty port holds packets of up to 1.6 KB, but workload `oldi` sends packets of 4 KB under `d3`, which would all be dropped
   12 | buffer = { kind = "dynamic", pool = "16 KB", alpha = 0.1 }
      |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   allowed: space for at least 4 KB at a port
   help: or a smaller `mtu` of the transport
"#;
    segment_larger_than_a_port: "\"4 MB\"" => "{ kind = \"static\", size = \"1499 B\" }", r#"
search.toml:12:10: switch.buffer: an empty port holds packets of up to 1.499 KB, but workload `oldi` sends packets of 1.5 KB under `tcp`, which would all be dropped
   12 | buffer = { kind = "static", size = "1499 B" }
      |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   allowed: space for at least 1.5 KB at a port
   help: or a smaller `mss` of the transport
"#;
    fat_tree_too_small: "kind = \"star\"\nhosts = 1000" => "kind = \"fat-tree\"\nk = 1", r"
search.toml:8:5: topology.k = 1: too small
   8 | k = 1
     |     ^
   allowed: an even number, 2..=128
";
    arrival_missing: "load = 0.15\n" => "", r#"
search.toml:13:1: workload.load: missing
   13 | [[workload]]
      | ^^^^^^^^^^^^
   allowed: one of `load` or `rate` (with `arrival` "poisson" or "periodic"), `every`, `arrival = "back-to-back"`
   help: Mean bytes of answers on the wire per second, as a share of the parent's access link.
"#;
    missing_key: "fan_in = 40\n" => "", r"
search.toml:13:1: workload.fan_in: missing
   13 | [[workload]]
      | ^^^^^^^^^^^^
   allowed: 1..=100000; or a list of them
   help: Children per node. A list has one entry per layer, the root's first.
";
    missing_unit_in_text: "\"20 us\"" => "\"20\"", r#"
search.toml:9:37: topology.link.latency = "20": the unit of this time is missing
   9 | link = { rate = "1 Gbps", latency = "20" }
     |                                     ^^^^
   allowed: a number with a unit (ps, ns, us, ms, s, min, h), such as "20 us"
"#;
    missing_unit_in_number: "\"20 us\"" => "20", r#"
search.toml:9:37: topology.link.latency = 20: the unit of this time is missing
   9 | link = { rate = "1 Gbps", latency = 20 }
     |                                     ^^
   allowed: a string with its unit, such as "20 us"
"#;
    missing_unit_in_buffer: "\"4 MB\"" => "4", r#"
search.toml:12:10: switch.buffer = 4: the unit of this buffer is missing
   12 | buffer = 4
      |          ^
   allowed: "4 MB" (one pool), "100 packets" (each port), "unlimited", or a table with `kind`
"#;
    wrong_unit: "\"20 us\"" => "\"20 KB\"", r#"
search.toml:9:37: topology.link.latency = "20 KB": `KB` is not a unit of a time
   9 | link = { rate = "1 Gbps", latency = "20 KB" }
     |                                     ^^^^^^^
   allowed: a number with a unit (ps, ns, us, ms, s, min, h), such as "20 us"
"#;
    percentage_without_sign: "uniform 50%" => "uniform 50", r#"
search.toml:17:42: workload.deadline.variation = "uniform 50": the percentage is missing
   17 | deadline = { base = "35 ms", variation = "uniform 50" }
      |                                          ^^^^^^^^^^^^
   allowed: "none", "uniform 50%", "around 10%", "exponential", "exponential 5 ms"
"#;
    negative_time: "\"20 us\"" => "\"-20 us\"", r#"
search.toml:9:37: topology.link.latency = "-20 us": a time cannot be negative
   9 | link = { rate = "1 Gbps", latency = "-20 us" }
     |                                     ^^^^^^^^
   allowed: a number with a unit (ps, ns, us, ms, s, min, h), such as "20 us"
"#;
    negative_number: "seeds = 3" => "seeds = -3", r"
search.toml:3:9: seeds = -3: too small
   3 | seeds = -3
     |         ^^
   allowed: 1..=1000000
";
    huge_time: "\"20 us\"" => "\"2 h\"", r#"
search.toml:9:37: topology.link.latency = "2 h": too large
   9 | link = { rate = "1 Gbps", latency = "2 h" }
     |                                     ^^^^^
   allowed: 0 us to 10 s
"#;
    huge_rate: "\"1 Gbps\"" => "\"1 bps\"", r#"
search.toml:9:17: topology.link.rate = "1 bps": too small
   9 | link = { rate = "1 bps", latency = "20 us" }
     |                 ^^^^^^^
   allowed: 1 Mbps to 10000 Gbps
"#;
    huge_number: "hosts = 1000" => "hosts = 99999999999999999999", r"
search.toml:8:9: topology.hosts = 99999999999999999999: too large
   8 | hosts = 99999999999999999999
     |         ^^^^^^^^^^^^^^^^^^^^
   allowed: 2..=100000
";
    not_a_number: "0.15" => "nan", r#"
search.toml:18:8: workload.load = nan: not a finite number
   18 | load = nan
      |        ^^^
   allowed: 0.0001..=0.99, or a percentage such as "50%"
"#;
    not_a_number_in_text: "\"10 KB\"" => "\"NaN KB\"", r#"
search.toml:16:12: workload.response = "NaN KB": not a finite number
   16 | response = "NaN KB"
      |            ^^^^^^^^
   allowed: a number with a unit (B, KB, MB, GB, TB, KiB, MiB, GiB), such as "10 KB"; or "uniform 2 KB..50 KB", "web-search", "web-search-packets", "data-mining", "data-mining-packets", "hadoop", "storage", { cdf = "file.csv" }, { points = [["1 KB", 0], ["10 KB", 1]] }, a list of them
"#;
    infinite_number: "0.15" => "-inf", r#"
search.toml:18:8: workload.load = -inf: not a finite number
   18 | load = -inf
      |        ^^^^
   allowed: 0.0001..=0.99, or a percentage such as "50%"
"#;
    load_above_one: "0.15" => "\"150%\"", r#"
search.toml:18:8: workload.load = "150%": too large
   18 | load = "150%"
      |        ^^^^^^
   allowed: 0.0001..=0.99, or a percentage such as "50%"
"#;
    number_instead_of_text: "fan_in = 40" => "fan_in = \"forty\"", r#"
search.toml:15:10: workload.fan_in = "forty": expected a whole number, found a string
   15 | fan_in = "forty"
      |          ^^^^^^^
   allowed: 1..=100000; or a list of them
"#;
    fan_in_larger_than_hosts: "fan_in = 40" => "fan_in = 1200", r"
search.toml:15:10: workload.fan_in = 1200: larger than the 999 hosts other than the parent
   15 | fan_in = 1200
      |          ^^^^
   allowed: 1..=999
   help: `share_hosts = true` lets a host have several roles
";
    trees_that_do_not_fit: "fan_in = 40" => "fan_in = 40\ntrees = 25", r"
search.toml:15:10: workload.fan_in = 40: 25 trees of 41 hosts need 1025, the topology has 1000
   15 | fan_in = 40
      |          ^^
   allowed: 1..=39
   help: `share_hosts = true` lets a host have several roles
";
    more_entries_than_applications: "\"10 KB\"" => "[\"10 KB\", \"20 KB\"]", r#"
search.toml:16:12: workload.response = ["10 KB", "20 KB"]: 2 entries for 1 applications
   16 | response = ["10 KB", "20 KB"]
      |            ^^^^^^^^^^^^^^^^^^
   allowed: at most one entry per application
"#;
    arrival_conflict: "load = 0.15" => "load = 0.15\nevery = \"300 ms\"", r#"
search.toml:19:9: workload.every = "300 ms": `load` is given too
   19 | every = "300 ms"
      |         ^^^^^^^^
   allowed: one of `load` or `rate` (with `arrival` "poisson" or "periodic"), `every`, `arrival = "back-to-back"`
"#;
    rate_and_load: "load = 0.15" => "load = 0.15\nrate = \"8000 /s\"", r#"
search.toml:19:8: workload.rate = "8000 /s": conflicts with another key for the arrival of queries
   19 | rate = "8000 /s"
      |        ^^^^^^^^^
   allowed: one of `load` or `rate` (with `arrival` "poisson" or "periodic"), `every`, `arrival = "back-to-back"`
"#;
    rate_of_back_to_back_queries: "load = 0.15" => "arrival = \"back-to-back\"\nrate = \"8000 /s\"", r#"
search.toml:19:8: workload.rate = "8000 /s": conflicts with another key for the arrival of queries
   19 | rate = "8000 /s"
      |        ^^^^^^^^^
   allowed: one of `load` or `rate` (with `arrival` "poisson" or "periodic"), `every`, `arrival = "back-to-back"`
"#;
    rate_of_queries_without_unit: "load = 0.15" => "rate = 8000", r#"
search.toml:18:8: workload.rate = 8000: the unit of this frequency is missing
   18 | rate = 8000
      |        ^^^^
   allowed: a string with its unit, such as "2000 /s"
"#;
    queries_too_rare: "load = 0.15" => "rate = \"0.001 /s\"\ntrees = 5", r#"
search.toml:18:8: workload.rate = "0.001 /s": a query at each of 5 trees every 5000 s: too seldom
   18 | rate = "0.001 /s"
      |        ^^^^^^^^^^
   allowed: 0.0014 /s to 5000000000 /s
"#;
    load_over_without_load: "load = 0.15" => "every = \"300 ms\"\nload_over = \"workload\"", r#"
search.toml:19:13: workload.load_over = "workload": `load_over` without `load`
   19 | load_over = "workload"
      |             ^^^^^^^^^^
   allowed: `load_over` together with `load`
"#;
    roots_of_unknown_trees: "load = 0.15" => "load = 0.15\n[[workload]]\nkind = \"background\"\nevery = \"5 ms\"\nsize = \"1 KB\"\nto_roots_of = \"tree\"", r#"
search.toml:23:15: workload[1].to_roots_of = "tree": no such trees
   23 | to_roots_of = "tree"
      |               ^^^^^^
   allowed: an `oldi` workload before this one: oldi
"#;
    zero_answers_complete: "load = 0.15" => "load = 0.15\ncomplete_at = 0", r#"
search.toml:19:15: workload.complete_at = 0: too small
   19 | complete_at = 0
      |               ^
   allowed: 0.001..=1, or a percentage such as "50%"
"#;
    unknown_give_up: "load = 0.15" => "load = 0.15\ngive_up = \"owm\"", r#"
search.toml:19:11: workload.give_up = "owm": not one of the choices
   19 | give_up = "owm"
      |           ^^^^^
   allowed: "children", "own", "never", or a time such as "5 ms"
   help: did you mean "own"?
"#;
    give_up_without_unit: "load = 0.15" => "load = 0.15\ngive_up = \"5\"", r#"
search.toml:19:11: workload.give_up = "5": the unit of this time is missing
   19 | give_up = "5"
      |           ^^^
   allowed: a number with a unit (ps, ns, us, ms, s, min, h), such as "20 us"; or "children", "own", "never"
"#;
    objective_of_more_than_all_answers: "load = 0.15" => "load = 0.15\nobjective = { within = \"5 ms\", answers = 1.5 }", r#"
search.toml:19:42: workload.objective.answers = 1.5: too large
   19 | objective = { within = "5 ms", answers = 1.5 }
      |                                          ^^^
   allowed: 0.001..=1, or a percentage such as "50%"; or a number of all answers, such as "10 of 14"
"#;
    more_answers_than_leaves: "load = 0.15" => "load = 0.15\nobjective = { within = \"5 ms\", answers = \"41 of 40\" }", r#"
search.toml:19:42: workload.objective.answers = "41 of 40": no number of the answers
   19 | objective = { within = "5 ms", answers = "41 of 40" }
      |                                          ^^^^^^^^^^
   allowed: "1 of 40" to "40 of 40", or a share of the answers
"#;
    objective_of_no_answers: "load = 0.15" => "load = 0.15\nobjective = { within = \"5 ms\", answers = \"0 of 40\" }", r#"
search.toml:19:42: workload.objective.answers = "0 of 40": no number of the answers
   19 | objective = { within = "5 ms", answers = "0 of 40" }
      |                                          ^^^^^^^^^
   allowed: "1 of 40" to "40 of 40", or a share of the answers
"#;
    answers_of_another_number_of_leaves: "load = 0.15" => "load = 0.15\nobjective = { within = \"5 ms\", answers = \"11 of 10\" }", r#"
search.toml:19:42: workload.objective.answers = "11 of 10": each query has 40 leaves, not 10 (11 of 10)
   19 | objective = { within = "5 ms", answers = "11 of 10" }
      |                                          ^^^^^^^^^^
   allowed: "1 of 40" to "40 of 40", or a share of the answers
"#;
    unknown_key_of_an_objective: "load = 0.15" => "load = 0.15\nobjective = { whithin = \"5 ms\" }", r#"
search.toml:19:15: workload.objective.whithin: unknown key in objective
   19 | objective = { whithin = "5 ms" }
      |               ^^^^^^^
   allowed: within, answers, share
   help: did you mean `within`?
"#;
    objective_within_zero: "load = 0.15" => "load = 0.15\nobjective.within = []", r"
search.toml:19:20: workload.objective.within = []: an empty list
   19 | objective.within = []
      |                    ^^
   allowed: one time per application
";
    warm_up_longer_than_duration: "seeds = 3" => "warm_up = \"2 s\"", r#"
search.toml:3:11: warm_up = "2 s": no flow is measured: the duration is 1 s
   3 | warm_up = "2 s"
     |           ^^^^^
   allowed: less than `duration`
"#;
    endless_source_without_duration: "duration = \"1 s\"\n" => "", r#"
search.toml:1:1: duration: missing
   1 | name = "search"
     | ^
   allowed: a time, such as "20 us" (1 ns to 24 h)
   help: Time at which sources stop; later flows are not measured. Required if a workload does not end by itself.
"#;
    unknown_distribution: "\"10 KB\"" => "\"web-serch\"", r#"
search.toml:16:12: workload.response = "web-serch": no such distribution
   16 | response = "web-serch"
      |            ^^^^^^^^^^^
   allowed: "web-search", "web-search-packets", "data-mining", "data-mining-packets", "hadoop", "storage"; or "10 KB", "uniform 2 KB..50 KB", { cdf = "file.csv" }, { points = [["1 KB", 0], ["10 KB", 1]] }, a list of them
   help: did you mean "web-search"?
"#;
    points_that_do_not_reach_one: "\"10 KB\"" => "{ points = [[\"1 KB\", 0], [\"10 KB\", 0.9]] }", r#"
search.toml:16:23: workload.response.points = [["1 KB", 0], ["10 KB", 0.9]]: the CDF ends at 0.9
   16 | response = { points = [["1 KB", 0], ["10 KB", 0.9]] }
      |                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   allowed: a last point with probability 1
"#;
    points_that_are_not_sorted: "\"10 KB\"" => "{ points = [[\"10 KB\", 0.5], [\"1 KB\", 1]] }", r#"
search.toml:16:40: workload.response.points = ["1 KB", 1]: sizes are not sorted: 1000 B after 10000 B
   16 | response = { points = [["10 KB", 0.5], ["1 KB", 1]] }
      |                                        ^^^^^^^^^^^
   allowed: sizes that rise
"#;
    gain_not_a_power_of_two: "[switch]" => "[dctcp]\ngain = \"1/10\"\n[switch]", r#"
search.toml:12:8: dctcp.gain = "1/10": not a power of two
   12 | gain = "1/10"
      |        ^^^^^^
   allowed: 1/2^n for n of 0 to 10, such as "1/16"
"#;
    timeouts_out_of_order: "[switch]" => "[tcp]\nrto_initial = \"1 ms\"\n[switch]", r#"
search.toml:12:15: tcp.rto_initial = "1 ms": rto_initial (1 ms) is below rto_min (200 ms)
   12 | rto_initial = "1 ms"
      |               ^^^^^^
   allowed: rto_min <= rto_initial <= rto_max
"#;
    rack_without_sack: "[switch]" => "[tcp]\nrack = true\nrecovery = \"newreno\"\n[switch]", r#"
search.toml:12:8: tcp.rack = true: rack = true, with recovery = "newreno"
   12 | rack = true
      |        ^^^^
   allowed: recovery = "sack", or rack = false
"#;
    probes_without_rack: "[switch]" => "[tcp]\nrack = false\ntail_loss_probe = true\n[switch]", r"
search.toml:13:19: tcp.tail_loss_probe = true: tail_loss_probe = true, with rack = false
   13 | tail_loss_probe = true
      |                   ^^^^
   allowed: rack = true, or tail_loss_probe = false
";
    rate_reduction_without_sack: "[switch]" => "[tcp]\nrate_reduction = true\nrecovery = \"newreno\"\n[switch]", r#"
search.toml:12:18: tcp.rate_reduction = true: rate_reduction = true, with recovery = "newreno"
   12 | rate_reduction = true
      |                  ^^^^
   allowed: recovery = "sack", or rate_reduction = false
"#;
    hystart_without_sack: "[switch]" => "[cubic]\nhystart = true\nrecovery = \"newreno\"\n[switch]", r#"
search.toml:12:11: cubic.hystart = true: hystart = true, with recovery = "newreno"
   12 | hystart = true
      |           ^^^^
   allowed: recovery = "sack", or hystart = false
"#;
    unknown_profile: "[switch]" => "[tcp]\nprofile = \"windows\"\n[switch]", r#"
search.toml:12:11: tcp.profile = "windows": not one of the choices
   12 | profile = "windows"
      |           ^^^^^^^^^
   allowed: "linux", "paper"
"#;
    unknown_recovery: "[switch]" => "[tcp]\nrecovery = \"rack\"\n[switch]", r#"
search.toml:12:12: tcp.recovery = "rack": not one of the choices
   12 | recovery = "rack"
      |            ^^^^^^
   allowed: "newreno", "sack"
   help: did you mean "sack"?
"#;
    too_many_quick_acknowledgements: "[switch]" => "[tcp]\nquick_ack = 256\n[switch]", r"
search.toml:12:13: tcp.quick_ack = 256: too large
   12 | quick_ack = 256
      |             ^^^
   allowed: 0..=255
";
    delay_not_a_time: "[switch]" => "[tcp]\nmax_ack_delay = \"2 s\"\n[switch]", r#"
search.toml:12:17: tcp.max_ack_delay = "2 s": too large
   12 | max_ack_delay = "2 s"
      |                 ^^^^^
   allowed: 0 us to 1 s
"#;
    police_without_repair: "[switch]" => "[d3]\nrepair = false\npolice = \"2 Mbps\"\n[switch]", r#"
search.toml:13:10: d3.police = "2 Mbps": police, with repair = false: no router counts its grants
   13 | police = "2 Mbps"
      |          ^^^^^^^^
   allowed: police = "off", or repair = true and allocation = "routers"
"#;
    police_without_routers: "[switch]" => "[d3]\npolice = \"2 Mbps\"\n[rcpdc]\nallocation = \"edge\"\n[switch]", r#"
search.toml:14:14: rcpdc.allocation = "edge": police, with allocation = "edge": no router counts its grants
   14 | allocation = "edge"
      |              ^^^^^^
   allowed: police = "off", or repair = true and allocation = "routers"
"#;
    police_not_a_rate: "[switch]" => "[d3]\npolice = \"on\"\n[switch]", r#"
search.toml:12:10: d3.police = "on": a rate starts with a number
   12 | police = "on"
      |          ^^^^
   allowed: a rate of 1 Kbps to 10 Tbps, or "off"
"#;
    too_many_priorities: "[switch]" => "[priority]\nclasses = 5\n[switch]", r"
search.toml:12:11: priority.classes = 5: too large
   12 | classes = 5
      |           ^
   allowed: 1..=4
";
    sweep_of_an_unknown_key: "[switch]" => "[sweep]\nworkload.fan_out = [1, 2]\n[switch]", r#"
search.toml:12:20: sweep.workload.fan_out = [1, 2]: unknown key `fan_out` in workload of kind "oldi"
   12 | workload.fan_out = [1, 2]
      |                    ^^^^^^
   allowed: kind, name, transport, connection, priority, applications, trees, fan_in, query, response, layer_response, deadline, deadline_scale, layer_share, deadline_from, query_deadline, load, load_over, rate, every, arrival, compute, aggregate_compute, jitter, complete_at, objective, give_up, hedge, retry, cancel_spares, share_hosts
"#;
    table_instead_of_a_list: "[[workload]]" => "[workload]", r"
search.toml:13:1: workload: `[workload]` is one table
   13 | [workload]
      | ^^^^^^^^^^
   help: write `[[workload]]`
";
}

#[test]
fn small_messages_fit_small_ports() {
    let small = GOOD.replace("\"4 MB\"", "{ kind = \"static\", size = \"1040 B\" }");
    let fits = small.replace("\"10 KB\"", "\"1 KB\"");
    load(&fits, "search.toml", &[], &Files(&[])).unwrap_or_else(|error| panic!("{error}"));
    assert!(error_of(&fits.replace("1040 B", "1039 B"), &[]).contains("packets of 1.04 KB"));
    let framed = small.replace("[switch]", "[host]\nframe_overhead = \"38 B\"\n[switch]");
    assert!(error_of(&framed, &[]).contains("packets of 1.538 KB"));
}

#[test]
fn no_text_panics() {
    // Every prefix of a valid scenario, and every scenario with one byte removed, returns a result.
    for cut in 0..GOOD.len() {
        let _ = load(&GOOD[..cut], "search.toml", &[], &Files(&[]));
        let without = format!("{}{}", &GOOD[..cut], &GOOD[cut + 1..]);
        let _ = load(&without, "search.toml", &[], &Files(&[]));
    }
}

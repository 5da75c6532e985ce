//! Predicted loads of `describe` against arithmetic by hand, an enumeration of all paths, and the simulator.

use duetime_analysis::{Description, LinkLoad, describe};
use duetime_scenario::model::Scenario;
use duetime_scenario::{NoFiles, load};
use duetime_sim::topology::Network;
use duetime_sim::{Options, run};

const LEAF_SPINE: &str = r#"
[topology]
kind = "leaf-spine"
racks = 5
hosts_per_rack = 40
spines = 2
host_link = { rate = "25 Gbps", latency = "2 us" }
uplink = { rate = "100 Gbps", latency = "2 us" }
"#;

fn scenario(head: &str, topology: &str, workloads: &str) -> Scenario {
    let text = format!("name = \"load\"\ntransport = [\"tcp\"]\n{head}\n{topology}\n{workloads}");
    load(&text, "load.toml", &[], &NoFiles).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn description(head: &str, topology: &str, workloads: &str) -> Description {
    describe(&scenario(head, topology, workloads)).unwrap()
}

fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        "{found} should be {expected}"
    );
}

#[test]
fn oversubscribed_uplinks_are_overloaded() {
    let outcome = description(
        "duration = \"50 ms\"",
        LEAF_SPINE,
        "[[workload]]\nname = \"storage\"\nkind = \"poisson\"\nsize = \"storage\"\nload = 0.3",
    );
    // Each rack sends 0.3 of 1 Tbps, of which 160 parts in 199 leave the rack over two links of 100 Gbps.
    let load = 0.3 * 1_000.0 * 160.0 / 199.0 / 200.0;
    // Gaps are rounded to whole picoseconds.
    assert!((outcome.load.links[0].load / load - 1.0).abs() < 1e-6);
    assert_eq!(outcome.load.links[0].link, "rack0->spine0");
    assert_eq!(
        (outcome.load.overloaded_links, outcome.load.of_links),
        (20, 420)
    );
    let busiest = outcome.workloads[0].busiest_link.as_ref().unwrap();
    assert_eq!(
        (busiest.link.as_str(), busiest.load),
        ("rack0->spine0", outcome.load.links[0].load)
    );
    let racks = &outcome.load.oversubscription[0];
    assert_eq!((racks.switches, racks.switch.as_str()), (5, "rack0"));
    close(racks.ratio, 5.0);
}

#[test]
fn trees_load_links_of_roots_and_leaves() {
    // The star has one tree per host. Per 10 ms, a root's link carries 9 answers of 14,600 B, which are 10 segments
    // each.
    let outcome = description(
        "duration = \"1 s\"",
        "[topology]\nkind = \"star\"\nhosts = 10\nlink = { rate = \"1 Gbps\", latency = \"2 us\" }",
        "[[workload]]\nkind = \"oldi\"\nfan_in = 9\nresponse = \"14600 B\"\nquery = \"100 B\"\nevery = \"10 ms\"",
    );
    let answers = 9.0 * 15_000.0 * 8.0 * 100.0 / 1e9;
    close(outcome.load.links[0].load, answers);
    let queries = 9.0 * 140.0 * 8.0 * 100.0 / 1e9;
    let from_root = outcome.load.links.iter().find(|link| {
        let (from, to) = link.link.split_once("->").unwrap();
        to == "switch" && outcome.load.links[0].link.ends_with(from)
    });
    // The root's own link carries the least, so it may be missing from the ten busiest links.
    if let Some(LinkLoad { load, .. }) = from_root {
        close(*load, queries);
    }
    close(outcome.load.links[1].load, 15_000.0 * 8.0 * 100.0 / 1e9);
}

#[test]
fn given_loads_are_offered() {
    let topology = r#"
[topology]
kind = "graph"
switches = ["switch"]
hosts = ["slow", "fast", "fastest"]
links = [
  { between = ["slow", "switch"], rate = "1 Gbps", latency = "20 us" },
  { between = ["fast", "switch"], rate = "4 Gbps", latency = "20 us" },
  { between = ["fastest", "switch"], rate = "10 Gbps", latency = "20 us" },
]
"#;
    let workloads = "[[workload]]\nkind = \"poisson\"\nsize = \"web-search\"\nload = 0.4\n\
         [[workload]]\nkind = \"background\"\ncount = 3\nsize = \"50 KB\"\nload = 0.2\n\
         [[workload]]\nkind = \"oldi\"\nfan_in = 2\nresponse = \"50 KB\"\nload = 0.15\n\
         [[workload]]\nkind = \"long\"\npairs = [[0, 1], [1, 2]]\nat = \"900 ms\"\njitter = \"400 ms\"";
    let outcome = description("duration = \"1 s\"", topology, workloads);
    let [poisson, background, oldi, long] = &outcome.workloads[..] else {
        panic!("four workloads")
    };
    let near = |found: Option<f64>, expected: f64| {
        let found = found.expect("known");
        // Gaps are rounded to whole picoseconds.
        assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
    };
    near(poisson.offered_load, 0.4);
    near(poisson.offered_bps, 0.4 * 15e9);
    near(background.offered_load, 0.2);
    near(background.offered_bps, 0.2 * 15e9);
    assert_eq!(background.load_of, Some("each source's link"));
    near(oldi.offered_load, 0.15);
    // A quarter of the flows start within the duration.
    assert_eq!(long.jitter_ns, Some(400_000_000));
    near(long.expected_flows, 2.0 / 4.0);
}

#[test]
fn small_segments_add_header_load() {
    let workload = "[[workload]]\nkind = \"poisson\"\nsize = \"53600 B\"\nrate = \"1000 /s\"";
    let star =
        "[topology]\nkind = \"star\"\nhosts = 2\nlink = { rate = \"1 Gbps\", latency = \"2 us\" }";
    let load = |tcp: &str| {
        let workload = format!("{tcp}\n{workload}");
        description("duration = \"1 s\"", star, &workload)
            .load
            .links[0]
            .load
    };
    let per_segment = |segments: f64| 500.0 * (53_600.0 + 40.0 * segments) * 8.0 / 1e9;
    close(load(""), per_segment(37.0));
    close(load("[tcp]\nmss = \"536 B\""), per_segment(100.0));
}

#[test]
fn one_shot_and_endless_flows_have_no_load() {
    let outcome = description(
        "duration = \"1 ms\"",
        LEAF_SPINE,
        "[[workload]]\nkind = \"burst\"\nsenders = 40\nsize = \"1 MB\"\n\
         [[workload]]\nkind = \"permutation\"\nsize = \"10 MB\"\n\
         [[workload]]\nkind = \"long\"\npairs = [[0, 1]]",
    );
    assert_eq!(outcome.load.links, []);
    let names: Vec<&str> = outcome
        .load
        .not_sustained
        .iter()
        .map(|flows| flows.workload.as_str())
        .collect();
    assert_eq!(names, ["burst", "permutation", "long"]);
    assert!(!outcome.measures_nothing());
}

#[test]
fn repeated_bursts_load_the_receiver() {
    let outcome = description(
        "",
        LEAF_SPINE,
        "[[workload]]\nkind = \"burst\"\nsenders = 50\nreceiver = 0\nsize = \"146000 B\"\nrepeat = 10\nevery = \"2 ms\"",
    );
    let load = 50.0 * 150_000.0 * 8.0 / 2e-3 / 25e9;
    close(outcome.load.links[0].load, load);
    assert_eq!(outcome.load.links[0].link, "rack0->host0");
    assert_eq!(outcome.load.overloaded_links, 1);
}

#[test]
fn predicts_when_nothing_is_measured() {
    let star =
        "[topology]\nkind = \"star\"\nhosts = 4\nlink = { rate = \"1 Gbps\", latency = \"2 us\" }";
    let outcome =
        |workloads: &str| description("warm_up = \"5 ms\"\nduration = \"10 ms\"", star, workloads);
    let long = "[[workload]]\nkind = \"long\"\npairs = [[0, 1]]\n";
    let bursts = |at: &str| {
        format!(
            "[[workload]]\nkind = \"burst\"\nsenders = 3\nsize = \"1 KB\"\nrepeat = 2\nevery = \"1 ms\"\nat = \"{at}\"\n"
        )
    };
    assert!(outcome(long).measures_nothing());
    assert!(outcome(&bursts("1 ms")).measures_nothing());
    let measured = |text: &str| outcome(text).workloads[0].expected_measured;
    assert_eq!(measured(&bursts("4 ms")), Some(3.0));
    assert_eq!(measured(&bursts("9 ms")), Some(3.0));
    assert_eq!(measured(&bursts("5 ms")), Some(6.0));
    let poisson = "[[workload]]\nkind = \"poisson\"\nsize = \"1 KB\"\nrate = \"2000 /s\"\n";
    assert!(!outcome(&format!("{long}{poisson}")).measures_nothing());
    close(measured(poisson).unwrap(), 10.0);
}

/// Compares shares with an enumeration of every shortest path on a graph with unequal splits.
#[test]
fn equal_path_shares_match_an_enumeration() {
    let topology = r#"
[topology]
kind = "graph"
switches = ["a", "b", "c", "d", "e"]
hosts = ["h0", "h1", "h2", "h3", "h4", "h5"]
links = [
  { between = ["h0", "a"], rate = "10 Gbps", latency = "1 us" },
  { between = ["h1", "a"], rate = "10 Gbps", latency = "1 us" },
  { between = ["h2", "b"], rate = "10 Gbps", latency = "1 us" },
  { between = ["h3", "e"], rate = "10 Gbps", latency = "1 us" },
  { between = ["h4", "e"], rate = "40 Gbps", latency = "1 us" },
  { between = ["h5", "d"], rate = "10 Gbps", latency = "1 us" },
  { between = ["a", "b"], rate = "10 Gbps", latency = "1 us" },
  { between = ["a", "c"], rate = "10 Gbps", latency = "1 us" },
  { between = ["a", "d"], rate = "10 Gbps", latency = "1 us" },
  { between = ["b", "e"], rate = "10 Gbps", latency = "1 us" },
  { between = ["c", "e"], rate = "10 Gbps", latency = "1 us" },
  { between = ["c", "d"], rate = "10 Gbps", latency = "1 us" },
  { between = ["d", "e"], rate = "10 Gbps", latency = "1 us" },
]
"#;
    let workloads = "[[workload]]\nkind = \"poisson\"\nsize = \"1460 B\"\nload = 0.3\n\
                     [[workload]]\nkind = \"burst\"\nsenders = 2\nfrom = [0, 2]\nreceiver = 4\nsize = \"1460 B\"\n\
                     repeat = 1000\nevery = \"10 us\"";
    let scenario = scenario("duration = \"10 ms\"", topology, workloads);
    let network = Network::build(&scenario.topology).unwrap();
    let hosts = network.hosts();
    let mut bits = vec![0.0; network.links.len()];
    for from in 0..hosts {
        let line_rate = network.links[network.uplink[from as usize] as usize]
            .rate
            .as_bps() as f64;
        for to in (0..hosts).filter(|&to| to != from) {
            let burst = (to == 4 && (from == 0 || from == 2)).then_some(1_500.0 * 8.0 / 10e-6);
            let rate = 0.3 * line_rate / f64::from(hosts - 1) + burst.unwrap_or(0.0);
            add_load(&network, from, to, rate, &mut bits);
        }
    }
    let found = describe(&scenario).unwrap().load;
    assert_eq!(found.links.len(), 10);
    for link in &found.links {
        let number = network.find_link(&link.link).unwrap() as usize;
        assert!(
            (link.offered_bps / bits[number] - 1.0).abs() < 1e-5,
            "{}: {} should be {}",
            link.link,
            link.offered_bps,
            bits[number]
        );
    }
    let loads = (0..bits.len()).map(|link| bits[link] / network.links[link].rate.as_bps() as f64);
    let highest = loads.fold(0.0, f64::max);
    assert!((found.links[0].load / highest - 1.0).abs() < 1e-5);
}

/// Adds `rate` to all shortest paths between two nodes, split evenly over the next links at each node.
fn add_load(network: &Network, from: u32, to: u32, rate: f64, bits: &mut [f64]) {
    if from == to {
        return;
    }
    let remaining = distance(network, from, to);
    let nearer: Vec<usize> = (0..network.links.len())
        .filter(|&link| {
            let link = &network.links[link];
            link.from == from && distance(network, link.to, to) + 1 == remaining
        })
        .collect();
    for &link in &nearer {
        let share = rate / nearer.len() as f64;
        bits[link] += share;
        add_load(network, network.links[link].to, to, share, bits);
    }
}

/// Returns the number of links between two nodes by growing the reached set; hosts do not forward.
fn distance(network: &Network, from: u32, to: u32) -> u32 {
    let mut reached = vec![from];
    for steps in 0..20 {
        if reached.contains(&to) {
            return steps;
        }
        let next = network.links.iter().filter(|link| {
            reached.contains(&link.from) && (link.from >= network.hosts() || link.from == from)
        });
        let next: Vec<u32> = next.map(|link| link.to).collect();
        reached.extend(next);
    }
    1_000
}

#[test]
fn ports_carry_the_predicted_load() {
    let scenario = scenario(
        "duration = \"200 ms\"\ndrain = \"1 s\"",
        "[topology]\nkind = \"leaf-spine\"\nracks = 3\nhosts_per_rack = 4\nspines = 2\n\
         host_link = { rate = \"1 Gbps\", latency = \"2 us\" }\nuplink = { rate = \"1 Gbps\", latency = \"2 us\" }",
        "[switch]\nbuffer = \"unlimited\"\n\
         [[workload]]\nname = \"any\"\nkind = \"poisson\"\nsize = \"uniform 1 KB..20 KB\"\nload = 0.1\n\
         [[workload]]\nkind = \"oldi\"\nfan_in = 6\nresponse = \"8 KB\"\nevery = \"2 ms\"\n\
         [[workload]]\nkind = \"background\"\ncount = 6\nsize = \"4 KB\"\nevery = \"exponential 1 ms\"\nto_roots_of = \"oldi\"",
    );
    let predicted = describe(&scenario).unwrap().load;
    let records = run(&scenario, 0, 0, &Options::default()).unwrap().records;
    assert!(records.flows.iter().all(|flow| flow.finish.is_some()));
    let carried = |link: &LinkLoad| {
        let port = records.ports.iter().find(|port| port.link == link.link);
        port.map_or(0.0, |port| port.bytes as f64)
    };
    for link in predicted.links.iter().take(4) {
        let expected = link.offered_bps / 8.0 * 0.2;
        let found = carried(link) / expected;
        // The prediction leaves out acknowledgements, handshakes and random variation.
        assert!((0.93..1.15).contains(&found), "{link:?}: {found}");
    }
    let hops = records.totals.packet_hops as f64 / predicted.packet_hops;
    assert!(
        (0.8..1.25).contains(&hops),
        "{hops} of the predicted packet-hops"
    );
}

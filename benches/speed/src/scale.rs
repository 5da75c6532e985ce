//! Cost per packet-hop and memory of runs on growing networks with the same load per host. The switches are those of W2
//! (a buffer per port, one threshold), so that only the network grows. A published benchmark of another simulator, a
//! permutation at 100 Gbps, has a separate row. This row (W4) and that of Hadoop's flows on 16,000 hosts with
//! latencies of 1 us (W5) are compared with the floor on the same network.

use crate::memory::{self, Access};
use crate::process::{self, Cost};
use crate::speed::scenario;
use duetime_measure::{grouped, lines, median};
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Row of the table.
struct Case {
    /// Floor's workload on the same network, with the number of pairs in which the row and the floor alternate.
    floor: Option<(&'static str, usize)>,
    hosts: u32,
    latency_us: u32,
    network: Network,
    traffic: Traffic,
}

/// Traffic of a row.
enum Traffic {
    /// DCTCP flows that start as a Poisson process, with sizes of this distribution; at least so many.
    Poisson { sizes: &'static str, flows: u32 },
    /// One TCP flow of 1 MiB from each host, with the Linux profile and drop-tail ports of 200 packets (E5 of the
    /// simulator Days 1.0, which needs 126 s on one core).
    Permutation,
    /// Eight flows of 1 KB to one host: the time and memory of the network itself.
    Start,
}

const fn case(
    hosts: u32,
    latency_us: u32,
    network: Network,
    sizes: &'static str,
    flows: u32,
) -> Case {
    Case {
        floor: None,
        hosts,
        latency_us,
        network,
        traffic: Traffic::Poisson { sizes, flows },
    }
}

const CASES: [Case; 9] = [
    case(100, 1, racks(5, 20, 40), "hadoop", 6_250),
    case(1_000, 1, racks(25, 40, 100), "hadoop", 62_500),
    case(4_000, 1, racks(100, 40, 100), "hadoop", 250_000),
    Case {
        floor: Some(("w4", 3)),
        hosts: 8_192,
        latency_us: 1,
        network: Network::FatTree { k: 32, gbps: 100 },
        traffic: Traffic::Permutation,
    },
    // One pair, because a run takes minutes.
    Case {
        floor: Some(("w5", 1)),
        ..case(16_000, 1, FAT_TREE_40, "hadoop", 1_000_000)
    },
    case(16_000, 1, FAT_TREE_40, "web-search", 20_000),
    // The same network with link latencies as in W2.
    case(16_000, 20, FAT_TREE_40, "hadoop", 1_000_000),
    case(16_000, 20, FAT_TREE_40, "web-search", 20_000),
    Case {
        floor: None,
        hosts: 65_536,
        latency_us: 1,
        network: Network::FatTree { k: 64, gbps: 100 },
        traffic: Traffic::Start,
    },
];

impl Case {
    /// Returns the number of flows that the run must have.
    const fn flows(&self) -> u32 {
        match self.traffic {
            Traffic::Poisson { flows, .. } => flows,
            Traffic::Permutation => self.hosts,
            Traffic::Start => 8,
        }
    }

    /// Returns the transport.
    const fn transport(&self) -> &'static str {
        match self.traffic {
            Traffic::Poisson { .. } => "dctcp",
            Traffic::Permutation | Traffic::Start => "tcp",
        }
    }

    /// Returns the workload's name if the floor runs it, as shown in the table.
    fn work(&self) -> String {
        self.floor
            .map_or(String::new(), |(work, _)| work.to_uppercase())
    }

    /// Returns the flows' sizes, as shown in the table.
    const fn sizes(&self) -> &'static str {
        match self.traffic {
            Traffic::Poisson { sizes, .. } => sizes,
            Traffic::Permutation => "permutation",
            Traffic::Start => "start",
        }
    }
}

/// Measurements of one case.
struct Row {
    case: &'static Case,
    cost: Cost,
    /// Floor's time per packet-hop in nanoseconds, and the ratio of the simulator's time to it.
    floor: Option<(f64, f64)>,
}

enum Network {
    /// Leaf-spine network with four spines, whose hosts have links of 10 Gbps.
    Racks {
        racks: u32,
        hosts_per_rack: u32,
        uplink_gbps: u32,
    },
    FatTree {
        k: u32,
        gbps: u32,
    },
}

const fn racks(racks: u32, hosts_per_rack: u32, uplink_gbps: u32) -> Network {
    Network::Racks {
        racks,
        hosts_per_rack,
        uplink_gbps,
    }
}

const FAT_TREE_40: Network = Network::FatTree { k: 40, gbps: 10 };

impl Network {
    fn toml(&self, latency_us: u32) -> String {
        let link =
            |gbps: u32| format!(r#"{{ rate = "{gbps} Gbps", latency = "{latency_us} us" }}"#);
        match self {
            Self::Racks {
                racks,
                hosts_per_rack,
                uplink_gbps,
            } => format!(
                "kind = \"leaf-spine\"\nracks = {racks}\nhosts_per_rack = {hosts_per_rack}\nhost_link = {}\n\
                 spines = 4\nuplink = {}",
                link(10),
                link(*uplink_gbps)
            ),
            Self::FatTree { k, gbps } => {
                format!("kind = \"fat-tree\"\nk = {k}\nlink = {}", link(*gbps))
            }
        }
    }
}

/// Flows per second and host. With the mean of the Hadoop sizes, they use about an eighth of the links' capacity.
const RATE_PER_HOST: u32 = 1_250;
/// Factor by which more flows are offered than required, because their number is random: three standard deviations at
/// 6,250 flows.
const MARGIN: f64 = 1.04;

const MEMORY_LIMIT_MB: f64 = 8_000.0;
const COST_LIMIT: f64 = 2.0;
const START_LIMIT_S: f64 = 3.0;
const START_LIMIT_MB: f64 = 1_000.0;

/// Measures, prints the results and returns true if every gate is met.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program prints its results"
)]
pub(crate) fn run(arguments: &[String]) -> Result<bool, String> {
    let json = arguments.iter().any(|argument| argument == "--json");
    let requested: Vec<u32> = arguments
        .windows(2)
        .filter(|pair| pair[0] == "--hosts")
        .map(|pair| pair[1].parse().map_err(|_| "--hosts requires a number"))
        .collect::<Result<_, _>>()?;
    let cases: Vec<&'static Case> = CASES
        .iter()
        .filter(|case| requested.is_empty() || requested.contains(&case.hosts))
        .collect();
    if cases.is_empty() {
        return Err("--hosts must be 100, 1000, 4000, 8192, 16000 or 65536".to_owned());
    }
    let w2 = process::simulator(&scenario("w2"), "dctcp", &[])?;
    let mut baseline = vec![Cost::measure(&w2)?.ns_per_hop];
    let mut rows = Vec::new();
    for case in cases {
        eprintln!(
            "{} hosts, {} us, {} flows of {} …",
            case.hosts,
            case.latency_us,
            case.flows(),
            case.sizes()
        );
        rows.push(measure(case)?);
        // Run W2 after each case, so that the ratio compares the same machine at the same speed.
        baseline.push(Cost::measure(&w2)?.ns_per_hop);
    }
    let baseline = median(baseline);
    let accesses = Access::measure_all();
    if json {
        for access in &accesses {
            println!("{}", access.line());
        }
        for row in &rows {
            println!("{}", line(row, baseline));
        }
    } else {
        memory::print(&accesses);
        print(&rows, baseline);
    }
    Ok(rows.iter().all(|row| is_met(row, baseline)))
}

/// A scenario in a temporary file, which is removed on drop.
pub(crate) struct Scenario(PathBuf);

impl Scenario {
    fn new(name: &str, text: &str) -> Result<Self, String> {
        // Scenarios with the same name may exist at the same time.
        static CREATED: AtomicU32 = AtomicU32::new(0);
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let name = format!("duetime-scale-{}-{number}-{name}.toml", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Self(file))
    }

    /// Returns the path of the file.
    pub(crate) fn path(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }
}

impl Drop for Scenario {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Returns the scenario of the permutation with flows of this size.
pub(crate) fn permutation(size: &str) -> Result<Scenario, String> {
    let case = CASES
        .iter()
        .find(|case| matches!(case.traffic, Traffic::Permutation));
    let text = text(case.expect("one of the rows"));
    Scenario::new(
        &format!("permutation-{}", size.replace(' ', "-")),
        &text.replace("1 MiB", size),
    )
}

/// Returns the scenario of 16,000 hosts with this latency of the links and this number of flows.
pub(crate) fn sixteen_thousand(
    latency_us: u32,
    sizes: &'static str,
    flows: u32,
) -> Result<Scenario, String> {
    let name = format!("16000-{latency_us}us-{sizes}-{flows}");
    let case = case(16_000, latency_us, FAT_TREE_40, sizes, flows);
    Scenario::new(&name, &text(&case))
}

/// Measures a case: the medians of its pairs with the floor, or one run.
fn measure(case: &'static Case) -> Result<Row, String> {
    let scenario = Scenario::new(&format!("{}-{}", case.hosts, case.sizes()), &text(case))?;
    let program = process::simulator(&scenario.path(), case.transport(), &[])?;
    let (cost, floor) = match case.floor {
        None => (Cost::measure(&program)?, None),
        Some((work, pairs)) => {
            let costs = process::alternate(&program, &process::floor(&[work])?, pairs)?;
            let of = |value: fn(&(Cost, Cost)) -> f64| median(costs.iter().map(value).collect());
            let cost = Cost {
                ns_per_hop: of(|(cost, _)| cost.ns_per_hop),
                resident_mb: of(|(cost, _)| cost.resident_mb),
                ..costs[0].0
            };
            let ratio = of(|(cost, floor)| cost.ns_per_hop / floor.ns_per_hop);
            (cost, Some((of(|(_, floor)| floor.ns_per_hop), ratio)))
        }
    };
    if cost.flows < u64::from(case.flows()) || cost.unfinished > 0 {
        return Err(format!(
            "{} flows, {} unfinished; {} required",
            cost.flows,
            cost.unfinished,
            case.flows()
        ));
    }
    Ok(Row { case, cost, floor })
}

fn text(case: &Case) -> String {
    let topology = case.network.toml(case.latency_us);
    let with_tcp = |workload: &str| {
        format!(
            "name = \"scale\"\ntransport = \"tcp\"\nduration = \"5 ms\"\ndrain = \"2 s\"\n\n[topology]\n{topology}\n\n\
             [switch]\nbuffer = \"200 packets\"\n\n[[workload]]\n{workload}\n"
        )
    };
    let (sizes, flows) = match case.traffic {
        Traffic::Poisson { sizes, flows } => (sizes, flows),
        Traffic::Permutation => return with_tcp("kind = \"permutation\"\nsize = \"1 MiB\""),
        Traffic::Start => {
            return with_tcp("kind = \"burst\"\nsenders = 8\nreceiver = 0\nsize = \"1 KB\"");
        }
    };
    // The web-search flows are much larger, so fewer are offered.
    let per_host = if sizes == "hadoop" {
        RATE_PER_HOST
    } else {
        RATE_PER_HOST / 10
    };
    let rate = per_host * case.hosts;
    let milliseconds = f64::from(flows) * MARGIN / f64::from(rate) * 1e3;
    format!(
        "name = \"scale\"\ntransport = \"dctcp\"\nduration = \"{milliseconds:.3} ms\"\ndrain = \"60 s\"\n\n\
         [topology]\n{topology}\n\n[switch]\nbuffer = \"1000 packets\"\necn_threshold = \"65 packets\"\n\n[tcp]\ninitial_window = 10\n\n[[workload]]\nkind = \"poisson\"\nsize = \"{sizes}\"\nrate = \"{rate} /s\"\n"
    )
}

/// Returns true if a case meets its gates.
fn is_met(row: &Row, baseline: f64) -> bool {
    let cost = &row.cost;
    match row.case.traffic {
        Traffic::Start => cost.resident_mb < START_LIMIT_MB && cost.seconds() < START_LIMIT_S,
        Traffic::Poisson { .. } | Traffic::Permutation => {
            cost.resident_mb < MEMORY_LIMIT_MB && cost.ns_per_hop <= COST_LIMIT * baseline
        }
    }
}

fn line(row: &Row, baseline: f64) -> serde_json::Value {
    let Row { case, cost, floor } = row;
    json!({
        "work": format!("scale-{}-{}us-{}", case.hosts, case.latency_us, case.sizes()),
        "transport": case.transport(),
        "hosts": case.hosts,
        "latency_us": case.latency_us,
        "flows": cost.flows,
        "packet_hops": cost.packet_hops,
        "ns_per_packet_hop": cost.ns_per_hop,
        "w2_ratio": cost.ns_per_hop / baseline,
        "floor": case.floor.map(|(work, _)| work),
        "floor_ns_per_packet_hop": floor.map(|(ns, _)| ns),
        "floor_ratio": floor.map(|(_, ratio)| ratio),
        "resident_mb": cost.resident_mb,
    })
}

#[expect(clippy::print_stdout, reason = "this program prints its results")]
fn print(rows: &[Row], baseline: f64) {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let Row { case, cost, floor } = row;
            let met = is_met(row, baseline);
            // The time of a start is not that of its few packets.
            let per_hop = |text: String| match case.traffic {
                Traffic::Start => "–".to_owned(),
                Traffic::Poisson { .. } | Traffic::Permutation => text,
            };
            let of_floor = |text: fn((f64, f64)) -> String| floor.map_or("–".to_owned(), text);
            vec![
                case.work(),
                case.sizes().to_owned(),
                grouped(u64::from(case.hosts)),
                case.latency_us.to_string(),
                grouped(cost.flows),
                grouped(cost.packet_hops),
                format!("{:.1}", cost.seconds()),
                per_hop(format!("{:.1}", cost.ns_per_hop)),
                per_hop(format!("{:.2}", cost.ns_per_hop / baseline)),
                of_floor(|(ns, _)| format!("{ns:.1}")),
                of_floor(|(_, ratio)| format!("{ratio:.2}")),
                format!("{:.0}", cost.resident_mb),
                if met { "met" } else { "NOT MET" }.to_owned(),
            ]
        })
        .collect();
    let head = [
        "work",
        "sizes",
        "hosts",
        "us/link",
        "flows",
        "packet-hops",
        "seconds",
        "ns/hop",
        "× W2",
        "floor ns",
        "× floor",
        "MB",
        "gates",
    ];
    println!("{}", lines(&head, 2, &cells));
    println!(
        "W2: {baseline:.1} ns/hop. Gates: under {MEMORY_LIMIT_MB} MB, at most {COST_LIMIT} × W2 per packet-hop; the start of \
         65,536 hosts under {START_LIMIT_S} s and {START_LIMIT_MB} MB."
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_with_one_name_have_separate_files() {
        let [first, second] = [(); 2].map(|()| permutation("1 B").expect("a temporary file"));
        drop(first);
        assert!(second.0.exists());
    }
}

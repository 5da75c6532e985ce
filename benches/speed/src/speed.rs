//! The standard workloads under several transports and ports, compared with the floor.

use crate::process::{self, Cost};
use crate::queue;
use duetime_measure::{Counter, grouped, lines, median};
use serde_json::json;

/// Limit that a row must meet.
enum Limit {
    /// Maximum instructions per packet-hop.
    Instructions(f64),
    /// Maximum time per packet-hop, as a ratio to the floor's.
    FloorRatio(f64),
    ResidentMb(f64),
}

/// Ratio of W3's time to the time of W2's floor (no floor runs W3) at commit 3317091, where receivers of closed
/// connections waited in the event queue's heap with their messages: the median of three alternated runs, 306 to 367 ns
/// of processor time per packet-hop.
const W3_BEFORE: f64 = 5.6;

/// Limits by workload and name of a row.
const LIMITS: [(&str, &str, Limit); 11] = [
    ("w1", "dctcp", Limit::Instructions(345.0)),
    ("w1", "dctcp", Limit::FloorRatio(1.6)),
    ("w2", "dctcp", Limit::Instructions(350.0)),
    ("w2", "dctcp", Limit::FloorRatio(1.6)),
    ("w2", "dctcp", Limit::ResidentMb(24.0)),
    ("w1", "dctcp, as in linux", Limit::Instructions(450.0)),
    ("w2", "dctcp, as in linux", Limit::Instructions(410.0)),
    ("w2", "tcp, strict priority", Limit::Instructions(470.0)),
    ("w2", "d3", Limit::Instructions(470.0)),
    ("w2", "due", Limit::Instructions(500.0)),
    ("w3", "dctcp", Limit::FloorRatio(0.6 * W3_BEFORE)),
];

/// Row of the table.
struct Case {
    work: &'static str,
    /// Name in the table and in the JSON output.
    name: &'static str,
    transport: &'static str,
    /// Changes to the workload's scenario.
    set: &'static [&'static str],
    /// True if the row is alternated with the floor in all requested pairs.
    standard: bool,
}

const fn case(
    work: &'static str,
    name: &'static str,
    transport: &'static str,
    set: &'static [&'static str],
) -> Case {
    Case {
        work,
        name,
        transport,
        set,
        standard: false,
    }
}

impl Case {
    /// Returns the floor's workload for comparison: the same, or the nearest that the floor supports.
    fn floor_work(&self) -> &'static str {
        if self.work == "w3" { "w2" } else { self.work }
    }

    /// Returns true if instructions are counted. Valgrind would take ten minutes for W3.
    fn is_counted(&self) -> bool {
        self.work != "w3"
    }
}

const SHARED: &[&str] = &["--set", "switch.buffer=\"4 MB\""];
const EXACT: &[&str] = &[
    "--set",
    "host.send_jitter=\"0 ps\"",
    "--set",
    "host.receive_jitter=\"0 ps\"",
];
const LINUX: &[&str] = &["--set", "tcp.profile=\"linux\""];
const FIFO: &[&str] = &["--set", "host.nic=\"fifo\""];

const CASES: [Case; 27] = [
    Case {
        standard: true,
        ..case("w1", "dctcp", "dctcp", &[])
    },
    Case {
        standard: true,
        ..case("w2", "dctcp", "dctcp", &[])
    },
    Case {
        standard: true,
        ..case("w3", "dctcp", "dctcp", &[])
    },
    case("w1", "dctcp, no send jitter", "dctcp", EXACT),
    case("w2", "dctcp, no send jitter", "dctcp", EXACT),
    case("w1", "tcp", "tcp", &[]),
    case("w2", "tcp", "tcp", &[]),
    case("w1", "d2tcp", "d2tcp", &[]),
    case("w2", "d2tcp", "d2tcp", &[]),
    case("w1", "cubic", "cubic", &[]),
    case("w2", "cubic", "cubic", &[]),
    case("w1", "dctcp, as in linux", "dctcp", LINUX),
    case("w2", "dctcp, as in linux", "dctcp", LINUX),
    case("w1", "d3", "d3", &[]),
    case("w2", "d3", "d3", &[]),
    case("w1", "due", "due", &[]),
    case("w2", "due", "due", &[]),
    case("w2", "homa", "homa", &[]),
    case("w2", "pfabric", "pfabric", &[]),
    case("w2", "pdq", "pdq", &[]),
    case("w2", "sird", "sird", &[]),
    case("w1", "dctcp, shared buffer", "dctcp", SHARED),
    case("w2", "dctcp, shared buffer", "dctcp", SHARED),
    case("w1", "tcp, strict priority", "tcp-prio", SHARED),
    case("w2", "tcp, strict priority", "tcp-prio", SHARED),
    case("w1", "dctcp, nic fifo", "dctcp", FIFO),
    case("w2", "dctcp, nic fifo", "dctcp", FIFO),
];

/// Number of pairs for the other rows.
const FEW_PAIRS: usize = 3;

/// Measurements of one case.
struct Row {
    case: &'static Case,
    cost: Cost,
    instructions: Option<f64>,
    ratio: f64,
}

/// Returns the path of a workload's scenario, independent of the working directory.
pub(crate) fn scenario(work: &str) -> String {
    format!("{}/../../scenarios/{work}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// Measures, prints the results and returns true if every gate is met.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program prints its results"
)]
pub(crate) fn run(arguments: &[String]) -> Result<bool, String> {
    let json = arguments.iter().any(|argument| argument == "--json");
    let pairs = match arguments.iter().position(|argument| argument == "--pairs") {
        Some(place) => arguments
            .get(place + 1)
            .and_then(|text| text.parse().ok())
            .ok_or("--pairs requires a number above 0")?,
        None => 9,
    };
    if pairs == 0 {
        return Err("--pairs requires a number above 0".to_owned());
    }
    let counter = Counter::find();
    let mut rows = Vec::new();
    for case in &CASES {
        eprintln!("{} {} …", case.work, case.name);
        let row = measure(case, if case.standard { pairs } else { FEW_PAIRS }, counter)?;
        if json {
            println!("{}", line(&row));
        }
        rows.push(row);
    }
    let split = threads()?;
    let queues = queue::measure();
    if json {
        for row in &queues {
            println!("{}", row.json());
        }
        println!("{}", split.json());
        return Ok(gates(&rows).iter().all(|gate| gate.met));
    }
    print(&rows, counter, pairs)?;
    println!(
        "\n{}\n\nW2 on two threads: {}",
        queue::table(&queues),
        split.text()
    );
    println!("\nGates");
    let gates = gates(&rows);
    for gate in &gates {
        println!(
            "  {:<44} {:>10}  {}",
            gate.label,
            gate.value,
            if gate.met { "met" } else { "NOT MET" }
        );
    }
    Ok(gates.iter().all(|gate| gate.met))
}

/// Alternates the simulator with the floor. The ratio is the median over the pairs.
fn measure(case: &'static Case, pairs: usize, counter: Counter) -> Result<Row, String> {
    let simulator = process::simulator(&scenario(case.work), case.transport, case.set)?;
    let floor = process::floor(&[case.floor_work(), "fifo"])?;
    let costs = process::alternate(&simulator, &floor, pairs)?;
    if let Some((cost, _)) = costs.iter().find(|(cost, _)| cost.unfinished > 0) {
        return Err(format!(
            "{} {}: {} of {} flows unfinished",
            case.work, case.name, cost.unfinished, cost.flows
        ));
    }
    let ratio = |(cost, floor): &(Cost, Cost)| cost.ns_per_hop / floor.ns_per_hop;
    let cost = Cost {
        ns_per_hop: median(costs.iter().map(|(cost, _)| cost.ns_per_hop).collect()),
        resident_mb: median(costs.iter().map(|(cost, _)| cost.resident_mb).collect()),
        ..costs[0].0
    };
    let instructions = (case.is_counted().then(|| counter.count(&simulator)))
        .flatten()
        .map(|count| count as f64 / cost.packet_hops as f64);
    Ok(Row {
        case,
        cost,
        instructions,
        ratio: median(costs.iter().map(ratio).collect()),
    })
}

fn line(row: &Row) -> serde_json::Value {
    json!({
        "work": row.case.work,
        "transport": row.case.name,
        "packet_hops": row.cost.packet_hops,
        "ns_per_packet_hop": row.cost.ns_per_hop,
        "instructions_per_packet_hop": row.instructions,
        "floor_ratio": row.ratio,
        "resident_mb": row.cost.resident_mb,
    })
}

#[expect(clippy::print_stdout, reason = "this program prints its results")]
fn print(rows: &[Row], counter: Counter, pairs: usize) -> Result<(), String> {
    let mut cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.case.work.to_uppercase(),
                row.case.name.to_owned(),
                grouped(row.cost.packet_hops),
                format!("{:.1}", row.cost.ns_per_hop),
                row.instructions
                    .map_or("–".to_owned(), |count| format!("{count:.0}")),
                format!("{:.2}", row.ratio),
                format!("{:.1}", row.cost.resident_mb),
                format!("{:.2}", row.cost.finished_us / 1000.0),
            ]
        })
        .collect();
    for work in ["w1", "w2"] {
        for nic in ["fifo", "pull"] {
            let floor = process::floor(&[work, nic])?;
            let costs = (0..FEW_PAIRS)
                .map(|_| Cost::measure(&floor))
                .collect::<Result<Vec<_>, _>>()?;
            let hops = costs[0].packet_hops;
            cells.push(vec![
                work.to_uppercase(),
                format!("floor, nic {nic}"),
                grouped(hops),
                format!(
                    "{:.1}",
                    median(costs.iter().map(|cost| cost.ns_per_hop).collect())
                ),
                counter.count(&floor).map_or("–".to_owned(), |count| {
                    format!("{:.0}", count as f64 / hops as f64)
                }),
                String::new(),
                format!("{:.1}", costs[0].resident_mb),
                format!("{:.2}", costs[0].finished_us / 1000.0),
            ]);
        }
    }
    let head = [
        "work",
        "transport",
        "packet-hops",
        "ns/hop",
        "instr/hop",
        "× floor",
        "MB",
        "finished ms",
    ];
    println!("{}", lines(&head, 2, &cells));
    println!(
        "Times are medians of {pairs} runs ({FEW_PAIRS} from the fourth row on), each alternated with the floor \
         (nic fifo; W3: W2's floor)."
    );
    println!("Instructions: {}.", counter.name());
    Ok(())
}

/// Measurements of W2 on one and on two threads.
struct Split {
    one: f64,
    two: f64,
    equal: bool,
    packet_hops: u64,
    busiest_share: f64,
    resident_mb: f64,
}

impl Split {
    fn speed_up(&self) -> f64 {
        self.one / self.two
    }

    fn text(&self) -> String {
        let digests = if self.equal {
            "equal digests"
        } else {
            "DIGESTS DIFFER"
        };
        format!(
            "{digests}, {:.2} × the speed of one thread; the busier thread processed {:.1} % of the packet-hops",
            self.speed_up(),
            100.0 * self.busiest_share
        )
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "work": "w2",
            "transport": "dctcp, two threads",
            "packet_hops": self.packet_hops,
            "ns_per_packet_hop": self.two,
            "instructions_per_packet_hop": null,
            "floor_ratio": null,
            "resident_mb": self.resident_mb,
            "speed_up": self.speed_up(),
            "busiest_share": self.busiest_share,
            "equal_digests": self.equal,
        })
    }
}

fn threads() -> Result<Split, String> {
    let program = |threads| process::simulator(&scenario("w2"), "dctcp", &["--threads", threads]);
    let (one, two) = (program("1")?, program("2")?);
    let costs = (0..FEW_PAIRS)
        .map(|_| Ok((Cost::measure(&one)?, Cost::measure(&two)?)))
        .collect::<Result<Vec<_>, String>>()?;
    let (_, split) = costs[0];
    Ok(Split {
        one: median(costs.iter().map(|(one, _)| one.ns_per_hop).collect()),
        two: median(costs.iter().map(|(_, two)| two.ns_per_hop).collect()),
        equal: costs.iter().all(|(one, two)| one.digest == two.digest),
        packet_hops: split.packet_hops,
        busiest_share: split.busiest_share,
        resident_mb: split.resident_mb,
    })
}

/// A gate and the measured value.
struct Gate {
    label: String,
    value: String,
    met: bool,
}

fn gates(rows: &[Row]) -> Vec<Gate> {
    let gate = |(work, name, limit): &(&str, &str, Limit)| {
        let matches = |row: &&Row| (row.case.work, row.case.name) == (*work, *name);
        let row = rows.iter().find(matches).expect("a row of the table");
        let row_name = match *name {
            "dctcp" => work.to_uppercase(),
            name => format!("{} {name}", work.to_uppercase()),
        };
        match *limit {
            Limit::Instructions(limit) => Gate {
                label: format!("{row_name}: at most {limit} instructions/hop"),
                value: (row.instructions)
                    .map_or("unknown".to_owned(), |count| format!("{count:.0}")),
                met: row.instructions.is_some_and(|count| count <= limit),
            },
            Limit::FloorRatio(limit) => Gate {
                label: if row.case.floor_work() == *work {
                    format!("{row_name}: at most {limit} × the floor's time")
                } else {
                    format!("{row_name}: at most 0.6 of {W3_BEFORE} × the time of W2's floor")
                },
                value: format!("{:.2}", row.ratio),
                met: row.ratio <= limit,
            },
            Limit::ResidentMb(limit) => Gate {
                label: format!("{row_name}: at most {limit} MB resident"),
                value: format!("{:.1} MB", row.cost.resident_mb),
                met: row.cost.resident_mb <= limit,
            },
        }
    };
    LIMITS.iter().map(gate).collect()
}

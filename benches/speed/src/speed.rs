//! The standard works under several transports and ports, beside the floor.

use crate::process::{self, Cost};
use crate::queue;
use duetime_measure::{Counter, grouped, lines, median};
use serde_json::json;

/// What a row must keep to.
enum Limit {
    /// Instructions per packet-hop.
    Instructions(f64),
    /// Time per packet-hop over the floor's.
    FloorRatio(f64),
    ResidentMb(f64),
}

/// No floor does W3, so its time is told in that of W2's floor. At commit 3317091, where receivers of closed connections
/// waited in the event queue's heap with their messages, it was so many times that: the median of three alternated runs,
/// 306 to 367 ns of processor time per packet-hop.
const W3_BEFORE: f64 = 5.6;

/// By work and name of a row.
const LIMITS: [(&str, &str, Limit); 8] = [
    ("w1", "dctcp", Limit::Instructions(345.0)),
    ("w1", "dctcp", Limit::FloorRatio(1.6)),
    ("w2", "dctcp", Limit::Instructions(405.0)),
    ("w2", "dctcp", Limit::FloorRatio(1.6)),
    ("w2", "dctcp", Limit::ResidentMb(24.0)),
    ("w2", "tcp, strict priority", Limit::Instructions(610.0)),
    ("w2", "d3", Limit::Instructions(660.0)),
    ("w3", "dctcp", Limit::FloorRatio(0.6 * W3_BEFORE)),
];

/// A row of the table.
struct Case {
    work: &'static str,
    /// As the table and the JSON call it.
    name: &'static str,
    transport: &'static str,
    /// What is changed in the work's scenario.
    set: &'static [&'static str],
    /// Alternated with the floor in all the pairs asked for.
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
    /// The work that the floor does beside it: the nearest that it knows.
    fn floor_work(&self) -> &'static str {
        if self.work == "w3" { "w2" } else { self.work }
    }

    /// Whether its instructions are counted: valgrind would take ten minutes for W3.
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

const CASES: [Case; 21] = [
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
    case("w1", "dctcp, shared buffer", "dctcp", SHARED),
    case("w2", "dctcp, shared buffer", "dctcp", SHARED),
    case("w1", "tcp, strict priority", "tcp-prio", SHARED),
    case("w2", "tcp, strict priority", "tcp-prio", SHARED),
    case("w1", "dctcp, nic fifo", "dctcp", FIFO),
    case("w2", "dctcp, nic fifo", "dctcp", FIFO),
];

/// Rounds for the other rows.
const FEW_PAIRS: usize = 3;

/// What was measured for one case.
struct Row {
    case: &'static Case,
    cost: Cost,
    instructions: Option<f64>,
    ratio: f64,
}

/// The works' files, seen from wherever this runs.
pub(crate) fn scenario(work: &str) -> String {
    format!("{}/../../scenarios/{work}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// Measures, prints, and says whether every gate is met.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program whose output is its purpose"
)]
pub(crate) fn run(arguments: &[String]) -> Result<bool, String> {
    let json = arguments.iter().any(|argument| argument == "--json");
    let pairs = match arguments.iter().position(|argument| argument == "--pairs") {
        Some(place) => arguments
            .get(place + 1)
            .and_then(|text| text.parse().ok())
            .ok_or("--pairs needs a number above 0")?,
        None => 9,
    };
    if pairs == 0 {
        return Err("--pairs needs a number above 0".to_owned());
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
            gate.what,
            gate.value,
            if gate.met { "met" } else { "NOT MET" }
        );
    }
    Ok(gates.iter().all(|gate| gate.met))
}

/// Alternates the simulator with the floor; the ratio is the median of the pairs'.
fn measure(case: &'static Case, pairs: usize, counter: Counter) -> Result<Row, String> {
    let simulator = process::simulator(&scenario(case.work), case.transport, case.set)?;
    let floor = process::floor(case.floor_work(), "fifo")?;
    let mut costs = Vec::new();
    let mut ratios = Vec::new();
    for pair in 0..pairs {
        // Each goes first in turn, so that a machine that warms up or slows down favours neither.
        let (cost, limit) = if pair % 2 == 0 {
            let cost = Cost::of(&simulator)?;
            (cost, Cost::of(&floor)?)
        } else {
            let limit = Cost::of(&floor)?;
            (Cost::of(&simulator)?, limit)
        };
        if cost.unfinished > 0 {
            return Err(format!(
                "{} {}: {} of {} flows unfinished",
                case.work, case.name, cost.unfinished, cost.flows
            ));
        }
        ratios.push(cost.ns_per_hop / limit.ns_per_hop);
        costs.push(cost);
    }
    let cost = Cost {
        ns_per_hop: median(costs.iter().map(|cost| cost.ns_per_hop).collect()),
        resident_mb: median(costs.iter().map(|cost| cost.resident_mb).collect()),
        ..costs[0]
    };
    let instructions = (case.is_counted().then(|| counter.count(&simulator)))
        .flatten()
        .map(|count| count as f64 / cost.packet_hops as f64);
    Ok(Row {
        case,
        cost,
        instructions,
        ratio: median(ratios),
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

#[expect(clippy::print_stdout, reason = "a program whose output is its purpose")]
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
            let floor = process::floor(work, nic)?;
            let costs = (0..FEW_PAIRS)
                .map(|_| Cost::of(&floor))
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
        "Times are medians of {pairs} ({FEW_PAIRS} in rows from the fourth on) runs, each beside one of the floor (nic fifo; W3: of W2)."
    );
    println!("Instructions: {}.", counter.name());
    Ok(())
}

/// W2 on one and on two threads.
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
            "{digests}, {:.2} × the speed of one; the busier one did {:.1} % of the packet-hops",
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
        .map(|_| Ok((Cost::of(&one)?, Cost::of(&two)?)))
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

/// A promise with what was measured.
struct Gate {
    what: String,
    value: String,
    met: bool,
}

fn gates(rows: &[Row]) -> Vec<Gate> {
    let gate = |(work, name, limit): &(&str, &str, Limit)| {
        let is_meant = |row: &&Row| (row.case.work, row.case.name) == (*work, *name);
        let row = rows.iter().find(is_meant).expect("a row of the table");
        let who = match *name {
            "dctcp" => work.to_uppercase(),
            name => format!("{} {name}", work.to_uppercase()),
        };
        match *limit {
            Limit::Instructions(limit) => Gate {
                what: format!("{who}: at most {limit} instructions/hop"),
                value: (row.instructions)
                    .map_or("unknown".to_owned(), |count| format!("{count:.0}")),
                met: row.instructions.is_some_and(|count| count <= limit),
            },
            Limit::FloorRatio(limit) => Gate {
                what: if row.case.floor_work() == *work {
                    format!("{who}: at most {limit} × the floor's time")
                } else {
                    format!("{who}: at most 0.6 of {W3_BEFORE} × the time of W2's floor")
                },
                value: format!("{:.2}", row.ratio),
                met: row.ratio <= limit,
            },
            Limit::ResidentMb(limit) => Gate {
                what: format!("{who}: at most {limit} MB resident"),
                value: format!("{:.1} MB", row.cost.resident_mb),
                met: row.cost.resident_mb <= limit,
            },
        }
    };
    LIMITS.iter().map(gate).collect()
}

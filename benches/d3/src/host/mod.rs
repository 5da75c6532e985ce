//! Host cost of D3 and `due` over UDP: the goodput between two network namespaces connected by a veth pair, and its
//! processor time, measured together with raw UDP, the kernel's TCP and QUIC.

mod network;
mod process;
mod transports;

use duetime_measure::{lines, median, spread};
use network::Network;
use process::Transfer;
pub(crate) use process::child;
use serde_json::{Value, json};

/// Minimum and aim of the goodput of our transports, as a ratio to raw UDP with segmentation offload.
const RATIOS: [(&str, f64, f64); 2] = [("d3", 0.3, 0.5), ("due", 0.6, 0.75)];

/// Transports in table order. Raw UDP comes first, because it is the reference.
const KINDS: [&str; 5] = ["udp", "d3", "due", "tcp", "quic"];

/// Number of rounds; each round measures every transport.
const ROUNDS: usize = 7;
/// Sending time in milliseconds.
const MILLISECONDS: u64 = 1_500;

/// Command-line options.
#[derive(Clone, Copy, Debug)]
struct Options {
    json: bool,
    rounds: usize,
    milliseconds: u64,
}

/// Measurements of one transport.
struct Kind {
    name: &'static str,
    transfers: Vec<Transfer>,
}

/// Measures, prints the results and returns true if the gate is met. Without permission to create namespaces, prints a
/// note, measures nothing and returns true.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this program prints its results"
)]
pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    let options = Options::parse(arguments)?;
    let network = match Network::build() {
        Ok(network) => network,
        Err(why) => {
            eprintln!("skipping the cost of hosts, which needs two network namespaces ({why})");
            return Ok(true);
        }
    };
    let mut kinds = KINDS.map(|name| Kind {
        name,
        transfers: Vec::new(),
    });
    for _ in 0..options.rounds {
        for kind in &mut kinds {
            let transfer = process::transfer(&network, kind.name, options.milliseconds)?;
            kind.transfers.push(transfer);
        }
    }
    let gates = RATIOS.map(|(name, min, aim)| {
        let kind = kinds.iter().find(|kind| kind.name == name);
        let ratio = kind.map_or(0.0, |kind| median(kind.over(&kinds[0])));
        (name, ratio, min, aim)
    });
    let rows = kinds.iter().map(|kind| kind.row(&kinds[0]));
    let rows: Vec<Value> = rows.collect();
    if options.json {
        for row in &rows {
            println!("{row}");
        }
    } else {
        println!("{}", table(&rows));
        println!("{}", conditions(options));
        println!("\nGates");
        for (name, ratio, min, aim) in gates {
            for (label, least) in [("at least", min), ("aim", aim)] {
                let label = format!("goodput of {name} over raw UDP: {label} {least}");
                let met = if ratio >= least { "met" } else { "NOT MET" };
                println!("  {label:<62} {ratio:>8.3}  {met}");
            }
        }
    }
    Ok(gates.iter().all(|&(_, ratio, min, _)| ratio >= min))
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            json: false,
            rounds: ROUNDS,
            milliseconds: MILLISECONDS,
        };
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            let mut number = || {
                let number = rest.next().and_then(|text| text.parse::<u32>().ok());
                let number = number.filter(|&number| number > 0);
                number.ok_or_else(|| format!("{argument} requires a number above 0"))
            };
            match argument {
                "--json" => options.json = true,
                "--rounds" => options.rounds = number()? as usize,
                "--milliseconds" => options.milliseconds = number()?.into(),
                _ => return Err(format!("unknown argument {argument}")),
            }
        }
        Ok(options)
    }
}

impl Kind {
    fn each(&self, value: impl Fn(&Transfer) -> f64) -> Vec<f64> {
        self.transfers.iter().map(value).collect()
    }

    /// Returns the ratios of goodput to another transport, round by round.
    fn over(&self, other: &Self) -> Vec<f64> {
        let pairs = self.transfers.iter().zip(&other.transfers);
        pairs
            .map(|(one, other)| one.gbps() / other.gbps())
            .collect()
    }

    fn row(&self, reference: &Self) -> Value {
        let gbps = self.each(Transfer::gbps);
        let (smallest, largest) = spread(&gbps);
        let ratios = self.over(reference);
        let (smallest_ratio, largest_ratio) = spread(&ratios);
        let seconds = |time: fn(&Transfer) -> f64| {
            median(self.each(|transfer| time(transfer) / transfer.gigabytes()))
        };
        json!({
            "work": format!("{}-goodput", self.name),
            "packet_bytes": network::MTU,
            "capacity_gbps": matches!(self.name, "d3" | "due").then_some(transports::CAPACITY.as_bps() as f64 / 1e9),
            "gbps": median(gbps),
            "gbps_smallest": smallest,
            "gbps_largest": largest,
            "ratio": median(ratios),
            "ratio_smallest": smallest_ratio,
            "ratio_largest": largest_ratio,
            "sender_cpu_s_per_gb": seconds(|transfer| transfer.sender.cpu),
            "receiver_cpu_s_per_gb": seconds(|transfer| transfer.receiver.cpu),
            "ksoftirqd_cpu_s_per_gb": seconds(|transfer| transfer.ksoftirqd),
            "rounds": self.transfers.len(),
        })
    }
}

fn table(rows: &[Value]) -> String {
    let number = |value: &Value, digits: usize| {
        let number = value.as_f64();
        number.map_or("–".to_owned(), |number| format!("{number:.digits$}"))
    };
    let range = |row: &Value, key: &str, digits: usize| {
        let [smallest, largest] = ["smallest", "largest"]
            .map(|end| number(&row[format!("{key}_{end}").as_str()], digits));
        format!("{smallest}–{largest}")
    };
    let cells = rows.iter().map(|row| {
        vec![
            row["work"].as_str().unwrap_or_default().to_owned(),
            number(&row["gbps"], 2),
            range(row, "gbps", 2),
            number(&row["ratio"], 3),
            range(row, "ratio", 3),
            number(&row["sender_cpu_s_per_gb"], 3),
            number(&row["receiver_cpu_s_per_gb"], 3),
            number(&row["ksoftirqd_cpu_s_per_gb"], 3),
        ]
    });
    let cells: Vec<_> = cells.collect();
    let head = [
        "work",
        "Gbps",
        "spread",
        "over UDP",
        "spread",
        "sender s/GB",
        "receiver s/GB",
        "ksoftirqd s/GB",
    ];
    lines(&head, 1, &cells)
}

/// Describes how the numbers were measured.
fn conditions(options: Options) -> String {
    format!(
        "Medians of {} rounds of {} ms, each round with all five transports, over a veth pair with packets of {} B. Each \
         host of D3 and due allocates {}, without a router.\nEach side uses one processor. s/GB: processor time, user and system, of \
         all threads of a side, including soft interrupts that run in them,\nand of the kernel's soft-interrupt threads on \
         the whole machine. Raw UDP loses what the receiver does not read; QUIC encrypts.",
        options.rounds,
        options.milliseconds,
        network::MTU,
        transports::CAPACITY,
    )
}

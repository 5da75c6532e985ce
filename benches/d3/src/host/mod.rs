//! What D3 over UDP costs its hosts: the goodput of one flow between two network namespaces that a veth pair joins, and
//! the processor time that it takes, in one run beside raw UDP, the kernel's TCP and QUIC.

mod network;
mod process;
mod transports;

use duetime_measure::{lines, median, spread};
use network::Network;
use process::Transfer;
pub(crate) use process::child;
use serde_json::{Value, json};

/// The least that a D3 flow may reach, over raw UDP with segmentation offload.
const LEAST_RATIO: f64 = 0.3;
/// What it should reach.
const AIM_RATIO: f64 = 0.5;

/// Transports in the order of the table. The first is compared with the second.
const KINDS: [&str; 4] = ["d3", "udp", "tcp", "quic"];

/// Rounds of all kinds, one after the other.
const ROUNDS: usize = 7;
/// How long a sender sends, in milliseconds.
const MILLISECONDS: u64 = 1_500;

/// What is asked for on the command line.
#[derive(Clone, Copy, Debug)]
struct Asked {
    json: bool,
    rounds: usize,
    milliseconds: u64,
}

/// The rounds of one kind.
struct Kind {
    name: &'static str,
    transfers: Vec<Transfer>,
}

/// Measures, prints, and says whether the gate is met. Without the right to make namespaces it says so and measures
/// nothing.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program whose output is its purpose"
)]
pub(crate) fn run(arguments: &[&str]) -> Result<bool, String> {
    let asked = Asked::parse(arguments)?;
    let network = match Network::build() {
        Ok(network) => network,
        Err(why) => {
            eprintln!("D3's host cost is not measured: it needs two network namespaces ({why})");
            return Ok(true);
        }
    };
    let mut kinds = KINDS.map(|name| Kind {
        name,
        transfers: Vec::new(),
    });
    for _ in 0..asked.rounds {
        for kind in &mut kinds {
            let transfer = process::transfer(&network, kind.name, asked.milliseconds)?;
            kind.transfers.push(transfer);
        }
    }
    let ratio = median(kinds[0].over(&kinds[1]));
    let rows = kinds.iter().map(|kind| kind.row(&kinds[1]));
    let rows: Vec<Value> = rows.collect();
    if asked.json {
        for row in &rows {
            println!("{row}");
        }
    } else {
        println!("{}", table(&rows));
        println!("{}", conditions(asked));
        println!("\nGates");
        for (what, least) in [("at least", LEAST_RATIO), ("aim:", AIM_RATIO)] {
            let what = format!("goodput of a D3 flow over raw UDP: {what} {least}");
            let met = if ratio >= least { "met" } else { "NOT MET" };
            println!("  {what:<62} {ratio:>8.3}  {met}");
        }
    }
    Ok(ratio >= LEAST_RATIO)
}

impl Asked {
    fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut asked = Self {
            json: false,
            rounds: ROUNDS,
            milliseconds: MILLISECONDS,
        };
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            let mut number = || {
                let number = rest.next().and_then(|text| text.parse::<u32>().ok());
                let number = number.filter(|&number| number > 0);
                number.ok_or_else(|| format!("{argument} needs a number above 0"))
            };
            match argument {
                "--json" => asked.json = true,
                "--rounds" => asked.rounds = number()? as usize,
                "--milliseconds" => asked.milliseconds = number()?.into(),
                _ => return Err(format!("host knows no {argument}")),
            }
        }
        Ok(asked)
    }
}

impl Kind {
    fn each(&self, of: impl Fn(&Transfer) -> f64) -> Vec<f64> {
        self.transfers.iter().map(of).collect()
    }

    /// The goodput over that of another kind, round by round.
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
        let seconds = |of: fn(&Transfer) -> f64| {
            median(self.each(|transfer| of(transfer) / transfer.gigabytes()))
        };
        json!({
            "work": format!("{}-goodput", self.name),
            "packet_bytes": network::MTU,
            "capacity_gbps": (self.name == "d3").then_some(transports::CAPACITY.as_bps() as f64 / 1e9),
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

/// What the figures are of.
fn conditions(asked: Asked) -> String {
    format!(
        "Medians of {} rounds of {} ms, each with all four. A veth pair, packets of {} B; D3's hosts allocate {} each, and no \
         router is there.\nEach side has one processor. s/GB: processor time, user and system, of all threads of a side, \
         the soft interrupts in it included;\nand of the kernel's threads for soft interrupts, on all of the machine. UDP \
         loses what the receiver does not take; QUIC encrypts.",
        asked.rounds,
        asked.milliseconds,
        network::MTU,
        transports::CAPACITY,
    )
}

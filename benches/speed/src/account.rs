//! Two threads compared with one on W2, on W4 and on 16,000 hosts: the speed-up, and where the rest of the processors'
//! time goes. The limit is the work that the machine does if two separate runs with one thread take place at once: they
//! share nothing but its processors, caches and memory.

use crate::process::{self, Cost};
use crate::scale::{self, Scenario};
use crate::speed;
use duetime_measure::{grouped, lines, median};
use serde_json::json;

/// A run to be compared.
struct Case {
    name: &'static str,
    transport: &'static str,
    file: String,
    /// Number of alternated pairs of runs with one and with two threads.
    pairs: usize,
    /// Removes a temporary file at the end.
    _scenario: Option<Scenario>,
}

/// Medians over the pairs of a case.
struct Row {
    name: &'static str,
    packet_hops: u64,
    /// Packet-hops of a thread per round.
    per_round: f64,
    one_thread_s: f64,
    speed_up: f64,
    /// Throughput of two separate runs at once over that of one.
    limit: f64,
    /// Time that both threads spent on events and messages, over the time of one thread.
    work: f64,
    /// Share of the threads' time that they waited, the start and the end of the run included.
    waiting: f64,
}

/// Measures and prints the comparison.
#[expect(clippy::print_stderr, reason = "this program prints its results")]
pub(crate) fn run(json: bool) -> Result<(), String> {
    let mut rows = Vec::new();
    for case in cases()? {
        eprintln!("{} …", case.name);
        rows.push(measure(&case)?);
    }
    if json {
        json_lines(&rows);
    } else {
        print(&rows);
    }
    Ok(())
}

fn cases() -> Result<Vec<Case>, String> {
    let temporary = |name, transport, scenario: Scenario| Case {
        name,
        transport,
        file: scenario.path(),
        pairs: 3,
        _scenario: Some(scenario),
    };
    let mut cases = vec![
        Case {
            name: "W2",
            transport: "dctcp",
            file: speed::scenario("w2"),
            pairs: 11,
            _scenario: None,
        },
        temporary("W4", "tcp", scale::permutation("1 MiB")?),
    ];
    // The flows of `scale`, but a tenth of Hadoop's, because each case runs six times.
    for (name, latency_us, sizes, flows) in [
        ("16,000 hosts, 1 us, hadoop", 1, "hadoop", 100_000),
        ("16,000 hosts, 1 us, web-search", 1, "web-search", 20_000),
        ("16,000 hosts, 20 us, hadoop", 20, "hadoop", 100_000),
        ("16,000 hosts, 20 us, web-search", 20, "web-search", 20_000),
    ] {
        let scenario = scale::sixteen_thousand(latency_us, sizes, flows)?;
        cases.push(temporary(name, "dctcp", scenario));
    }
    Ok(cases)
}

fn measure(case: &Case) -> Result<Row, String> {
    let program = |threads| {
        let options = ["--threads", threads, "--rounds", "yes"];
        process::simulator(&case.file, case.transport, &options)
    };
    let (one, two) = (program("1")?, program("2")?);
    let mut pairs = Vec::new();
    let mut limits = Vec::new();
    for number in 0..case.pairs {
        let pair = process::pair(&one, &two, number)?;
        let at_once = Cost::measure_at_once(&one)?;
        limits.push(
            at_once
                .map(|cost| pair.0.seconds() / cost.seconds())
                .iter()
                .sum(),
        );
        pairs.push(pair);
    }
    let of = |value: fn(&(Cost, Cost)) -> f64| median(pairs.iter().map(value).collect());
    let work_s = |cost: &Cost| cost.rounds.map_or(0.0, |rounds| rounds.work.as_secs_f64());
    let works = pairs.iter().map(|(one, two)| work_s(two) / one.seconds());
    let waits = (pairs.iter()).map(|(_, two)| 1.0 - work_s(two) / (2.0 * two.seconds()));
    let (_, two) = &pairs[0];
    let rounds = two.rounds.map_or(0, |rounds| rounds.count);
    Ok(Row {
        name: case.name,
        packet_hops: two.packet_hops,
        per_round: two.packet_hops as f64 / rounds as f64 / 2.0,
        one_thread_s: of(|(one, _)| one.seconds()),
        speed_up: of(|(one, two)| one.seconds() / two.seconds()),
        limit: median(limits),
        work: median(works.collect()),
        waiting: median(waits.collect()),
    })
}

#[expect(clippy::print_stdout, reason = "this program prints its results")]
fn json_lines(rows: &[Row]) {
    for row in rows {
        let line = json!({
            "work": row.name,
            "threads": 2,
            "packet_hops": row.packet_hops,
            "hops_per_round_and_thread": row.per_round,
            "one_thread_s": row.one_thread_s,
            "measured_speed_up": row.speed_up,
            "separate_runs_speed_up": row.limit,
            "measured_over_separate_runs": row.speed_up / row.limit,
            "measured_work_ratio": row.work,
            "measured_waiting": row.waiting,
        });
        println!("{line}");
    }
}

#[expect(clippy::print_stdout, reason = "this program prints its results")]
fn print(rows: &[Row]) {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.name.to_owned(),
                grouped(row.packet_hops),
                format!("{:.0}", row.per_round),
                format!("{:.2}", row.one_thread_s),
                format!("{:.2}", row.speed_up),
                format!("{:.2}", row.limit),
                format!("{:.2}", row.speed_up / row.limit),
                format!("{:.2}", row.work),
                format!("{:.0} %", 100.0 * row.waiting),
            ]
        })
        .collect();
    let head = [
        "two threads",
        "packet-hops",
        "hops/round/thread",
        "one thread s",
        "speed-up",
        "separate runs",
        "of that",
        "work",
        "waiting",
    ];
    println!("{}", lines(&head, 1, &cells));
    println!(
        "Medians of 3 alternated pairs (W2: 11). Separate runs: throughput of two runs with one thread each at once over that\n\
         of one such run, which is what this machine gives to two threads. Work: time of both threads on events and\n\
         messages over that of one thread; it contains more instructions and more cache misses. Waiting: share of the\n\
         threads' time without work.\n"
    );
}

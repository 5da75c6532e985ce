//! Two threads measured (see `account`), and a model of the speed-up with more threads than this machine has processors,
//! from quantities that do not need them: the rounds of a run, the busiest partition of each, and the instructions of
//! all. The model's network is that of the simulator Days 1.0 (E5), a fat tree of 8,192 hosts with links of 100 Gbps and
//! 1 us.

use crate::account;
use crate::barrier::Barrier;
use crate::process::{self, Cost, Rounds};
use crate::scale;
use duetime_measure::{Counter, Program, grouped, lines, median};
use serde_json::json;
use std::num::NonZeroUsize;
use std::time::Instant;

/// Numbers of threads.
const THREADS: [usize; 5] = [2, 4, 8, 22, 64];
/// Pairs of runs with one and with several threads, to measure the speed-up where the machine has the processors.
const PAIRS: usize = 3;
/// Rounds of a measurement of the barrier.
const WAITS: u32 = 200_000;

struct Row {
    threads: usize,
    rounds: Rounds,
    packet_hops: u64,
    /// Instructions of all threads over those of one.
    instructions: f64,
    /// Modelled speed-up, without the barrier and with it.
    modelled: [f64; 2],
    /// Measured speed-up, if the machine has the processors.
    measured: Option<f64>,
}

/// Measures and prints the model.
#[expect(clippy::print_stderr, reason = "this program prints its results")]
pub(crate) fn run(arguments: &[String]) -> Result<bool, String> {
    let json = arguments.iter().any(|argument| argument == "--json");
    let counter = Counter::find();
    let whole = scale::permutation("1 MiB")?;
    // A sixteenth of the traffic, because valgrind takes fifty times as long; without the instructions of the start.
    let short = scale::permutation("64 KiB")?;
    let start = scale::permutation("1 B")?;
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    if processors > 1 {
        account::run(json)?;
    } else {
        eprintln!("two threads are not measured: the machine has one processor");
    }
    let simulator = |file: &str, threads: usize| {
        let threads = threads.to_string();
        process::simulator(file, "tcp", &["--threads", &threads, "--rounds", "yes"])
    };
    let instructions = |threads| -> Result<f64, String> {
        let count = |scenario: &scale::Scenario| -> Result<f64, String> {
            let count = counter.count(&simulator(&scenario.path(), threads)?);
            Ok(count.ok_or("instructions cannot be counted: install valgrind")? as f64)
        };
        Ok(count(&short)? - count(&start)?)
    };
    eprintln!("one thread …");
    let alone = instructions(1)?;
    let mut one = vec![Cost::measure(&simulator(&whole.path(), 1)?)?];
    let barrier_s = barrier_s(processors.min(2));
    let mut rows = Vec::new();
    for threads in THREADS {
        eprintln!("{threads} threads …");
        let program = simulator(&whole.path(), threads)?;
        let cost = Cost::measure(&program)?;
        let rounds = cost.rounds.ok_or("the run has no rounds")?;
        let measured = if threads <= processors {
            let alone = simulator(&whole.path(), 1)?;
            Some(speed_up(&alone, &program, &mut one)?)
        } else {
            None
        };
        let instructions = instructions(threads)? / alone;
        let longest = rounds.longest_hops as f64 / cost.packet_hops as f64;
        let seconds = median(one.iter().map(Cost::seconds).collect());
        // Threads arrive one after the other at the barrier's counter.
        let waits = rounds.count as f64 * barrier_s * threads as f64 / 2.0;
        rows.push(Row {
            threads,
            rounds,
            packet_hops: cost.packet_hops,
            instructions,
            modelled: [0.0, waits / seconds].map(|waits| 1.0 / (instructions * longest + waits)),
            measured,
        });
    }
    let seconds = median(one.iter().map(Cost::seconds).collect());
    if json {
        json_lines(&rows, seconds, barrier_s);
    } else {
        print(&rows, seconds, barrier_s, counter);
    }
    Ok(true)
}

/// Returns the time of one thread over that of several, in alternated pairs, and adds the costs of one to `costs`.
fn speed_up(one: &Program, several: &Program, costs: &mut Vec<Cost>) -> Result<f64, String> {
    let pairs = process::alternate(one, several, PAIRS)?;
    costs.extend(pairs.iter().map(|(one, _)| one));
    let ratio = |(one, several): &(Cost, Cost)| one.seconds() / several.seconds();
    Ok(median(pairs.iter().map(ratio).collect()))
}

/// Returns the time of one round of the barrier of so many threads that have nothing else to do.
fn barrier_s(threads: usize) -> f64 {
    let barrier = Barrier::new(threads, 2_000);
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..WAITS).for_each(|_| barrier.wait()));
        }
    });
    started.elapsed().as_secs_f64() / f64::from(WAITS)
}

#[expect(clippy::print_stdout, reason = "this program prints its results")]
fn json_lines(rows: &[Row], seconds: f64, barrier_s: f64) {
    for row in rows {
        let line = json!({
            "threads": row.threads,
            "packet_hops": row.packet_hops,
            "rounds": row.rounds.count,
            "longest_hops": row.rounds.longest_hops,
            "crossings": row.rounds.crossings,
            "instructions_ratio": row.instructions,
            "one_thread_s": seconds,
            "barrier_us": barrier_s * 1e6,
            "speed_up_without_barrier": row.modelled[0],
            "speed_up": row.modelled[1],
            "measured_speed_up": row.measured,
        });
        println!("{line}");
    }
}

#[expect(clippy::print_stdout, reason = "this program prints its results")]
fn print(rows: &[Row], seconds: f64, barrier_s: f64, counter: Counter) {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let hops = row.packet_hops as f64;
            let per_thread = hops / row.rounds.count as f64 / row.threads as f64;
            let busiest = row.rounds.longest_hops as f64 * row.threads as f64 / hops;
            vec![
                row.threads.to_string(),
                grouped(row.rounds.count),
                format!("{per_thread:.0}"),
                format!("{busiest:.2}"),
                format!("{:.0} %", 100.0 * row.rounds.crossings as f64 / hops),
                format!("{:.2}", row.instructions),
                format!("{:.1}", row.modelled[0]),
                format!("{:.1}", row.modelled[1]),
                format!("{:.2}", seconds / row.modelled[1]),
                (row.measured).map_or("–".to_owned(), |speed_up| format!("{speed_up:.2}")),
            ]
        })
        .collect();
    let head = [
        "threads",
        "rounds",
        "hops/round/thread",
        "busiest/mean",
        "crossings",
        "instructions",
        "without barrier",
        "speed-up",
        "seconds",
        "measured",
    ];
    println!("{}", lines(&head, 0, &cells));
    println!(
        "One thread: {seconds:.2} s. Speed-up = 1 / (instructions × longest / all packet-hops + rounds × barrier / one thread's time),\n\
         where \"longest\" sums the busiest thread of each round. Assumptions: an instruction takes as long as with one thread; the\n\
         barrier of n threads takes n / 2 times that of two, {:.2} us. Instructions ({}) are relative to one thread,\n\
         for flows of 64 KiB, without the start.\n\
         Measured: median of {PAIRS} alternated pairs, where the machine has the processors. Days 1.0 states 126 s on one core\n\
         and 5.0 s on 22 workers for these flows of 1 MiB.",
        barrier_s * 1e6,
        counter.name()
    );
}

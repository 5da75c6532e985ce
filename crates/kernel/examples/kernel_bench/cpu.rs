//! Processor time per gigabyte under `duetime_d2tcp`, compared with the kernel's cubic.
//!
//! The sender and the receiver have one processor each, including its soft interrupts. A thread of lower priority spins
//! on each and measures the time without interruptions, so that no work is charged to the idle processor or to another
//! program. The cost is the processor time of all four threads minus this time. It is exact to some nanoseconds per
//! interruption, even on a busy machine.

use crate::wire::{Connection, Marking, Namespace, Wire, attach};
use crate::{format_estimate, mean};
use duetime_kernel::Options;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, gettid};
use std::io::{Read, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Processors of the sender and of the receiver.
const PROCESSORS: [usize; 2] = [0, 1];
/// Maximum ratio.
const MAX_RATIO: f64 = 1.05;

/// Link configuration and transfer size.
struct Case {
    name: &'static str,
    shaper: Option<&'static str>,
    marking: Marking,
    bytes: usize,
}

/// The second case marks many isolated packets. A receiver then acknowledges more often (RFC 8257 §3.2), which costs
/// more than the programs.
const CASES: [Case; 3] = [
    Case {
        name: "500 Mbps, marks above 20 packets in the queue",
        shaper: Some("tbf rate 500mbit burst 6000 limit 3000000"),
        marking: Marking::above(20),
        bytes: 250_000_000,
    },
    Case {
        name: "200 Mbps, marks above 20 packets in the queue",
        shaper: Some("tbf rate 200mbit burst 6000 limit 3000000"),
        marking: Marking::above(20),
        bytes: 50_000_000,
    },
    Case {
        name: "as fast as the processors, marks above 20 packets in flight",
        shaper: None,
        marking: Marking {
            waiting: 20,
            ..Marking::NONE
        },
        bytes: 400_000_000,
    },
];

const CONTROLS: [&str; 2] = ["duetime_d2tcp", "cubic"];

/// Results of one run.
#[derive(Clone, Copy, Debug)]
struct Run {
    cpu_s_per_gb: f64,
    rate_gbps: f64,
    marks: f64,
    acknowledgements: f64,
    retransmits: f64,
}

/// Sends alternately under both controls, `pairs` times per case, and prints the cost. Returns true if all ratios are
/// within the limit.
pub fn measure(pairs: usize) -> bool {
    let _attachment = attach(&Options::default());
    // Measure all cases, even after a failed one.
    let good = CASES.map(|case| measure_case(&case, pairs));
    good.iter().all(|&passed| passed)
}

fn measure_case(case: &Case, pairs: usize) -> bool {
    let wire = Wire::new(case.shaper);
    for (host, processor) in [&wire.sender, &wire.receiver].into_iter().zip(PROCESSORS) {
        steer(host, processor);
    }
    let mut runs = [Vec::new(), Vec::new()];
    for control in CONTROLS {
        run(&wire, control, case);
    }
    for pair in 0..pairs {
        for turn in 0..2 {
            let control = (pair + turn) % 2;
            runs[control].push(run(&wire, CONTROLS[control], case));
        }
    }
    let ratios: Vec<f64> = (runs[0].iter().zip(&runs[1]))
        .map(|(d2tcp, cubic)| d2tcp.cpu_s_per_gb / cubic.cpu_s_per_gb)
        .collect();
    println!(
        "── {}: {pairs} pairs of {} MB",
        case.name,
        case.bytes / 1_000_000
    );
    println!("medians         CPU s/GB    Gbps    marks     ACKs   retransmits");
    for (control, runs) in CONTROLS.iter().zip(&runs) {
        let median_of = |value: fn(&Run) -> f64| median(runs.iter().map(value).collect());
        println!(
            "{control:<15} {:>8.4} {:>7.2} {:>8.0} {:>8.0} {:>13.0}",
            median_of(|run| run.cpu_s_per_gb),
            median_of(|run| run.rate_gbps),
            median_of(|run| run.marks),
            median_of(|run| run.acknowledgements),
            median_of(|run| run.retransmits),
        );
    }
    let ratio = mean(&ratios);
    let marked = runs.iter().flatten().all(|run| run.marks > 0.0);
    let good = marked && ratio.value <= MAX_RATIO;
    println!(
        "ratio: mean {}, median {:.4}; limit {MAX_RATIO}: {}",
        format_estimate(&ratio, 4),
        median(ratios),
        match (marked, good) {
            (false, _) => "NOT valid: a run had no marks",
            (true, true) => "met",
            (true, false) => "MISSED",
        }
    );
    good
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

fn run(wire: &Wire, control: &str, case: &Case) -> Run {
    let bytes = case.bytes;
    wire.mark(case.marking);
    let connection = Connection::new(wire, control, 9000);
    let (mut near, mut far) = (&connection.near, &connection.far);
    let count = || {
        [
            counter(&wire.sender, "netstat", "TcpExt", "TCPDeliveredCE"),
            counter(&wire.receiver, "snmp", "Tcp", "OutSegs"),
            counter(&wire.sender, "snmp", "Tcp", "RetransSegs"),
        ]
    };
    let before = count();
    let began = now(ClockId::CLOCK_MONOTONIC);
    let done = AtomicBool::new(false);
    let [sending, receiving] = PROCESSORS;
    let busy = thread::scope(|scope| {
        let spinners = PROCESSORS.map(|processor| {
            let done = &done;
            scope.spawn(move || {
                confine(processor, 1);
                let mut undisturbed = 0.0;
                processor_time(|| undisturbed = spin(done)) - undisturbed
            })
        });
        let receiver = scope.spawn(move || {
            confine(receiving, 2);
            processor_time(|| {
                let mut buffer = vec![0; 1 << 17];
                let mut left = bytes;
                while left > 0 {
                    left -= far.read(&mut buffer).expect("received");
                }
            })
        });
        let sender = scope.spawn(move || {
            confine(sending, 2);
            processor_time(|| {
                let buffer = vec![0; 1 << 17];
                let mut left = bytes;
                while left > 0 {
                    left -= near.write(&buffer[..left.min(1 << 17)]).expect("sent");
                }
            })
        });
        let busy = sender.join().expect("sent") + receiver.join().expect("received");
        done.store(true, Ordering::Relaxed);
        let spinners = spinners.map(|spinner| spinner.join().expect("no panic"));
        busy + spinners[0] + spinners[1]
    });
    let took = now(ClockId::CLOCK_MONOTONIC) - began;
    let after = count();
    let counted = |index: usize| (after[index] - before[index]) as f64;
    Run {
        cpu_s_per_gb: busy / (bytes as f64 / 1e9),
        rate_gbps: bytes as f64 * 8.0 / 1e9 / took,
        marks: counted(0),
        acknowledgements: counted(1),
        retransmits: counted(2),
    }
}

/// Returns the processor time of the calling thread during `work`, in seconds.
fn processor_time(work: impl FnOnce()) -> f64 {
    let before = now(ClockId::CLOCK_THREAD_CPUTIME_ID);
    work();
    now(ClockId::CLOCK_THREAD_CPUTIME_ID) - before
}

/// Returns a counter of the host from a file of /proc/net.
fn counter(host: &Namespace, file: &str, group: &str, name: &str) -> u64 {
    let path = format!("/proc/thread-self/net/{file}");
    let text = host.within(|| std::fs::read_to_string(path));
    let text = text.expect("a file of counters");
    let lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let mut words = lines.map(|line| line.split(' ').skip(1));
    let (names, values) = (words.next(), words.next());
    let (names, values) = (names.expect("names"), values.expect("values"));
    let value = names.zip(values).find(|&(word, _)| word == name);
    let value = value
        .unwrap_or_else(|| panic!("{file} has no {name} of {group}"))
        .1;
    value.parse().expect("a number")
}

/// Spins and returns the time without interruptions, in seconds.
fn spin(done: &AtomicBool) -> f64 {
    /// Maximum duration of an iteration without an interruption.
    const UNDISTURBED_S: f64 = 250e-9;
    let mut undisturbed = 0.0;
    let mut last = now(ClockId::CLOCK_MONOTONIC);
    while !done.load(Ordering::Relaxed) {
        let next = now(ClockId::CLOCK_MONOTONIC);
        if next - last < UNDISTURBED_S {
            undisturbed += next - last;
        }
        last = next;
    }
    undisturbed
}

/// Returns the clock's time in seconds, to less than a nanosecond for realistic uptimes.
fn now(clock: ClockId) -> f64 {
    Duration::from(clock_gettime(clock).expect("the clock")).as_secs_f64()
}

/// Pins the calling thread to the processor, under the real-time scheduler with this priority.
fn confine(processor: usize, priority: u8) {
    let mut processors = CpuSet::new();
    processors.set(processor).expect("a small number");
    sched_setaffinity(Pid::from_raw(0), &processors).expect("at least two processors");
    let (thread, priority) = (gettid().to_string(), priority.to_string());
    let status = Command::new("chrt")
        .args(["--fifo", "--pid", &priority, &thread])
        .status();
    assert!(status.expect("chrt").success(), "chrt requires root");
}

/// Directs the host's receive processing to this processor.
fn steer(host: &Namespace, processor: usize) {
    // A namespace's devices appear in a sysfs that is mounted inside it.
    let script = format!(
        "mount -t sysfs none /sys && echo {:x} >/sys/class/net/wire/queues/rx-0/rps_cpus",
        1 << processor
    );
    let status = host.within(|| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).status()
    });
    assert!(status.expect("a shell").success(), "{script}");
}

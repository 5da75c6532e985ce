//! What a gigabyte costs the processor under `duetime_d2tcp`, beside the kernel's own cubic.
//!
//! The sender has one processor and the receiver another, each with what the kernel does for it in soft interrupts. A
//! thread of lower priority spins on each whenever they wait, so that no part of that work is charged to the idle
//! processor or to another program: it counts the time in which nothing interrupts it. What all four threads had of the
//! processors, less that time, is what the bytes cost, to some nanoseconds for each interruption, also where the machine
//! does other things beside.

use crate::wire::{Connection, Marking, Namespace, Wire, attach};
use crate::{mean, shown};
use duetime_kernel::Options;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{Pid, gettid};
use std::io::{Read, Write};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The processors of the sender and of the receiver.
const PROCESSORS: [usize; 2] = [0, 1];
/// The most that the ratio may be.
const MOST: f64 = 1.05;

/// A wire and what is sent over it.
struct Case {
    name: &'static str,
    shaper: Option<&'static str>,
    marking: Marking,
    bytes: usize,
}

/// The second marks many packets, each alone; a receiver then acknowledges more often (RFC 8257 §3.2), which costs more
/// than the programs do.
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
        name: "as fast as the processors, marks above 20 packets on their way",
        shaper: None,
        marking: Marking {
            waiting: 20,
            ..Marking::NONE
        },
        bytes: 400_000_000,
    },
];

const CONTROLS: [&str; 2] = ["duetime_d2tcp", "cubic"];

/// One run.
#[derive(Clone, Copy, Debug)]
struct Run {
    cpu_s_per_gb: f64,
    rate_gbps: f64,
    marks: f64,
    acknowledgements: f64,
    retransmits: f64,
}

/// Sends under both so many times in turn over each wire, and prints what it cost. True if the ratios are within their
/// bound.
pub fn measure(pairs: usize) -> bool {
    let _attachment = attach(&Options::default());
    // Each is measured, also after one that misses its bound.
    let good = CASES.map(|case| measure_case(&case, pairs));
    good.iter().all(|&it| it)
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
            let which = (pair + turn) % 2;
            runs[which].push(run(&wire, CONTROLS[which], case));
        }
    }
    let ratios: Vec<f64> = (runs[0].iter().zip(&runs[1]))
        .map(|(ours, theirs)| ours.cpu_s_per_gb / theirs.cpu_s_per_gb)
        .collect();
    println!(
        "── {}: {pairs} pairs of {} MB",
        case.name,
        case.bytes / 1_000_000
    );
    println!("medians         CPU s/GB    Gbps    marks     ACKs   retransmits");
    for (control, runs) in CONTROLS.iter().zip(&runs) {
        let of = |value: fn(&Run) -> f64| median(runs.iter().map(value).collect());
        println!(
            "{control:<15} {:>8.4} {:>7.2} {:>8.0} {:>8.0} {:>13.0}",
            of(|it| it.cpu_s_per_gb),
            of(|it| it.rate_gbps),
            of(|it| it.marks),
            of(|it| it.acknowledgements),
            of(|it| it.retransmits),
        );
    }
    let ratio = mean(&ratios);
    let marked = runs.iter().flatten().all(|run| run.marks > 0.0);
    let good = marked && ratio.value <= MOST;
    println!(
        "ratio: mean of the pairs {}, median {:.4}; at most {MOST}: {}",
        shown(&ratio, 4),
        median(ratios),
        match (marked, good) {
            (false, _) => "NOT valid, a run had no marks",
            (true, true) => "holds",
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
                charged(|| undisturbed = spin(done)) - undisturbed
            })
        });
        let receiver = scope.spawn(move || {
            confine(receiving, 2);
            charged(|| {
                let mut buffer = vec![0; 1 << 17];
                let mut left = bytes;
                while left > 0 {
                    left -= far.read(&mut buffer).expect("delivered");
                }
            })
        });
        let sender = scope.spawn(move || {
            confine(sending, 2);
            charged(|| {
                let buffer = vec![0; 1 << 17];
                let mut left = bytes;
                while left > 0 {
                    left -= near
                        .write(&buffer[..left.min(1 << 17)])
                        .expect("sent");
                }
            })
        });
        let busy = sender.join().expect("data") + receiver.join().expect("delivered");
        done.store(true, Ordering::Relaxed);
        let spinners = spinners.map(|spinner| spinner.join().expect("it spins"));
        busy + spinners[0] + spinners[1]
    });
    let took = now(ClockId::CLOCK_MONOTONIC) - began;
    let after = count();
    let counted = |place: usize| (after[place] - before[place]) as f64;
    Run {
        cpu_s_per_gb: busy / (bytes as f64 / 1e9),
        rate_gbps: bytes as f64 * 8.0 / 1e9 / took,
        marks: counted(0),
        acknowledgements: counted(1),
        retransmits: counted(2),
    }
}

/// What the calling thread has of its processor while it works, in seconds.
fn charged(work: impl FnOnce()) -> f64 {
    let before = now(ClockId::CLOCK_THREAD_CPUTIME_ID);
    work();
    now(ClockId::CLOCK_THREAD_CPUTIME_ID) - before
}

/// A counter of the host, from a file of /proc/net.
fn counter(host: &Namespace, file: &str, group: &str, name: &str) -> u64 {
    let path = format!("/proc/thread-self/net/{file}");
    let text = host.within(|| std::fs::read_to_string(path));
    let text = text.expect("the kernel counts");
    let lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let mut words = lines.map(|line| line.split(' ').skip(1));
    let (names, values) = (words.next(), words.next());
    let (names, values) = (names.expect("names"), values.expect("values"));
    let value = names.zip(values).find(|&(it, _)| it == name);
    let value = value
        .unwrap_or_else(|| panic!("{file} has no {name} of {group}"))
        .1;
    value.parse().expect("a number")
}

/// Spins, and returns the seconds in which nothing else happened on the processor.
fn spin(done: &AtomicBool) -> f64 {
    /// A pass takes less, if nothing interrupts it.
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

/// The clock's time in seconds, to less than a nanosecond for as long as a machine runs.
fn now(clock: ClockId) -> f64 {
    Duration::from(clock_gettime(clock).expect("the clock")).as_secs_f64()
}

/// Keeps the calling thread on the processor, under the real-time scheduler with this priority.
fn confine(processor: usize, priority: u8) {
    let mut processors = CpuSet::new();
    processors.set(processor).expect("a small number");
    sched_setaffinity(Pid::from_raw(0), &processors).expect("the machine has two processors");
    let (thread, priority) = (gettid().to_string(), priority.to_string());
    let status = Command::new("chrt")
        .args(["--fifo", "--pid", &priority, &thread])
        .status();
    assert!(
        status.expect("chrt is there").success(),
        "chrt: only root may"
    );
}

/// Lets the processor alone handle what arrives at the host.
fn steer(host: &Namespace, processor: usize) {
    // The devices of a namespace are in a file system that is mounted inside.
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

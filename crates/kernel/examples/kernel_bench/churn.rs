//! Connections that come and go under load, with the controllers attached and detached meanwhile.

use crate::wire::churn::churn;
use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use std::thread;
use std::time::{Duration, Instant};

/// What the kernel holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    programs: usize,
    maps: usize,
    links: usize,
}

fn held() -> Held {
    Held {
        programs: ProgInfoIter::default().count(),
        maps: MapInfoIter::default().count(),
        links: LinkInfoIter::default().count(),
    }
}

/// A line of /proc/meminfo, in KiB.
fn memory(name: &str) -> i64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("the kernel tells");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    let number = lines.next().and_then(|rest| rest.split_whitespace().nth(1));
    number.and_then(|it| it.parse().ok()).unwrap_or(0)
}

const MEMORY: [&str; 4] = ["SUnreclaim", "Percpu", "VmallocUsed", "KernelStack"];

/// Opens and closes so many connections, and prints what happened. True if nothing is left of them.
pub fn measure(connections: usize) -> bool {
    // What the kernel keeps for later, such as caches, is there before.
    churn(connections / 20, 1);
    settle(None);
    let (before, memory_before) = (held(), MEMORY.map(memory));
    let start = Instant::now();
    let churn = churn(connections, 10);
    let took = start.elapsed();
    let after = settle(Some(before));
    println!("connections finished            {}", churn.finished);
    println!("  of them under duetime_d2tcp   {}", churn.under_control);
    println!("  stuck or broken off           {}", churn.failed.len());
    for failure in churn.failed.iter().take(10) {
        println!("    {failure}");
    }
    println!(
        "attached and detached           {} times",
        churn.attachments
    );
    println!("packets marked                  {}", churn.marked);
    println!("map entries, at most            {}", churn.entries.0);
    println!("map entries when all is closed  {}", churn.entries.1);
    println!("held before                     {before:?}");
    println!("held after                      {after:?}");
    for (name, before) in MEMORY.iter().zip(memory_before) {
        let after = memory(name);
        println!("{name:<32}{before} KiB before, {after} KiB after");
    }
    println!("complaints of the kernel        {}", churn.complaints.len());
    for complaint in &churn.complaints {
        println!("    {complaint}");
    }
    println!(
        "time                            {:.1} s",
        took.as_secs_f64()
    );
    let good = churn.failed.is_empty()
        && churn.finished >= connections
        && churn.marked > 0
        && churn.entries.0 > 0
        && churn.entries.1 == 0
        && churn.complaints.is_empty()
        && after == before;
    println!("{}", if good { "nothing is left" } else { "NOT clean" });
    good
}

/// Waits until the kernel holds as much as `before`: it frees programs a moment after the last that uses them. Without
/// it, until the numbers stand.
fn settle(before: Option<Held>) -> Held {
    let mut last = held();
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(200));
        let now = held();
        if before.map_or(now == last, |before| now == before) {
            return now;
        }
        last = now;
    }
    last
}

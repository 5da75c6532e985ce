//! Connections that come and go under load, with the controllers attached and detached meanwhile.

use crate::wire::churn::churn;
use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::thread;
use std::time::{Duration, Instant};

/// What the kernel holds: the kind and the number of each, with its name.
type Held = BTreeMap<(&'static str, u32), String>;

/// Programs, maps and links, those of other owners included.
fn held() -> Held {
    let name = |name: OsString| name.to_string_lossy().into_owned();
    let programs = ProgInfoIter::default().map(|it| (("program", it.id), name(it.name)));
    let maps = MapInfoIter::default().map(|it| (("map", it.id), name(it.name)));
    let links =
        LinkInfoIter::default().map(|it| (("link", it.id), format!("to program {}", it.prog_id)));
    programs.chain(maps).chain(links).collect()
}

/// What is held now and was not `before`. What others have taken away meanwhile is none of ours.
fn left(before: &Held) -> Held {
    let mut now = held();
    now.retain(|key, _| !before.contains_key(key));
    now
}

/// A line of /proc/meminfo, in KiB.
fn memory(name: &str) -> i64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("an answer of the kernel");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    let number = lines.next().and_then(|rest| rest.split_whitespace().nth(1));
    number.and_then(|it| it.parse().ok()).unwrap_or(0)
}

const MEMORY: [&str; 4] = ["SUnreclaim", "Percpu", "VmallocUsed", "KernelStack"];

/// Opens and closes so many connections, and prints what happened. True if nothing is left of them.
pub fn measure(connections: usize) -> bool {
    let before = held();
    // What the kernel keeps for later, such as caches, is there before memory is read.
    churn(connections / 20, 1);
    settle(&before);
    let memory_before = MEMORY.map(memory);
    let start = Instant::now();
    let churn = churn(connections, 10);
    let took = start.elapsed();
    let left = settle(&before);
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
    println!("held before, by whomever        {}", before.len());
    println!("held since then                 {}", left.len());
    for ((kind, number), name) in &left {
        println!("    {kind} {number}, {name}");
    }
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
        && left.is_empty();
    println!("{}", if good { "nothing is left" } else { "NOT clean" });
    good
}

/// Waits until nothing is held that was not `before`, for 20 s at most: the kernel frees programs a moment after the last
/// that uses them. Returns what is left.
fn settle(before: &Held) -> Held {
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(200));
        if left(before).is_empty() {
            break;
        }
    }
    left(before)
}

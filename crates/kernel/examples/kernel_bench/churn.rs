//! Short connections under load while the controllers are attached and detached.

use crate::wire::churn::churn;
use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::thread;
use std::time::{Duration, Instant};

/// Kernel objects: kind and ID of each, with its name.
type KernelObjects = BTreeMap<(&'static str, u32), String>;

/// Returns all programs, maps and links, including those of other owners.
fn kernel_objects() -> KernelObjects {
    let name = |name: OsString| name.to_string_lossy().into_owned();
    let programs =
        ProgInfoIter::default().map(|program| (("program", program.id), name(program.name)));
    let maps = MapInfoIter::default().map(|map| (("map", map.id), name(map.name)));
    let links = LinkInfoIter::default()
        .map(|link| (("link", link.id), format!("to program {}", link.prog_id)));
    programs.chain(maps).chain(links).collect()
}

/// Returns the objects that were not there `before`. Objects that others have removed meanwhile are ignored.
fn left(before: &KernelObjects) -> KernelObjects {
    let mut now = kernel_objects();
    now.retain(|key, _| !before.contains_key(key));
    now
}

/// Returns a line of /proc/meminfo, in KiB.
fn memory(name: &str) -> i64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("an answer of the kernel");
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    let number = lines.next().and_then(|rest| rest.split_whitespace().nth(1));
    number.and_then(|word| word.parse().ok()).unwrap_or(0)
}

const MEMORY: [&str; 4] = ["SUnreclaim", "Percpu", "VmallocUsed", "KernelStack"];

/// Opens and closes this many connections and prints the results. Returns true if nothing is left behind.
pub fn measure(connections: usize) -> bool {
    let before = kernel_objects();
    // Fill the kernel's caches before memory is measured.
    churn(connections / 20, 1);
    settle(&before);
    let memory_before = MEMORY.map(memory);
    let start = Instant::now();
    let churn = churn(connections, 10);
    let took = start.elapsed();
    let left = settle(&before);
    println!("connections finished            {}", churn.finished);
    println!("  under duetime_d2tcp           {}", churn.under_control);
    println!("  stuck or reset                {}", churn.failed.len());
    for failure in churn.failed.iter().take(10) {
        println!("    {failure}");
    }
    println!(
        "attached and detached           {} times",
        churn.attachments
    );
    println!("packets marked                  {}", churn.marked);
    if let Some((most, left)) = churn.entries {
        println!("map entries, maximum            {most}");
        println!("map entries after closing all   {left}");
    } else {
        println!(
            "map entries                     not counted: this kernel permits no tracing programs"
        );
    }
    println!("kernel objects before           {}", before.len());
    println!("kernel objects left             {}", left.len());
    for ((kind, number), name) in &left {
        println!("    {kind} {number}, {name}");
    }
    for (name, before) in MEMORY.iter().zip(memory_before) {
        let after = memory(name);
        println!("{name:<32}{before} KiB before, {after} KiB after");
    }
    println!("kernel errors                   {}", churn.complaints.len());
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
        && churn
            .entries
            .is_none_or(|(most, left)| most > 0 && left == 0)
        && churn.complaints.is_empty()
        && left.is_empty();
    println!("{}", if good { "nothing is left" } else { "NOT clean" });
    good
}

/// Waits for at most 20 s until no new objects remain, because the kernel frees programs shortly after their last user.
/// Returns the remaining objects.
fn settle(before: &KernelObjects) -> KernelObjects {
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(200));
        if left(before).is_empty() {
            break;
        }
    }
    left(before)
}

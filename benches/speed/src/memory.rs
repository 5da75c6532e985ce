//! Time of a random access to memory, by the size of the memory: how much of a network's state the caches hold, and what
//! the rest costs.

use duetime_measure::lines;
use serde_json::json;
use std::time::Instant;

/// Sizes of the memory, in mebibytes; powers of two.
const SIZES_MIB: [usize; 5] = [1, 4, 16, 64, 256];
/// Accesses per measurement.
const ACCESSES: usize = 1 << 21;
/// Independent accesses that may overlap; processors have at least ten misses of the first cache in flight.
const CHAINS: usize = 16;

/// A cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    /// Index of the line that is read next.
    next: u32,
}

/// Mean time of a random access.
pub(crate) struct Access {
    size_mib: usize,
    /// If each access waits for the one before, in nanoseconds.
    alone_ns: f64,
    /// If accesses overlap, in nanoseconds.
    overlapped_ns: f64,
}

impl Access {
    /// Measures all sizes.
    pub(crate) fn measure_all() -> Vec<Self> {
        duetime_memory::prefer_huge_pages();
        SIZES_MIB.map(Self::measure).into()
    }

    fn measure(size_mib: usize) -> Self {
        let memory = random_cycle((size_mib << 20) / size_of::<Line>());
        Self {
            size_mib,
            alone_ns: access_ns::<1>(&memory),
            overlapped_ns: access_ns::<CHAINS>(&memory),
        }
    }

    /// Returns the result as a line of JSON.
    pub(crate) fn line(&self) -> serde_json::Value {
        json!({
            "memory_mib": self.size_mib,
            "random_access_ns": self.alone_ns,
            "overlapped_access_ns": self.overlapped_ns,
        })
    }
}

/// Prints the results.
#[expect(clippy::print_stdout, reason = "this program prints its results")]
pub(crate) fn print(accesses: &[Access]) {
    let row = |access: &Access| {
        vec![
            format!("{} MiB", access.size_mib),
            format!("{:.1}", access.alone_ns),
            format!("{:.1}", access.overlapped_ns),
        ]
    };
    let cells: Vec<Vec<String>> = accesses.iter().map(row).collect();
    let head = ["random access to", "ns", "ns if 16 overlap"];
    println!("{}\n", lines(&head, 1, &cells));
}

/// Returns lines that form one cycle in random order. `count` is a power of two.
fn random_cycle(count: usize) -> Vec<Line> {
    // A linear congruential generator passes through all numbers below a power of two if its multiplier is 1 modulo 4
    // and its increment is odd (Hull and Dobell, Random Number Generators, 1962).
    let next = |index: usize| index.wrapping_mul(0x5851_f42d).wrapping_add(0x9e37_79b9) % count;
    let line = |index| Line {
        next: u32::try_from(next(index)).unwrap_or(0),
    };
    (0..count).map(line).collect()
}

/// Returns the mean time of an access, in nanoseconds, if `PARALLEL` accesses are independent of each other.
fn access_ns<const PARALLEL: usize>(memory: &[Line]) -> f64 {
    let mut places = [0; PARALLEL];
    for (number, place) in (0..).zip(&mut places) {
        *place = number * (memory.len() / PARALLEL);
    }
    let mut follow = |count: usize| {
        for _ in 0..count / PARALLEL {
            for place in &mut places {
                *place = memory[*place].next as usize;
            }
        }
        std::hint::black_box(places);
    };
    // Once, so that the caches hold what they can.
    follow(memory.len());
    let started = Instant::now();
    follow(ACCESSES);
    started.elapsed().as_secs_f64() * 1e9 / ACCESSES as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycle_visits_each_line_once() {
        let memory = random_cycle(1 << 12);
        let mut visited = vec![false; memory.len()];
        let mut place = 0;
        for _ in 0..memory.len() {
            assert!(!std::mem::replace(&mut visited[place], true));
            place = memory[place].next as usize;
        }
        assert_eq!(place, 0);
    }
}

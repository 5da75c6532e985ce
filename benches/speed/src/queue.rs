//! The simulator's event queue compared with a binary heap in the hold model: pop the earliest event and push it again
//! a little later.

use duetime_measure::{grouped, lines, median};
use duetime_sim::queue::{EventQueue, order};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Numbers of pending events: the busy links of a rack, of W2 and of a fat-tree, and every packet of a fat-tree.
const PENDING: [u32; 4] = [100, 2_000, 20_000, 200_000];
const HOLDS: usize = 2_000_000;
const ROUNDS: usize = 3;
/// Maximum advance of a pushed event: one packet time at 1 Gbps and one latency of 20 µs, in picoseconds.
const HORIZON_PS: u64 = 32_000_000;

/// Results for one number of pending events.
pub(crate) struct Row {
    pending: u32,
    queue_ns: f64,
    heap_ns: f64,
}

impl Row {
    pub(crate) fn json(&self) -> Value {
        json!({
            "work": "event-queue",
            "transport": null,
            "packet_hops": null,
            "ns_per_packet_hop": null,
            "instructions_per_packet_hop": null,
            "floor_ratio": null,
            "resident_mb": null,
            "pending": self.pending,
            "queue_ns_per_event": self.queue_ns,
            "heap_ns_per_event": self.heap_ns,
        })
    }
}

/// Times both queues at every size, in turn.
pub(crate) fn measure() -> Vec<Row> {
    PENDING
        .into_iter()
        .map(|pending| {
            let (mut queue, mut heap) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let orders = (0..pending).map(|number| order(2, number, 0)).collect();
                let (calendar, times) =
                    hold(&mut EventQueue::new(HORIZON_PS, orders, 1, 1), pending);
                let (binary, same) = hold(&mut Heap(BinaryHeap::new()), pending);
                assert_eq!(
                    times, same,
                    "the event queue and the heap disagree about the order"
                );
                queue.push(calendar);
                heap.push(binary);
            }
            Row {
                pending,
                queue_ns: median(queue),
                heap_ns: median(heap),
            }
        })
        .collect()
}

/// Queue to measure, of events with a time and a number.
trait Queue {
    fn put(&mut self, time: u64, number: u32);
    fn take(&mut self) -> (u64, u32);
}

impl Queue for EventQueue {
    fn put(&mut self, time: u64, number: u32) {
        self.push::<true>(time, number);
    }

    fn take(&mut self) -> (u64, u32) {
        self.pop::<true>()
    }
}

/// Binary heap, for comparison.
struct Heap(BinaryHeap<Reverse<(u64, u32)>>);

impl Queue for Heap {
    fn put(&mut self, time: u64, number: u32) {
        self.0.push(Reverse((time, number)));
    }

    fn take(&mut self) -> (u64, u32) {
        self.0
            .pop()
            .expect("the hold model keeps the queue filled")
            .0
    }
}

/// Returns the nanoseconds per event, popped and pushed again, and a digest of the event times. The digest omits the
/// numbers, because the two queues order simultaneous events differently.
fn hold(queue: &mut impl Queue, pending: u32) -> (f64, u64) {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    // Xorshift is cheap compared with the queues, and gives both the same sequence.
    let mut ahead = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % HORIZON_PS
    };
    for number in 0..pending {
        queue.put(ahead(), number);
    }
    let mut digest = 0_u64;
    let started = Instant::now();
    for _ in 0..HOLDS {
        let (time, number) = queue.take();
        digest = digest.rotate_left(5) ^ time;
        queue.put(time + ahead(), number);
    }
    (started.elapsed().as_nanos() as f64 / HOLDS as f64, digest)
}

pub(crate) fn table(rows: &[Row]) -> String {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                grouped(u64::from(row.pending)),
                format!("{:.1}", row.queue_ns),
                format!("{:.1}", row.heap_ns),
                format!("{:.2}", row.heap_ns / row.queue_ns),
            ]
        })
        .collect();
    lines(
        &[
            "pending events",
            "event queue ns",
            "binary heap ns",
            "heap / queue",
        ],
        0,
        &cells,
    )
}

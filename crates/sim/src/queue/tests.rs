//! Tests of the event queue against a binary heap, and of the order of simultaneous events.

use super::*;
use duetime_core::random::mix;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const KEY: u64 = 42;
/// Number of links with fixed events; each has one event of each of two kinds.
const LINKS: u32 = 3;

fn fixed_orders() -> Vec<u64> {
    [2, 0]
        .into_iter()
        .flat_map(|kind| (0..LINKS).map(move |link| order(kind, link, 0)))
        .collect()
}

/// Sort key of an event: time, kind, hash keyed by link or host and by its number of events, and number; then the order
/// word, which identifies the event.
type Expected = (u64, u64, u64, u32, u64);

fn expected(time: u64, order: u64, turn: u32) -> Expected {
    let hash = mix(order >> 32 << 32 | u64::from(turn), KEY) >> 2;
    (time, order >> 62, hash, order as u32, order)
}

/// A binary heap of the same events.
#[derive(Default)]
struct Model {
    heap: BinaryHeap<Reverse<Expected>>,
    turns: [u32; 2 * LINKS as usize],
    is_in: [bool; 2 * LINKS as usize],
}

impl Model {
    fn push_fixed(&mut self, time: u64, id: u32) {
        let turn = &mut self.turns[id as usize];
        *turn += 1;
        let event = expected(time, fixed_orders()[id as usize], *turn);
        self.is_in[id as usize] = true;
        self.heap.push(Reverse(event));
    }

    fn pop(&mut self) -> Option<(u64, u64)> {
        let Reverse((time, .., order)) = self.heap.pop()?;
        if let Some(id) = fixed_orders().iter().position(|&fixed| fixed == order) {
            self.is_in[id] = false;
        }
        Some((time, order))
    }
}

/// Pops the next event as its time and order word.
fn pop(queue: &mut EventQueue, prefetch: bool) -> Option<(u64, u64)> {
    let (time, id) = if prefetch {
        queue.pop_prefetched(|_| ())
    } else {
        queue.pop::<true>()
    };
    let word = |queue: &mut EventQueue| match fixed_orders().get(id as usize) {
        Some(&order) => order,
        None => queue.retire(id),
    };
    (id != NONE).then(|| (time, word(queue)))
}

proptest! {
    /// The queue returns events in the order of a binary heap, for delays within a bucket, within the calendar and
    /// beyond it, for many simultaneous events, and across changes of the bucket width.
    #[test]
    fn matches_binary_heap(
        horizon in 1u64..5_000_000_000,
        prefetch in any::<bool>(),
        grid in 0u32..20,
        steps in prop::collection::vec((0u64..5, 0u64..100_000, 0u32..40, 1usize..4), 1..2_000),
    ) {
        let mut queue = EventQueue::new(horizon, fixed_orders(), KEY, 1);
        let mut model = Model::default();
        let (mut now, mut count) = (0u64, 0u32);
        for (kind, delay, scale, pops) in steps {
            // Round down to a coarse grid, so that times coincide.
            let later = (now + (delay << scale >> 6)) >> grid << grid;
            let time = if kind == 1 { now } else { later.max(now) };
            let fixed = (delay % (4 * u64::from(LINKS))) as u32;
            if kind == 4 {
                let wider = queue.shift() + scale % 3;
                queue.change_width(wider.saturating_sub(1).min(40));
            } else if kind > 0 && fixed < 2 * LINKS && !model.is_in[fixed as usize] {
                queue.push::<true>(time, fixed);
                model.push_fixed(time, fixed);
            } else if kind > 0 {
                count += 1;
                let order = order(if delay % 2 == 0 { 1 } else { 3 }, (delay % 7) as u32, count);
                queue.push_single_to(0, time, order);
                model.heap.push(Reverse(expected(time, order, 1)));
            } else {
                for _ in 0..pops {
                    let next = model.pop();
                    prop_assert_eq!(pop(&mut queue, prefetch), next);
                    now = next.map_or(now, |(time, _)| time);
                }
            }
        }
        while let Some(next) = model.pop() {
            prop_assert_eq!(queue.next_time(), next.0);
            queue.set_end(next.0);
            prop_assert_eq!(queue.pop::<true>().1, NONE);
            queue.set_end(u64::MAX);
            prop_assert_eq!(pop(&mut queue, prefetch), Some(next));
        }
        prop_assert_eq!(queue.pop::<true>().1, NONE);
    }

    /// Each sub-partition returns its events in order, whichever sub-partition is open when they are inserted.
    #[test]
    fn subpartitions_are_independent(
        subpartitions in 2usize..7,
        horizon in 1u64..5_000_000_000,
        steps in prop::collection::vec((0usize..7, 0usize..7, 0u64..100_000, 0u32..40, any::<bool>()), 1..2_000),
    ) {
        let mut queue = EventQueue::new(horizon, Vec::new(), KEY, subpartitions);
        let mut heaps = vec![BinaryHeap::new(); subpartitions];
        let mut clocks = vec![0u64; subpartitions];
        let mut count = 0u32;
        let word = |event: Expected| (event.0, event.4);
        for (open, to, delay, scale, take) in steps {
            let (open, to) = (open % subpartitions, to % subpartitions);
            queue.enter(open);
            if take {
                let popped = queue.pop::<false>();
                let popped = (popped.1 != NONE).then(|| (popped.0, queue.retire(popped.1)));
                prop_assert_eq!(popped, heaps[open].pop().map(|Reverse(event)| word(event)));
                clocks[open] = popped.map_or(clocks[open], |(time, _)| time);
            } else {
                count += 1;
                let time = clocks[to] + (delay << scale >> 6);
                let order = order(delay % 4, scale, count);
                queue.push_single_to(to, time, order);
                heaps[to].push(Reverse(expected(time, order, 1)));
            }
            let next = |heap: &BinaryHeap<Reverse<Expected>>| heap.peek().map_or(u64::MAX, |event| event.0.0);
            prop_assert_eq!(queue.next_time_of(to), next(&heaps[to]));
            prop_assert_eq!(queue.next_time(), heaps.iter().map(next).min().unwrap());
        }
        for (subpartition, heap) in heaps.iter_mut().enumerate() {
            queue.enter(subpartition);
            while let Some(Reverse(event)) = heap.pop() {
                queue.set_end(event.0);
                prop_assert_eq!(queue.pop::<false>().1, NONE);
                queue.set_end(u64::MAX);
                let (time, id) = queue.pop::<false>();
                prop_assert_eq!((time, queue.retire(id)), word(event));
            }
            prop_assert_eq!(queue.pop::<false>().1, NONE);
        }
    }
}

proptest! {
    /// Every event within the horizon that is due before the end is found, before and after events are popped, and every
    /// event found is pending.
    #[test]
    fn due_events_are_found(
        times in prop::collection::vec(0u64..1_000_000, 1..200),
        popped in 0usize..200,
        end in 0u64..1_000_000,
    ) {
        let mut queue = EventQueue::new(1_000_000, Vec::new(), KEY, 3);
        queue.enter(1);
        for (number, &time) in (0..).zip(&times) {
            queue.push_single_to(1, time, order(3, 0, number));
        }
        for _ in 0..popped {
            queue.pop::<false>();
        }
        let mut pending = times.clone();
        pending.sort_unstable();
        pending.drain(..popped.min(pending.len()));
        let mut due = Vec::new();
        queue.append_first_due(end, &mut due);
        queue.append_other_due(&mut due);
        let mut found: Vec<u64> = due.iter().map(|&id| times[id as usize]).collect();
        found.sort_unstable();
        let must = pending.iter().filter(|&&time| time < end).count();
        prop_assert!(found.len() >= must);
        prop_assert_eq!(&found[..], &pending[..found.len()]);
    }
}

/// Returns the winners of a thousand ties between two links, `step` picoseconds apart. `first` is inserted first.
fn winners(key: u64, step: u64, first: u32) -> Vec<u32> {
    let mut queue = EventQueue::new(1_000_000, fixed_orders(), key, 1);
    (1..=1_000)
        .map(|round| {
            queue.push::<true>(round * step, first);
            queue.push::<true>(round * step, 1 - first);
            let winner = queue.pop::<true>().1;
            queue.pop::<true>();
            winner
        })
        .collect()
}

#[test]
fn no_link_wins_all_ties() {
    let won: u32 = winners(KEY, 100, 0).iter().sum();
    // Five standard deviations of a fair coin.
    assert!(won.abs_diff(500) < 80, "{won} of 1000");
}

#[test]
fn tie_winner_depends_only_on_key() {
    let ties = winners(KEY, 100, 0);
    assert_eq!(ties, winners(KEY, 100, 1));
    assert_eq!(ties, winners(KEY, 50, 0));
    assert_eq!(
        ties,
        winners(KEY, 5_000_000, 0),
        "from the heap of late events"
    );
    assert_ne!(ties, winners(KEY + 1, 100, 0));
}

/// `pop_tied` returns the events that are due at a time and rank before another, and leaves the others.
#[test]
fn tied_events_are_popped_by_rank() {
    for id in 0..LINKS {
        let mut queue = EventQueue::new(1_000, fixed_orders(), KEY, 1);
        for link in 0..LINKS {
            queue.push::<false>(500, link);
        }
        queue.push::<false>(501, LINKS);
        let rank = queue.precedence_at(id, 1);
        let before = |other: &u32| queue.precedence_at(*other, 1) < rank;
        let mut ranked: Vec<u32> = (0..LINKS).filter(before).collect();
        ranked.sort_unstable_by_key(|&other| queue.precedence_at(other, 1));
        assert!(!queue.is_due(499) && queue.is_due(500));
        assert!(std::iter::from_fn(|| queue.pop_tied(500, (id, 1))).eq(ranked.iter().copied()));
        queue.set_end(u64::MAX);
        let left =
            std::iter::from_fn(|| Some(queue.pop::<false>()).filter(|event| event.1 != NONE));
        assert_eq!(left.count(), 1 + LINKS as usize - ranked.len());
        assert!(!queue.is_due(502));
    }
}

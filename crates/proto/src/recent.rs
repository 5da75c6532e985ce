//! Set that forgets its oldest entries.

use duetime_core::{Span, Time};
use std::collections::{BTreeSet, VecDeque};

/// Set of recent values, limited by age and number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Recent<K> {
    lifetime: Span,
    max: usize,
    known: BTreeSet<K>,
    /// Values with their expiry, oldest first.
    queue: VecDeque<(Time, K)>,
}

impl<K: Ord + Copy> Recent<K> {
    pub const fn new(lifetime: Span, max: usize) -> Self {
        Self {
            lifetime,
            max,
            known: BTreeSet::new(),
            queue: VecDeque::new(),
        }
    }

    pub fn insert(&mut self, now: Time, value: K) {
        let is_full = |queue: &VecDeque<_>| queue.len() >= self.max;
        while is_full(&self.queue) || self.queue.front().is_some_and(|&(expiry, _)| expiry <= now) {
            let Some((_, oldest)) = self.queue.pop_front() else {
                break;
            };
            self.known.remove(&oldest);
        }
        if self.known.insert(value) {
            self.queue.push_back((now + self.lifetime, value));
        }
    }

    /// Sets the lifetime of values that are inserted from now on. It must not fall.
    pub const fn set_lifetime(&mut self, lifetime: Span) {
        self.lifetime = lifetime;
    }

    pub fn contains(&self, value: &K) -> bool {
        self.known.contains(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_values_and_excess_values_are_forgotten() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let mut recent = Recent::new(Span::from_us(10), 2);
        recent.insert(at(0), 1);
        recent.insert(at(1), 2);
        recent.insert(at(2), 3);
        assert!(!recent.contains(&1) && recent.contains(&2) && recent.contains(&3));
        recent.insert(at(20), 4);
        assert!(!recent.contains(&2) && !recent.contains(&3) && recent.contains(&4));
    }
}

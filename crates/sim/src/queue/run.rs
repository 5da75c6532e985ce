//! Events that were taken out of the calendar, in the order in which they are popped.

use super::Event;
use super::store::Store;

/// Number of last events among which an insertion looks first.
const NEAR: usize = 16;
/// Number of events above which the library sorts faster than insertion.
const FEW: usize = 24;

/// Events in order, earliest first.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// Popped events, then pending ones.
    events: Vec<Event>,
    /// Number of popped events.
    popped: usize,
}

impl Run {
    /// Creates an empty run.
    pub(super) fn new() -> Self {
        Self {
            events: Vec::with_capacity(64),
            popped: 0,
        }
    }

    /// Returns the pending events, earliest first.
    #[inline(always)]
    pub(super) fn events(&self) -> &[Event] {
        self.events.get(self.popped..).unwrap_or_default()
    }

    /// Returns true if no event is pending.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.popped >= self.events.len()
    }

    /// Returns the next event, or `None` if none is pending.
    #[inline(always)]
    pub(super) fn first(&self) -> Option<Event> {
        self.events.get(self.popped).copied()
    }

    /// Removes the next event; one must be pending.
    #[inline(always)]
    pub(super) fn drop_first(&mut self) {
        self.popped += 1;
    }

    /// Forgets the popped events of a run in which none is pending.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        debug_assert!(self.is_empty());
        self.events.clear();
        self.popped = 0;
    }

    /// Makes `event` the only one of a run in which none is pending.
    #[inline(always)]
    pub(super) fn restart(&mut self, event: Event) {
        self.clear();
        self.events.push(event);
    }

    /// Appends an event that is due after all others, unless [`Run::sort_from`] sorts it afterwards.
    #[inline(always)]
    pub(super) fn append(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Removes and returns the pending events.
    pub(super) fn take(&mut self) -> Vec<Event> {
        let events = self.events().to_vec();
        self.events.clear();
        self.popped = 0;
        events
    }

    /// Inserts an event. It is usually due after most others.
    #[inline]
    pub(super) fn insert(&mut self, store: &Store, event: Event) {
        if self.is_empty() {
            return self.restart(event);
        }
        if self.events.len() == self.events.capacity() && self.popped > self.events.len() / 2 {
            // A wide bucket may never empty the run; its memory is bounded by the pending events.
            self.events.drain(..self.popped);
            self.popped = 0;
        }
        let mut at = self.events.len();
        let near = at.saturating_sub(NEAR).max(self.popped);
        self.events.push(event);
        while at > near && store.is_before(event, self.events[at - 1]) {
            self.events[at] = self.events[at - 1];
            at -= 1;
        }
        if at == near {
            let earlier = &self.events[self.popped..near];
            at = self.popped + earlier.partition_point(|other| store.is_before(*other, event));
            self.events.copy_within(at..near, at + 1);
        }
        self.events[at] = event;
    }

    /// Sorts the pending events from the one at index `start`: by insertion for the usual handful, with the library's
    /// sort for bursts.
    #[inline]
    pub(super) fn sort_from(&mut self, store: &Store, start: usize) {
        let events = &mut self.events[self.popped + start..];
        if events.len() > FEW {
            events.sort_unstable_by(|a, b| {
                let precedence = |event: &Event| store.precedence(event.id);
                let times = a.time.cmp(&b.time);
                times.then_with(|| precedence(a).cmp(&precedence(b)))
            });
            return;
        }
        for i in 1..events.len() {
            let event = events[i];
            let mut j = i;
            while j > 0 && store.is_before(event, events[j - 1]) {
                events[j] = events[j - 1];
                j -= 1;
            }
            events[j] = event;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run in which events are always pending keeps no memory for popped events.
    #[test]
    fn popped_events_need_no_memory() {
        let store = Store::new(0, 64, vec![0; 4], 0);
        let mut run = Run::new();
        for time in 0..10_000 {
            let id = (time % 4) as u32;
            run.insert(&store, Event { time, id });
            if time >= 3 {
                assert_eq!(run.first().map(|event| event.time), Some(time - 3));
                run.drop_first();
            }
        }
        assert_eq!(run.events().len(), 3);
        assert!(run.events.capacity() <= 64);
    }
}

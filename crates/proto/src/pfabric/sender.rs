//! Sender of all messages of a host. It sends the shortest message first.

use super::flow::{Counters, Flow};
use super::{Ack, Body, Config, Data, Link};
use duetime_core::{Span, Time};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Sender of all messages of a host.
#[derive(Debug)]
pub struct Sender<T> {
    flows: BTreeMap<u64, Flow<T>>,
    /// Messages that may send, by remaining bytes and number.
    ready: BTreeSet<(u64, u64)>,
    /// At most one timer per message. A timer may be early, so that acknowledgements need not move it.
    timers: BTreeSet<(Time, u64)>,
    /// Aborted messages of which the receiver must be notified.
    aborts: VecDeque<(u64, T)>,
    window: u32,
    timeout: Span,
}

impl<T> Sender<T> {
    /// Creates a sender without messages.
    pub fn new(config: &Config, link: &Link) -> Self {
        Self {
            flows: BTreeMap::new(),
            ready: BTreeSet::new(),
            timers: BTreeSet::new(),
            aborts: VecDeque::new(),
            window: link.window(config),
            timeout: link.timeout(config),
        }
    }

    /// Submits a message. `number` must differ from the numbers of all messages that the receiver may remember.
    pub fn send(&mut self, config: &Config, now: Time, number: u64, bytes: u64, tag: T) {
        self.remove(number);
        let mut flow = Flow::new(config, now, bytes, self.window, tag);
        flow.reorder(number, &mut self.ready);
        self.flows.insert(number, flow);
    }

    /// Processes an acknowledgement. Returns the message that it completed.
    pub fn input(
        &mut self,
        config: &Config,
        now: Time,
        number: u64,
        ack: Ack,
    ) -> Option<(T, Counters)> {
        let flow = self.flows.get_mut(&number)?;
        if flow.input(config, now, ack) {
            let flow = self.remove(number)?;
            return Some((flow.tag, flow.counters));
        }
        flow.reorder(number, &mut self.ready);
        None
    }

    /// Returns the next packet with the driver's data of its message.
    pub fn poll_transmit(&mut self, config: &Config, now: Time) -> Option<(Data, T)>
    where
        T: Clone,
    {
        if let Some((message, tag)) = self.aborts.pop_front() {
            let data = Data {
                message,
                body: Body::Abort,
                remaining: 0,
                len: 0,
            };
            return Some((data, tag));
        }
        let &(_, number) = self.ready.first()?;
        let flow = self.flows.get_mut(&number)?;
        let data = flow.transmit(config, now, self.timeout, number);
        flow.reorder(number, &mut self.ready);
        flow.arm(number, self.timeout, &mut self.timers);
        Some((data, flow.tag.clone()))
    }

    /// Returns true if `poll_transmit` would return a packet.
    pub fn can_transmit(&self) -> bool {
        !self.ready.is_empty() || !self.aborts.is_empty()
    }

    /// Returns the time at which to call `timeout`, or [`Time::MAX`].
    pub fn next_timeout(&self) -> Time {
        self.timers.first().map_or(Time::MAX, |&(at, _)| at)
    }

    /// Handles the timeouts and probes that are due. Returns the driver's data of their messages.
    pub fn timeout(&mut self, config: &Config, now: Time) -> Vec<T>
    where
        T: Clone,
    {
        let mut expired = Vec::new();
        while let Some(&(at, number)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            let Some(flow) = self.flows.get_mut(&number) else {
                continue;
            };
            flow.timer = None;
            if flow.deadline(self.timeout) <= now {
                flow.expire(config, now, self.timeout);
                flow.reorder(number, &mut self.ready);
                expired.push(flow.tag.clone());
            }
            flow.arm(number, self.timeout, &mut self.timers);
        }
        expired
    }

    /// Aborts the first message for which `matches` returns true and which has unsent packets. Returns the driver's
    /// data, the counters and the acknowledged bytes. If the receiver may know the message, it is notified once; it forgets a silent message by itself.
    pub fn abort(&mut self, matches: impl Fn(&T) -> bool) -> Option<(T, Counters, u64)>
    where
        T: Clone,
    {
        let mut flows = self.flows.iter();
        let (&number, _) = flows.find(|(_, flow)| flow.has_unsent() && matches(&flow.tag))?;
        let flow = self.remove(number)?;
        if flow.has_begun() {
            self.aborts.push_back((number, flow.tag.clone()));
        }
        let bytes = flow.acknowledged_bytes();
        Some((flow.tag, flow.counters, bytes))
    }

    fn remove(&mut self, number: u64) -> Option<Flow<T>> {
        let flow = self.flows.remove(&number)?;
        if let Some(remaining) = flow.position {
            self.ready.remove(&(remaining, number));
        }
        if let Some(at) = flow.timer {
            self.timers.remove(&(at, number));
        }
        Some(flow)
    }

    /// Returns the messages that are not complete, with their counters and acknowledged bytes.
    pub fn open(&self) -> impl Iterator<Item = (&T, Counters, u64)> {
        let flows = self.flows.values();
        flows.map(|flow| (&flow.tag, flow.counters, flow.acknowledged_bytes()))
    }
}

impl<T> Flow<T> {
    /// Moves the message to its position among those that may send.
    #[inline]
    fn reorder(&mut self, number: u64, ready: &mut BTreeSet<(u64, u64)>) {
        let position = self.can_send().then(|| self.remaining());
        if position == self.position {
            return;
        }
        if let Some(old) = self.position {
            ready.remove(&(old, number));
        }
        if let Some(new) = position {
            ready.insert((new, number));
        }
        self.position = position;
    }

    /// Ensures that the message has a timer at its deadline or earlier.
    #[inline]
    fn arm(&mut self, number: u64, timeout: Span, timers: &mut BTreeSet<(Time, u64)>) {
        let deadline = self.deadline(timeout);
        if self.timer.is_some_and(|at| at <= deadline) || deadline == Time::MAX {
            return;
        }
        if let Some(old) = self.timer {
            timers.remove(&(old, number));
        }
        timers.insert((deadline, number));
        self.timer = Some(deadline);
    }
}

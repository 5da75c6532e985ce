//! A network with the same delay for all messages, for running workloads alone. Hosts may be split over several copies
//! of the workloads, as over threads.

use super::setup::place;
use duetime_core::{Span, Time};
use duetime_results::record::QueryRecord;
use duetime_scenario::Scenario;
use duetime_sim::workload::{Actions, Message, Workloads, add_notes};
use std::collections::{BTreeMap, BTreeSet};

/// Outcome of a run.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// Messages, sorted by flow.
    pub messages: Vec<Message>,
    pub queries: Vec<QueryRecord>,
    /// Flows of spare answers.
    pub spare: BTreeSet<u64>,
    /// Flows of answers that hosts had to abort.
    pub aborted: BTreeSet<u64>,
}

pub struct Fake<'a> {
    pub scenario: &'a Scenario,
    /// Delay of a message.
    pub delay: Span,
    /// Number of copies that the hosts are split over.
    pub parts: u32,
    /// Returns true for messages that never arrive.
    pub lost: &'a dyn Fn(&Message) -> bool,
}

enum Event {
    Wake(u16, u64),
    Delivery(Message),
}

/// Order of events: time, host, deliveries before wakes, then a number that any split agrees on.
type Order = (Time, u32, u8, u64);

impl<'a> Fake<'a> {
    pub fn new(scenario: &'a Scenario) -> Self {
        Self {
            scenario,
            delay: Span::from_us(100),
            parts: 1,
            lost: &|_| false,
        }
    }

    pub fn run(&self) -> Outcome {
        let workloads = place(self.scenario).unwrap();
        let hosts = self.scenario.topology.hosts();
        let mut copies = vec![workloads; self.parts as usize];
        let mut events = BTreeMap::new();
        let mut wakes = vec![0; hosts as usize];
        let mut messages = Vec::new();
        let mut actions = Actions::default();
        for (part, copy) in copies.iter_mut().enumerate() {
            copy.start(&|host| host % self.parts == part as u32, &mut actions);
            assert!(
                actions
                    .wakes
                    .iter()
                    .all(|wake| wake.host % self.parts == part as u32)
            );
            self.apply(
                Time::ZERO,
                None,
                &mut actions,
                &mut events,
                &mut wakes,
                &mut messages,
            );
        }
        let end = Time::ZERO + self.scenario.duration + self.scenario.drain;
        while let Some(((now, host, ..), event)) = events.pop_first() {
            if now > end {
                break;
            }
            let copy = &mut copies[(host % self.parts) as usize];
            match event {
                Event::Wake(workload, token) => copy.wake(now, host, workload, token, &mut actions),
                Event::Delivery(message) => copy.delivered(now, &message, &mut actions),
            }
            self.apply(
                now,
                Some(host),
                &mut actions,
                &mut events,
                &mut wakes,
                &mut messages,
            );
        }
        let spare = actions.spare.drain(..).collect();
        let aborts = std::mem::take(&mut actions.aborts);
        messages.sort_by_key(|message| message.flow);
        let mut queries: Vec<QueryRecord> = copies
            .iter_mut()
            .flat_map(Workloads::take_queries)
            .collect();
        queries.sort_by_key(|query| query.query);
        let notes = copies.iter_mut().flat_map(Workloads::take_notes);
        add_notes(&mut queries, notes);
        let mut outcome = Outcome {
            messages,
            queries,
            spare,
            aborted: BTreeSet::new(),
        };
        for abort in aborts {
            let aborted = outcome
                .messages
                .iter()
                .filter(|message| abort.is_of(message));
            outcome.aborted.extend(aborted.map(|message| message.flow));
        }
        outcome
    }

    fn apply(
        &self,
        now: Time,
        host: Option<u32>,
        actions: &mut Actions,
        events: &mut BTreeMap<Order, Event>,
        wakes: &mut [u64],
        messages: &mut Vec<Message>,
    ) {
        for wake in actions.wakes.drain(..) {
            assert!(
                wake.at >= now && host.is_none_or(|host| host == wake.host),
                "{wake:?} requested at {now}"
            );
            wakes[wake.host as usize] += 1;
            let order = (wake.at, wake.host, 1, wakes[wake.host as usize]);
            events.insert(order, Event::Wake(wake.workload, wake.token));
        }
        for message in actions.sends.drain(..) {
            assert_eq!((Some(message.source), now), (host, message.submitted));
            assert!(message.destination != message.source && message.bytes > 0);
            assert_eq!((message.flow >> 32) as u32, message.source);
            messages.push(message.clone());
            if !(self.lost)(&message) {
                let order = (now + self.delay, message.destination, 0, message.flow);
                events.insert(order, Event::Delivery(message));
            }
        }
    }
}

pub fn run(scenario: &Scenario) -> Outcome {
    Fake::new(scenario).run()
}

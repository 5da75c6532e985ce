//! State shared by all workloads: the measurement window, the random streams and the numbering of flows.

use super::draw;
use super::servers::Servers;
use super::{Actions, Message, Wake};
use crate::topology::Network;
use duetime_core::random::{Purpose, Stream, Streams, mix};
use duetime_core::{Span, Time};
use duetime_results::record::Class;
use duetime_scenario::model::{Deadline, Scenario, Size};
use std::sync::Arc;

/// Size of the packet whose transmission time bounds the start jitter: 1500 B of IP.
const JITTER_BYTES: u64 = 1500;

/// Flag in the flow numbers of connections that are opened before their first message.
const OPENED: u32 = 1 << 31;

/// State shared by all workloads of a run.
#[derive(Clone, Debug)]
pub(super) struct Context {
    streams: Streams,
    warm_up: Time,
    end: Time,
    /// Transmission time of one packet on each host's link, or `None` without start jitter.
    packet_time: Option<Arc<[Span]>>,
    /// Bytes on the wire of every segment, in addition to its payload.
    pub(super) header: u32,
    /// Number of messages started so far, by host.
    started: Vec<u32>,
    /// Number of connections opened before their first message, by host.
    opened: Vec<u32>,
    /// Servers of the hosts, if they have slots.
    pub(super) servers: Option<Servers>,
}

/// A call of the engine.
pub(super) struct Call<'a> {
    pub(super) context: &'a mut Context,
    pub(super) now: Time,
    pub(super) actions: &'a mut Actions,
}

/// A message without the fields that the context fills in.
pub(super) struct Draft {
    pub(super) workload: u16,
    pub(super) class: Class,
    pub(super) query: Option<u64>,
    pub(super) source: u32,
    pub(super) destination: u32,
    pub(super) bytes: u64,
    pub(super) deadline: Option<Time>,
    pub(super) tag: u32,
    pub(super) leaves: [u32; 2],
    pub(super) siblings: u32,
    pub(super) asked: Time,
    pub(super) waited: Span,
    pub(super) measured: bool,
}

impl Draft {
    fn message(&self, flow: u64, now: Time) -> Message {
        Message {
            flow,
            workload: self.workload,
            class: self.class,
            query: self.query,
            source: self.source,
            destination: self.destination,
            bytes: self.bytes,
            submitted: now,
            deadline: self.deadline,
            tag: self.tag,
            leaves: self.leaves[0],
            leaves_in_time: self.leaves[1],
            siblings: self.siblings,
            asked: self.asked,
            waited: self.waited,
            measured: self.measured,
        }
    }
}

/// Key of one flow or query of a sender or role: the entity of a random stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key(u64);

impl Key {
    pub(super) fn new(workload: u16, item: u64, number: u64) -> Self {
        Self(mix(mix(u64::from(workload) + 1, item), number))
    }

    /// Returns the key of the `number`-th retry of the same request.
    pub(super) fn retry(self, number: u8) -> Self {
        Self(mix(self.0, 0x100 + u64::from(number)))
    }

    /// Returns the key of another stream with the same purpose.
    pub(super) fn other(self) -> Self {
        Self(mix(self.0, 1))
    }
}

impl Context {
    pub(super) fn new(scenario: &Scenario, network: &Network, streams: Streams) -> Self {
        let packet_time = |&link: &u32| network.links[link as usize].rate.transmit(JITTER_BYTES);
        Self {
            streams,
            warm_up: Time::ZERO + scenario.warm_up,
            end: Time::ZERO + scenario.duration,
            packet_time: scenario
                .host
                .start_jitter
                .then(|| network.uplink.iter().map(packet_time).collect()),
            header: draw::TCP_IP_HEADER + scenario.host.frame_overhead,
            started: vec![0; network.hosts() as usize],
            opened: vec![0; network.hosts() as usize],
            servers: Servers::new(scenario, network.hosts()),
        }
    }

    pub(super) fn stream(&self, key: Key, purpose: Purpose) -> Stream {
        self.streams.stream(key.0, purpose)
    }

    /// Draws the start jitter of a message of `host`: uniform in [0, one packet time], or zero without start jitter.
    pub(super) fn jitter(&self, host: u32, key: Key) -> Span {
        self.packet_time.as_ref().map_or(Span::ZERO, |packet_time| {
            let longest = packet_time[host as usize].as_ps();
            Span::from_ps(self.stream(key, Purpose::Jitter).between(0, longest))
        })
    }

    /// Draws the start of a flow, uniform in [0, longest].
    pub(super) fn draw_start(&self, longest: Span, key: Key) -> Span {
        if longest == Span::ZERO {
            return Span::ZERO;
        }
        let mut stream = self.stream(key, Purpose::Start);
        Span::from_ps(stream.between(0, longest.as_ps()))
    }

    /// Returns the number of hosts in the network.
    pub(super) fn hosts(&self) -> u32 {
        self.started.len() as u32
    }

    /// Returns true if `at` is in the measurement window.
    pub(super) fn measured(&self, at: Time) -> bool {
        self.warm_up <= at && at < self.end
    }

    /// Returns true if sources still start flows at `at`.
    pub(super) fn running(&self, at: Time) -> bool {
        at < self.end
    }

    /// Schedules a wake-up, delayed by `jitter`, unless `wake.at` is after the end of the sources.
    pub(super) fn start_at(&self, actions: &mut Actions, jitter: Span, mut wake: Wake) {
        if self.running(wake.at) {
            wake.at += jitter;
            actions.wakes.push(wake);
        }
    }

    pub(super) fn send(&mut self, actions: &mut Actions, now: Time, draft: &Draft) {
        let number = &mut self.started[draft.source as usize];
        let flow = u64::from(draft.source) << 32 | u64::from(*number);
        *number += 1;
        actions.sends.push(draft.message(flow, now));
    }

    /// Opens a persistent connection for messages like `draft`. Connections are numbered separately, so that flow
    /// numbers do not depend on them.
    pub(super) fn connect(&mut self, actions: &mut Actions, now: Time, draft: &Draft) {
        let number = &mut self.opened[draft.source as usize];
        let flow = u64::from(draft.source) << 32 | u64::from(OPENED | *number);
        *number += 1;
        actions.connects.push(draft.message(flow, now));
    }

    /// Sends a plain flow with a size and deadline drawn by its key.
    pub(super) fn send_flow(
        &mut self,
        actions: &mut Actions,
        now: Time,
        flows: &Flows,
        ends: (u32, u32),
        key: Key,
    ) {
        let bytes = draw::size(&flows.size, &mut self.stream(key, Purpose::Size));
        let deadline = draw::deadline(&flows.deadline, &mut self.stream(key, Purpose::Deadline));
        let draft = Draft {
            workload: flows.workload,
            class: Class::Flow,
            query: None,
            source: ends.0,
            destination: ends.1,
            bytes,
            deadline: deadline.map(|span| now + span),
            tag: 0,
            leaves: [0; 2],
            siblings: 0,
            asked: Time::ZERO,
            waited: Span::ZERO,
            measured: self.measured(now),
        };
        self.send(actions, now, &draft);
    }
}

/// Properties of the flows of a plain workload.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    pub(super) workload: u16,
    pub(super) size: Size,
    pub(super) deadline: Deadline,
}

//! Exchange with the other sockets behind the same link.

use crate::link_file::{self, LinkFile, now_ns};
use duetime_core::{Span, Time};
use duetime_proto::due::Demand;
use duetime_proto::due::endpoint::Endpoint;
use std::io;
use std::path::Path;

/// Time after which the others' messages are read without a change, because some may have ended without one.
const REREAD: Span = Span::from_ms(5);

const HAS_DEADLINE: u64 = 1;
const HAS_QUERY: u64 = 2;
const IS_SPOILED: u64 = 4;
const IS_REQUEST: u64 = 8;
const IS_OPEN: u64 = 16;

/// Link that the socket shares with others.
#[derive(Debug)]
pub struct SharedLink {
    file: LinkFile,
    /// Changes of the file that were read.
    seen: Option<u64>,
    read_again_at: Time,
    /// The system's monotonic time at the socket's time zero, in nanoseconds.
    zero_ns: Option<u64>,
    /// Messages of the others.
    demands: Vec<Demand>,
    /// Messages of the socket, as written.
    own: Vec<link_file::Demand>,
}

impl SharedLink {
    /// Joins the sockets that share the link of `path`.
    pub fn join(path: &Path, bits_per_second: u64) -> io::Result<Self> {
        Ok(Self {
            file: LinkFile::open(path, bits_per_second)?,
            seen: None,
            read_again_at: Time::ZERO,
            zero_ns: None,
            demands: Vec::new(),
            own: Vec::new(),
        })
    }

    /// Passes the others' messages to the endpoint if they have changed. Called before each call of the endpoint.
    pub fn read(&mut self, now: Time, endpoint: &mut Endpoint) {
        let changes = self.file.changes();
        let is_known = self.seen == Some(changes);
        if is_known && (self.demands.is_empty() || now < self.read_again_at) {
            return;
        }
        self.seen = Some(changes);
        self.read_again_at = now + REREAD;
        let zero_ns = self.zero_ns(now);
        let demands = &mut self.demands;
        demands.clear();
        self.file
            .read_others(|socket, words| demands.push(demand(socket, words, zero_ns)));
        endpoint.share_link(now, self.file.slot(), demands);
    }

    /// Passes the endpoint's messages to the others if they have changed. Called after each call of the endpoint.
    pub fn write(&mut self, now: Time, endpoint: &mut Endpoint) {
        if !endpoint.take_ranked() {
            return;
        }
        let zero_ns = self.zero_ns(now);
        self.own.clear();
        let demands = endpoint.demands(self.file.slot());
        self.own
            .extend(demands.map(|demand| words(&demand, zero_ns)));
        self.file.write(&self.own);
    }

    fn zero_ns(&mut self, now: Time) -> u64 {
        let elapsed = now.since(Time::ZERO).as_ns();
        *self
            .zero_ns
            .get_or_insert_with(|| now_ns().saturating_sub(elapsed))
    }
}

/// Returns the words of a description in the file. Times are of the system's clock.
fn words(demand: &Demand, zero_ns: u64) -> link_file::Demand {
    let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
    let deadline_ns = |at: Time| at.since(Time::ZERO).as_ns().saturating_add(zero_ns);
    [
        flag(demand.deadline.is_some(), HAS_DEADLINE)
            | flag(demand.query.is_some(), HAS_QUERY)
            | flag(demand.is_spoiled, IS_SPOILED)
            | flag(demand.is_request, IS_REQUEST)
            | flag(demand.is_open, IS_OPEN),
        demand.deadline.map_or(0, deadline_ns),
        demand.query.unwrap_or(0),
        demand.left.as_ps(),
        demand.received.as_ps(),
        demand.window.as_ps(),
    ]
}

/// Returns the description of a message of another socket. All words are allowed.
fn demand(socket: u16, words: link_file::Demand, zero_ns: u64) -> Demand {
    let [flags, deadline_ns, query, left, received, window] = words;
    let has = |flag| flags & flag != 0;
    // The time of a socket is in picoseconds.
    let since_zero = deadline_ns.saturating_sub(zero_ns).min(u64::MAX / 2_000);
    Demand {
        receiver: socket,
        deadline: has(HAS_DEADLINE).then(|| Time::ZERO + Span::from_ns(since_zero)),
        query: has(HAS_QUERY).then_some(query),
        is_spoiled: has(IS_SPOILED),
        is_request: has(IS_REQUEST),
        is_open: has(IS_OPEN),
        left: Span::from_ps(left),
        received: Span::from_ps(received),
        window: Span::from_ps(window),
    }
}

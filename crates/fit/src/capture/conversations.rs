//! Messages from TCP segments. A message is the data that one end of a connection sends until the other end answers.

use super::segments::{End, Segment};
use duetime_core::Rate;
use duetime_scenario::Diagnostic;
use rustc_hash::FxHashMap;
use std::net::IpAddr;

/// Maximum number of connections in a capture.
const MAX_CONNECTIONS: usize = 4_000_000;
/// Maximum number of messages in a capture.
const MAX_MESSAGES: usize = 20_000_000;
/// Maximum number of busy periods. Later packets are assumed to find no queue.
const MAX_BUSY_PERIODS: usize = 50_000_000;

/// Data that one end of a connection sent until the other end answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Index of the connection.
    pub connection: u32,
    pub from: u32,
    pub to: u32,
    /// Time of its first packet, or of the packet that opened the connection for it, in nanoseconds.
    pub begins_ns: u64,
    /// Busy period of the link to the receiver that contains this packet, or `None` if the packet starts one.
    pub busy: Option<u32>,
    /// Time of the last packet of the message in nanoseconds.
    pub ends_ns: u64,
    pub bytes: u64,
    /// True if the sender is the client of the connection: it opened the connection or, if that was not captured, has
    /// the higher port.
    pub by_client: bool,
    /// Position of the first byte in the stream.
    start: u64,
}

/// State of the connections of a capture.
#[derive(Debug)]
pub(crate) struct Conversations {
    /// Rate of each host's link.
    link: Rate,
    /// Latest busy period of the link to each host.
    links: FxHashMap<IpAddr, u32>,
    /// All busy periods.
    pub busy: Vec<Busy>,
    connections: FxHashMap<(End, End), Connection>,
    hosts: FxHashMap<IpAddr, u32>,
    /// Start of the latest message between each pair of hosts.
    began: FxHashMap<(u32, u32), u64>,
    opened: u32,
    /// Messages, sorted by start.
    pub messages: Vec<Message>,
    /// Packets that hosts sent immediately on receiving the opening of a connection.
    pub echoes: Vec<Echo>,
    /// Round trips of opening connections in nanoseconds.
    pub round_trips: Vec<u64>,
    /// Time of the last packet in nanoseconds.
    pub last_ns: u64,
}

/// Busy period of a link, in which packets follow each other without gaps. A packet captured in it may have arrived at
/// the link's queue at any time during the period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Busy {
    pub from_ns: u64,
    pub to_ns: u64,
}

/// Bytes on the wire in addition to IP: Ethernet's header, checksum, preamble and gap.
const FRAMING: u32 = 38;
/// Size of a large packet on the wire. A pause of up to two such packets is not a gap.
const LARGE: u64 = 1538;

/// Packet that a host sent immediately on receiving another one. Their round trip shows how long the second packet
/// waited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    /// Sender of the first packet.
    pub from: u32,
    /// Sender of the second packet.
    pub to: u32,
    /// Capture time of the first packet in nanoseconds.
    pub sent_ns: u64,
    /// Capture time of the second packet in nanoseconds.
    pub seen_ns: u64,
    /// Busy period of the second packet; see [`Message::busy`].
    pub busy: Option<u32>,
}

/// State of a connection. The lower of its two ends comes first.
#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    number: u32,
    /// Opening of the connection, if it was captured.
    opened: Option<Opened>,
    /// True if the other end accepted the connection.
    accepted: bool,
    /// True if a round trip was recorded.
    counted: bool,
    /// Time of each end's SYN, until it has an echo.
    opening: [Option<u64>; 2],
    directions: [Direction; 2],
}

/// First packet of a connection.
#[derive(Clone, Copy, Debug)]
struct Opened {
    /// Index of the end that sent the packet.
    by: usize,
    at_ns: u64,
    /// See [`Message::busy`].
    busy: Option<u32>,
}

/// State of one direction of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    /// Sequence number of the first byte.
    base: Option<u32>,
    /// Highest captured position in the stream.
    reached: u64,
    /// True if the segment at that position had the PSH flag, which ends a write of the application.
    pushed: bool,
    /// Message in progress.
    current: Option<u32>,
    /// Latest message, to which late packets belong.
    latest: Option<u32>,
}

impl Conversations {
    /// Creates an empty state. `link` is the rate of the hosts' links.
    pub fn new(link: Rate) -> Self {
        Self {
            link,
            links: FxHashMap::default(),
            busy: Vec::new(),
            connections: FxHashMap::default(),
            hosts: FxHashMap::default(),
            began: FxHashMap::default(),
            opened: 0,
            messages: Vec::new(),
            echoes: Vec::new(),
            round_trips: Vec::new(),
            last_ns: 0,
        }
    }

    /// Processes the next segment of the capture `file`.
    pub fn take(&mut self, segment: &Segment, file: &str) -> Result<(), Diagnostic> {
        self.last_ns = self.last_ns.max(segment.at_ns);
        let direction = usize::from(segment.from > segment.to);
        let key = if direction == 0 {
            (segment.from, segment.to)
        } else {
            (segment.to, segment.from)
        };
        let full = |items: &str, limit: usize| {
            let message = format!("too many {items} in one capture");
            Err(Diagnostic::of_file(file, message)
                .allowed(format!("at most {limit}: a shorter capture")))
        };
        if self.connections.len() >= MAX_CONNECTIONS {
            return full("connections", MAX_CONNECTIONS);
        }
        if self.messages.len() >= MAX_MESSAGES {
            return full("messages", MAX_MESSAGES);
        }
        let busy = self.busy(segment);
        let fresh = self.opened;
        let connection = self.connections.entry(key).or_insert_with(|| Connection {
            number: fresh,
            ..Connection::default()
        });
        let opens = segment.syn && !segment.ack;
        // The ports are reused by another connection.
        let used = connection.directions.iter().any(|state| state.reached > 0);
        if opens
            && used
            && connection.directions[direction].base != Some(segment.sequence.wrapping_add(1))
        {
            *connection = Connection {
                number: fresh,
                ..Connection::default()
            };
        }
        if connection.number == fresh {
            self.opened += 1;
        }
        let echoed = connection.opening[1 - direction].take();
        if segment.syn {
            // After a retransmission, an echo is ambiguous.
            let earlier = connection.directions[direction]
                .base
                .replace(segment.sequence.wrapping_add(1));
            connection.opening[direction] = earlier.is_none().then_some(segment.at_ns);
        }
        let mut round_trip = None;
        if opens {
            // A second SYN means that the first one or its answer was lost, so do not record the round trip.
            connection.counted = connection.opened.is_some();
            connection.opened.get_or_insert(Opened {
                by: direction,
                at_ns: segment.at_ns,
                busy,
            });
        } else if let Some(opened) = connection.opened
            && direction == opened.by
            && connection.accepted
            && !connection.counted
        {
            connection.counted = true;
            round_trip = Some(segment.at_ns.saturating_sub(opened.at_ns));
        }
        connection.accepted |= segment.syn && segment.ack;
        let mut connection = *connection;
        self.round_trips.extend(round_trip);
        if let Some(sent_ns) = echoed {
            let echo = Echo {
                from: self.host(segment.to.0),
                to: self.host(segment.from.0),
                sent_ns,
                seen_ns: segment.at_ns,
                busy,
            };
            self.echoes.push(echo);
        }
        if segment.payload > 0 && !segment.syn && !segment.rst {
            self.payload(&mut connection, direction, segment, busy);
            self.connections.insert(key, connection);
        }
        Ok(())
    }

    /// Returns the number of distinct hosts.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Returns the number of connections that carried data.
    pub fn connections(&self) -> usize {
        let used = |connection: &&Connection| {
            connection
                .directions
                .iter()
                .any(|direction| direction.reached > 0)
        };
        self.connections.values().filter(used).count()
    }

    fn host(&mut self, address: IpAddr) -> u32 {
        let next = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        *self.hosts.entry(address).or_insert(next)
    }

    /// Records that the segment occupied the link to its receiver. Returns the busy period, unless the segment starts
    /// one.
    fn busy(&mut self, segment: &Segment) -> Option<u32> {
        let sending = self
            .link
            .transmit(segment.packet.saturating_add(FRAMING).into());
        let from_ns = segment.at_ns.saturating_sub(sending.as_ns());
        let no_gap = self.link.transmit(2 * LARGE);
        let latest = self.links.get(&segment.to.0).copied();
        if let Some(period) = latest.and_then(|at| self.busy.get_mut(at as usize))
            && from_ns <= period.to_ns.saturating_add(no_gap.as_ns())
        {
            period.to_ns = period.to_ns.max(segment.at_ns);
            return latest;
        }
        if self.busy.len() >= MAX_BUSY_PERIODS {
            return None;
        }
        let index = u32::try_from(self.busy.len()).unwrap_or(u32::MAX);
        self.busy.push(Busy {
            from_ns,
            to_ns: segment.at_ns,
        });
        self.links.insert(segment.to.0, index);
        None
    }

    fn payload(
        &mut self,
        connection: &mut Connection,
        direction: usize,
        segment: &Segment,
        busy: Option<u32>,
    ) {
        let (from, to) = (self.host(segment.from.0), self.host(segment.to.0));
        let first = connection.directions.iter().all(|state| state.reached == 0);
        let state = &mut connection.directions[direction];
        let base = *state.base.get_or_insert(segment.sequence);
        // Positions differ by less than 2³¹, so their difference fits a signed 32-bit integer.
        let furthest = base.wrapping_add(low(state.reached));
        let behind = segment.sequence.wrapping_sub(furthest).cast_signed();
        let start = state.reached.saturating_add_signed(i64::from(behind));
        let end = start + u64::from(segment.payload);
        if end <= state.reached {
            // A retransmission may fill a gap, so the message does not end before it.
            self.late(state.latest, start, segment.at_ns);
            return;
        }
        let answered = self.began.get(&(to, from)).copied();
        let is_complete = state.pushed
            && state.current.is_some_and(|at| {
                let ended = self
                    .messages
                    .get(at as usize)
                    .map_or(0, |message| message.ends_ns);
                answered.is_some_and(|answered| answered > ended)
            });
        if is_complete {
            state.current = None;
        }
        let before = state.reached;
        state.reached = end;
        state.pushed = segment.psh;
        if let Some(message) = state
            .current
            .and_then(|at| self.messages.get_mut(at as usize))
        {
            message.ends_ns = message.ends_ns.max(segment.at_ns);
            message.bytes += end - before;
        } else {
            let opened = connection.opened.filter(|_| first);
            let by_client = match connection.opened {
                Some(opened) => opened.by == direction,
                None => segment.from.1 > segment.to.1,
            };
            let (begins_ns, busy) = match opened {
                Some(opened) if opened.by == direction => (opened.at_ns, opened.busy),
                _ => (segment.at_ns, busy),
            };
            let index = u32::try_from(self.messages.len()).unwrap_or(u32::MAX);
            (state.current, state.latest) = (Some(index), Some(index));
            self.messages.push(Message {
                connection: connection.number,
                from,
                to,
                begins_ns,
                busy,
                ends_ns: segment.at_ns,
                bytes: end - before,
                by_client,
                start: before,
            });
            self.began.insert((from, to), begins_ns);
        }
        // The other end's data so far is a complete message.
        connection.directions[1 - direction].current = None;
    }

    fn late(&mut self, message: Option<u32>, start: u64, at_ns: u64) {
        let message = message.and_then(|at| self.messages.get_mut(at as usize));
        if let Some(message) = message.filter(|message| start >= message.start) {
            message.ends_ns = message.ends_ns.max(at_ns);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "takes the low half")]
fn low(position: u64) -> u32 {
    position as u32
}

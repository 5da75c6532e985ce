//! Messages from TCP segments: what one end of a connection sends until the other end answers.

use super::segments::{End, Segment};
use duetime_core::Rate;
use duetime_scenario::Diagnostic;
use rustc_hash::FxHashMap;
use std::net::IpAddr;

/// Connections that are looked at in one capture.
const MOST_CONNECTIONS: usize = 4_000_000;
/// Messages.
const MOST_MESSAGES: usize = 20_000_000;
/// Busy periods of links; what comes later is taken to have met no queue.
const MOST_BUSY: usize = 50_000_000;

/// What one end of a connection sent at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Number of the connection.
    pub connection: u32,
    pub from: u32,
    pub to: u32,
    /// Its first packet, or that which opened the connection for it, ns.
    pub begins_ns: u64,
    /// The busy period of the link to its receiver during which that packet was seen; `None`: it began one.
    pub busy: Option<u32>,
    /// The last packet with a part of it, ns.
    pub ends_ns: u64,
    pub bytes: u64,
    /// Whether its sender asks in this connection: it opened it or, where that was not seen, has the higher port.
    pub by_client: bool,
    /// Position of its first byte in the stream.
    start: u64,
}

/// What was seen of the connections of a capture.
#[derive(Debug)]
pub(crate) struct Conversations {
    /// Rate of the link of each host.
    link: Rate,
    /// The latest busy period of the link to each host.
    links: FxHashMap<IpAddr, u32>,
    /// All of them.
    pub busy: Vec<Busy>,
    connections: FxHashMap<(End, End), Connection>,
    hosts: FxHashMap<IpAddr, u32>,
    /// When the latest message from a host to another began.
    began: FxHashMap<(u32, u32), u64>,
    opened: u32,
    /// In the order in which they began.
    pub messages: Vec<Message>,
    /// Packets that answer the opening of a connection at once.
    pub echoes: Vec<Echo>,
    /// Whole round trips of connections that opened, ns.
    pub round_trips: Vec<u64>,
    /// The last packet, ns.
    pub last_ns: u64,
}

/// A busy period of a link, in which packets follow each other without a gap. A packet that was seen in it may have come to the
/// queue of the link at any time of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Busy {
    pub from_ns: u64,
    pub to_ns: u64,
}

/// Bytes on the wire beside those of IP: Ethernet's header and checksum, preamble and gap.
const FRAMING: u32 = 38;
/// Bytes of large packets; the time that two of them take is no gap.
const LARGE: u64 = 1538;

/// A packet that its host sent at once when it got another: how long both were on their way says how long the second one
/// waited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    /// Sent the first.
    pub from: u32,
    /// Sent the second.
    pub to: u32,
    /// When the first was seen, ns.
    pub sent_ns: u64,
    /// When the second was seen, ns.
    pub seen_ns: u64,
    /// As [`Message::busy`], of the second.
    pub busy: Option<u32>,
}

/// One connection; the first of its two ends is the lower one.
#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    number: u32,
    /// The end that opened it.
    opened: Option<Opened>,
    /// Whether the other end agreed.
    agreed: bool,
    /// Whether a round trip was counted.
    counted: bool,
    /// When each end opened it for its part, until that has an echo.
    opening: [Option<u64>; 2],
    ways: [Way; 2],
}

/// The first packet of a connection.
#[derive(Clone, Copy, Debug)]
struct Opened {
    /// The end that sent it.
    by: usize,
    at_ns: u64,
    /// As [`Message::busy`].
    busy: Option<u32>,
}

/// One direction of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    /// Sequence number of the first byte.
    base: Option<u32>,
    /// Bytes up to the furthest that was seen.
    reached: u64,
    /// Whether the segment that reached it ended a piece of what the application wrote.
    pushed: bool,
    /// The message that is under way.
    current: Option<u32>,
    /// The latest message, which late packets belong to.
    latest: Option<u32>,
}

impl Conversations {
    /// Of nothing yet; hosts have links of this rate.
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

    /// Takes the next segment of the capture `file`.
    pub fn take(&mut self, segment: &Segment, file: &str) -> Result<(), Diagnostic> {
        self.last_ns = self.last_ns.max(segment.at_ns);
        let way = usize::from(segment.from > segment.to);
        let key = if way == 0 {
            (segment.from, segment.to)
        } else {
            (segment.to, segment.from)
        };
        let full = |what: &str, most: usize| {
            let message = format!("too many {what} in one capture");
            Err(Diagnostic::of_file(file, message)
                .allowed(format!("at most {most}: a shorter capture")))
        };
        if self.connections.len() >= MOST_CONNECTIONS {
            return full("connections", MOST_CONNECTIONS);
        }
        if self.messages.len() >= MOST_MESSAGES {
            return full("messages", MOST_MESSAGES);
        }
        let busy = self.busy(segment);
        let fresh = self.opened;
        let connection = self.connections.entry(key).or_insert_with(|| Connection {
            number: fresh,
            ..Connection::default()
        });
        let opens = segment.syn && !segment.ack;
        // The same ports again: another connection.
        let used = connection.ways.iter().any(|of| of.reached > 0);
        if opens && used && connection.ways[way].base != Some(segment.sequence.wrapping_add(1)) {
            *connection = Connection {
                number: fresh,
                ..Connection::default()
            };
        }
        if connection.number == fresh {
            self.opened += 1;
        }
        let echoed = connection.opening[1 - way].take();
        if segment.syn {
            // Sent again: it is not known which of them an echo is of.
            let again = connection.ways[way]
                .base
                .replace(segment.sequence.wrapping_add(1));
            connection.opening[way] = again.is_none().then_some(segment.at_ns);
        }
        let mut round_trip = None;
        if opens {
            // A second request to open means that the first, or its answer, was lost.
            connection.counted = connection.opened.is_some();
            connection.opened.get_or_insert(Opened {
                by: way,
                at_ns: segment.at_ns,
                busy,
            });
        } else if let Some(opened) = connection.opened
            && way == opened.by
            && connection.agreed
            && !connection.counted
        {
            connection.counted = true;
            round_trip = Some(segment.at_ns.saturating_sub(opened.at_ns));
        }
        connection.agreed |= segment.syn && segment.ack;
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
            self.payload(&mut connection, way, segment, busy);
            self.connections.insert(key, connection);
        }
        Ok(())
    }

    /// Distinct hosts.
    pub fn hosts(&self) -> usize {
        self.hosts.len()
    }

    /// Connections that carried anything.
    pub fn connections(&self) -> usize {
        let used = |of: &&Connection| of.ways.iter().any(|way| way.reached > 0);
        self.connections.values().filter(used).count()
    }

    fn host(&mut self, of: IpAddr) -> u32 {
        let next = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
        *self.hosts.entry(of).or_insert(next)
    }

    /// Notes that the link to the segment's receiver was busy with it; gives the busy period, unless the segment began one.
    fn busy(&mut self, segment: &Segment) -> Option<u32> {
        let sending = self
            .link
            .transmit(segment.packet.saturating_add(FRAMING).into());
        let from_ns = segment.at_ns.saturating_sub(sending.as_ns());
        let no_gap = self.link.transmit(2 * LARGE);
        let latest = self.links.get(&segment.to.0).copied();
        if let Some(of) = latest.and_then(|at| self.busy.get_mut(at as usize))
            && from_ns <= of.to_ns.saturating_add(no_gap.as_ns())
        {
            of.to_ns = of.to_ns.max(segment.at_ns);
            return latest;
        }
        if self.busy.len() >= MOST_BUSY {
            return None;
        }
        let number = u32::try_from(self.busy.len()).unwrap_or(u32::MAX);
        self.busy.push(Busy {
            from_ns,
            to_ns: segment.at_ns,
        });
        self.links.insert(segment.to.0, number);
        None
    }

    fn payload(
        &mut self,
        connection: &mut Connection,
        way: usize,
        segment: &Segment,
        busy: Option<u32>,
    ) {
        let (from, to) = (self.host(segment.from.0), self.host(segment.to.0));
        let first = connection.ways.iter().all(|of| of.reached == 0);
        let of = &mut connection.ways[way];
        let base = *of.base.get_or_insert(segment.sequence);
        // Positions are below 2³² apart, so the difference to the furthest is a signed one of 32 bits.
        let furthest = base.wrapping_add(low(of.reached));
        let behind = segment.sequence.wrapping_sub(furthest).cast_signed();
        let start = of.reached.saturating_add_signed(i64::from(behind));
        let end = start + u64::from(segment.payload);
        if end <= of.reached {
            // Sent again: it may fill a gap, so what it belongs to ends no earlier.
            self.late(of.latest, start, segment.at_ns);
            return;
        }
        let answered = self.began.get(&(to, from)).copied();
        let over = of.pushed
            && of.current.is_some_and(|at| {
                let ended = self.messages.get(at as usize).map_or(0, |of| of.ends_ns);
                answered.is_some_and(|answered| answered > ended)
            });
        if over {
            of.current = None;
        }
        let before = of.reached;
        of.reached = end;
        of.pushed = segment.psh;
        if let Some(message) = of.current.and_then(|at| self.messages.get_mut(at as usize)) {
            message.ends_ns = message.ends_ns.max(segment.at_ns);
            message.bytes += end - before;
        } else {
            let opened = connection.opened.filter(|_| first);
            let by_client = match connection.opened {
                Some(opened) => opened.by == way,
                None => segment.from.1 > segment.to.1,
            };
            let (begins_ns, busy) = match opened {
                Some(opened) if opened.by == way => (opened.at_ns, opened.busy),
                _ => (segment.at_ns, busy),
            };
            let number = u32::try_from(self.messages.len()).unwrap_or(u32::MAX);
            (of.current, of.latest) = (Some(number), Some(number));
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
        // What the other end has sent so far is a message of its own.
        connection.ways[1 - way].current = None;
    }

    fn late(&mut self, message: Option<u32>, start: u64, at_ns: u64) {
        let of = message.and_then(|at| self.messages.get_mut(at as usize));
        if let Some(of) = of.filter(|of| start >= of.start) {
            of.ends_ns = of.ends_ns.max(at_ns);
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
fn low(position: u64) -> u32 {
    position as u32
}

//! Messages from TCP segments: what one end of a connection sends until the other end answers.

use crate::capture::{End, Segment};
use duetime_scenario::Diagnostic;
use rustc_hash::FxHashMap;
use std::net::IpAddr;

/// Connections that are looked at in one capture.
const MOST_CONNECTIONS: usize = 4_000_000;
/// Messages.
const MOST_MESSAGES: usize = 20_000_000;

/// What one end of a connection sent at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Number of the connection.
    pub connection: u32,
    pub from: u32,
    pub to: u32,
    /// Its first packet, or that which opened the connection for it, ns.
    pub begins_ns: u64,
    /// The last packet with a part of it, ns.
    pub ends_ns: u64,
    pub bytes: u64,
    /// Whether its sender asks in this connection: it opened it or, where that was not seen, has the higher port.
    pub by_client: bool,
    /// Position of its first byte in the stream.
    start: u64,
}

/// What was seen of the connections of a capture.
#[derive(Debug, Default)]
pub(crate) struct Conversations {
    connections: FxHashMap<(End, End), Connection>,
    hosts: FxHashMap<IpAddr, u32>,
    /// When the latest message from a host to another began.
    began: FxHashMap<(u32, u32), u64>,
    opened: u32,
    /// In the order in which they began.
    pub messages: Vec<Message>,
    /// From where the capture was made to the end that answers and back, ns: by the end that opens a connection and the one
    /// that answers, of each that was seen to open.
    pub answers_after: FxHashMap<(u32, u32), Vec<u64>>,
    /// The whole round trip, ns.
    pub round_trips: Vec<u64>,
    /// The last packet, ns.
    pub last_ns: u64,
}

/// One connection; the first of its two ends is the lower one.
#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    number: u32,
    /// The end that opened it, and when.
    opened: Option<(usize, u64)>,
    /// When the other end agreed.
    agreed: Option<u64>,
    /// Whether a round trip was counted.
    counted: bool,
    ways: [Way; 2],
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
        if segment.syn {
            connection.ways[way].base = Some(segment.sequence.wrapping_add(1));
        }
        // From the capture to the end that answers and back, and the whole round trip.
        let mut took = None;
        if opens {
            // A second request to open means that the first, or its answer, was lost.
            connection.counted = connection.opened.is_some();
            connection.opened.get_or_insert((way, segment.at_ns));
        } else if let Some((opener, at)) = connection.opened {
            if segment.syn && way != opener {
                connection.agreed.get_or_insert(segment.at_ns);
            } else if let (true, Some(agreed), false) =
                (way == opener, connection.agreed, connection.counted)
            {
                connection.counted = true;
                took = Some((agreed.saturating_sub(at), segment.at_ns.saturating_sub(at)));
            }
        }
        let mut connection = *connection;
        if let Some((after, trip)) = took {
            let ends = (self.host(segment.from.0), self.host(segment.to.0));
            self.answers_after.entry(ends).or_default().push(after);
            self.round_trips.push(trip);
        }
        if segment.payload > 0 && !segment.syn && !segment.rst {
            self.payload(&mut connection, way, segment);
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

    fn payload(&mut self, connection: &mut Connection, way: usize, segment: &Segment) {
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
                Some((opener, _)) => opener == way,
                None => segment.from.1 > segment.to.1,
            };
            let begins_ns = match opened {
                Some((opener, at)) if opener == way => at,
                _ => segment.at_ns,
            };
            let number = u32::try_from(self.messages.len()).unwrap_or(u32::MAX);
            (of.current, of.latest) = (Some(number), Some(number));
            self.messages.push(Message {
                connection: connection.number,
                from,
                to,
                begins_ns,
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

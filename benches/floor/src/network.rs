//! Links as rings of packets, and the two workloads.

use crate::flow::Flow;
use crate::random::{Random, cycle};
use crate::ring::Ring;

/// Standard workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// W1: 40 senders, one receiver, one switch, 1 Gbps, 10 MB each.
    Incast,
    /// W2: 25 racks of 40 hosts, one 40 Gbps uplink per rack to one core switch, a permutation of 1000 flows of 1 MB.
    Permutation,
}

/// Queueing at a host's own link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nic {
    /// The whole window is sent at once and waits in the link's ring.
    Fifo,
    /// Only a few packets are ahead of the wire; the window waits in the flow.
    Pull,
}

/// Maximum number of packets on the host's own link in pull mode: 20 µs of latency at 12 µs per packet, one in
/// transmission, one ready.
pub(crate) const PULL_DEPTH: usize = 4;

/// Latency of every link in picoseconds: 20 µs.
const LATENCY: u64 = 20_000_000;
/// Data bytes of a full-size packet.
pub(crate) const PAYLOAD: u64 = 1460;
/// Bytes of a packet's headers.
pub(crate) const HEADERS: u64 = 40;
const GIGABIT: u64 = 1;
const FORTY_GIGABIT: u64 = 40;
/// Feeder of a link on which no flow starts.
pub(crate) const NO_FLOW: u16 = u16::MAX;

/// Kind of a packet, which determines its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ack,
    Full,
    Last,
}

/// Packet on a link: 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Arrival time at the far end of the current link, in picoseconds.
    pub(crate) arrival: u64,
    pub(crate) sequence: u32,
    /// Index of the current link in [`Network::routes`], which also identifies the flow.
    pub(crate) step: u16,
    pub(crate) kind: Kind,
    pub(crate) marked: bool,
}

/// One direction of a link, with its port.
#[derive(Debug)]
pub(crate) struct Link {
    /// Packets waiting and in flight.
    ring: Ring<Packet>,
    free_at: u64,
    mark_at: u32,
    /// Flow that sends from the host at the start of this link, or [`NO_FLOW`].
    pub(crate) feeder: u16,
    /// Transmission times of `Kind::Ack`, `Full` and `Last`.
    transmit: [u32; 3],
}

impl Link {
    fn new(gigabits: u64, mark_at: u32) -> Self {
        let transmit = |payload: u64| ((HEADERS + payload) * 8 * 1000 / gigabits) as u32;
        Self {
            ring: Ring::new(8, Packet::NONE),
            free_at: 0,
            mark_at,
            feeder: NO_FLOW,
            transmit: [transmit(0), transmit(PAYLOAD), 0],
        }
    }

    /// Returns the number of packets waiting or in flight.
    pub(crate) fn len(&self) -> usize {
        self.ring.len()
    }

    /// Adds a packet, marked if at least `mark_at` packets are waiting or in transmission. Returns its arrival if the
    /// link was empty.
    #[inline]
    pub(crate) fn push(&mut self, now: u64, mut packet: Packet) -> Option<u64> {
        let length = self.len();
        // `mark_at` packets are still in the port if the packet that many positions back has not departed.
        if length >= self.mark_at as usize
            && packet.kind != Kind::Ack
            && self.ring.nth_newest(self.mark_at).arrival > now + LATENCY
        {
            packet.marked = true;
        }
        let departure = self.free_at.max(now) + u64::from(self.transmit[packet.kind as usize]);
        self.free_at = departure;
        packet.arrival = departure + LATENCY;
        self.ring.push(packet);
        (length == 0).then_some(packet.arrival)
    }

    /// Removes the oldest packet, which must exist.
    #[inline]
    pub(crate) fn pop(&mut self) -> Packet {
        self.ring.pop()
    }

    /// Returns the arrival of the oldest packet, if any.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<u64> {
        self.ring.front().map(|packet| packet.arrival)
    }
}

impl Packet {
    const NONE: Self = Self {
        arrival: 0,
        sequence: 0,
        step: 0,
        kind: Kind::Ack,
        marked: false,
    };
}

/// Entries in [`Network::routes`] per flow.
pub(crate) const ROUTE_LENGTH: usize = 16;
/// End of a path in a route.
pub(crate) const ARRIVED: u16 = u16::MAX;

/// Links of a workload and routes of its flows.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) links: Vec<Link>,
    /// For each flow, [`ROUTE_LENGTH`] entries: the links of the forward path, [`ARRIVED`], the links of the return
    /// path, [`ARRIVED`].
    pub(crate) routes: Vec<u16>,
}

impl Network {
    fn new(mut links: Vec<Link>, paths: &[(Vec<usize>, Vec<usize>)]) -> Self {
        let mut routes = vec![ARRIVED; ROUTE_LENGTH * paths.len()];
        for (flow, (forward, back)) in paths.iter().enumerate() {
            links[forward[0]].feeder = flow as u16;
            let start = flow * ROUTE_LENGTH;
            for (place, link) in forward.iter().enumerate() {
                routes[start + place] = *link as u16;
            }
            for (place, link) in back.iter().enumerate() {
                routes[start + forward.len() + 1 + place] = *link as u16;
            }
        }
        Self { links, routes }
    }
}

/// Creates the links, routes and flows of `work`.
pub(crate) fn lay_out(work: Work) -> (Network, Vec<(u64, Flow)>) {
    match work {
        Work::Incast => incast(40, 10_000_000),
        Work::Permutation => permutation(25, 40, 1_000_000),
    }
}

/// Creates the incast: host h sends on link 2h and receives on link 2h + 1; the last host is the receiver.
fn incast(senders: usize, bytes: u64) -> (Network, Vec<(u64, Flow)>) {
    let mut links: Vec<_> = (0..2 * (senders + 1))
        .map(|_| Link::new(GIGABIT, 20))
        .collect();
    set_last(&mut links, bytes);
    let paths: Vec<_> = (0..senders)
        .map(|host| {
            (
                vec![2 * host, 2 * senders + 1],
                vec![2 * senders, 2 * host + 1],
            )
        })
        .collect();
    (Network::new(links, &paths), flows(senders, bytes))
}

/// Creates the permutation: host links as in [`incast`], then rack r's uplink at 2·hosts + 2r and its downlink at
/// 2·hosts + 2r + 1.
fn permutation(racks: usize, per_rack: usize, bytes: u64) -> (Network, Vec<(u64, Flow)>) {
    let hosts = racks * per_rack;
    let mut links: Vec<_> = (0..2 * hosts)
        .map(|_| Link::new(GIGABIT, 20))
        .chain((0..2 * racks).map(|_| Link::new(FORTY_GIGABIT, 65)))
        .collect();
    set_last(&mut links, bytes);
    let one_way = |from: usize, to: usize| {
        let (up, down) = (
            2 * hosts + 2 * (from / per_rack),
            2 * hosts + 2 * (to / per_rack) + 1,
        );
        if from / per_rack == to / per_rack {
            vec![2 * from, 2 * to + 1]
        } else {
            vec![2 * from, up, down, 2 * to + 1]
        }
    };
    let paths: Vec<_> = cycle(hosts)
        .iter()
        .map(|&(from, to)| (one_way(from, to), one_way(to, from)))
        .collect();
    (Network::new(links, &paths), flows(hosts, bytes))
}

fn set_last(links: &mut [Link], bytes: u64) {
    let last = bytes - (packets(bytes) - 1) * PAYLOAD;
    for link in links {
        link.transmit[Kind::Last as usize] = (u64::from(link.transmit[Kind::Full as usize])
            * (HEADERS + last)
            / (HEADERS + PAYLOAD)) as u32;
    }
}

/// Returns the number of packets of a flow.
pub(crate) fn packets(bytes: u64) -> u64 {
    bytes.div_ceil(PAYLOAD)
}

/// Creates flows with their starts, which are random within one packet time.
fn flows(count: usize, bytes: u64) -> Vec<(u64, Flow)> {
    let mut random = Random(1);
    let flow = || Flow::new(packets(bytes) as u32);
    (0..count)
        .map(|_| (random.below(12_000_000), flow()))
        .collect()
}

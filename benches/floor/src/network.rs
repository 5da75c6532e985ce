//! Links as rings of packets, and the two works laid out on them.

use crate::flow::Flow;

/// The standard works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// W1: 40 senders, one receiver, one switch, 1 Gbps, 10 MB each.
    Incast,
    /// W2: 25 racks of 40 hosts, one 40 Gbps uplink per rack to one core switch, 1000 flows of 1 MB in a permutation.
    Permutation,
}

/// How a flow hands packets to its host's own link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nic {
    /// The whole window at once; it waits in the link's ring.
    Fifo,
    /// A few packets ahead of the wire; the window waits in the flow.
    Pull,
}

/// Packets on the host's own link in pull mode: 20 µs of flight at 12 µs a packet, one on the wire, one ready.
pub(crate) const PULL_DEPTH: usize = 4;

/// 20 µs, every link's latency, in picoseconds.
const LATENCY: u64 = 20_000_000;
const PAYLOAD: u64 = 1460;
const HEADERS: u64 = 40;
const GIGABIT: u64 = 1;
const FORTY_GIGABIT: u64 = 40;
/// The feeder of a link that no flow starts on.
pub(crate) const NO_FLOW: u16 = u16::MAX;

/// What a packet is, as far as its size goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ack,
    Full,
    Last,
}

/// A packet on a link: 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// When it reaches the far end of the link it is on, in picoseconds.
    pub(crate) arrival: u64,
    pub(crate) sequence: u32,
    /// The place in [`Network::routes`] of the link it is on; the flow follows from it.
    pub(crate) step: u16,
    pub(crate) kind: Kind,
    pub(crate) marked: bool,
}

/// One direction of a link with the port before it.
#[derive(Debug)]
pub(crate) struct Link {
    /// Waiting and in flight, oldest at `head`; the length is a power of two.
    ring: Vec<Packet>,
    head: u32,
    tail: u32,
    free_at: u64,
    mark_at: u32,
    /// The flow that sends from the host before this link, if any.
    pub(crate) feeder: u16,
    /// Transmission times of `Kind::Ack`, `Full` and `Last`.
    transmit: [u32; 3],
}

impl Link {
    fn new(gigabits: u64, mark_at: u32) -> Self {
        let transmit = |payload: u64| ((HEADERS + payload) * 8 * 1000 / gigabits) as u32;
        Self {
            ring: vec![Packet::NONE; 8],
            head: 0,
            tail: 0,
            free_at: 0,
            mark_at,
            feeder: NO_FLOW,
            transmit: [transmit(0), transmit(PAYLOAD), 0],
        }
    }

    /// Packets waiting or in flight.
    pub(crate) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    /// Adds a packet, marked if `mark_at` or more wait or are being sent; gives its arrival if the link was empty.
    #[inline]
    pub(crate) fn push(&mut self, now: u64, mut packet: Packet) -> Option<u64> {
        let length = self.len();
        if length == self.ring.len() {
            self.grow();
        }
        // `mark_at` packets are still here if the one that many places back has not departed.
        if length >= self.mark_at as usize
            && packet.kind != Kind::Ack
            && self.at(self.tail.wrapping_sub(self.mark_at)).arrival > now + LATENCY
        {
            packet.marked = true;
        }
        let departure = self.free_at.max(now) + u64::from(self.transmit[packet.kind as usize]);
        self.free_at = departure;
        packet.arrival = departure + LATENCY;
        let slot = self.tail as usize & (self.ring.len() - 1);
        self.ring[slot] = packet;
        self.tail = self.tail.wrapping_add(1);
        (length == 0).then_some(packet.arrival)
    }

    /// Takes the oldest packet; there is one.
    #[inline]
    pub(crate) fn pop(&mut self) -> Packet {
        let packet = *self.at(self.head);
        self.head = self.head.wrapping_add(1);
        packet
    }

    /// When the oldest packet arrives, if there is one.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Option<u64> {
        (self.head != self.tail).then(|| self.at(self.head).arrival)
    }

    #[inline]
    fn at(&self, position: u32) -> &Packet {
        &self.ring[position as usize & (self.ring.len() - 1)]
    }

    #[cold]
    fn grow(&mut self) {
        let length = self.len();
        let first = self.head as usize & (self.ring.len() - 1);
        self.ring.rotate_left(first);
        self.ring.resize(2 * self.ring.len(), Packet::NONE);
        self.head = 0;
        self.tail = length as u32;
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

/// Places in [`Network::routes`] per flow.
pub(crate) const ROUTE_LENGTH: usize = 16;
/// In a route: the packet is there.
pub(crate) const ARRIVED: u16 = u16::MAX;

/// The links of a work and the routes of its flows.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) links: Vec<Link>,
    /// For each flow, [`ROUTE_LENGTH`] places: the links there, [`ARRIVED`], the links back, [`ARRIVED`].
    pub(crate) routes: Vec<u16>,
}

impl Network {
    fn new(mut links: Vec<Link>, paths: &[(Vec<usize>, Vec<usize>)]) -> Self {
        let mut routes = vec![ARRIVED; ROUTE_LENGTH * paths.len()];
        for (flow, (there, back)) in paths.iter().enumerate() {
            links[there[0]].feeder = flow as u16;
            let start = flow * ROUTE_LENGTH;
            for (place, link) in there.iter().enumerate() {
                routes[start + place] = *link as u16;
            }
            for (place, link) in back.iter().enumerate() {
                routes[start + there.len() + 1 + place] = *link as u16;
            }
        }
        Self { links, routes }
    }
}

/// Lays out the links, routes and flows of `work`.
pub(crate) fn lay_out(work: Work) -> (Network, Vec<Flow>) {
    match work {
        Work::Incast => incast(40, 10_000_000),
        Work::Permutation => permutation(25, 40, 1_000_000),
    }
}

/// Host h sends on link 2h and hears on link 2h + 1; the last host is the receiver.
fn incast(senders: usize, bytes: u64) -> (Network, Vec<Flow>) {
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

/// Hosts as in [`incast`], then rack r's link to the core at 2·hosts + 2r and from it at 2·hosts + 2r + 1.
fn permutation(racks: usize, per_rack: usize, bytes: u64) -> (Network, Vec<Flow>) {
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

fn packets(bytes: u64) -> u64 {
    bytes.div_ceil(PAYLOAD)
}

/// Flows that start within one packet time, at random.
fn flows(count: usize, bytes: u64) -> Vec<Flow> {
    let mut random = Random(1);
    (0..count)
        .map(|_| Flow::new(random.below(12_000_000), packets(bytes) as u32))
        .collect()
}

/// A random permutation without fixed points, as pairs: each host of a shuffled ring sends to the next.
fn cycle(hosts: usize) -> Vec<(usize, usize)> {
    let mut random = Random(2);
    let mut order: Vec<usize> = (0..hosts).collect();
    for last in (1..hosts).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    (0..hosts)
        .map(|place| (order[place], order[(place + 1) % hosts]))
        .collect()
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

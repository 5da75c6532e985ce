//! Links as rings of packets, and the two workloads.

use crate::flow::Flow;

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
const PAYLOAD: u64 = 1460;
const HEADERS: u64 = 40;
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
    /// Packets waiting and in flight, oldest at `head`. The length is a power of two.
    ring: Vec<Packet>,
    head: u32,
    tail: u32,
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
            ring: vec![Packet::NONE; 8],
            head: 0,
            tail: 0,
            free_at: 0,
            mark_at,
            feeder: NO_FLOW,
            transmit: [transmit(0), transmit(PAYLOAD), 0],
        }
    }

    /// Returns the number of packets waiting or in flight.
    pub(crate) fn len(&self) -> usize {
        self.tail.wrapping_sub(self.head) as usize
    }

    /// Adds a packet, marked if at least `mark_at` packets are waiting or in transmission. Returns its arrival if the
    /// link was empty.
    #[inline]
    pub(crate) fn push(&mut self, now: u64, mut packet: Packet) -> Option<u64> {
        let length = self.len();
        if length == self.ring.len() {
            self.grow();
        }
        // `mark_at` packets are still in the port if the packet that many positions back has not departed.
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

    /// Removes the oldest packet, which must exist.
    #[inline]
    pub(crate) fn pop(&mut self) -> Packet {
        let packet = *self.at(self.head);
        self.head = self.head.wrapping_add(1);
        packet
    }

    /// Returns the arrival of the oldest packet, if any.
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
pub(crate) fn lay_out(work: Work) -> (Network, Vec<Flow>) {
    match work {
        Work::Incast => incast(40, 10_000_000),
        Work::Permutation => permutation(25, 40, 1_000_000),
    }
}

/// Creates the incast: host h sends on link 2h and receives on link 2h + 1; the last host is the receiver.
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

/// Creates the permutation: host links as in [`incast`], then rack r's uplink at 2·hosts + 2r and its downlink at
/// 2·hosts + 2r + 1.
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

/// Creates flows that start at random within one packet time.
fn flows(count: usize, bytes: u64) -> Vec<Flow> {
    let mut random = Random(1);
    (0..count)
        .map(|_| Flow::new(random.below(12_000_000), packets(bytes) as u32))
        .collect()
}

/// Returns a random permutation without fixed points, as pairs: each host of a shuffled ring sends to the next.
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

/// `SplitMix64` generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

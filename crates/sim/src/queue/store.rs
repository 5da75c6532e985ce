//! Storage shared by the calendars of all sub-partitions, and the order of events.

use super::{Event, NONE};
use duetime_core::random::mix;

/// Number of buckets of all calendars together.
pub(super) const BUCKETS: usize = 131_072;
pub(super) const WORDS: usize = BUCKETS / 64;

/// An event in a bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) time: u64,
    /// Next event in the bucket, or next free id.
    pub(super) next: u32,
    /// Number of times that a fixed event with this id was inserted, modulo 2³²; 1 for a single event.
    pub(super) turn: u32,
}

impl Node {
    const FREE: Self = Self {
        time: 0,
        next: NONE,
        turn: 0,
    };
}

/// Bits of an order word that hold the kind of event.
const KIND: u64 = 3 << 62;
/// Bits of an order word that hold the event's number at its link or host.
const NUMBER: u64 = u32::MAX as u64;

/// Rank of an event among simultaneous events: its kind and a hash, then its order word.
pub type Precedence = (u64, u64);

/// Storage shared by all calendars.
#[derive(Clone, Debug)]
pub(super) struct Store {
    /// Binary logarithm of the bucket width, in picoseconds.
    pub(super) shift: u32,
    /// Number of buckets per calendar, a power of two, minus one.
    pub(super) mask: usize,
    /// Events by id.
    pub(super) nodes: Vec<Node>,
    /// Order words by event id, unique among simultaneous events.
    orders: Vec<u64>,
    /// Key of the run, which randomises the order of simultaneous events.
    key: u64,
    /// First event of each bucket.
    pub(super) heads: Box<[u32; BUCKETS]>,
    /// One bit per bucket, set if the bucket is not empty.
    pub(super) occupied: [u64; WORDS],
}

impl Store {
    /// Creates the storage of calendars with `share` buckets each, a power of two of at least 64.
    pub(super) fn new(shift: u32, share: usize, fixed_orders: Vec<u64>, key: u64) -> Self {
        debug_assert!(share.is_power_of_two() && share >= 64);
        Self {
            shift,
            mask: share - 1,
            nodes: vec![Node::FREE; fixed_orders.len()],
            orders: fixed_orders,
            key,
            heads: vec![NONE; BUCKETS].try_into().expect("as many as buckets"),
            occupied: [0; WORDS],
        }
    }

    /// Returns the time span that a calendar covers, in picoseconds.
    pub(super) const fn reach_ps(&self) -> u64 {
        (self.mask as u64) << self.shift
    }

    /// Returns the binary logarithm of the bucket width, in picoseconds.
    pub(super) const fn shift(&self) -> u32 {
        self.shift
    }

    /// Makes the next insertion of event `id` its `turn`-th.
    #[inline(always)]
    pub(super) fn set_turn(&mut self, id: u32, turn: u32) {
        self.nodes[id as usize].turn = turn.wrapping_sub(1);
    }

    /// Adds an event id with this order word.
    pub(super) fn add(&mut self, order: u64) -> u32 {
        self.nodes.push(Node::FREE);
        self.orders.push(order);
        self.nodes.len() as u32 - 1
    }

    /// Assigns an order word to a free id. Returns the next free id.
    pub(super) fn reuse(&mut self, id: u32, order: u64) -> u32 {
        self.orders[id as usize] = order;
        let node = &mut self.nodes[id as usize];
        node.turn = 0;
        node.next
    }

    /// Frees an id and links it to the free id `next`. Returns its order word.
    pub(super) fn free(&mut self, id: u32, next: u32) -> u64 {
        self.nodes[id as usize].next = next;
        self.orders[id as usize]
    }

    /// Returns an event's rank among simultaneous events. The hash covers the kind, the link or host, and the number of
    /// events it has had. It is therefore drawn again for each event, so that no link wins all its ties, and it does not
    /// depend on how the network is split. The time is left out, so that the order is unchanged if all times halve.
    #[inline]
    pub(super) fn precedence(&self, id: u32) -> Precedence {
        self.precedence_at(id, self.nodes[id as usize].turn)
    }

    /// Returns the rank of an event's `turn`-th occurrence; see [`Store::precedence`].
    #[inline]
    pub(super) fn precedence_at(&self, id: u32, turn: u32) -> Precedence {
        let order = self.orders[id as usize];
        let drawn = mix((order & !NUMBER) | u64::from(turn), self.key);
        ((order & KIND) | (drawn >> 2), order)
    }

    /// Returns true if `a` is due before `b`.
    #[inline(always)]
    pub(super) fn is_before(&self, a: Event, b: Event) -> bool {
        a.time < b.time || a.time == b.time && self.ranks_before(a.id, b.id)
    }

    /// Returns true if `a` ranks before the simultaneous event `b`.
    #[inline(never)]
    fn ranks_before(&self, a: u32, b: u32) -> bool {
        self.precedence(a) < self.precedence(b)
    }
}

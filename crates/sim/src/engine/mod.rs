//! One partition of a run: the event loop over the hosts, switches and links that it owns. A run on one thread is one
//! partition.
//!
//! One event per packet-hop: a link's packets in flight lie in its port's ring, and the queue holds each busy link's
//! next arrival only. The order of events is (time, kind, keyed hash of link or host and of how many events it has had,
//! number), which never depends on when an event was put in nor on how many partitions there are (see `queue`).

mod applications;
mod d3;
mod faults;
mod foresight;
mod measured;
mod nic;
mod observe;
mod record;
mod regions;
mod router;
mod series;
mod tcp;
mod timers;
mod wire;

pub use applications::flow_hash;
pub use observe::Observed;
pub use record::{Finish, PartRecords, merge};

use crate::host::{Host, Nic};
use crate::packet::{Extra, NONE, Packet};
use crate::partition::Regions;
use crate::queue::{EventQueue, order};
use crate::run::Options;
use crate::setup::Setup;
use crate::workload::{Actions, Workloads};
use duetime_core::random::{Purpose, Stream};
use duetime_core::{Span, Time};
use duetime_link::{Port, Ring, SharedBuffer};
use duetime_results::Totals;
use duetime_scenario::Scenario;
use rustc_hash::FxHashMap;
use slab::Slab;
use std::sync::Arc;

/// Kinds of event, in their order among simultaneous ones.
const DEPARTURE: u64 = 0;
const TICK: u64 = 1;
const ARRIVAL: u64 = 2;
const TIMER: u64 = 3;

/// Networks by how much of their state the processor's caches hold: all of it, most of it, little of it.
const SMALL: u8 = 0;
const MEDIUM: u8 = 1;
const LARGE: u8 = 2;

/// In the number of a tick: it samples the link instead of updating its D3 allocator.
const SAMPLE: u32 = 1 << 31;
/// The number of a tick that samples the windows of TCP senders.
const WINDOWS: u32 = u32::MAX;
/// In [`Link::target`]: the target is a host.
const TO_HOST: u32 = 1 << 31;

/// What the packet path needs to know of a link.
#[derive(Clone, Copy, Debug)]
struct Link {
    /// What is at its far end: a host's number with [`TO_HOST`], or a switch's.
    target: u32,
    /// What takes its packets off the fast path: some of the constants below, and the number of its shared memory.
    special: u32,
}

impl Link {
    #[inline(always)]
    const fn of(port: &Port<Packet>) -> Self {
        let [target, special] = port.tag;
        Self { target, special }
    }

    /// Its far end belongs to another partition.
    const CROSSING: u32 = 1;
    /// It loses packets at random.
    const LOSSY: u32 = 2;
    /// Its port has a D3 allocator.
    const ALLOCATED: u32 = 4;
    /// Its port shares memory with others; which one is above [`Self::POOL_SHIFT`].
    const POOLED: u32 = 8;
    /// Its port serves by class.
    const CLASSED: u32 = 16;
    /// Its packets are watched.
    const OBSERVED: u32 = 32;
    /// It loses requests.
    const FAULTY: u32 = 64;
    /// Its partition is run region by region.
    const REGIONAL: u32 = 128;

    const POOL_SHIFT: u32 = 8;

    /// Arrivals need the slow path.
    const SLOW_ARRIVAL: u32 =
        Self::CROSSING | Self::LOSSY | Self::OBSERVED | Self::FAULTY | Self::REGIONAL;
}

/// Packets on their way to another partition.
#[derive(Debug, Default)]
pub struct Mail {
    crossings: Vec<Crossing>,
    /// What their packets carry: [`Packet::extra`] counts here as long as they are under way.
    extras: Vec<Option<Extra>>,
}

/// A packet on its way to another partition.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    link: u32,
    arrival: Time,
    packet: Packet,
}

/// The part of the network that one thread simulates.
#[expect(
    clippy::struct_field_names,
    reason = "`partition_of` maps a node to its partition, as everywhere in the crate"
)]
pub struct Partition {
    setup: Arc<Setup>,
    /// Bytes added to each packet on the wire.
    frame_overhead: u16,
    /// Network cards pull from the flows.
    nic_pulls: bool,
    now: Time,
    queue: EventQueue,
    turns: regions::Turns,
    /// The region of each link's far end.
    target_region: Vec<u16>,
    /// The region of each host.
    host_region: Vec<u16>,
    /// Each with its [`Link`] in its tag.
    ports: Vec<Port<Packet>>,
    pools: Vec<SharedBuffer>,
    nics: Vec<Nic>,
    hosts: Vec<Host>,
    tcp_senders: Slab<tcp::Sending>,
    tcp_receivers: Slab<tcp::Receiving>,
    d3: d3::Endpoints,
    allocators: Vec<Option<Box<router::PortState>>>,
    extras: Slab<Extra>,
    /// Receivers by the flow that opened their connection: for repeated SYNs.
    receivers: FxHashMap<u64, u32>,
    /// Long-lived connections: sender by (workload, source, destination).
    connections: FxHashMap<(u16, u32, u32), u32>,
    /// Packets from other partitions, by link, in order of arrival; empty if there is one partition.
    inbound: Vec<Ring<Packet>>,
    /// Packets for other partitions, by partition.
    outbound: Vec<Mail>,
    partition_of: Arc<Vec<u16>>,
    loss: FxHashMap<u32, (f64, Stream)>,
    losses: FxHashMap<u32, (u64, u64)>,
    workloads: Workloads,
    actions: Actions,
    series: series::Sampler,
    records: PartRecords,
    observed: Option<Box<Observed>>,
    faults: Option<Box<faults::State>>,
    /// Sampling period of windows.
    windows: Option<Span>,
    /// Measured, finite flows handed over here minus those delivered here; the sum over partitions is what is open.
    open: i64,
    /// What the ports had done at the ends of the time that is measured.
    measured: measured::Measured,
    /// Workload wake-ups that are due.
    wakes: u64,
    totals: Totals,
}

impl Partition {
    /// Partition `index` of `partition_of`, which maps each node to its partition.
    pub fn new(
        scenario: &Scenario,
        setup: &Arc<Setup>,
        mut workloads: Workloads,
        index: u16,
        partition_of: &Arc<Vec<u16>>,
        observed: Option<Box<Observed>>,
        options: &Options,
    ) -> Self {
        let faults = faults::State::new(&options.faults);
        let network = &setup.network;
        let regions = match options.regions {
            _ if observed.is_some() || options.windows.is_some() => Regions::one(network),
            0 => {
                let count = regions::worthwhile(network);
                Regions::cut(network, partition_of, index, count)
            }
            count => Regions::cut(
                network,
                partition_of,
                index,
                count.min(EventQueue::MOST_REGIONS),
            ),
        };
        let region_of = |node: u32| regions.region_of[node as usize];
        let mut ports = setup.ports(scenario);
        let (pools, pool_of) = setup.pools(scenario);
        let mut loss = FxHashMap::default();
        let links: Vec<Link> = network
            .links
            .iter()
            .enumerate()
            .map(|(number, link)| {
                let host = network.nodes[link.to as usize].host;
                let mut special = 0;
                if partition_of[link.from as usize] != partition_of[link.to as usize] {
                    special |= Link::CROSSING;
                }
                if link.loss > 0.0 {
                    special |= Link::LOSSY;
                    let stream = setup.streams.stream(number as u64, Purpose::Loss);
                    loss.insert(number as u32, (link.loss, stream));
                }
                let mut set =
                    |condition: bool, bit: u32| special |= if condition { bit } else { 0 };
                set(setup.d3.is_some(), Link::ALLOCATED);
                set(
                    pool_of[number] != NONE,
                    Link::POOLED | pool_of[number] << Link::POOL_SHIFT,
                );
                set(ports[number].has_classes(), Link::CLASSED);
                set(observed.is_some(), Link::OBSERVED);
                set(
                    faults
                        .as_ref()
                        .is_some_and(|faults| faults.loses_requests()),
                    Link::FAULTY,
                );
                set(regions.len() > 1, Link::REGIONAL);
                Link {
                    target: host
                        .map_or_else(|| setup.routing.switch(link.to), |host| host | TO_HOST),
                    special,
                }
            })
            .collect();
        for (port, link) in ports.iter_mut().zip(&links) {
            port.tag = [link.target, link.special];
        }
        let fixed = |kind: u64| (0..links.len() as u32).map(move |link| order(kind, link, 0));
        let fixed_orders: Vec<u64> = fixed(ARRIVAL).chain(fixed(DEPARTURE)).collect();
        let slowest = network
            .links
            .iter()
            .map(|link| (link.rate.transmit(1538) + link.latency).as_ps())
            .max()
            .map(|longest| longest + setup.send_jitter.as_ps());
        let mut actions = Actions::default();
        let owned = |host: u32| partition_of[network.hosts[host as usize] as usize] == index;
        workloads.start(&owned, &mut actions);
        let parts = partition_of.iter().copied().max().unwrap_or(0) as usize + 1;
        let nics = network
            .uplink
            .iter()
            .zip(0..)
            .map(|(&uplink, host)| Nic {
                jitter: setup.send_jitter(uplink),
                delays: setup.streams.small(host, Purpose::Send),
                uplink,
                plain: links[uplink as usize].special & !Link::LOSSY == 0,
                wake_pending: false,
                waiting: false,
                next: None,
            })
            .collect();
        let mut partition = Self {
            setup: Arc::clone(setup),
            frame_overhead: setup.frame_overhead,
            nic_pulls: setup.nic_pulls,
            now: Time::ZERO,
            queue: EventQueue::new(
                slowest.unwrap_or(0),
                fixed_orders,
                setup.streams.key(0, Purpose::Order),
                regions.len(),
            ),
            turns: regions::Turns::new(&regions),
            target_region: network
                .links
                .iter()
                .map(|link| region_of(link.to))
                .collect(),
            host_region: network.hosts.iter().map(|&node| region_of(node)).collect(),
            ports,
            pools,
            nics,
            hosts: network.uplink.iter().map(|_| Host::default()).collect(),
            tcp_senders: Slab::new(),
            tcp_receivers: Slab::new(),
            d3: d3::Endpoints::default(),
            allocators: links.iter().map(|_| None).collect(),
            extras: Slab::new(),
            receivers: FxHashMap::default(),
            connections: FxHashMap::default(),
            inbound: (0..if parts > 1 { network.links.len() } else { 0 })
                .map(|_| Ring::default())
                .collect(),
            outbound: (0..parts).map(|_| Mail::default()).collect(),
            partition_of: Arc::clone(partition_of),
            loss,
            losses: FxHashMap::default(),
            workloads,
            actions: Actions::default(),
            series: series::Sampler::new(scenario, setup, index, partition_of),
            records: PartRecords::default(),
            observed,
            faults,
            windows: options.windows,
            open: 0,
            measured: measured::Measured::new(scenario),
            wakes: 0,
            totals: Totals::default(),
        };
        partition.start_sampling();
        partition.schedule_windows();
        partition.schedule_deaths(&options.faults, &owned);
        partition.perform(&mut actions);
        partition
    }

    #[inline(never)]
    fn run<const SIZE: u8, const ALONE: bool>(&mut self, end: Time) {
        let links = self.ports.len() as u32;
        loop {
            let (time, id) = if SIZE == LARGE {
                self.queue.pop_foreseen_before(end.as_ps(), |queue| {
                    foresight::Foresight {
                        setup: &self.setup,
                        ports: &self.ports,
                        nics: &self.nics,
                        hosts: &self.hosts,
                        senders: &self.tcp_senders,
                        receivers: &self.tcp_receivers,
                    }
                    .look(queue);
                })
            } else {
                self.queue.pop_before::<ALONE>(end.as_ps())
            };
            if SIZE == MEDIUM
                && let Some(port) = self.ports.get(self.queue.likely_next::<ALONE>() as usize)
            {
                std::hint::black_box(port.touch_first());
            }
            if id < links {
                self.now = Time::from_ps(time);
                self.arrival(id);
                continue;
            }
            if id == NONE {
                return;
            }
            self.now = Time::from_ps(time);
            self.totals.events += 1;
            if id < 2 * links {
                self.departure(id - links);
            } else {
                let order = self.queue.retire(id);
                let (entity, number) = ((order >> 32) as u32 & (u32::MAX >> 2), order as u32);
                if order >> 62 == TIMER {
                    self.timer(entity, number);
                } else {
                    self.tick(number);
                }
            }
        }
    }

    /// When the next event is due, or [`Time::MAX`].
    pub fn next_event(&mut self) -> Time {
        Time::from_ps(self.queue.next_time())
    }

    /// Measured, finite flows handed over here minus those delivered here.
    pub fn open(&self) -> i64 {
        self.open
    }

    /// Whether workloads here will still do something by themselves.
    pub fn has_wakes(&self) -> bool {
        self.wakes > 0
    }

    /// Packets that have crossed a link so far.
    pub fn packet_hops(&self) -> u64 {
        self.totals.packet_hops
    }

    /// Exchanges the packets bound for partition `to` for an empty `mail`, whose memory is used again.
    #[cfg_attr(
        not(feature = "threads"),
        allow(dead_code, reason = "only a run on several threads has crossings")
    )]
    pub fn hand_out(&mut self, to: usize, mail: &mut Mail) {
        debug_assert!(mail.crossings.is_empty() && mail.extras.is_empty());
        std::mem::swap(&mut self.outbound[to], mail);
    }

    /// Takes in packets from another partition; `mail` is empty afterwards.
    #[cfg_attr(
        not(feature = "threads"),
        allow(dead_code, reason = "only a run on several threads has crossings")
    )]
    pub fn absorb(&mut self, mail: &mut Mail) {
        for Crossing {
            link,
            arrival,
            mut packet,
        } in mail.crossings.drain(..)
        {
            if let Some(extra) = mail
                .extras
                .get_mut(packet.extra as usize)
                .and_then(Option::take)
            {
                packet.extra = self.extras.insert(extra) as u32;
            }
            let ring = &mut self.inbound[link as usize];
            let first = ring.is_empty();
            ring.push(arrival, packet);
            if first {
                let region = self.region_of_target(link);
                self.queue.push_to(region, arrival.as_ps(), link);
            }
        }
        mail.extras.clear();
    }

    /// The next arrival at the far end of `link`.
    #[inline(always)]
    fn schedule_arrival(&mut self, at: Time, link: u32) {
        self.queue.push::<false>(at.as_ps(), link);
    }

    /// The next departure from the port of `link`.
    #[inline]
    fn schedule_departure(&mut self, at: Time, link: u32) {
        self.queue
            .push::<false>(at.as_ps(), self.ports.len() as u32 + link);
    }

    fn schedule_tick(&mut self, at: Time, link: u32, number: u32) {
        // The other direction of the same cable ends where the port is.
        let region = self.region_of_target(link ^ 1);
        self.queue
            .push_single_to(region, at.as_ps(), order(TICK, link, number));
    }

    fn schedule_timer(&mut self, at: Time, host: u32, slot: u32) {
        self.queue.push_single_to(
            usize::from(self.host_region[host as usize]),
            at.as_ps(),
            order(TIMER, host, slot),
        );
    }

    fn departure(&mut self, link: u32) {
        // The other direction of the same cable ends where the port is.
        let from = Link::of(&self.ports[link as usize ^ 1]).target;
        if from & TO_HOST == 0 || !self.nic_pulls {
            return self.port_departure(link);
        }
        let host = from & !TO_HOST;
        self.nics[host as usize].wake_pending = false;
        self.serve_nic(host);
    }

    fn tick(&mut self, number: u32) {
        if number == WINDOWS {
            self.sample_windows();
        } else if number & SAMPLE != 0 {
            self.sample(number & !SAMPLE);
        } else {
            self.update_allocator(number);
        }
    }
}

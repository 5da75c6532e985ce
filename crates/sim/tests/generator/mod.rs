//! Random scenarios of any topology, workloads, transports and faults. Equal seeds give equal scenarios on every
//! machine.
//!
//! Each part is drawn from a separate stream, so that a change in one does not affect the others.

mod network;
mod recorded;
mod transport;
mod workload;

use duetime_core::random::{Purpose, Stream, Streams};
use duetime_core::{Rate, Span};
use duetime_proto::d3;
use duetime_scenario::model::{
    Amount, Buffer, Lab, Link, LoadBalancing, Protocol, Record, Scenario, Topology, WorkloadKind,
};
use duetime_sim::topology::Network;

/// Scenario with expectations for its run.
pub struct Case {
    /// Scenario; its transport 0 is to be run.
    pub scenario: Scenario,
    /// Network of the scenario.
    pub network: Network,
    /// True if every measured flow must finish, because faults are mild and the drain is long.
    pub lenient: bool,
    /// Number of threads for the repeated run.
    pub threads: usize,
    /// Number of sub-partitions per thread for the repeated run.
    pub subpartitions: usize,
    /// True if the case is repeated with every link captured.
    pub watched: bool,
}

impl Case {
    /// Creates the case of a seed.
    pub fn new(seed: u64) -> Self {
        let draw = |part| Draw(Streams::new(seed, 0).stream(part, Purpose::Fault));
        let mut all = draw(0);
        let lenient = all.flag(0.3);
        let threads = if all.flag(0.1) { 2 } else { 1 };
        let watched = all.flag(0.25);
        let mut parts = draw(8);
        let subpartitions = if parts.flag(0.3) {
            2 + parts.below(4)
        } else {
            1
        };
        let mut budget = Budget::new(&mut all);
        let kinds = workload::kinds(&mut draw(1), lenient);
        if kinds.contains(&workload::Kind::Long) {
            budget.limit_long_flows();
        }
        let (topology, network) = network::topology(&mut draw(2), &budget, lenient);
        let mut switch = network::switch(&mut draw(3), lenient);
        if draw(21).flag(0.1) {
            switch.ecn_threshold.clear();
        }
        if draw(24).flag(0.1) {
            switch.load_balancing = LoadBalancing::Packets;
        }
        let mut host = network::host(&mut draw(4));
        network::reception(&mut draw(14), &mut host);
        network::servers(&mut draw(22), &mut host);
        let (transport, others) = transport::transports(
            &mut draw(5),
            &mut draw(10),
            &mut draw(23),
            &mut draw(25),
            lenient,
        );
        if let Protocol::PFabric(config) = transport.protocol {
            // Its ports replace the switches' memory.
            let bytes = config.queue.expect("drawn");
            switch.buffer = Buffer::Static(Amount::Bytes(bytes));
        }
        if lenient {
            budget.drain = generous_drain(&transport.protocol, budget.rate, &network);
        }
        // Threads wait for each other in every window, which takes too long if flows of D3 back off for minutes.
        let has_routers = transport.protocol.router_program().is_some();
        let threads = if has_routers && budget.drain > LONGEST_SHARED_DRAIN {
            1
        } else {
            threads
        };
        let hosts = network.hosts();
        let mut workloads = workload::workloads(&mut draw(6), &budget, hosts, &kinds, &others);
        workload::jitter(&mut draw(9), &budget, &mut workloads);
        workload::services(&mut draw(11), &budget, &mut workloads);
        recorded::queries(&mut draw(12), &budget, hosts, &mut workloads);
        workload::classes(&mut draw(13), &mut workloads);
        workload::loads(&mut draw(15), &budget, &mut workloads);
        let record = record(&mut draw(7), &budget, &network);
        let scenario = Scenario {
            name: format!("fault-{seed}"),
            transports: vec![transport],
            seeds: 1,
            seed,
            warm_up: if all.flag(0.5) {
                Span::ZERO
            } else {
                budget.duration / 4
            },
            duration: budget.duration,
            drain: budget.drain,
            topology,
            switch,
            host,
            workloads,
            record,
            lab: Lab::default(),
        };
        Self {
            scenario,
            network,
            lenient,
            threads,
            subpartitions,
            watched,
        }
    }

    /// Returns true if nothing can be lost: no seeded loss and unlimited buffers.
    pub fn is_lossless(&self) -> bool {
        self.scenario.switch.buffer == Buffer::Unlimited
            && self.network.links.iter().all(|link| link.loss == 0.0)
    }

    /// Returns the protocols in use, that of the scenario's transport first.
    pub fn protocols(&self) -> impl Iterator<Item = &Protocol> {
        let overrides = self
            .scenario
            .workloads
            .iter()
            .filter_map(|workload| workload.transport.as_ref());
        self.scenario
            .transports
            .iter()
            .chain(overrides)
            .map(|transport| &transport.protocol)
    }

    /// Returns the protocol of a workload.
    pub fn protocol(&self, workload: u16) -> &Protocol {
        let transport = self.scenario.workloads[usize::from(workload)]
            .transport
            .as_ref();
        &transport.unwrap_or(&self.scenario.transports[0]).protocol
    }

    /// Returns true if any two hosts are connected by exactly one path.
    pub fn is_tree(&self) -> bool {
        self.network.links.len() / 2 == self.network.nodes.len() - 1
    }

    /// Returns true if switches choose a path for each packet.
    pub fn sprays(&self) -> bool {
        self.scenario.switch.load_balancing == LoadBalancing::Packets
    }

    /// Returns a one-line summary that identifies the case.
    pub fn summary(&self) -> String {
        let Scenario {
            topology,
            switch,
            host,
            workloads,
            duration,
            drain,
            ..
        } = &self.scenario;
        let shape = match topology {
            Topology::Star { .. } => "star",
            Topology::Dumbbell { .. } => "dumbbell",
            Topology::D3Testbed { .. } => "D3 testbed",
            Topology::LeafSpine { .. } => "leaf-spine",
            Topology::FatTree { .. } => "fat-tree",
            Topology::Graph { .. } => "graph",
        };
        let kinds: Vec<String> = workloads
            .iter()
            .map(|workload| {
                let kind = match &workload.kind {
                    WorkloadKind::Oldi(_) => "oldi",
                    WorkloadKind::Burst { .. } => "burst",
                    WorkloadKind::Poisson { .. } => "poisson",
                    WorkloadKind::Background { .. } => "background",
                    WorkloadKind::Permutation { .. } => "permutation",
                    WorkloadKind::Long { .. } => "long",
                    WorkloadKind::Trace { .. } => "trace",
                    WorkloadKind::Spans(_) => "spans",
                };
                let transport = workload
                    .transport
                    .as_ref()
                    .unwrap_or(&self.scenario.transports[0]);
                format!("{kind} by {} {:?}", transport.name, workload.connection)
            })
            .collect();
        let loss = self
            .network
            .links
            .iter()
            .map(|link| link.loss)
            .fold(0.0, f64::max);
        format!(
            "{shape} of {} hosts, {}; {:?}, {:?} NIC, loss up to {loss:.3}, {duration} + {drain}, {} threads, {} sub-partitions{}",
            self.network.hosts(),
            kinds.join(", "),
            switch.buffer,
            host.nic,
            self.threads,
            self.subpartitions,
            if self.lenient { ", lenient" } else { "" },
        )
    }
}

/// Limits of a scenario, so that thousands of them take minutes.
pub struct Budget {
    /// Typical rate of a host's link.
    pub rate: Rate,
    /// Approximate number of flows of all workloads.
    pub flows: u64,
    /// Approximate bytes of all flows.
    pub bytes: u64,
    /// Time during which sources start flows.
    pub duration: Span,
    /// Time that the run may take after that.
    pub drain: Span,
}

impl Budget {
    fn new(draw: &mut Draw) -> Self {
        let rate = draw.one_of(&[
            10_000_000,
            100_000_000,
            333_333_333,
            1_000_000_000,
            10_000_000_000,
        ]);
        let duration = draw.span(Span::from_us(300), Span::from_ms(80));
        let drain = draw.one_of(&[Span::ZERO, duration / 3, duration * 2, Span::from_ms(200)]);
        Self {
            rate: Rate::from_bps(rate),
            flows: draw.scale(1, 500),
            bytes: draw.scale(1_000, 30_000_000.min(rate / 16)),
            duration,
            drain,
        }
    }

    /// Limits the run to about 3,000 packets of a flow without an end, which fills its link.
    fn limit_long_flows(&mut self) {
        let limit = self.rate.transmit(4_500_000);
        self.duration = self.duration.min(limit);
        self.drain = self.drain.min(limit);
    }
}

/// Maximum drain of a run with several threads and routers.
const LONGEST_SHARED_DRAIN: Span = Span::from_secs(20);
/// Epochs of D3's slowest pace in which its routers have corrected every error: eight for two overlapping errors, and
/// two for the flows' next requests (see `repair` in `proto`); twice, because the first packets of answers, which cause
/// errors too, follow the end of their queries.
const REPAIR_EPOCHS: u64 = 20;
/// Update intervals in an epoch of the slowest pace, with the default of `reset_intervals`.
const SLOWEST_EPOCH: u64 = 128;

/// Returns a drain in which everything can finish. With routers the drain is limited, because D3 has no long timeouts
/// and its paused flows can fill their links with requests indefinitely. Flows that back off request so rarely that the
/// repair of the routers' counters takes minutes on slow links.
fn generous_drain(protocol: &Protocol, rate: Rate, network: &Network) -> Span {
    if protocol.router_program().is_none() {
        return Span::from_secs(300);
    }
    let transmission = rate.transmit(400_000_000);
    let drain = transmission.clamp(Span::from_secs(2), LONGEST_SHARED_DRAIN);
    let slowest = network.links.iter().map(|link| link.rate).min();
    match (protocol, slowest) {
        (Protocol::D3(config), Some(slowest)) if config.host.request_backoff > 0 => {
            let interval = d3::Config::interval_for(slowest);
            drain.max(interval * (SLOWEST_EPOCH * REPAIR_EPOCHS))
        }
        _ => drain,
    }
}

fn record(draw: &mut Draw, budget: &Budget, network: &Network) -> Record {
    let links =
        (0..draw.between(1, 3)).map(|_| network.link_name(draw.below(network.links.len()) as u32));
    let mut links: Vec<String> = links.collect();
    links.sort();
    links.dedup();
    let sampled = draw.flag(0.3);
    Record {
        every: sampled.then(|| {
            draw.span(budget.duration / 50, budget.duration)
                .max(Span::from_us(1))
        }),
        links: if sampled { links } else { Vec::new() },
        pcap: Vec::new(),
        snap_length: 40,
    }
}

/// Random draws with the distributions used by the cases.
pub struct Draw(Stream);

impl Draw {
    pub fn flag(&mut self, probability: f64) -> bool {
        self.0.chance(probability)
    }

    /// Returns an index below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound as u64) as usize
    }

    pub fn one_of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    /// Returns a uniform integer, both ends included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0.between(low, high.max(low))
    }

    /// Returns a uniform number in [low, high).
    pub fn real(&mut self, low: f64, high: f64) -> f64 {
        low + self.0.unit() * (high - low)
    }

    /// Returns an integer distributed uniformly on a logarithmic scale; `low` is at least 1.
    pub fn scale(&mut self, low: u64, high: u64) -> u64 {
        let (low, high) = (low.max(1), high.max(low).max(1));
        let factor = libm::pow(high as f64 / low as f64, self.0.unit());
        ((low as f64 * factor) as u64).clamp(low, high)
    }

    /// Returns a span distributed uniformly on a logarithmic scale.
    pub fn span(&mut self, low: Span, high: Span) -> Span {
        Span::from_ps(self.scale(low.as_ps(), high.as_ps()))
    }

    pub fn permutation(&mut self, n: usize) -> Vec<u32> {
        self.0.permutation(n)
    }

    /// Creates a link with this rate.
    fn link(&mut self, rate: Rate, loss: f64) -> Link {
        let latency = if self.flag(0.05) {
            Span::ZERO
        } else {
            self.span(Span::from_ns(50), Span::from_us(200))
        };
        Link {
            rate,
            latency,
            loss,
        }
    }
}

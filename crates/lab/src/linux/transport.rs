//! Maps a scenario's transport to its stack, kernel TCP or D3 or `due` on UDP, and configures its sockets.

use std::os::fd::AsFd;

use duetime_core::{Rate, Span};
use duetime_proto::d3::Policy;
use duetime_proto::d3::endpoint::Options;
use duetime_proto::d3::wire::UDP_IPV4_BYTES;
use duetime_proto::window::CongestionControl;
use duetime_proto::{d3, due, tcp};
use duetime_scenario::Scenario;
use duetime_scenario::model::{Protocol, Transport, WorkloadKind};
use duetime_sim::topology::Network;
use nix::errno::Errno;

use crate::LabError;
use crate::linux::socket;
use crate::linux::tuning::Refused;

/// Kernel's longest acknowledgement delay if a socket cannot limit it.
const KERNEL_DELAYED_ACK: Span = Span::from_ms(40);

/// Stack of a transport.
#[derive(Clone, Debug, PartialEq)]
pub enum Stack {
    /// Kernel TCP.
    Kernel(Kernel),
    /// D3's endpoints on UDP.
    D3(D3),
    /// Endpoints of `due` on UDP.
    Due(Due),
}

/// Transport on kernel TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Transport name in the scenario.
    pub name: String,
    /// Name of its congestion controller in the kernel.
    pub congestion_control: String,
    /// Options of the scenario.
    pub config: tcp::Config,
    /// Number of strict-priority classes, 1 (none) to 4. A connection has the class of the message that opened it.
    pub priorities: u8,
    /// True if the controller reacts to marks, so that both ends must negotiate ECN.
    pub uses_marks: bool,
    /// True if the controller uses deadlines.
    pub uses_deadlines: bool,
    /// Longest acknowledgement delay, if the kernel lets a socket limit it.
    pub delayed_ack_limit: Option<Span>,
}

/// D3 or RCPdc.
#[derive(Clone, Debug, PartialEq)]
pub struct D3 {
    /// Transport name in the scenario.
    pub name: String,
    /// Options of endpoints and routers, shared by all D3 transports of a run, with the scale in use.
    pub config: d3::Config,
    /// Deadline policy of flows.
    pub policy: Policy,
    /// True if flows have no deadline (RCPdc).
    pub ignores_deadlines: bool,
}

/// Transport `due`.
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// Transport name in the scenario.
    pub name: String,
    /// Options of the endpoints.
    pub config: due::Config,
}

impl Stack {
    /// Returns the stack of a scenario's transport in a network whose slowest link has the rate `slowest`.
    fn new(transport: &Transport, slowest: Rate) -> Result<Self, LabError> {
        let name = transport.name.clone();
        match &transport.protocol {
            Protocol::Tcp(config) => {
                let kernel = Kernel::new(name, config, transport.priorities);
                Ok(Self::Kernel(kernel))
            }
            Protocol::D3(_) if transport.priorities > 1 => Err(LabError::Unsupported(format!(
                "transport `{name}` uses strict-priority classes, which D3's endpoints do not support; use TCP"
            ))),
            Protocol::D3(config) => D3::new(name, config, slowest).map(Self::D3),
            Protocol::Due(_) if transport.priorities > 1 => Err(LabError::Unsupported(format!(
                "transport `{name}` uses strict-priority classes, which the endpoints of `due` do not support; use TCP"
            ))),
            Protocol::Due(config) => Due::new(name, config).map(Self::Due),
            _ => Err(LabError::Unsupported(format!(
                "transport `{name}` runs only in the simulator; use TCP, D3 or `due`"
            ))),
        }
    }

    /// Returns the transport's name in the scenario.
    pub fn name(&self) -> &str {
        match self {
            Self::Kernel(kernel) => &kernel.name,
            Self::D3(d3) => &d3.name,
            Self::Due(due) => &due.name,
        }
    }

    /// Returns the kernel TCP stack, or `None` for D3 and `due`.
    pub fn kernel(&self) -> Option<&Kernel> {
        match self {
            Self::Kernel(kernel) => Some(kernel),
            Self::D3(_) | Self::Due(_) => None,
        }
    }

    /// Returns the D3 stack, or `None` for others.
    pub fn d3(&self) -> Option<&D3> {
        match self {
            Self::D3(d3) => Some(d3),
            Self::Kernel(_) | Self::Due(_) => None,
        }
    }

    /// Returns the stack of `due`, or `None` for others.
    pub fn due(&self) -> Option<&Due> {
        match self {
            Self::Due(due) => Some(due),
            Self::Kernel(_) | Self::D3(_) => None,
        }
    }

    /// Returns the maximum length of its IP packets.
    pub fn mtu(&self) -> u32 {
        match self {
            Self::Kernel(kernel) => kernel.config.mss + crate::linux::tuning::TCP_HEADERS,
            Self::D3(d3) => d3.config.wire.mtu,
            Self::Due(due) => due.config.mtu,
        }
    }
}

impl Kernel {
    fn new(name: String, config: &tcp::Config, priorities: u8) -> Self {
        let congestion_control = match config.congestion_control {
            CongestionControl::NewReno => "reno",
            CongestionControl::Cubic(_) => "cubic",
            CongestionControl::Dctcp(_) => "duetime_dctcp",
            CongestionControl::D2tcp(..) => "duetime_d2tcp",
        };
        Self {
            name,
            congestion_control: congestion_control.to_owned(),
            config: *config,
            priorities,
            uses_marks: config.congestion_control.uses_marks(),
            uses_deadlines: matches!(config.congestion_control, CongestionControl::D2tcp(..)),
            delayed_ack_limit: None,
        }
    }

    /// Sets the options of a receiving socket.
    pub fn prepare_receiver(&self, socket: &impl AsFd) -> Result<(), Errno> {
        self.delayed_ack_limit
            .map_or(Ok(()), |longest| socket::limit_delayed_ack(socket, longest))
    }
}

impl D3 {
    fn new(name: String, config: &d3::Config, slowest: Rate) -> Result<Self, LabError> {
        let wire = Options::new(slowest);
        let (ignores_deadlines, policy) = (config.host.ignore_deadlines, config.host.policy);
        let config = config.for_slowest(slowest).with(|config| {
            config.wire.header_bytes = UDP_IPV4_BYTES;
            let host = &mut config.host;
            host.late_answers = host.late_answers.or(wire.config.host.late_answers);
            host.pacing_batch = wire.config.host.pacing_batch;
        });
        let options = Options { config, ..wire };
        options
            .check()
            .map_err(|error| LabError::Unsupported(format!("transport `{name}`: {error}")))?;
        // Per-flow decisions are not endpoint options, so that D3 and RCPdc can share an endpoint.
        let config = config.with(|config| {
            config.host.ignore_deadlines = false;
            config.host.policy = Policy::default();
        });
        Ok(Self {
            name,
            config,
            policy,
            ignores_deadlines,
        })
    }
}

impl Due {
    fn new(name: String, config: &due::Config) -> Result<Self, LabError> {
        let simulated = [
            ("announced", config.announced_permille != 1_000),
            ("false_deadlines", config.false_deadline_permille != 0),
        ];
        if let Some((option, _)) = simulated.iter().find(|(_, is_set)| *is_set) {
            return Err(LabError::Unsupported(format!(
                "transport `{name}` sets `{option}`, which applies to the simulator only; remove it"
            )));
        }
        Ok(Self {
            name,
            config: *config,
        })
    }
}

/// Returns the number of strict-priority classes at the ports of a run with these stacks; 1 for none.
pub fn classes(scenario: &Scenario, stacks: &[Stack]) -> u8 {
    let priorities = |stack: &Stack| stack.kernel().map_or(1, |kernel| kernel.priorities);
    let by_deadline = stacks.iter().map(priorities).max().unwrap_or(1);
    by_deadline.max(scenario.workload_classes())
}

/// Sets the header length of D3's UDP datagrams in `scenario`, so that the simulator sends what the testbed sends.
pub fn over_udp(scenario: &mut Scenario) {
    let overrides = scenario.workloads.iter_mut();
    let overrides = overrides.filter_map(|workload| workload.transport.as_mut());
    for transport in scenario.transports.iter_mut().chain(overrides) {
        if let Protocol::D3(config) = &mut transport.protocol {
            config.wire.header_bytes = UDP_IPV4_BYTES;
        }
    }
}

/// Returns the stacks of a run under the transport at index `transport`, followed by those of workloads with their own
/// transport, and the stack index of each workload.
pub fn stacks(
    scenario: &Scenario,
    network: &Network,
    transport: usize,
) -> Result<(Vec<Stack>, Vec<usize>), LabError> {
    let mut transports = vec![&scenario.transports[transport]];
    let mut workload_stack = Vec::new();
    for workload in &scenario.workloads {
        let transport = workload.transport.as_ref();
        let number = transport.map_or(0, |transport| {
            let known = transports.iter().position(|other| *other == transport);
            known.unwrap_or_else(|| {
                transports.push(transport);
                transports.len() - 1
            })
        });
        workload_stack.push(number);
        if matches!(transports[number].protocol, Protocol::Due(_))
            && matches!(workload.kind, WorkloadKind::Long { .. })
        {
            return Err(LabError::Unsupported(format!(
                "workload `{}` has endless flows; `due` sends complete messages, use TCP",
                workload.name
            )));
        }
        if let Some(priority @ 1..) = workload.priority
            && !matches!(transports[number].protocol, Protocol::Tcp(_))
        {
            return Err(LabError::Unsupported(format!(
                "`priority` of workload `{}` is {priority}; the endpoints of `{}` support only class 0, use TCP",
                workload.name, transports[number].name
            )));
        }
    }
    let slowest = network.links.iter().map(|link| link.rate).min();
    let slowest = slowest.unwrap_or(Rate::from_gbps(1));
    let stacks: Vec<Stack> = transports
        .into_iter()
        .map(|transport| Stack::new(transport, slowest))
        .collect::<Result<_, _>>()?;
    let differ = |first: &str, other: &str| {
        LabError::Unsupported(format!(
            "`{first}` and `{other}` run concurrently with different options; hosts have one endpoint each"
        ))
    };
    let mut all = stacks.iter().filter_map(Stack::d3);
    if let Some(first) = all.next()
        && let Some(other) = all.find(|other| other.config != first.config)
    {
        return Err(differ(&first.name, &other.name));
    }
    let mut all = stacks.iter().filter_map(Stack::due);
    if let Some(first) = all.next()
        && let Some(other) = all.find(|other| other.config != first.config)
    {
        return Err(differ(&first.name, &other.name));
    }
    let mut over_udp = stacks.iter().filter(|stack| stack.kernel().is_none());
    if let (Some(stack), 1..) = (over_udp.next(), scenario.host.frame_overhead) {
        return Err(LabError::Unsupported(format!(
            "`host.frame_overhead` is {} bytes; the endpoints of `{}` count IP packets, so it must be 0",
            scenario.host.frame_overhead,
            stack.name()
        )));
    }
    Ok((stacks, workload_stack))
}

/// Limits the acknowledgement delays of all stacks as close to the scenario's as the kernel permits. Returns the
/// differences.
pub fn limit_delays(stacks: &mut [Stack]) -> Vec<Refused> {
    let mut refused = Vec::new();
    let kernels = stacks.iter_mut().filter_map(|stack| match stack {
        Stack::Kernel(kernel) => Some(kernel),
        Stack::D3(_) | Stack::Due(_) => None,
    });
    for stack in kernels {
        let requested = stack.config.delayed_ack_timeout;
        // The kernel counts in ticks and waits for at least two of them.
        let longer = (0..8).map(|doublings| requested * (1 << doublings));
        let allowed = longer
            .into_iter()
            .find(|&longest| socket::can_limit_delayed_ack(longest).is_ok());
        stack.delayed_ack_limit = allowed;
        if allowed != Some(requested) {
            let instead = allowed.unwrap_or(KERNEL_DELAYED_ACK);
            refused.push(Refused::new(
                "tcp.delayed_ack_timeout",
                format!("{requested} requested; the kernel waits up to {instead}"),
            ));
        }
    }
    refused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::plan;
    use duetime_core::random::Streams;
    use duetime_scenario::{NoFiles, load};

    fn scenario(more: &str) -> Scenario {
        let text = format!(
            r#"
            name = "stacks"
            transport = ["d3", "rcpdc"]
            {more}
            [topology]
            kind = "dumbbell"
            left = 2
            right = 2
            link = {{ rate = "1 Gbps", latency = "20 us" }}
            bottleneck = {{ rate = "100 Mbps", latency = "20 us" }}
            [[workload]]
            kind = "permutation"
            size = "10 KB"
            [[workload]]
            kind = "permutation"
            size = "10 KB"
            transport = "rcpdc"
            "#
        );
        load(&text, "stacks.toml", &[], &NoFiles).expect("a scenario")
    }

    #[test]
    fn d3_uses_the_smallest_scale_and_udp_headers() {
        let mut scenario =
            scenario("d3.quench = true\nd3.mtu = \"1000 B\"\nd3.police = \"2 Mbps\"");
        let network = plan::network(&scenario).expect("the testbed can");
        let (stacks, workload_stack) = stacks(&scenario, &network, 0).expect("supported stacks");
        assert_eq!(workload_stack, [0, 1]);
        let [Stack::D3(d3), Stack::D3(rcpdc)] = &stacks[..] else {
            panic!("{stacks:?}");
        };
        assert!(d3.policy.quench && !d3.ignores_deadlines && rcpdc.ignores_deadlines);
        assert_eq!(d3.config, rcpdc.config);
        // The scale fits 100 Mbps, not 1 Gbps.
        let wire = d3.config.wire;
        assert_eq!((wire.scale, wire.header_bytes), (Some(-3), 72));
        assert_eq!(stacks[0].mtu(), 1000);
        let switch = plan::switch(&scenario, &network, &stacks, Streams::new(1, 0), false);
        switch.check().expect("accepted");
        assert_eq!(switch.options.d3, d3.config);
        assert_eq!(switch.options.d3.router.police, Some(Rate::from_mbps(2)));
        let mut ports = switch.nodes.iter().flat_map(|node| &node.ports);
        assert!(ports.all(|port| port.d3));
        over_udp(&mut scenario);
        for transport in &scenario.transports {
            assert!(
                matches!(&transport.protocol, Protocol::D3(config) if config.wire.header_bytes == 72)
            );
        }
    }

    #[test]
    fn edge_allocation_needs_no_routers() {
        let scenario = scenario("d3.allocation = \"edge\"");
        let network = plan::network(&scenario).expect("the testbed can");
        let (stacks, _) = stacks(&scenario, &network, 0).expect("supported stacks");
        let switch = plan::switch(&scenario, &network, &stacks, Streams::new(1, 0), false);
        switch.check().expect("accepted");
        assert!(
            switch
                .nodes
                .iter()
                .flat_map(|node| &node.ports)
                .all(|port| !port.d3)
        );
    }

    #[test]
    fn late_answers_are_accepted_by_default() {
        for (options, accepted) in [
            ("", true),
            ("d3.late_answers = true", true),
            ("d3.late_answers = false", false),
        ] {
            let scenario = scenario(options);
            let network = plan::network(&scenario).expect("the testbed can");
            let (stacks, _) = stacks(&scenario, &network, 0).expect("supported stacks");
            let mut all = stacks.iter().filter_map(Stack::d3);
            assert!(
                all.all(|d3| d3.config.host.late_answers == Some(accepted)),
                "{options}"
            );
        }
    }

    #[test]
    fn endpoints_must_share_their_options() {
        let scenario = scenario("rcpdc.mtu = \"1000 B\"");
        let network = plan::network(&scenario).expect("the testbed can");
        let message = stacks(&scenario, &network, 0).unwrap_err().to_string();
        assert!(
            message.contains("`d3` and `rcpdc` run concurrently"),
            "{message}"
        );
    }

    #[test]
    fn d3_supports_only_the_first_class() {
        let classed = |transport: &str, priorities: [u8; 2]| {
            let mut scenario = scenario("");
            let other = &scenario.transports[0];
            let tcp = Transport {
                name: "tcp".to_owned(),
                protocol: Protocol::Tcp(tcp::Config::default()),
                priorities: 1,
            };
            let chosen = if transport == "d3" {
                other.clone()
            } else {
                tcp
            };
            for (workload, priority) in scenario.workloads.iter_mut().zip(priorities) {
                workload.transport = None;
                workload.priority = Some(priority);
            }
            scenario.transports = vec![chosen];
            scenario
        };
        for (transport, priorities, classes) in
            [("tcp", [2, 1], 3), ("tcp", [0, 0], 1), ("d3", [0, 0], 1)]
        {
            let scenario = classed(transport, priorities);
            let network = plan::network(&scenario).expect("the testbed can");
            let (stacks, _) = stacks(&scenario, &network, 0).expect("supported stacks");
            let switch = plan::switch(&scenario, &network, &stacks, Streams::new(1, 0), false);
            let mut ports = switch.nodes.iter().flat_map(|node| &node.ports);
            assert!(
                ports.all(|port| port.classes == classes),
                "{transport} {priorities:?}"
            );
        }
        let scenario = classed("d3", [0, 1]);
        let network = plan::network(&scenario).expect("the testbed can");
        let message = stacks(&scenario, &network, 0).unwrap_err().to_string();
        let expected = "`priority` of workload `permutation-2` is 1; the endpoints of `d3` support only \
                        class 0, use TCP";
        assert!(message.ends_with(expected), "{message}");
    }
}

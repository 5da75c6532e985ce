//! Which stack stands for a scenario's transport, the kernel's TCP or D3 on UDP, and how its sockets are set up.

use std::os::fd::AsFd;

use duetime_core::{Rate, Span};
use duetime_proto::d3::datagram::UDP_IPV4_BYTES;
use duetime_proto::d3::endpoint::{Options, Policy};
use duetime_proto::window::CongestionControl;
use duetime_proto::{d3, tcp};
use duetime_scenario::Scenario;
use duetime_scenario::model::{Protocol, Transport};
use duetime_sim::topology::Network;
use nix::errno::Errno;

use crate::LabError;
use crate::linux::socket;
use crate::linux::tuning::Refused;

/// The kernel's longest delay of an acknowledgement, where a socket cannot bound it.
const KERNEL_DELAYED_ACK: Span = Span::from_ms(40);

/// What a transport runs on.
#[derive(Clone, Debug, PartialEq)]
pub enum Stack {
    /// The kernel's TCP.
    Kernel(Kernel),
    /// D3's endpoints on UDP.
    D3(D3),
}

/// A transport on the kernel's TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// The scenario's name for it.
    pub name: String,
    /// The kernel's name of its congestion controller.
    pub congestion_control: String,
    /// The scenario's options.
    pub config: tcp::Config,
    /// Strict-priority classes, 1 (none) to 4: a connection has that of the message it was opened for.
    pub priorities: u8,
    /// Whether it answers marks: both ends must agree on ECN.
    pub uses_marks: bool,
    /// Whether it heeds deadlines.
    pub uses_deadlines: bool,
    /// Longest delay of an acknowledgement, where the kernel lets a socket bound it.
    pub delayed_ack_limit: Option<Span>,
}

/// D3, or RCPdc.
#[derive(Clone, Debug, PartialEq)]
pub struct D3 {
    /// The scenario's name for it.
    pub name: String,
    /// The options of endpoints and routers, the same for all D3 transports of a run, with the scale that is in use.
    pub config: d3::Config,
    /// What a flow does about its deadline.
    pub policy: Policy,
    /// Flows have no deadline: RCPdc.
    pub ignores_deadlines: bool,
}

impl Stack {
    /// The stack for a transport of the scenario, in a network whose slowest link has the rate `slowest`.
    fn of(transport: &Transport, slowest: Rate) -> Result<Self, LabError> {
        let name = transport.name.clone();
        match &transport.protocol {
            Protocol::Tcp(config) => {
                let kernel = Kernel::of(name, config, transport.priorities);
                Ok(Self::Kernel(kernel))
            }
            Protocol::D3(_) if transport.priorities > 1 => Err(LabError::Unsupported(format!(
                "transport `{name}` uses strict-priority classes, which D3's endpoints do not set; TCP can have them"
            ))),
            Protocol::D3(config) => D3::of(name, config, slowest).map(Self::D3),
        }
    }

    /// The kernel's, if it is that.
    pub fn kernel(&self) -> Option<&Kernel> {
        match self {
            Self::Kernel(kernel) => Some(kernel),
            Self::D3(_) => None,
        }
    }

    /// D3's, if it is that.
    pub fn d3(&self) -> Option<&D3> {
        match self {
            Self::D3(d3) => Some(d3),
            Self::Kernel(_) => None,
        }
    }

    /// The longest IP packet that it sends.
    pub fn mtu(&self) -> u32 {
        match self {
            Self::Kernel(kernel) => kernel.config.mss + crate::linux::tuning::TCP_HEADERS,
            Self::D3(d3) => d3.config.mtu,
        }
    }
}

impl Kernel {
    fn of(name: String, config: &tcp::Config, priorities: u8) -> Self {
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

    /// Options of a receiving socket.
    pub fn prepare_receiver(&self, socket: &impl AsFd) -> Result<(), Errno> {
        self.delayed_ack_limit
            .map_or(Ok(()), |longest| socket::limit_delayed_ack(socket, longest))
    }
}

impl D3 {
    fn of(name: String, config: &d3::Config, slowest: Rate) -> Result<Self, LabError> {
        let wire = Options::new(slowest);
        let policy = Policy::of(config);
        let config = d3::Config {
            header_bytes: UDP_IPV4_BYTES,
            late_answers: config.late_answers.or(wire.config.late_answers),
            pacing_batch: wire.config.pacing_batch,
            ..config.for_slowest(slowest)
        };
        let options = Options { config, ..wire };
        if let Some(problem) = options.problem() {
            return Err(LabError::Unsupported(format!(
                "transport `{name}`: {problem}"
            )));
        }
        // What a flow decides for itself is no option of the endpoint, so that D3 and RCPdc can share one.
        let by_flow = Policy::of(&d3::Config::default());
        Ok(Self {
            name,
            ignores_deadlines: config.ignore_deadlines,
            config: d3::Config {
                ignore_deadlines: false,
                quench: by_flow.quench,
                speculative: by_flow.speculation.is_some(),
                speculation: d3::Speculation::default(),
                late: by_flow.late,
                late_extension_permille: by_flow.late_extension_permille,
                ..config
            },
            policy,
        })
    }
}

/// Strict-priority classes at the ports of a run with these stacks; 1: none.
pub fn classes(scenario: &Scenario, stacks: &[Stack]) -> u8 {
    let of = |stack: &Stack| stack.kernel().map_or(1, |kernel| kernel.priorities);
    let by_deadline = stacks.iter().map(of).max().unwrap_or(1);
    by_deadline.max(scenario.own_classes())
}

/// Makes `scenario` simulate what its D3 transports send on the testbed: datagrams of UDP, whose headers are longer.
pub fn over_udp(scenario: &mut Scenario) {
    let own = scenario.workloads.iter_mut();
    let own = own.filter_map(|workload| workload.transport.as_mut());
    for transport in scenario.transports.iter_mut().chain(own) {
        if let Protocol::D3(config) = &mut transport.protocol {
            config.header_bytes = UDP_IPV4_BYTES;
        }
    }
}

/// The stacks of a run under transport number `transport`: that one first, then those that workloads have of their own;
/// and for each workload the number of its stack.
pub fn stacks(
    scenario: &Scenario,
    network: &Network,
    transport: usize,
) -> Result<(Vec<Stack>, Vec<usize>), LabError> {
    let mut transports = vec![&scenario.transports[transport]];
    let mut of_workload = Vec::new();
    for workload in &scenario.workloads {
        let own = workload.transport.as_ref();
        let number = own.map_or(0, |own| {
            let known = transports.iter().position(|other| *other == own);
            known.unwrap_or_else(|| {
                transports.push(own);
                transports.len() - 1
            })
        });
        of_workload.push(number);
        if let Some(own @ 1..) = workload.priority
            && matches!(transports[number].protocol, Protocol::D3(_))
        {
            return Err(LabError::Unsupported(format!(
                "`priority` of workload `{}` is {own}; D3's endpoints send in class 0 only, TCP can have the others",
                workload.name
            )));
        }
    }
    let slowest = network.links.iter().map(|link| link.rate).min();
    let slowest = slowest.unwrap_or(Rate::from_gbps(1));
    let stacks: Vec<Stack> = transports
        .into_iter()
        .map(|transport| Stack::of(transport, slowest))
        .collect::<Result<_, _>>()?;
    let mut all = stacks.iter().filter_map(Stack::d3);
    if let Some(first) = all.next() {
        if let Some(other) = all.find(|other| other.config != first.config) {
            return Err(LabError::Unsupported(format!(
                "`{}` and `{}` run at once with different options; hosts have one endpoint each",
                first.name, other.name
            )));
        }
        if scenario.host.frame_overhead > 0 {
            return Err(LabError::Unsupported(format!(
                "`host.frame_overhead` is {} bytes; D3's endpoints count IP packets, it must be 0",
                scenario.host.frame_overhead
            )));
        }
    }
    Ok((stacks, of_workload))
}

/// Bounds the delays of acknowledgements of all stacks as near to the scenario's as the kernel lets a socket; says where
/// it does not.
pub fn limit_delays(stacks: &mut [Stack]) -> Vec<Refused> {
    let mut refused = Vec::new();
    let kernels = stacks.iter_mut().filter_map(|stack| match stack {
        Stack::Kernel(kernel) => Some(kernel),
        Stack::D3(_) => None,
    });
    for stack in kernels {
        let asked = stack.config.delayed_ack_timeout;
        // The kernel counts in ticks, and takes two of them at least.
        let longer = (0..8).map(|doublings| asked * (1 << doublings));
        let allowed = longer
            .into_iter()
            .find(|&longest| socket::can_limit_delayed_ack(longest).is_ok());
        stack.delayed_ack_limit = allowed;
        if allowed != Some(asked) {
            let instead = allowed.unwrap_or(KERNEL_DELAYED_ACK);
            refused.push(Refused::new(
                "tcp.delayed_ack_timeout",
                format!("{asked} asked for; the kernel waits up to {instead}"),
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
    fn d3_has_the_scale_of_the_slowest_link_and_udp_headers_everywhere() {
        let mut scenario =
            scenario("d3.quench = true\nd3.mtu = \"1000 B\"\nd3.police = \"2 Mbps\"");
        let network = plan::network(&scenario).expect("the testbed can");
        let (stacks, of_workload) = stacks(&scenario, &network, 0).expect("it can");
        assert_eq!(of_workload, [0, 1]);
        let [Stack::D3(d3), Stack::D3(rcpdc)] = &stacks[..] else {
            panic!("{stacks:?}");
        };
        assert!(d3.policy.quench && !d3.ignores_deadlines && rcpdc.ignores_deadlines);
        assert_eq!(d3.config, rcpdc.config);
        // 100 Mbps and not 1 Gbps.
        assert_eq!((d3.config.scale, d3.config.header_bytes), (Some(-3), 72));
        assert_eq!(stacks[0].mtu(), 1000);
        let switch = plan::switch(&scenario, &network, &stacks, Streams::new(1, 0), false);
        switch.check().expect("accepted");
        assert_eq!(switch.options.d3, d3.config);
        assert_eq!(switch.options.d3.police, Some(Rate::from_mbps(2)));
        let mut ports = switch.nodes.iter().flat_map(|node| &node.ports);
        assert!(ports.all(|port| port.d3));
        over_udp(&mut scenario);
        for transport in &scenario.transports {
            assert!(
                matches!(&transport.protocol, Protocol::D3(config) if config.header_bytes == 72)
            );
        }
    }

    #[test]
    fn a_switch_has_no_routers_where_the_edge_allocates() {
        let scenario = scenario("d3.allocation = \"edge\"");
        let network = plan::network(&scenario).expect("the testbed can");
        let (stacks, _) = stacks(&scenario, &network, 0).expect("it can");
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
    fn late_answers_are_taken_unless_the_scenario_says_otherwise() {
        for (given, taken) in [
            ("", true),
            ("d3.late_answers = true", true),
            ("d3.late_answers = false", false),
        ] {
            let scenario = scenario(given);
            let network = plan::network(&scenario).expect("the testbed can");
            let (stacks, _) = stacks(&scenario, &network, 0).expect("it can");
            let mut all = stacks.iter().filter_map(Stack::d3);
            assert!(
                all.all(|d3| d3.config.late_answers == Some(taken)),
                "{given}"
            );
        }
    }

    #[test]
    fn endpoints_share_their_options() {
        let scenario = scenario("rcpdc.mtu = \"1000 B\"");
        let network = plan::network(&scenario).expect("the testbed can");
        let message = stacks(&scenario, &network, 0).unwrap_err().to_string();
        assert!(
            message.contains("`d3` and `rcpdc` run at once"),
            "{message}"
        );
    }

    #[test]
    fn workloads_bring_classes_of_their_own_and_d3_has_the_first_only() {
        let classed = |transport: &str, own: [u8; 2]| {
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
            for (workload, own) in scenario.workloads.iter_mut().zip(own) {
                workload.transport = None;
                workload.priority = Some(own);
            }
            scenario.transports = vec![chosen];
            scenario
        };
        for (transport, own, classes) in [("tcp", [2, 1], 3), ("tcp", [0, 0], 1), ("d3", [0, 0], 1)]
        {
            let scenario = classed(transport, own);
            let network = plan::network(&scenario).expect("the testbed can");
            let (stacks, _) = stacks(&scenario, &network, 0).expect("it can");
            let switch = plan::switch(&scenario, &network, &stacks, Streams::new(1, 0), false);
            let mut ports = switch.nodes.iter().flat_map(|node| &node.ports);
            assert!(
                ports.all(|port| port.classes == classes),
                "{transport} {own:?}"
            );
        }
        let scenario = classed("d3", [0, 1]);
        let network = plan::network(&scenario).expect("the testbed can");
        let message = stacks(&scenario, &network, 0).unwrap_err().to_string();
        let expected = "`priority` of workload `permutation-2` is 1; D3's endpoints send in class 0 only, TCP can have \
                        the others";
        assert!(message.ends_with(expected), "{message}");
    }
}

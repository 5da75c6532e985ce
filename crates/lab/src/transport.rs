//! Which of the kernel's stacks stands for a scenario's transport, and how its sockets are set up.

use std::os::fd::AsFd;

use duetime_core::Span;
use duetime_proto::tcp;
use duetime_proto::window::CongestionControl;
use duetime_scenario::Scenario;
use duetime_scenario::model::{Protocol, Transport};
use nix::errno::Errno;

use crate::tuning::Refused;
use crate::{LabError, socket};

/// The kernel's longest delay of an acknowledgement, where a socket cannot bound it.
const KERNEL_DELAYED_ACK: Span = Span::from_ms(40);

/// A transport on the kernel's TCP.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// The scenario's name for it.
    pub name: String,
    /// The kernel's name of its congestion controller.
    pub congestion_control: String,
    /// The scenario's options.
    pub config: tcp::Config,
    /// Whether it answers marks: both ends must agree on ECN.
    pub uses_marks: bool,
    /// Whether it heeds deadlines.
    pub uses_deadlines: bool,
    /// Longest delay of an acknowledgement, where the kernel lets a socket bound it.
    pub delayed_ack_limit: Option<Span>,
}

impl Stack {
    /// The stack for a transport of the scenario.
    pub fn of(transport: &Transport) -> Result<Self, LabError> {
        let unsupported = |what: &str| {
            Err(LabError::Unsupported(format!(
                "transport `{}` {what}",
                transport.name
            )))
        };
        let config = match &transport.protocol {
            Protocol::Tcp(config) => *config,
            Protocol::D3(_) => {
                return unsupported(
                    "is D3, which the kernel does not have; tcp, cubic, dctcp and d2tcp can be run",
                );
            }
        };
        if transport.priorities > 1 {
            return unsupported(
                "uses strict-priority classes, which the testbed's hosts do not set",
            );
        }
        let congestion_control = match config.congestion_control {
            CongestionControl::NewReno => "reno",
            CongestionControl::Cubic(_) => "cubic",
            CongestionControl::Dctcp(_) => "duetime_dctcp",
            CongestionControl::D2tcp(..) => "duetime_d2tcp",
        };
        Ok(Self {
            name: transport.name.clone(),
            congestion_control: congestion_control.to_owned(),
            config,
            uses_marks: config.congestion_control.uses_marks(),
            uses_deadlines: matches!(config.congestion_control, CongestionControl::D2tcp(..)),
            delayed_ack_limit: None,
        })
    }

    /// Options of a receiving socket.
    pub fn prepare_receiver(&self, socket: &impl AsFd) -> Result<(), Errno> {
        self.delayed_ack_limit
            .map_or(Ok(()), |longest| socket::limit_delayed_ack(socket, longest))
    }
}

/// The stacks of a run under transport number `transport`: that one first, then those that workloads have of their own;
/// and for each workload the number of its stack.
pub fn stacks(scenario: &Scenario, transport: usize) -> Result<(Vec<Stack>, Vec<usize>), LabError> {
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
    }
    let stacks = transports.into_iter().map(Stack::of);
    Ok((stacks.collect::<Result<_, _>>()?, of_workload))
}

/// Bounds the delays of acknowledgements of all stacks as near to the scenario's as the kernel lets a socket; says where
/// it does not.
pub fn limit_delays(stacks: &mut [Stack]) -> Vec<Refused> {
    let mut refused = Vec::new();
    for stack in stacks {
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

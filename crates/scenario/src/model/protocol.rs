//! Protocols and the properties that other modules depend on.
//!
//! Only this file, the declarations of the options (`transports`) and the implementations of a protocol match on its
//! name. All other code asks for a property, so that a new protocol does not change it.

use duetime_core::{Rate, Span};
use duetime_proto::{d3, due, homa, pdq, pfabric, sird, tcp};

/// Family of transports.
#[derive(Clone, Debug, PartialEq)]
pub enum Protocol {
    /// A window protocol: TCP `NewReno`, DCTCP, D2TCP or CUBIC, by its congestion control.
    Tcp(tcp::Config),
    /// D3, or `RCPdc` if deadlines are ignored.
    D3(d3::Config),
    /// `due`, which the receiving hosts schedule.
    Due(due::Config),
    /// pFabric, whose switches schedule packets by remaining message size.
    PFabric(pfabric::Config),
    /// Homa, which the receiving hosts schedule in priority classes.
    Homa(homa::Config),
    /// PDQ, which the switches schedule.
    Pdq(pdq::Config),
    /// SIRD, whose receivers issue credit.
    Sird(sird::Config),
}

impl Protocol {
    /// Minimum length of the headers of a packet of any protocol, in bytes, without framing.
    pub const MIN_HEADER_BYTES: u32 = 40;

    /// Returns the maximum length of a packet in bytes, with headers but without framing.
    pub fn mtu(&self) -> u32 {
        match self {
            Self::Tcp(config) => config.mss + Self::MIN_HEADER_BYTES,
            Self::D3(config) => config.wire.mtu,
            Self::Due(config) => config.mtu,
            Self::PFabric(config) => config.mtu,
            Self::Homa(config) => config.mtu,
            Self::Pdq(config) => config.mtu,
            Self::Sird(config) => config.mtu,
        }
    }

    /// Returns the key of the option that limits the length of packets.
    pub fn mtu_key(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "mss",
            Self::D3(_)
            | Self::Due(_)
            | Self::PFabric(_)
            | Self::Homa(_)
            | Self::Pdq(_)
            | Self::Sird(_) => "mtu",
        }
    }

    /// Returns the maximum payload of a packet in bytes.
    pub fn max_payload(&self) -> u32 {
        let header_bytes = match self {
            Self::Tcp(_) | Self::D3(_) => Self::MIN_HEADER_BYTES,
            Self::Due(_) => due::HEADER_BYTES,
            Self::PFabric(_) => pfabric::HEADER_BYTES,
            Self::Homa(_) => homa::HEADER_BYTES,
            Self::Pdq(_) => pdq::HEADER_BYTES,
            Self::Sird(_) => sird::HEADER_BYTES,
        };
        self.mtu().saturating_sub(header_bytes)
    }

    /// Returns the size of the largest packet of a message of this size, in bytes, with headers but without framing.
    pub fn largest_packet(&self, message_bytes: u64) -> u64 {
        let whole = message_bytes.saturating_add(u64::from(Self::MIN_HEADER_BYTES));
        whole.min(u64::from(self.mtu()))
    }

    /// Returns true if packets are sent ECN-capable and marks reduce the sending rate.
    pub fn reacts_to_marks(&self) -> bool {
        match self {
            Self::Tcp(config) => config.congestion_control.uses_marks(),
            Self::D3(_) | Self::PFabric(_) | Self::Homa(_) | Self::Pdq(_) => false,
            Self::Due(config) => config.core_window,
            Self::Sird(config) => config.ecn,
        }
    }

    /// Returns true if ports to hosts mark packets like other ports. Otherwise they mark no packet, unless the run has
    /// another transport that requires it.
    pub fn marks_at_hosts(&self) -> bool {
        !matches!(self, Self::Sird(_))
    }

    /// Returns true if the protocol's queues replace the buffers of the switches.
    pub fn replaces_buffers(&self) -> bool {
        matches!(self, Self::PFabric(_))
    }

    /// Returns the number of strict-priority classes that the protocol uses at every port, unless the transport sets
    /// another number.
    pub fn classes(&self) -> u8 {
        match self {
            Self::Tcp(_) | Self::D3(_) | Self::Due(_) | Self::PFabric(_) | Self::Pdq(_) => 1,
            Self::Homa(_) => homa::CLASSES,
            Self::Sird(_) => sird::CLASSES,
        }
    }

    /// Returns the minimum number of strict-priority classes that the options require.
    pub fn min_classes(&self) -> u8 {
        match self {
            Self::Tcp(_)
            | Self::D3(_)
            | Self::Due(_)
            | Self::PFabric(_)
            | Self::Pdq(_)
            | Self::Sird(_) => 1,
            Self::Homa(config) => config.min_classes(),
        }
    }

    /// Returns true if hosts use the distribution of all message sizes, which is then derived from the workloads.
    pub fn uses_sizes(&self) -> bool {
        match self {
            Self::Tcp(_)
            | Self::D3(_)
            | Self::Due(_)
            | Self::PFabric(_)
            | Self::Pdq(_)
            | Self::Sird(_) => false,
            Self::Homa(_) => true,
        }
    }

    /// Returns the options of a window protocol, or `None` for other protocols.
    pub fn window_options(&self) -> Option<&tcp::Config> {
        match self {
            Self::Tcp(config) => Some(config),
            Self::D3(_)
            | Self::Due(_)
            | Self::PFabric(_)
            | Self::Homa(_)
            | Self::Pdq(_)
            | Self::Sird(_) => None,
        }
    }

    /// Returns the program that routers run for the protocol, or `None` if they only forward its packets.
    pub fn router_program(&self) -> Option<RouterProgram> {
        match self {
            Self::Tcp(_) | Self::Due(_) | Self::PFabric(_) | Self::Homa(_) | Self::Sird(_) => None,
            Self::D3(config) => Some(RouterProgram::D3(*config)),
            Self::Pdq(config) => Some(RouterProgram::Pdq(*config)),
        }
    }

    /// Sets the options that depend on the rate of the network's slowest link, unless already set.
    pub fn adapt_to(&mut self, slowest: Rate) {
        match self {
            Self::Tcp(_)
            | Self::Due(_)
            | Self::PFabric(_)
            | Self::Homa(_)
            | Self::Pdq(_)
            | Self::Sird(_) => {}
            Self::D3(config) => *config = config.for_slowest(slowest),
        }
    }

    /// Returns the times that grow if the network is slowed down. Excludes `timeout_min` of TCP: it is two ticks of
    /// the kernel's clock.
    pub fn times_mut(&mut self) -> Vec<&mut Span> {
        match self {
            Self::Tcp(config) => {
                let coalescing = config.ack_coalescing.as_mut();
                let timers = [
                    &mut config.rto_min,
                    &mut config.rto_initial,
                    &mut config.rto_max,
                    &mut config.delayed_ack_timeout,
                    &mut config.max_ack_delay,
                ];
                let within = coalescing.map(|coalescing| &mut coalescing.within);
                timers.into_iter().chain(within).collect()
            }
            Self::D3(config) => {
                let router = &mut config.router;
                let round_trip = match &mut router.base_rate {
                    d3::BaseRate::HeaderOnly => None,
                    d3::BaseRate::Segment(round_trip) => Some(round_trip),
                };
                let interval = router.update_interval.as_mut();
                let timers = [&mut config.host.rto_min].into_iter();
                timers.chain(interval).chain(round_trip).collect()
            }
            Self::Due(config) => vec![&mut config.host_delay],
            Self::PFabric(config) => config.rto.iter_mut().collect(),
            Self::Homa(config) => {
                let interval = config.resend_interval.iter_mut();
                interval.chain([&mut config.host_delay]).collect()
            }
            Self::Pdq(config) => vec![&mut config.rto_min],
            Self::Sird(config) => vec![&mut config.host_delay],
        }
    }

    /// Returns the rates that fall if the network is slowed down.
    pub fn rates_mut(&mut self) -> Vec<&mut Rate> {
        match self {
            Self::Tcp(_)
            | Self::Due(_)
            | Self::PFabric(_)
            | Self::Homa(_)
            | Self::Pdq(_)
            | Self::Sird(_) => Vec::new(),
            Self::D3(config) => config.router.police.iter_mut().collect(),
        }
    }
}

/// Program that routers run for a protocol, with its options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RouterProgram {
    /// D3's rate allocator (D3 §4.3).
    D3(d3::Config),
    /// PDQ's flow lists (PDQ §3.3).
    Pdq(pdq::Config),
}

impl RouterProgram {
    /// Returns true if a router cannot serve `self` and `other` with one set of options.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::D3(own), Self::D3(other)) => own.for_routers() != other.for_routers(),
            (Self::Pdq(own), Self::Pdq(other)) => own.for_routers() != other.for_routers(),
            (Self::D3(_), Self::Pdq(_)) | (Self::Pdq(_), Self::D3(_)) => true,
        }
    }

    /// Returns the maximum number of links of a path, including the hosts' own. D3's allocation vector has one slot for
    /// each (D3 §5), and a packet of PDQ records its path for the reply.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "`MAX_HOPS` is 6 and `MAX_LINKS` is 8"
    )]
    pub const fn max_links(&self) -> u32 {
        match self {
            Self::D3(_) => d3::MAX_HOPS as u32,
            Self::Pdq(_) => pdq::MAX_LINKS as u32,
        }
    }

    /// Returns true if the program also processes replies, which then take the path of the packet in the opposite
    /// direction.
    pub const fn reads_replies(&self) -> bool {
        matches!(self, Self::Pdq(_))
    }

    /// Returns the period at which the program adapts its allocations, or the maximum if the round trips of the flows
    /// determine it.
    pub const fn interval(&self) -> Span {
        match self {
            Self::D3(config) => config.interval(),
            Self::Pdq(_) => Span::MAX,
        }
    }

    /// Returns true if routers drop packets of senders that exceed their allocation.
    pub const fn polices(&self) -> bool {
        match self {
            Self::D3(config) => config.router.police.is_some(),
            Self::Pdq(_) => false,
        }
    }
}

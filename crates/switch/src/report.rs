//! Counters of a switch.

use crate::frame::Frame;
use crate::series::Series;
use duetime_core::Time;
use duetime_link::Port;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Counters of a switch since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Virtual time zero, when the switch was opened, in nanoseconds of `CLOCK_MONOTONIC`.
    pub opened_monotonic_ns: u64,
    /// Time since then, in nanoseconds.
    pub wall_ns: u64,
    /// True if the thread used the real-time scheduler in its last run.
    pub real_time: bool,
    /// Processor time of the thread in [`crate::Switch::run`], in nanoseconds. It includes the kernel's work for the
    /// receiving hosts when it accepts a frame.
    pub cpu_ns: u64,
    /// Frames that the kernel dropped because the ring was full.
    pub kernel_drops: u64,
    /// Frames that the switch read after processing later events. They are processed at the time at which they were
    /// read.
    pub behind_packets: u64,
    /// Maximum delay of such a frame, in nanoseconds.
    pub behind_max_ns: u64,
    /// Delay that 1 % of all frames exceeded, in nanoseconds; 0 if fewer were delayed.
    pub behind_p99_ns: u64,
    /// Maximum number of frames in the switch.
    pub buffers_max: u64,
    /// Lateness of transmitted frames.
    pub lateness: Lateness,
    /// Counters by interface.
    pub interfaces: Vec<InterfaceReport>,
    /// Counters of the uplinks by interface, then of the ports of all nodes.
    pub ports: Vec<PortReport>,
    /// Sampled queues by port; only in the final report, and empty without [`crate::Sampling`].
    pub series: Vec<Series>,
}

/// Lateness of transmitted frames: the time after the system call that sent the frame, minus its virtual arrival time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// Number of frames sent.
    pub packets: u64,
    /// Median, in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile, in nanoseconds.
    pub p99_ns: u64,
    /// 99.9th percentile, in nanoseconds.
    pub p999_ns: u64,
    /// Maximum, in nanoseconds.
    pub max_ns: u64,
}

/// Counters of an interface and the host behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InterfaceReport {
    /// Device name.
    pub name: String,
    /// Host name.
    pub host: String,
    /// Frames received from the host.
    pub received_packets: u64,
    /// Bytes received from the host, with Ethernet headers.
    pub received_bytes: u64,
    /// Frames sent to the host.
    pub sent_packets: u64,
    /// Bytes sent to the host, with Ethernet headers.
    pub sent_bytes: u64,
    /// Frames to the host that the kernel did not accept, because the interface was down or its queue full.
    pub unsent: u64,
    /// Received frames shorter than an Ethernet header.
    pub runts: u64,
    /// Received frames longer than the interfaces' MTU, because of segmentation offload at the host or GRO at the
    /// interface.
    pub too_long: u64,
    /// Received frames whose destination was their sender.
    pub returning: u64,
    /// Received frames for which no buffer was free.
    pub no_buffer: u64,
    /// Received frames whose checksum was left to the NIC and completed by the switch.
    pub checksums_completed: u64,
}

/// Counters of a port.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PortReport {
    /// Name, `from->to`, as in the simulator.
    pub name: String,
    /// Packets accepted.
    pub packets: u64,
    /// Bytes accepted, including [`crate::Options::overhead_bytes`] per packet.
    pub bytes: u64,
    /// Packets dropped because the buffer was full.
    pub drops: u64,
    /// Bytes dropped because the buffer was full.
    pub drop_bytes: u64,
    /// Packets lost at random by the link behind the port.
    pub losses: u64,
    /// Bytes lost at random by the link behind the port.
    pub loss_bytes: u64,
    /// Packets that found the marking threshold reached, ECN-capable or not.
    pub marks_asked: u64,
    /// Packets marked with CE.
    pub marks_made: u64,
    /// Packets in the port now, including the one in service.
    pub queue_packets: u32,
    /// Bytes in the port now.
    pub queue_bytes: u64,
    /// Maximum number of bytes in the port.
    pub queue_max_bytes: u64,
    /// Mean number of bytes in the port since the switch was opened.
    pub queue_mean_bytes: f64,
    /// Counters of D3's router, if the port has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d3: Option<D3Report>,
}

/// State and counters of D3's router at a port (D3 §4.3, §4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct D3Report {
    /// Number of registered flows N.
    pub flows: u64,
    /// Demand D, the sum of the desired rates, in bits per second.
    pub demand_bps: u64,
    /// Allocation A, the sum of the granted rates, in bits per second.
    pub allocated_bps: u64,
    /// Capacity C, adapted every update interval, in bits per second.
    pub capacity_bps: u64,
    /// Exponent of all encoded rates; hosts must use the same.
    pub scale: i8,
    /// Requests received.
    pub requests: u64,
    /// Requests granted less than desired.
    pub denied: u64,
    /// Requests with another scale, or without a free slot after six hops; they get no grant here.
    pub unanswered: u64,
    /// Packets dropped because their interface sent more than granted, with [`duetime_proto::d3::RouterOptions::police`].
    pub policed: u64,
}

impl PortReport {
    /// Creates the report of a port that was drained to `now`.
    pub(crate) fn of(port: &Port<Frame>, now: Time, name: &str, marks_made: u64) -> Self {
        let counters = port.counters();
        let ticks = (now.as_ps() >> 10).max(1);
        Self {
            name: name.to_owned(),
            packets: counters.packets,
            bytes: counters.bytes,
            drops: counters.drops,
            drop_bytes: counters.drop_bytes,
            marks_asked: counters.marks,
            marks_made,
            queue_packets: port.queue_packets(),
            queue_bytes: port.queue_bytes(),
            queue_max_bytes: counters.queue_max_bytes,
            queue_mean_bytes: port.queue_integral(now) as f64 / ticks as f64,
            losses: 0,
            loss_bytes: 0,
            d3: None,
        }
    }
}

impl Lateness {
    pub(crate) fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        Self {
            packets: histogram.len(),
            p50_ns: histogram.value_at_quantile(0.5),
            p99_ns: histogram.value_at_quantile(0.99),
            p999_ns: histogram.value_at_quantile(0.999),
            max_ns: histogram.max(),
        }
    }
}

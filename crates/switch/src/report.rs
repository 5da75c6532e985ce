//! What a switch has done.

use crate::frame::Frame;
use crate::series::Series;
use duetime_core::Time;
use duetime_link::Port;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// What a switch has done since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Virtual time zero, in nanoseconds of `CLOCK_MONOTONIC`: when the switch was opened.
    pub opened_monotonic_ns: u64,
    /// Time since then, in nanoseconds.
    pub wall_ns: u64,
    /// The switch's thread ran under the real-time scheduler when it was last run.
    pub real_time: bool,
    /// Processor time of the switch's thread in [`crate::Switch::run`], in nanoseconds. What the kernel does for the
    /// receiving hosts while it takes a frame is part of it.
    pub cpu_ns: u64,
    /// Frames that the kernel dropped before the switch saw them: the ring was full.
    pub kernel_drops: u64,
    /// Frames that the switch read after it had let later things happen: how many, and by how much at most. They
    /// count as of the moment at which they were read.
    pub behind_packets: u64,
    /// The most by which such a frame was behind, in nanoseconds.
    pub behind_max_ns: u64,
    /// What one in a hundred of all frames exceeded by which it was behind, in nanoseconds; 0: fewer were behind.
    pub behind_p99_ns: u64,
    /// The most frames that were in the switch at once.
    pub buffers_max: u64,
    /// How much later than due frames were sent.
    pub lateness: Lateness,
    /// By interface.
    pub interfaces: Vec<InterfaceReport>,
    /// The uplinks by interface, then the ports of all nodes.
    pub ports: Vec<PortReport>,
    /// The sampled queues by port; in the last report only, and empty without [`crate::Sampling`].
    pub series: Vec<Series>,
}

/// How much later than due frames were sent: the time after the system call that sent them, less the virtual arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// Frames sent.
    pub packets: u64,
    /// Median, in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// The largest.
    pub max_ns: u64,
}

/// What came from and went to the host behind an interface, and what the switch did not take in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InterfaceReport {
    /// The device's name.
    pub name: String,
    /// The host's name.
    pub host: String,
    /// Frames that the host sent.
    pub received_packets: u64,
    /// Their bytes, with Ethernet headers.
    pub received_bytes: u64,
    /// Frames for the host.
    pub sent_packets: u64,
    /// Their bytes, with Ethernet headers.
    pub sent_bytes: u64,
    /// Frames for the host that the kernel did not take: the interface was down, or its queue was full.
    pub unsent: u64,
    /// Frames shorter than an Ethernet header.
    pub runts: u64,
    /// Frames longer than the interfaces' MTU: segmentation offload is on at the host, or GRO at the interface.
    pub too_long: u64,
    /// Frames to the host that sent them.
    pub returning: u64,
    /// Frames for which no buffer was free.
    pub no_buffer: u64,
    /// Frames whose checksum the host had left to its NIC; the switch completed it.
    pub checksums_completed: u64,
}

/// What a port has done.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PortReport {
    /// `from->to`, as the simulator names links.
    pub name: String,
    /// Packets accepted.
    pub packets: u64,
    /// Bytes accepted: of IP packets and [`crate::Options::overhead_bytes`].
    pub bytes: u64,
    /// Packets dropped because the buffer was full.
    pub drops: u64,
    /// Bytes dropped because the buffer was full.
    pub drop_bytes: u64,
    /// Packets that the link behind the port lost at random.
    pub losses: u64,
    /// Their bytes.
    pub loss_bytes: u64,
    /// Packets that found the marking threshold reached, ECN-capable or not.
    pub marks_asked: u64,
    /// Those that were ECN-capable and so got CE.
    pub marks_made: u64,
    /// Packets in the port now, the one in service included.
    pub queue_packets: u32,
    /// Their bytes.
    pub queue_bytes: u64,
    /// The most bytes that were in the port.
    pub queue_max_bytes: u64,
    /// The mean of the bytes in the port over all the time.
    pub queue_mean_bytes: f64,
    /// Of D3's router, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub d3: Option<D3Report>,
}

/// What D3's router at a port holds and has done (D3 §4.3, §4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct D3Report {
    /// N: flows that the port believes alive.
    pub flows: u64,
    /// D: the sum of the rates that their deadlines need, in bits per second.
    pub demand_bps: u64,
    /// A: the sum of the rates granted, in bits per second.
    pub allocated_bps: u64,
    /// C: the capacity, adapted every update interval, in bits per second.
    pub capacity_bps: u64,
    /// The exponent of every rate on the wire; hosts must use the same.
    pub scale: i8,
    /// Requests that came.
    pub requests: u64,
    /// Those that were granted less than they desired.
    pub denied: u64,
    /// Those with another scale, or with no free slot after six hops, which are granted nothing here.
    pub unanswered: u64,
    /// Packets dropped because their interface sent more than it was granted, with [`duetime_proto::d3::Config::police`].
    pub policed: u64,
}

impl PortReport {
    /// That of a port which was drained to `now`.
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

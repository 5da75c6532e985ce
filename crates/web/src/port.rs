//! A port packet by packet: arrivals, waits, marks, drops and the rates or windows of each flow.

use duetime_core::Time;
use duetime_results::FlowEventKind;
use duetime_scenario::Scenario;
use duetime_scenario::model::{Amount, Buffer};
use duetime_sim::RunOutput;
use duetime_sim::topology::Network;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Number of intervals of the overview.
const BINS: u64 = 480;
/// Maximum number of packets in a window.
const MAX_PACKETS: usize = 4_000;

/// Flow through the port.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Name of the flow.
    pub name: String,
    /// Number of the flow, from `FlowRecord::flow`.
    pub number: u64,
    /// Size in application bytes.
    pub bytes: u64,
    /// Submission time.
    pub start: Time,
    /// Deadline, if any.
    pub deadline: Option<Time>,
    /// Delivery of the last byte, or `None` if the flow did not finish.
    pub finish: Option<Time>,
    /// True if the sender quenched the flow.
    pub quenched: bool,
    /// True if the flow met its deadline, or `None` without a deadline.
    pub met: Option<bool>,
    /// Number of retransmission timeouts.
    pub timeouts: u32,
    /// Number of retransmitted segments.
    pub retransmits: u32,
}

/// Port over a run.
pub struct Port {
    name: String,
    rate_bps: u64,
    /// Marking threshold, if there is one.
    mark: Option<Amount>,
    /// Buffer size, or `None` for unlimited buffers.
    buffer: Option<Amount>,
    flows: Vec<Flow>,
    end: Time,
    /// Packets, sorted by departure.
    packets: Vec<Packet>,
    /// Drops as (time, flow), sorted by time.
    drops: Vec<(Time, usize)>,
    /// Delivered bytes as (time, flow, bytes), sorted by time.
    delivered: Vec<(Time, usize, u64)>,
    /// Granted rates in D3 as (time, flow, bits per second), sorted by time.
    granted: Vec<(Time, usize, u64)>,
    /// Windows of window protocols as (time, flow, bytes), sorted by time.
    windows: Vec<(Time, usize, u64)>,
}

/// Packet that passed the port.
#[derive(Clone, Copy, Debug)]
struct Packet {
    arrived: Time,
    /// Departure of the first bit.
    began: Time,
    /// Departure of the last bit.
    departed: Time,
    flow: usize,
    bytes: u64,
    marked: bool,
}

impl Port {
    /// Collects the events of the traced flows at the port of `link` until `end`.
    pub fn of(
        scenario: &Scenario,
        network: &Network,
        link: u32,
        (flows, end): (Vec<Flow>, Time),
        output: &RunOutput,
    ) -> Self {
        let rate = network.links[link as usize].rate;
        let listed = scenario.switch.ecn_threshold.iter();
        let mark = listed
            .filter(|(threshold_rate, _)| *threshold_rate <= rate)
            .max_by_key(|(threshold_rate, _)| *threshold_rate);
        let buffer = match scenario.switch.buffer {
            Buffer::Static(amount) => Some(amount),
            Buffer::Dynamic { pool, .. } => Some(Amount::Bytes(pool.0)),
            Buffer::Unlimited => None,
        };
        let mut port = Self {
            name: network.link_name(link),
            rate_bps: rate.as_bps(),
            mark: mark.map(|(_, amount)| *amount),
            buffer,
            flows,
            end,
            packets: Vec::new(),
            drops: Vec::new(),
            delivered: Vec::new(),
            granted: Vec::new(),
            windows: Vec::new(),
        };
        port.take(output);
        port
    }

    /// Returns the flows.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    fn take(&mut self, output: &RunOutput) {
        let index_of = |number: u64| self.flows.iter().position(|flow| flow.number == number);
        let mut marked: BTreeSet<(Time, usize)> = BTreeSet::new();
        for trace in &output.traces {
            let Some(flow) = index_of(trace.flow) else {
                continue;
            };
            let mut delivered = 0;
            for event in trace.events.iter().filter(|event| event.at <= self.end) {
                let at = event.at;
                match event.what {
                    FlowEventKind::Departed {
                        waited, sending, ..
                    } => {
                        let began = Time::ZERO + (at.since(Time::ZERO + sending));
                        let arrived = Time::ZERO + (began.since(Time::ZERO + waited));
                        let bits = sending.as_ps() as f64 * self.rate_bps as f64 / 1e12;
                        self.packets.push(Packet {
                            arrived,
                            began,
                            departed: at,
                            flow,
                            bytes: whole(bits / 8.0),
                            marked: false,
                        });
                    }
                    FlowEventKind::Marked { .. } => {
                        marked.insert((at, flow));
                    }
                    FlowEventKind::Dropped { .. } | FlowEventKind::Lost { .. } => {
                        self.drops.push((at, flow));
                    }
                    FlowEventKind::Delivered { len, .. } => {
                        delivered += u64::from(len);
                        self.delivered.push((at, flow, delivered));
                    }
                    FlowEventKind::Granted { allocation_bps } => {
                        self.granted.push((at, flow, allocation_bps));
                    }
                    FlowEventKind::Paused | FlowEventKind::Finished => {
                        self.granted.push((at, flow, 0));
                    }
                    _ => {}
                }
            }
        }
        for packet in &mut self.packets {
            packet.marked = marked.contains(&(packet.arrived, packet.flow));
        }
        let windows = output.windows.iter().filter(|window| window.at <= self.end);
        let windows = windows
            .filter_map(|window| Some((window.at, index_of(window.flow)?, window.window_bytes)));
        self.windows = windows.collect();
        self.packets
            .sort_by_key(|packet| (packet.departed, packet.flow));
        self.drops.sort_unstable();
        self.delivered.sort_by_key(|entry| entry.0);
        self.granted.sort_by_key(|entry| entry.0);
    }

    /// Returns the flows and an overview of the run in equal intervals.
    pub fn summary(&self) -> Value {
        let bin = self.end.as_ps().div_ceil(BINS).max(1);
        let bins = usize::try_from(BINS).unwrap_or(0);
        let at = |time: Time| {
            usize::try_from(time.as_ps() / bin)
                .unwrap_or(0)
                .min(bins - 1)
        };
        let mut sent = vec![vec![0u64; bins]; self.flows.len()];
        let (mut marks, mut drops) = (vec![0u32; bins], vec![0u32; bins]);
        for packet in &self.packets {
            sent[packet.flow][at(packet.departed)] += packet.bytes;
            marks[at(packet.arrived)] += u32::from(packet.marked);
        }
        for (time, _) in &self.drops {
            drops[at(*time)] += 1;
        }
        let seconds = bin as f64 / 1e12;
        let rates = sent.iter().map(|bytes_of_flow| {
            let rates = bytes_of_flow
                .iter()
                .map(|&bytes| whole(bytes as f64 * 8.0 / seconds));
            rates.collect::<Vec<_>>()
        });
        let flows = self.flows.iter().map(|flow| {
            json!({
                "name": flow.name,
                "bytes": flow.bytes,
                "start_ns": flow.start.as_ns(),
                "deadline_ns": flow.deadline.map(Time::as_ns),
                "finish_ns": flow.finish.map(Time::as_ns),
                "quenched": flow.quenched,
                "met": flow.met,
                "timeouts": flow.timeouts,
                "retransmits": flow.retransmits,
            })
        });
        let (queue, packets, largest) = self.queue(bin, bins);
        json!({
            "link": self.name,
            "rate_bps": self.rate_bps,
            "mark": self.mark.map(amount),
            "buffer": self.buffer.map(amount),
            "end_ns": self.end.as_ns(),
            "bin_ns": bin as f64 / 1e3,
            "packets": self.packets.len(),
            "marked": self.packets.iter().filter(|packet| packet.marked).count(),
            "dropped": self.drops.len(),
            "queue_max_bytes": largest,
            "flows": flows.collect::<Vec<_>>(),
            "rates_bps": rates.collect::<Vec<_>>(),
            "queue_bytes": queue,
            "queue_packets": packets,
            "marks": marks,
            "drops": drops,
            "delivered_bytes": self.last_values(&self.delivered, bin, bins),
            "granted_bps": if self.granted.iter().any(|entry| entry.2 > 0) { Some(self.last_values(&self.granted, bin, bins)) } else { None },
            "window_bytes": if self.windows.is_empty() { None } else { Some(self.last_values(&self.windows, bin, bins)) },
        })
    }

    /// Returns the largest queue of each interval in bytes and in packets, and of the run in bytes.
    fn queue(&self, bin: u64, bins: usize) -> (Vec<u64>, Vec<u32>, u64) {
        let (mut bytes, mut packets) = (vec![0u64; bins], vec![0u32; bins]);
        let (mut now, mut count, mut largest) = (0u64, 0u32, 0u64);
        // Departures are sorted, and arrivals at a FIFO port have the same order.
        let mut arrivals: Vec<(Time, u64)> = self
            .packets
            .iter()
            .map(|packet| (packet.arrived, packet.bytes))
            .collect();
        arrivals.sort_unstable_by_key(|arrival| arrival.0);
        let mut departures = self.packets.iter().peekable();
        let mut filled = 0;
        let mut note = |at: Time, now: u64, count: u32| {
            let to = usize::try_from(at.as_ps() / bin).unwrap_or(0).min(bins - 1);
            // An interval includes the queue at its start.
            while filled < to {
                filled += 1;
                bytes[filled] = now;
                packets[filled] = count;
            }
            to
        };
        let mut peaks = Vec::new();
        for (at, size) in arrivals {
            // Departures precede arrivals at the same time.
            while let Some(departed) = departures.next_if(|packet| packet.departed <= at) {
                note(departed.departed, now, count);
                now = now.saturating_sub(departed.bytes);
                count = count.saturating_sub(1);
            }
            let to = note(at, now, count);
            now += size;
            count += 1;
            largest = largest.max(now);
            peaks.push((to, now, count));
        }
        for departed in departures {
            note(departed.departed, now, count);
            now = now.saturating_sub(departed.bytes);
            count = count.saturating_sub(1);
        }
        for (to, now, count) in peaks {
            bytes[to] = bytes[to].max(now);
            packets[to] = packets[to].max(count);
        }
        (bytes, packets, largest)
    }

    /// Returns the last value of each interval for each flow.
    fn last_values(&self, values: &[(Time, usize, u64)], bin: u64, bins: usize) -> Vec<Vec<u64>> {
        let mut series = vec![vec![0u64; bins]; self.flows.len()];
        let mut filled = vec![0usize; self.flows.len()];
        for &(at, flow, value) in values {
            let to = usize::try_from(at.as_ps() / bin).unwrap_or(0).min(bins - 1);
            let last = series[flow][filled[flow]];
            series[flow][filled[flow]..to].fill(last);
            series[flow][to] = value;
            filled[flow] = to;
        }
        for (series, filled) in series.iter_mut().zip(filled) {
            let last = series[filled];
            series[filled..].fill(last);
        }
        series
    }

    /// Returns the packets and drops between two instants in nanoseconds. Packets are [arrival, departure of the first
    /// bit, departure of the last bit, flow, bytes, marked], drops are [time, flow]. Only the first 4,000 packets are
    /// included; `to_ns` is the end of the covered time.
    pub fn window(&self, from_ns: u64, to_ns: u64) -> Value {
        let ns = |time: Time| time.as_ps() as f64 / 1e3;
        let from = Time::from_ps(from_ns.saturating_mul(1_000));
        let to = Time::from_ps(to_ns.saturating_mul(1_000));
        let first = self
            .packets
            .partition_point(|packet| packet.departed < from);
        let packets = self.packets[first..]
            .iter()
            .take_while(|packet| packet.arrived <= to);
        let mut packets: Vec<&Packet> = packets.take(MAX_PACKETS + 1).collect();
        let is_cut = packets.len() > MAX_PACKETS;
        let until = if is_cut {
            packets.pop().map_or(to, |packet| packet.arrived.max(from))
        } else {
            to
        };
        let packets = packets.iter().map(|packet| {
            json!([
                ns(packet.arrived),
                ns(packet.began),
                ns(packet.departed),
                packet.flow,
                packet.bytes,
                u8::from(packet.marked)
            ])
        });
        let drops = self
            .drops
            .iter()
            .filter(|(at, _)| (from..=until).contains(at));
        json!({
            "from_ns": from_ns,
            "to_ns": until.as_ns(),
            "packets": packets.collect::<Vec<_>>(),
            "drops": drops.map(|&(at, flow)| json!([ns(at), flow])).collect::<Vec<_>>(),
        })
    }
}

fn amount(amount: Amount) -> Value {
    match amount {
        Amount::Packets(packets) => json!({ "packets": packets }),
        Amount::Bytes(bytes) => json!({ "bytes": bytes }),
    }
}

/// Rounds to an integer.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; casts from floats saturate"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

//! One port, packet by packet: what came, how long it waited, what was marked or dropped, and what each flow was given.

use duetime_core::Time;
use duetime_results::FlowEventKind;
use duetime_scenario::Scenario;
use duetime_scenario::model::{Amount, Buffer};
use duetime_sim::RunOutput;
use duetime_sim::topology::Network;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Intervals of the overview.
const BINS: u64 = 480;
/// Packets of one window.
const MOST_PACKETS: usize = 4_000;

/// One flow through the port.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// `FlowRecord::flow`.
    pub number: u64,
    /// Application bytes.
    pub bytes: u64,
    /// Its submission.
    pub start: Time,
    /// Its deadline.
    pub deadline: Option<Time>,
    /// When its last byte was delivered.
    pub finish: Option<Time>,
    /// Whether its sender gave it up.
    pub quenched: bool,
    /// Whether it was in time.
    pub met: Option<bool>,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Segments sent again.
    pub retransmits: u32,
}

/// One port over a run.
pub struct Port {
    name: String,
    rate_bps: u64,
    /// Where it marks, where that is a number of bytes or packets.
    mark: Option<Amount>,
    /// What it holds at most, likewise.
    buffer: Option<Amount>,
    flows: Vec<Flow>,
    end: Time,
    /// By departure.
    packets: Vec<Packet>,
    /// By time.
    drops: Vec<(Time, usize)>,
    /// By time: a flow has so many bytes delivered.
    delivered: Vec<(Time, usize, u64)>,
    /// By time: a flow may send so many bits per second (D3).
    granted: Vec<(Time, usize, u64)>,
    /// By time: a flow may have so many bytes on their way (window protocols).
    windows: Vec<(Time, usize, u64)>,
}

/// A packet that passed.
#[derive(Clone, Copy, Debug)]
struct Packet {
    arrived: Time,
    /// Its first bit left.
    began: Time,
    /// Its last bit left.
    departed: Time,
    flow: usize,
    bytes: u64,
    marked: bool,
}

impl Port {
    /// The port of `link` over a run in which these flows were watched there, up to `end`.
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
            .filter(|(of, _)| *of <= rate)
            .max_by_key(|(of, _)| *of);
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

    /// Its flows.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    fn take(&mut self, output: &RunOutput) {
        let place = |number: u64| self.flows.iter().position(|flow| flow.number == number);
        let mut marked: BTreeSet<(Time, usize)> = BTreeSet::new();
        for trace in &output.traces {
            let Some(flow) = place(trace.flow) else {
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
        let windows = output.windows.iter().filter(|of| of.at <= self.end);
        let windows = windows.filter_map(|of| Some((of.at, place(of.flow)?, of.window_bytes)));
        self.windows = windows.collect();
        self.packets
            .sort_by_key(|packet| (packet.departed, packet.flow));
        self.drops.sort_unstable();
        self.delivered.sort_by_key(|of| of.0);
        self.granted.sort_by_key(|of| of.0);
    }

    /// The flows, and the run in equal intervals.
    pub fn tell(&self) -> Value {
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
        let rates = sent.iter().map(|of| {
            let rates = of.iter().map(|&bytes| whole(bytes as f64 * 8.0 / seconds));
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
        let (queue, packets, most) = self.queue(bin, bins);
        json!({
            "link": self.name,
            "rate_bps": self.rate_bps,
            "mark": self.mark.map(amount),
            "buffer": self.buffer.map(amount),
            "end_ns": self.end.as_ns(),
            "bin_ns": bin as f64 / 1e3,
            "packets": self.packets.len(),
            "marked": self.packets.iter().filter(|of| of.marked).count(),
            "dropped": self.drops.len(),
            "queue_max_bytes": most,
            "flows": flows.collect::<Vec<_>>(),
            "rates_bps": rates.collect::<Vec<_>>(),
            "queue_bytes": queue,
            "queue_packets": packets,
            "marks": marks,
            "drops": drops,
            "delivered_bytes": self.held(&self.delivered, bin, bins),
            "granted_bps": if self.granted.iter().any(|of| of.2 > 0) { Some(self.held(&self.granted, bin, bins)) } else { None },
            "window_bytes": if self.windows.is_empty() { None } else { Some(self.held(&self.windows, bin, bins)) },
        })
    }

    /// The largest queue of each interval in bytes and in packets, and of the run in bytes.
    fn queue(&self, bin: u64, bins: usize) -> (Vec<u64>, Vec<u32>, u64) {
        let (mut bytes, mut packets) = (vec![0u64; bins], vec![0u32; bins]);
        let (mut now, mut count, mut most) = (0u64, 0u32, 0u64);
        // Departures are in order; of a FIFO port arrivals are in the same one.
        let mut arrivals: Vec<(Time, u64)> = self
            .packets
            .iter()
            .map(|of| (of.arrived, of.bytes))
            .collect();
        arrivals.sort_unstable_by_key(|of| of.0);
        let mut departures = self.packets.iter().peekable();
        let mut filled = 0;
        let mut note = |at: Time, now: u64, count: u32| {
            let to = usize::try_from(at.as_ps() / bin).unwrap_or(0).min(bins - 1);
            // What is there at the beginning of an interval is in it.
            while filled < to {
                filled += 1;
                bytes[filled] = now;
                packets[filled] = count;
            }
            to
        };
        let mut peaks = Vec::new();
        for (at, size) in arrivals {
            // A departure at t precedes an arrival at t.
            while let Some(gone) = departures.next_if(|of| of.departed <= at) {
                note(gone.departed, now, count);
                now = now.saturating_sub(gone.bytes);
                count = count.saturating_sub(1);
            }
            let to = note(at, now, count);
            now += size;
            count += 1;
            most = most.max(now);
            peaks.push((to, now, count));
        }
        for gone in departures {
            note(gone.departed, now, count);
            now = now.saturating_sub(gone.bytes);
            count = count.saturating_sub(1);
        }
        for (to, now, count) in peaks {
            bytes[to] = bytes[to].max(now);
            packets[to] = packets[to].max(count);
        }
        (bytes, packets, most)
    }

    /// By flow, the last value of each interval.
    fn held(&self, values: &[(Time, usize, u64)], bin: u64, bins: usize) -> Vec<Vec<u64>> {
        let mut held = vec![vec![0u64; bins]; self.flows.len()];
        let mut filled = vec![0usize; self.flows.len()];
        for &(at, flow, value) in values {
            let to = usize::try_from(at.as_ps() / bin).unwrap_or(0).min(bins - 1);
            let last = held[flow][filled[flow]];
            held[flow][filled[flow]..to].fill(last);
            held[flow][to] = value;
            filled[flow] = to;
        }
        for (held, filled) in held.iter_mut().zip(filled) {
            let last = held[filled];
            held[filled..].fill(last);
        }
        held
    }

    /// What was at the port between two instants, in nanoseconds since the start: packets as [arrived, first bit left, last
    /// bit left, flow, bytes, marked], and drops as [at, flow]. At most 4,000 packets, the first ones; `to_ns` says how far
    /// they go.
    pub fn window(&self, from_ns: u64, to_ns: u64) -> Value {
        let ns = |time: Time| time.as_ps() as f64 / 1e3;
        let from = Time::from_ps(from_ns.saturating_mul(1_000));
        let to = Time::from_ps(to_ns.saturating_mul(1_000));
        let first = self.packets.partition_point(|of| of.departed < from);
        let there = self.packets[first..]
            .iter()
            .take_while(|of| of.arrived <= to);
        let mut there: Vec<&Packet> = there.take(MOST_PACKETS + 1).collect();
        let cut = there.len() > MOST_PACKETS;
        let until = if cut {
            there.pop().map_or(to, |of| of.arrived.max(from))
        } else {
            to
        };
        let packets = there.iter().map(|of| {
            json!([
                ns(of.arrived),
                ns(of.began),
                ns(of.departed),
                of.flow,
                of.bytes,
                u8::from(of.marked)
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

fn amount(of: Amount) -> Value {
    match of {
        Amount::Packets(packets) => json!({ "packets": packets }),
        Amount::Bytes(bytes) => json!({ "bytes": bytes }),
    }
}

/// Rounded to a whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative; casts from floats saturate"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

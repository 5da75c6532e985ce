//! Main loop: passes received frames to the fabric, and due frames to the kernel.

use super::clock::{Clock, monotonic_ns, thread_cpu_ns, timespec};
use super::device::{Device, GroDisabled};
use super::error::Error;
use super::ring::{Received, Ring};
use super::send::{BATCH, Sender};
use super::statistics::Statistics;
use super::sys;
use crate::config::Config;
use crate::fabric::{Fabric, Outgoing};
use crate::headers::{complete_checksum, tag};
use crate::report::{InterfaceReport, Lateness, Report};
use duetime_core::{Span, Time};
use hdrhistogram::Histogram;
use rustc_hash::FxHashMap;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::thread::{current_timer_slack, set_current_timer_slack};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of frames to read before due frames are sent.
const READ_AT_ONCE: usize = 512;
/// Longest sleep, and thus the longest delay until the loop notices that it must stop.
const LONGEST_SLEEP: Span = Span::from_ms(50);
/// Interval between published reports.
const PUBLISH_EVERY: Span = Span::from_ms(200);

/// Maximum recorded lateness, in nanoseconds.
const LATEST_NS: u64 = 60_000_000_000;

/// Software switch on real interfaces.
#[derive(Debug)]
pub struct Switch {
    fabric: Fabric,
    clock: Clock,
    ring: Ring,
    sender: Sender,
    names: Vec<String>,
    /// Interface index by the kernel's device index.
    interface_of: FxHashMap<u32, usize>,
    /// True to request the real-time scheduler.
    wants_real_time: bool,
    /// True if the thread uses, or used in its last run, the real-time scheduler.
    real_time: bool,
    /// Buffer for frames that are modified after reception.
    scratch: Vec<u8>,
    outgoing: Vec<Outgoing>,
    statistics: Arc<Statistics>,
    lateness: Histogram<u64>,
    /// Delays of frames that were read after later events, in nanoseconds.
    behind: Histogram<u64>,
    buffers_max: u64,
    cpu_ns: u64,
    _gro: GroDisabled,
}

impl Switch {
    /// Opens the interfaces, which must be devices in the calling thread's network namespace, and starts receiving. The
    /// devices are promiscuous and without GRO until the switch is dropped.
    pub fn open(config: &Config) -> Result<Self, Error> {
        config.check()?;
        let socket =
            sys::packet_socket().map_err(|why| Error::of("opening a packet socket", why))?;
        let devices = config
            .interfaces
            .iter()
            .map(|interface| Device::find(socket.as_fd(), &interface.name))
            .collect::<Result<Vec<_>, _>>()?;
        let gro = GroDisabled::new(socket, &devices);
        let longest = devices.iter().map(Device::longest_frame).max().unwrap_or(0);
        let fabric = Fabric::new(config, longest)?;
        let sender = Sender::open(&devices)?;
        let ring = Ring::open(&devices)?;
        let numbers = devices.iter().map(|device| device.number);
        Ok(Self {
            fabric,
            clock: Clock::new(),
            ring,
            sender,
            interface_of: numbers.zip(0..).collect(),
            names: devices.into_iter().map(|device| device.name).collect(),
            wants_real_time: config.options.real_time,
            real_time: false,
            scratch: Vec::new(),
            outgoing: Vec::with_capacity(BATCH),
            statistics: Arc::default(),
            lateness: Histogram::new_with_bounds(1, LATEST_NS, 3).expect("valid bounds"),
            behind: Histogram::new_with_bounds(1, LATEST_NS, 3).expect("valid bounds"),
            buffers_max: 0,
            cpu_ns: 0,
            _gro: gro,
        })
    }

    /// Returns counters for other threads.
    pub fn statistics(&self) -> Arc<Statistics> {
        Arc::clone(&self.statistics)
    }

    /// Forwards until `stop` is set, and returns the counters since the switch was opened. Can be called repeatedly.
    pub fn run(&mut self, stop: &AtomicBool) -> Result<Report, Error> {
        let precise = Precise::new(self.wants_real_time)?;
        self.real_time = precise.real_time;
        let cpu_before = (self.cpu_ns, thread_cpu_ns());
        let mut publish = Time::ZERO;
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if now >= publish {
                self.cpu_ns = cpu_before.0 + thread_cpu_ns() - cpu_before.1;
                self.clock.compare();
                let report = self.report()?;
                self.statistics.publish(report);
                publish = now + PUBLISH_EVERY;
            }
            let horizon = self.read(now);
            self.buffers_max = self.buffers_max.max(self.fabric.buffers_in_use() as u64);
            if !self.send_due(horizon)? {
                self.wait(publish)?;
            }
        }
        self.cpu_ns = cpu_before.0 + thread_cpu_ns() - cpu_before.1;
        let report = self.report()?;
        self.statistics.publish(report.clone());
        Ok(Report {
            series: self.fabric.series(),
            ..report
        })
    }

    /// Passes received frames to the fabric. Returns the time up to which all frames have been read.
    fn read(&mut self, now: Time) -> Time {
        let Self {
            fabric,
            clock,
            ring,
            interface_of,
            scratch,
            behind,
            ..
        } = self;
        let mut last = now;
        for _ in 0..READ_AT_ONCE {
            let take = |received: Received<'_>| {
                let Some(&interface) = interface_of.get(&received.device) else {
                    return;
                };
                // A timestamp in the future was taken before the clock was set back.
                last = clock.of_stamp(received.stamp_ns).min(now.max(clock.now()));
                let late = fabric.clock().since(last);
                if late > Span::ZERO {
                    behind.saturating_record(late.as_ns());
                }
                offer(fabric, last, interface, received, scratch);
            };
            if !ring.receive(take) {
                return now;
            }
        }
        last
    }

    /// Sends the frames due by `horizon`. Returns false if there were none.
    fn send_due(&mut self, horizon: Time) -> Result<bool, Error> {
        let mut any = false;
        loop {
            let mut outgoing = std::mem::take(&mut self.outgoing);
            while outgoing.len() < BATCH
                && let Some(frame) = self.fabric.poll_transmit(horizon)
            {
                outgoing.push(frame);
            }
            if outgoing.is_empty() {
                self.outgoing = outgoing;
                return Ok(any);
            }
            any = true;
            let sent = self.sender.send(&mut self.fabric, &outgoing);
            let after = self.clock.now();
            for frame in outgoing.drain(..) {
                self.lateness
                    .saturating_record(after.since(frame.due).as_ns());
                self.fabric.release(frame);
            }
            self.outgoing = outgoing;
            sent.map_err(|interface| Error::Gone {
                name: self.names[interface].clone(),
            })?;
        }
    }

    /// Sleeps until a frame is due or received, at most until `publish`.
    fn wait(&self, publish: Time) -> Result<(), Error> {
        let now = self.clock.now();
        let until = self.fabric.next_timeout().min(publish);
        let sleep = until.since(now).min(LONGEST_SLEEP);
        if sleep == Span::ZERO {
            return Ok(());
        }
        let mut sockets = [PollFd::new(&self.ring, PollFlags::IN)];
        match poll(&mut sockets, Some(&timespec(sleep))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(why) => Err(Error::of("waiting for frames", why)),
        }
    }

    fn report(&mut self) -> Result<Report, Error> {
        Ok(Report {
            opened_monotonic_ns: self.clock.opened_ns(),
            wall_ns: monotonic_ns() - self.clock.opened_ns(),
            real_time: self.real_time,
            cpu_ns: self.cpu_ns,
            kernel_drops: self.ring.dropped()?,
            behind_packets: self.behind.len(),
            behind_max_ns: self.behind.max(),
            behind_p99_ns: exceeded_by_one_in_100(&self.behind, self.fabric.interfaces()),
            buffers_max: self.buffers_max,
            lateness: Lateness::of(&self.lateness),
            interfaces: self.fabric.interfaces().to_vec(),
            ports: self.fabric.ports(),
            series: Vec::new(),
        })
    }
}

/// Returns the delay that 1 % of all received frames exceeded, or 0 if fewer were delayed.
fn exceeded_by_one_in_100(behind: &Histogram<u64>, interfaces: &[InterfaceReport]) -> u64 {
    let received: u64 = interfaces
        .iter()
        .map(|interface| interface.received_packets)
        .sum();
    let (all, above) = (behind.len(), received / 100);
    if all <= above {
        return 0;
    }
    behind.value_at_quantile((all - above) as f64 / all as f64)
}

/// Offers a received frame to the fabric, after reinserting its VLAN tag and completing its checksum. A frame that did
/// not fit into the ring exceeds the fabric's maximum too.
fn offer(
    fabric: &mut Fabric,
    at: Time,
    interface: usize,
    received: Received<'_>,
    scratch: &mut Vec<u8>,
) {
    let whole = received.length == received.bytes.len();
    if whole && received.vlan.is_none() && !received.checksum_unfinished {
        // Errors are counted in the reports.
        let _ = fabric.offer(at, interface, received.bytes);
        return;
    }
    scratch.clear();
    scratch.extend_from_slice(received.bytes);
    if let Some(vlan) = received.vlan {
        tag(scratch, vlan);
    }
    scratch.resize(scratch.len().max(received.length), 0);
    if whole && received.checksum_unfinished && complete_checksum(scratch) {
        fabric.count_completed(interface);
    }
    let _ = fabric.offer(at, interface, scratch);
}

/// Gives this thread precise timers and, if possible, the real-time scheduler until dropped.
struct Precise {
    slack_ns: Option<NonZeroU64>,
    real_time: bool,
}

impl Precise {
    fn new(wants_real_time: bool) -> Result<Self, Error> {
        let slack_ns = current_timer_slack().ok().and_then(NonZeroU64::new);
        set_current_timer_slack(NonZeroU64::new(1))
            .map_err(|why| Error::of("setting the timer slack", why))?;
        Ok(Self {
            slack_ns,
            // Failure is not an error: real-time scheduling only reduces lateness, and the report includes both.
            real_time: wants_real_time && sys::real_time(1).is_ok(),
        })
    }
}

impl Drop for Precise {
    fn drop(&mut self) {
        // Errors are ignored: the settings affect only this thread's timing.
        let _ = set_current_timer_slack(self.slack_ns);
        if self.real_time {
            let _ = sys::real_time(0);
        }
    }
}

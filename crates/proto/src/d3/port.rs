//! Driver of one outgoing interface: schedules capacity adaptation and collects its inputs (D3 §4.4).

use super::{Allocator, Config, Flags, HopAnswer, HopRequest, Outcome, QueueSample, Request};
use duetime_core::{Rate, Span, Time};

/// An [`Allocator`] with its update schedule: the phase of the updates, the queue samples between them, and the bytes
/// sent since the last one.
///
/// The owner of the port calls [`sample`](Self::sample) for each packet that arrives at the port, unless
/// [`needs_sample`](Self::needs_sample) is false; [`process`](Self::process) or [`answer`](Self::answer) for each
/// packet with a request; and [`timeout`](Self::timeout) at [`next_timeout`](Self::next_timeout), which may change with
/// each of these calls. An idle driver needs no timeouts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PortDriver {
    allocator: Allocator,
    /// Time of the next update; `Time::MAX` while the allocator is idle.
    due: Time,
    /// Offset of updates from multiples of the update interval.
    phase: Span,
    /// Last reading of `departed_bytes`; `None` when an idle port is woken.
    departed: Option<u64>,
    /// Minimum queue since the last update.
    min_queue: u64,
}

/// State of a port at an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Bytes that have left the port since its creation, including headers.
    pub departed_bytes: u64,
    /// Bytes queued now, including the packet in service with
    /// [`queue_in_service`](super::RouterVariant::queue_in_service). For an interface whose packets wait in the senders
    /// instead of a queue: the sum of [`Sender::overdue`](super::Sender::overdue).
    pub queue_bytes: u64,
}

impl PortDriver {
    /// Creates an idle driver for an interface of the given rate. Updates are due at `phase` and then once per update
    /// interval; different phases keep ports from adapting all at once.
    pub fn new(config: &Config, rate: Rate, phase: Span) -> Self {
        Self {
            allocator: Allocator::new(config, rate),
            due: Time::MAX,
            phase: Span::from_ps(phase.as_ps() % config.interval().as_ps()),
            departed: None,
            min_queue: u64::MAX,
        }
    }

    /// Answers the request of a packet that leaves through this interface (see [`Allocator::process`]).
    #[inline]
    pub fn process(
        &mut self,
        config: &Config,
        now: Time,
        flags: Flags,
        request: &mut Request,
    ) -> Outcome {
        self.wake(config, now);
        self.allocator.process(config, flags, request)
    }

    /// Answers a parsed request to this interface (see [`Allocator::answer`]).
    #[inline(always)]
    pub fn answer(&mut self, config: &Config, now: Time, hop_request: &HopRequest) -> HopAnswer {
        self.wake(config, now);
        self.allocator.answer(config, hop_request)
    }

    /// Answers the request of a packet like [`Allocator::offer`], without changing the state of the interface.
    pub(super) fn offer(
        &self,
        config: &Config,
        flags: Flags,
        request: &mut Request,
        offered: i64,
    ) -> Outcome {
        answer_at_hop(flags, request, |hop_request| {
            self.allocator.offer(config, hop_request, offered)
        })
    }

    /// Answers the request of a packet like [`Allocator::admit`].
    pub(super) fn admit(
        &mut self,
        config: &Config,
        now: Time,
        flags: Flags,
        request: &mut Request,
    ) -> Outcome {
        answer_at_hop(flags, request, |hop_request| {
            self.wake(config, now);
            self.allocator.admit(config, hop_request)
        })
    }

    #[inline]
    fn wake(&mut self, config: &Config, now: Time) {
        if self.due == Time::MAX {
            self.due = self.update_after(config, now);
        }
    }

    /// Returns true if [`sample`](Self::sample) can still affect the next update.
    #[inline]
    pub fn needs_sample(&self, config: &Config) -> bool {
        self.has_queued() && config.router.variant.queue_sample == QueueSample::Smallest
    }

    /// Returns false if [`needs_sample`](Self::needs_sample) is false under any options: the minimum is already zero.
    #[inline(always)]
    pub const fn has_queued(&self) -> bool {
        self.min_queue > 0
    }

    /// Records the queue found by an arriving packet, counted as in [`Reading::queue_bytes`]. Without samples, an
    /// update uses the queue at its own time.
    #[inline]
    pub fn sample(&mut self, queue_bytes: u64) {
        self.min_queue = self.min_queue.min(queue_bytes);
    }

    /// Returns the time at which to call [`timeout`](Self::timeout), or [`Time::MAX`] for never.
    #[inline]
    pub const fn next_timeout(&self) -> Time {
        self.due
    }

    /// Runs capacity adaptation (D3 §4.4). No effect before [`next_timeout`](Self::next_timeout). A late call performs
    /// one update for all missed ones, with the mean bytes per interval.
    pub fn timeout(&mut self, config: &Config, now: Time, reading: Reading) {
        if now < self.due {
            return;
        }
        let queue = match config.router.variant.queue_sample {
            QueueSample::Smallest => self.min_queue.min(reading.queue_bytes),
            QueueSample::Instant => reading.queue_bytes,
        };
        self.min_queue = u64::MAX;
        if let Some(before) = self.departed.replace(reading.departed_bytes) {
            let intervals = 1 + now.since(self.due).as_ps() / config.interval().as_ps();
            let sent = reading.departed_bytes.saturating_sub(before) / intervals;
            self.allocator.tick(config, sent, queue);
        }
        if self.allocator.is_idle() {
            self.due = Time::MAX;
            self.departed = None;
        } else {
            self.due = self.update_after(config, now);
        }
    }

    /// Returns the allocator.
    #[inline]
    pub const fn allocator(&self) -> &Allocator {
        &self.allocator
    }

    /// Returns the time of the first update after `now`.
    fn update_after(&self, config: &Config, now: Time) -> Time {
        let interval = config.interval().as_ps();
        let past = (now.as_ps() % interval + interval - self.phase.as_ps()) % interval;
        now + Span::from_ps(interval - past)
    }
}

/// Answers the request, if it has a free slot for this hop.
fn answer_at_hop(
    flags: Flags,
    request: &mut Request,
    answer: impl FnOnce(&HopRequest) -> HopAnswer,
) -> Outcome {
    let Some(hop_request) = request.at_hop(flags) else {
        return Outcome::default();
    };
    let answer = answer(&hop_request);
    request.answer(answer);
    answer.outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::d3::EncodedRate;

    const INTERVAL: Span = Span::from_us(800);
    const PHASE: Span = Span::from_us(300);

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn reading(departed_bytes: u64, queue_bytes: u64) -> Reading {
        Reading {
            departed_bytes,
            queue_bytes,
        }
    }

    /// Returns a gigabit port that a flow of 10 B/us has woken at 100 us.
    fn awake(config: &Config) -> PortDriver {
        let mut port = PortDriver::new(config, Rate::from_gbps(1), INTERVAL * 7 + PHASE);
        assert_eq!(port.next_timeout(), Time::MAX);
        let mut request = Request {
            desired: EncodedRate::from_byte(10),
            ..Request::default()
        };
        port.process(config, at(100), Flags::SYN, &mut request);
        port
    }

    fn capacity(port: &PortDriver) -> u64 {
        port.allocator().capacity()
    }

    #[test]
    fn updates_keep_phase_and_first_only_reads() {
        let config = Config::default();
        let mut port = awake(&config);
        assert_eq!(port.next_timeout(), at(300));
        port.timeout(&config, at(299), reading(1, 1_000_000));
        assert_eq!(port.next_timeout(), at(300), "too early");
        port.timeout(&config, at(300), reading(5_000_000, 0));
        assert_eq!(
            (port.next_timeout(), capacity(&port)),
            (at(1_100), 125 * 256)
        );
        // 100000 B in 800 us are the whole link: C does not change.
        port.timeout(&config, at(1_100), reading(5_100_000, 0));
        assert_eq!(
            (port.next_timeout(), capacity(&port)),
            (at(1_900), 125 * 256)
        );
        port.timeout(&config, at(1_900), reading(5_120_000, 0));
        assert!(capacity(&port) > 125 * 256, "a fifth was used");
    }

    #[test]
    fn late_update_covers_missed_ones() {
        let config = Config::default();
        let (mut late, mut mean) = (awake(&config), awake(&config));
        for port in [&mut late, &mut mean] {
            port.timeout(&config, at(300), reading(0, 0));
        }
        late.timeout(&config, at(2_750), reading(150_000, 700));
        mean.timeout(&config, at(1_100), reading(50_000, 700));
        assert_eq!(late.next_timeout(), at(3_500));
        assert_eq!(capacity(&late), capacity(&mean));
    }

    #[test]
    fn uses_minimum_queue_since_last_update() {
        let full = |sample, samples: &[u64]| {
            let config = Config::default().with(|c| c.router.variant.queue_sample = sample);
            let mut port = awake(&config);
            port.sample(0);
            assert!(!port.needs_sample(&config), "zero is the minimum");
            port.timeout(&config, at(300), reading(0, 9_000));
            assert_eq!(port.needs_sample(&config), sample == QueueSample::Smallest);
            for &queue in samples {
                port.sample(queue);
            }
            port.timeout(&config, at(1_100), reading(100_000, 9_000));
            // β = 1: C falls by q / T.
            125 - capacity(&port).div_ceil(256)
        };
        assert_eq!(full(QueueSample::Smallest, &[]), 11);
        assert_eq!(full(QueueSample::Smallest, &[4_000, 2_000, 8_000]), 2);
        assert_eq!(full(QueueSample::Instant, &[4_000, 2_000, 8_000]), 11);
    }

    #[test]
    fn idle_port_needs_no_timeout() {
        let config = Config::default();
        let mut port = awake(&config);
        let mut updates = 0;
        while port.next_timeout() != Time::MAX {
            port.timeout(&config, port.next_timeout(), reading(0, 0));
            updates += 1;
        }
        assert!((5..40).contains(&updates), "{updates}");
        port.timeout(&config, at(90_000_000), reading(7, 7));
        assert_eq!(port.next_timeout(), Time::MAX);
        port.process(&config, at(100_000), Flags::SYN, &mut Request::default());
        assert_eq!(port.next_timeout(), at(100_300));
        // Bytes sent while idle belong to no interval.
        port.timeout(&config, at(100_300), reading(u64::MAX / 2, 0));
        assert_eq!(capacity(&port), 125 * 256);
    }
}

//! Sender and receiver of one DCTCP flow without loss. With one acknowledgement per packet, counters replace sequence
//! ranges.

use crate::network::Kind;

/// Weight of a window's marked fraction in α: 1/16.
const GAIN_SHIFT: u32 = 4;
/// Fixed-point representation of α = 1.
const ONE: u32 = 1 << 20;
const INITIAL_WINDOW: u32 = 10;
const MIN_WINDOW: u32 = 2;

/// Sender and receiver of a flow.
#[derive(Debug)]
pub(crate) struct Flow {
    packets: u32,
    sent: u32,
    acked: u32,
    delivered: u32,
    window: u32,
    threshold: u32,
    /// Acknowledgements since the window last grew in congestion avoidance.
    growth: u32,
    /// Sequence whose acknowledgement ends the observation window, followed by the counts of that window.
    window_end: u32,
    seen: u32,
    marked: u32,
    /// Estimate of the marked fraction, in units of 1/`ONE`.
    alpha: u32,
}

impl Flow {
    pub(crate) fn new(packets: u32) -> Self {
        Self {
            packets,
            sent: 0,
            acked: 0,
            delivered: 0,
            window: INITIAL_WINDOW,
            threshold: u32::MAX,
            growth: 0,
            window_end: 0,
            seen: 0,
            marked: 0,
            alpha: ONE,
        }
    }

    pub(crate) fn can_send(&self) -> bool {
        self.sent < self.packets && self.sent - self.acked < self.window
    }

    /// Returns the sequence, counted from 0, and the kind of the next packet.
    pub(crate) fn next_packet(&mut self) -> (u32, Kind) {
        let sequence = self.sent;
        self.sent += 1;
        (
            sequence,
            if self.sent == self.packets {
                Kind::Last
            } else {
                Kind::Full
            },
        )
    }

    /// Returns true if all packets were acknowledged.
    pub(crate) fn is_complete(&self) -> bool {
        self.acked == self.packets
    }

    /// Counts a data packet at the receiver. Returns true if it was the last.
    pub(crate) fn delivered(&mut self) -> bool {
        self.delivered += 1;
        self.delivered == self.packets
    }

    /// Processes the acknowledgement of packet `sequence` at the sender, with the echoed mark.
    pub(crate) fn acknowledged(&mut self, sequence: u32, marked: bool) {
        self.acked = sequence + 1;
        self.seen += 1;
        self.marked += u32::from(marked);
        if self.acked > self.window_end {
            let fraction = (u64::from(self.marked) * u64::from(ONE) / u64::from(self.seen)) as u32;
            self.alpha = self.alpha - (self.alpha >> GAIN_SHIFT) + (fraction >> GAIN_SHIFT);
            if self.marked > 0 {
                let cut =
                    (u64::from(self.window) * u64::from(self.alpha) / u64::from(2 * ONE)) as u32;
                self.window = (self.window - cut).max(MIN_WINDOW);
                self.threshold = self.window;
            }
            self.window_end = self.sent;
            self.seen = 0;
            self.marked = 0;
        }
        if marked {
            // The window does not grow on an echoed mark.
        } else if self.window < self.threshold {
            self.window += 1;
        } else {
            self.growth += 1;
            if self.growth >= self.window {
                self.growth = 0;
                self.window += 1;
            }
        }
    }
}

//! Both ends of one DCTCP flow, without loss: one acknowledgement per packet, so counting replaces sequence ranges.

use crate::network::Kind;

/// The weight of a window's marked fraction in α: 1/16.
const GAIN_SHIFT: u32 = 4;
/// 1.0 of α.
const ONE: u32 = 1 << 20;
const INITIAL_WINDOW: u32 = 10;
const SMALLEST_WINDOW: u32 = 2;

/// A flow, sender and receiver.
#[derive(Debug)]
pub(crate) struct Flow {
    /// When it starts, in picoseconds.
    pub(crate) start: u64,
    packets: u32,
    sent: u32,
    acked: u32,
    delivered: u32,
    window: u32,
    threshold: u32,
    /// Acknowledgements since the window last grew in congestion avoidance.
    growth: u32,
    /// The sequence whose acknowledgement ends the observation window, and what was seen in it.
    window_end: u32,
    seen: u32,
    marked: u32,
    /// The estimate of the marked fraction, in units of 1/`ONE`.
    alpha: u32,
}

impl Flow {
    pub(crate) fn new(start: u64, packets: u32) -> Self {
        Self {
            start,
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

    /// The next packet's sequence, counted from 0, and kind.
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

    /// A data packet reached the receiver; true if it was the last.
    pub(crate) fn delivered(&mut self) -> bool {
        self.delivered += 1;
        self.delivered == self.packets
    }

    /// An acknowledgement of the packet `sequence`, with the receiver's echo of its mark, reached the sender.
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
                self.window = (self.window - cut).max(SMALLEST_WINDOW);
                self.threshold = self.window;
            }
            self.window_end = self.sent;
            self.seen = 0;
            self.marked = 0;
        }
        if marked {
            // A window that was told of congestion does not grow.
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

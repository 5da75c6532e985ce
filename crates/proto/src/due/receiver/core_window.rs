//! Window of a message against congestion in the core, at the receiver: that of DCTCP (SIGCOMM 2010, §3.1) with a third of
//! its reductions.

/// Gain of the average of marks: 1/4 per window.
const GAIN: u64 = 4;
/// The window shrinks by alpha divided by this, and DCTCP's by alpha/2.
const CUT: u64 = 6;
/// One packet, in units of the window.
const PACKET: u64 = 256;
/// The share 1, in units of alpha.
const ONE: u64 = 1_024;

/// Window of a message in packets, which marks reduce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CoreWindow {
    /// In 1/256 packets.
    window: u64,
    arrived: u64,
    marked: u64,
    /// Average share of marked packets, in 1/1024.
    alpha: u64,
}

impl CoreWindow {
    /// Creates a window of `packets`.
    pub const fn new(packets: u64) -> Self {
        Self {
            window: packets * PACKET,
            arrived: 0,
            marked: 0,
            alpha: 0,
        }
    }

    /// Returns the window in packets, at least 1.
    pub const fn packets(&self) -> u64 {
        self.window / PACKET
    }

    /// Counts a packet. After each window of packets, the window shrinks by alpha/6 if any was marked and grows by one
    /// packet otherwise, up to `max_packets`.
    #[inline]
    pub fn count(&mut self, is_marked: bool, max_packets: u64) {
        self.arrived += 1;
        self.marked += u64::from(is_marked);
        if self.arrived * PACKET < self.window {
            return;
        }
        let share = self.marked * ONE / self.arrived;
        self.alpha = ((GAIN - 1) * self.alpha + share) / GAIN;
        if self.marked > 0 {
            self.window -= self.window * self.alpha / (CUT * ONE);
        } else {
            self.window += PACKET;
        }
        self.window = self.window.clamp(PACKET, max_packets.max(1) * PACKET);
        (self.arrived, self.marked) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_shrink_the_window_and_silence_restores_it() {
        let mut window = CoreWindow::new(16);
        for _ in 0..16 * 20 {
            window.count(true, 16);
        }
        assert_eq!(window.packets(), 1);
        for _ in 0..16 * 20 {
            window.count(false, 16);
        }
        assert_eq!(window.packets(), 16);
    }
}

//! Limits of the credit of one sender: one that follows the sender's marks, one that follows the network's.

/// One, in the unit of `alpha`.
const ONE: u64 = 1_000_000;
/// Gain of the share of marked packets: 0.08.
const GAIN: (u64, u64) = (8, 100);
/// Reductions are at least this many buckets of packets apart: 1.5.
const REDUCTION_INTERVAL: (u64, u64) = (3, 2);
/// Minimum of the bucket that follows the sender's marks, in thousandths of the maximum.
const SENDER_FLOOR_PERMILLE: u64 = 100;
/// Minimum of the bucket that follows the network's marks, in thousandths of the maximum.
const NETWORK_FLOOR_PERMILLE: u64 = 30;

/// Both buckets of a sender.
#[derive(Debug)]
pub(super) struct Buckets {
    sender: Bucket,
    network: Bucket,
}

impl Buckets {
    /// Creates full buckets of `max` bytes for packets of `packet` bytes.
    pub fn new(max: u64, packet: u64) -> Self {
        Self {
            sender: Bucket::new(max, max / 1_000 * SENDER_FLOOR_PERMILLE, packet),
            network: Bucket::new(max, max / 1_000 * NETWORK_FLOOR_PERMILLE, packet),
        }
    }

    /// Returns the smaller bucket, which limits the credit of the sender, in bytes.
    #[inline]
    pub fn limit(&self) -> u64 {
        self.sender.bytes.min(self.network.bytes)
    }

    /// Records a data packet, with the marks of its sender and of the network.
    #[inline]
    pub fn record(&mut self, is_sender_congested: bool, is_marked: bool) {
        let limit = self.limit();
        self.sender.record(is_sender_congested, limit);
        self.network.record(is_marked, limit);
    }
}

/// Bucket that grows and shrinks like a DCTCP window.
#[derive(Debug)]
struct Bucket {
    bytes: u64,
    min: u64,
    max: u64,
    packet: u64,
    /// Average share of marked packets, in millionths.
    alpha: u64,
    /// Packets and marked packets since the last update of `alpha`.
    packets: u64,
    marked: u64,
    /// Number of packets after which `alpha` is updated.
    window: u64,
    /// Packets since the last reduction.
    unreduced: u64,
    /// Number of packets before the next reduction.
    min_unreduced: u64,
}

impl Bucket {
    /// Creates a full bucket. Like a DCTCP window, the bucket is never smaller than one packet.
    fn new(max: u64, min: u64, packet: u64) -> Self {
        let packet = packet.max(1);
        let max = max.max(packet);
        Self {
            bytes: max,
            min: min.max(packet),
            max,
            packet,
            alpha: 0,
            packets: 0,
            marked: 0,
            window: 1,
            unreduced: 0,
            min_unreduced: max / packet,
        }
    }

    /// Records a packet of a sender whose credit is limited to `limit` bytes.
    #[inline]
    fn record(&mut self, is_marked: bool, limit: u64) {
        self.packets += 1;
        self.marked += u64::from(is_marked);
        self.unreduced += 1;
        let limit_packets = limit / self.packet;
        if self.packets >= self.window {
            let share = self.marked * ONE / self.packets;
            self.alpha = (self.alpha * (GAIN.1 - GAIN.0) + share * GAIN.0) / GAIN.1;
            (self.packets, self.marked) = (0, 0);
            self.window = limit_packets.max(1);
        }
        if !is_marked {
            let growth = self.packet.saturating_mul(self.packet) / limit.max(1);
            self.bytes = self.bytes.saturating_add(growth).min(self.max);
        } else if self.unreduced >= self.min_unreduced {
            let part = u128::from(self.bytes) * u128::from(self.alpha) / u128::from(2 * ONE);
            self.bytes = (self.bytes - part as u64).max(self.min);
            self.unreduced = 0;
            self.min_unreduced = limit_packets * REDUCTION_INTERVAL.0 / REDUCTION_INTERVAL.1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: u64 = 100_000;
    const PACKET: u64 = 1_500;

    fn full() -> Buckets {
        Buckets::new(MAX, PACKET)
    }

    fn record(buckets: &mut Buckets, packets: usize, marks: (bool, bool)) {
        for _ in 0..packets {
            buckets.record(marks.0, marks.1);
        }
    }

    #[test]
    fn reductions_by_hand() {
        // A bucket has 100,000 / 1,500 = 66 packets. Packet 1 updates alpha: 0.08 × 1. The first reduction comes with
        // packet 66: 100,000 × 0.08 / 2 = 4,000.
        let mut buckets = full();
        record(&mut buckets, 65, (true, false));
        assert_eq!(buckets.limit(), 100_000);
        record(&mut buckets, 1, (true, false));
        assert_eq!(buckets.limit(), 96_000);
        // Packet 67 updates alpha: 0.92 × 0.08 + 0.08 = 0.1536; the next 64 packets later: 0.221312. The limit was 100,000
        // at the reduction, so the next comes 1.5 × 66 = 99 packets later: 96,000 × 0.221312 / 2 = 10,622.976.
        record(&mut buckets, 98, (true, false));
        assert_eq!(buckets.limit(), 96_000);
        record(&mut buckets, 1, (true, false));
        assert_eq!(buckets.limit(), 96_000 - 10_622);
        // 1,500² / 85,378 = 26.35.
        record(&mut buckets, 2, (false, false));
        assert_eq!(buckets.limit(), 85_378 + 26 + 26);
    }

    #[test]
    fn one_mark_in_a_bucket_reduces_little() {
        // Packet 1 updates alpha to 0 and packet 67 to 0.08 / 66 = 0.001212, because the mark is the only one of 66
        // packets. The mark comes with packet 67, before which the bucket was full, so no growth is lost.
        let mut buckets = full();
        record(&mut buckets, 66, (false, false));
        record(&mut buckets, 1, (false, true));
        assert_eq!(buckets.limit(), 100_000 - 60);
    }

    #[test]
    fn floors_are_a_tenth_and_three_hundredths() {
        let mut buckets = full();
        record(&mut buckets, 5_000, (true, false));
        assert_eq!(buckets.limit(), 10_000);
        let mut buckets = full();
        record(&mut buckets, 5_000, (false, true));
        assert_eq!(buckets.limit(), 3_000);
        // Three hundredths of eight packets are less than a packet.
        let mut buckets = Buckets::new(8 * PACKET, PACKET);
        record(&mut buckets, 5_000, (false, true));
        assert_eq!(buckets.limit(), PACKET);
    }

    #[test]
    fn smaller_bucket_is_the_limit() {
        let mut buckets = full();
        record(&mut buckets, 1_000, (true, true));
        let both = buckets.limit();
        assert_eq!(buckets.sender.bytes, 10_000);
        assert_eq!(both, buckets.network.bytes);
        // The network's bucket recovers to the sender's; then the sender's is the smaller one.
        record(&mut buckets, 1_000, (true, false));
        assert_eq!((buckets.limit(), buckets.network.bytes), (10_000, MAX));
    }

    #[test]
    fn recovery_takes_a_packet_per_bucket() {
        let mut buckets = full();
        record(&mut buckets, 5_000, (false, true));
        // 3,000 + 750 + 600 (2,250,000 / 3,750) + 517 (/ 4,350) = 4,867.
        record(&mut buckets, 3, (false, false));
        assert_eq!(buckets.limit(), 4_867);
        record(&mut buckets, 5_000, (false, false));
        assert_eq!(buckets.limit(), MAX);
    }
}

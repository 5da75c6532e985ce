//! Packets that arrive at a switch within a window, in order of time.

use crate::ring::Ring;

/// Packet on a link: 24 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// Arrival time at the far end of the current link, in picoseconds.
    pub(crate) arrival: u64,
    pub(crate) flow: u32,
    pub(crate) sequence: u32,
    /// Ports of the switches that the packet has not reached, see [`crate::fat_tree::FatTree::path`].
    pub(crate) path: u32,
    /// Size with headers.
    pub(crate) bytes: u16,
    pub(crate) is_ack: bool,
    pub(crate) marked: bool,
}

impl Packet {
    /// Packet in unused space.
    pub(crate) const NONE: Self = Self {
        arrival: 0,
        flow: 0,
        sequence: 0,
        path: 0,
        bytes: 0,
        is_ack: false,
        marked: false,
    };
}

/// Packets of one window of a switch.
#[derive(Debug, Default)]
pub(crate) struct Window {
    packets: Vec<Packet>,
    /// Keys of the packets in order: the time since the window's begin in the high half, and the index.
    order: Vec<u64>,
    /// Number of packets by interval of time, while sorting.
    counts: Vec<u32>,
}

impl Window {
    /// Removes all packets.
    pub(crate) fn clear(&mut self) {
        self.packets.clear();
    }

    /// Moves the packets that arrive before `end` from a link to the window.
    #[inline]
    pub(crate) fn take(&mut self, ring: &mut Ring<Packet>, end: u64) {
        while let Some(packet) = ring.front()
            && packet.arrival < end
        {
            self.packets.push(*packet);
            ring.pop();
        }
    }

    /// Sorts the packets, which arrive from `begin` to before `end`: by about as many intervals as there are packets,
    /// and then by insertion. Packets that arrive together remain in the order in which they were taken.
    pub(crate) fn sort(&mut self, begin: u64, end: u64) {
        let Self {
            packets,
            order,
            counts,
        } = self;
        let intervals = packets.len().next_power_of_two();
        let bits = u64::BITS - (end - begin).leading_zeros();
        let shift = bits.saturating_sub(intervals.trailing_zeros());
        counts.clear();
        counts.resize(intervals, 0);
        for packet in &*packets {
            debug_assert!((begin..end).contains(&packet.arrival), "{packet:?}");
            counts[((packet.arrival - begin) >> shift) as usize] += 1;
        }
        let mut before = 0;
        for count in &mut *counts {
            before += std::mem::replace(count, before);
        }
        order.clear();
        order.resize(packets.len(), 0);
        for (index, packet) in packets.iter().enumerate() {
            let since = packet.arrival - begin;
            let place = &mut counts[(since >> shift) as usize];
            order[*place as usize] = since << 32 | index as u64;
            *place += 1;
        }
        for end in 1..order.len() {
            let key = order[end];
            let mut place = end;
            while place > 0 && order[place - 1] > key {
                order[place] = order[place - 1];
                place -= 1;
            }
            order[place] = key;
        }
    }

    /// Returns the packets in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Packet> {
        let packet = |key: &u64| &self.packets[*key as u32 as usize];
        self.order.iter().map(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn packets_of_several_links_are_sorted() {
        let (begin, end) = (7_000_000, 9_000_000);
        for count in [0, 1, 3, 100, 5_000] {
            for spread in [1, 200, end - begin] {
                let mut random = Random(count);
                let mut times: Vec<u64> =
                    (0..count).map(|_| begin + random.below(spread)).collect();
                let mut window = Window::default();
                for some in times.chunks_mut(100) {
                    some.sort_unstable();
                    let mut ring = Ring::new(4, Packet::NONE);
                    for &arrival in &[&*some, &[end]].concat() {
                        ring.push(Packet {
                            arrival,
                            ..Packet::NONE
                        });
                    }
                    window.take(&mut ring, end);
                    assert_eq!(ring.len(), 1, "a packet of the next window remains");
                }
                window.sort(begin, end);
                times.sort_unstable();
                assert!(window.iter().map(|packet| packet.arrival).eq(times));
            }
        }
    }
}

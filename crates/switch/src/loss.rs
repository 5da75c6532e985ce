//! Random packet loss on links.

use duetime_core::random::{Purpose, Stream, Streams};

/// Link that loses packets at random.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    probability: f64,
    stream: Stream,
    /// Lost packets.
    pub packets: u64,
    /// Lost bytes.
    pub bytes: u64,
}

impl Loss {
    /// Creates the loss of the link behind `port`, or `None` if its probability is zero.
    pub fn new(probability: f64, streams: Streams, port: usize) -> Option<Box<Self>> {
        (probability > 0.0).then(|| {
            Box::new(Self {
                probability,
                stream: streams.stream(port as u64, Purpose::Loss),
                packets: 0,
                bytes: 0,
            })
        })
    }

    /// Returns true if the link loses the packet.
    pub fn drops(&mut self, wire_bytes: u32) -> bool {
        let lost = self.stream.chance(self.probability);
        if lost {
            self.packets += 1;
            self.bytes += u64::from(wire_bytes);
        }
        lost
    }
}

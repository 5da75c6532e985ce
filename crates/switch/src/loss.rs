//! Links that lose packets at random.

use duetime_core::random::{Purpose, Stream, Streams};

/// A link that loses packets, and those it has lost.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    probability: f64,
    stream: Stream,
    /// Packets lost.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Loss {
    /// That of the link behind `port`, if it loses packets.
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

    /// Whether the link loses the packet that arrives.
    pub fn takes(&mut self, wire_bytes: u32) -> bool {
        let lost = self.stream.chance(self.probability);
        if lost {
            self.packets += 1;
            self.bytes += u64::from(wire_bytes);
        }
        lost
    }
}

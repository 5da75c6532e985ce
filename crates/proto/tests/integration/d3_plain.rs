//! Calls for packets without a request: each must equal the call for any packet.

use duetime_core::Time;
use duetime_proto::d3::{Config, Flags, Packet, Receiver, Sender};

/// Passes a packet to the receiver.
pub fn receive(receiver: &mut Receiver, packet: &Packet) {
    let mut twin = receiver.clone();
    let delivered = receiver.input(packet).bytes;
    if packet.request.is_none() && packet.flags == Flags::default() {
        assert_eq!(twin.input_plain(packet.seq, packet.len), delivered);
        assert_eq!(twin, *receiver);
    }
}

/// Passes a packet to the sender.
pub fn acknowledge(sender: &mut Sender, config: &Config, now: Time, packet: &Packet) {
    let mut twin = sender.clone();
    sender.input(config, now, packet);
    if packet.request.is_none() && packet.flags == Flags::ACK {
        twin.input_plain(config, now, packet.seq);
        assert_eq!(twin, *sender);
    }
}

/// Returns the sender's next packet.
pub fn poll_sender(sender: &mut Sender, config: &Config, now: Time) -> Option<Packet> {
    let mut twin = sender.clone();
    let plain = twin.poll_plain(config, now);
    if plain.is_none() {
        assert_eq!(twin, *sender);
    }
    let packet = sender.poll_transmit(config, now);
    if let Some((seq, len)) = plain {
        let expected = Packet {
            seq,
            len,
            ..Packet::default()
        };
        assert_eq!((packet, &twin), (Some(expected), &*sender));
    }
    packet
}

/// Returns the receiver's next packet.
pub fn poll_receiver(receiver: &mut Receiver, config: &Config) -> Option<Packet> {
    let mut twin = receiver.clone();
    let plain = twin.poll_plain();
    if plain.is_none() {
        assert_eq!(twin, *receiver);
    }
    let packet = receiver.poll_transmit(config);
    if let Some(seq) = plain {
        let expected = Packet {
            seq,
            flags: Flags::ACK,
            ..Packet::default()
        };
        assert_eq!((packet, &twin), (Some(expected), &*receiver));
    }
    packet
}

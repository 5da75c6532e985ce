//! Delays that the receiver measures, by the windows that follow from them.

use super::network::{RATE, at_us, plain};
use duetime_core::Span;
use duetime_proto::due::{Announcement, Body, Config, Control, Link, MessageId, Receiver};

/// Receiver whose windows and cap are two packets at the assumed round trip of five packet times.
struct Small {
    config: Config,
    receiver: Receiver<MessageId>,
}

impl Small {
    fn new() -> Self {
        let config = Config {
            window_permille: 400,
            overcommit_permille: 400,
            host_delay: Span::ZERO,
            ..Config::default()
        };
        let link = Link {
            rate: RATE,
            round_trip: Span::ZERO,
            framing_bytes: 0,
            classes: 1,
            keeps_order: true,
        };
        let receiver = Receiver::new(&config, &link);
        Self { config, receiver }
    }

    /// Delivers a packet of a message of `packets` and returns the replies.
    fn input(
        &mut self,
        at: u64,
        (source, message): (u32, u64),
        number: u64,
        packets: u64,
    ) -> Vec<(u64, Control)> {
        let id = MessageId {
            source,
            number: message,
        };
        let body = Body::Payload {
            number,
            is_retransmission: false,
            announced: packets,
            is_last: number + 1 == packets,
        };
        let announcement: Announcement = plain(packets * self.config.payload(), None);
        let described = || Some((announcement, id));
        self.receiver
            .input(&self.config, at_us(at), id, body, described, false);
        self.replies()
    }

    fn replies(&mut self) -> Vec<(u64, Control)> {
        let receiver = &mut self.receiver;
        let replies = std::iter::from_fn(|| receiver.poll_transmit());
        replies.map(|(id, control)| (id.number, control)).collect()
    }

    /// Calls the timers until a time and returns the replies.
    fn wait(&mut self, until: u64) -> Vec<(u64, Control)> {
        while self.receiver.next_timeout() <= at_us(until) {
            let now = self.receiver.next_timeout();
            self.receiver.timeout(&self.config, now);
        }
        self.replies()
    }

    /// Returns the window of a new message of a source.
    fn window(&mut self, at: u64, source: u32) -> u64 {
        let replies = self.input(at, (source, 99), 0, 50);
        match replies[..] {
            [(99, Control::Grant { up_to, arrived, .. })] => up_to - arrived,
            _ => panic!("{replies:?}"),
        }
    }
}

/// A message is written off while its packets are late. Packet 2 is granted again by a resend, packet 3 by a grant, and
/// the late packet 2 arrives at once. It is no answer to the grant of packet 3.
#[test]
fn a_withdrawn_packet_is_not_measured() {
    let mut small = Small::new();
    let grant = |up_to, arrived| Control::Grant {
        up_to,
        arrived,
        class: 0,
        is_background: true,
    };
    let resend = |from, to| Control::Resend { from, to };
    assert_eq!(small.input(60, (0, 1), 0, 4), [(1, grant(3, 1))]);
    assert_eq!(small.wait(840), [(1, resend(1, 3)), (1, resend(1, 2))]);
    assert_eq!(small.input(900, (1, 2), 0, 2), [(2, grant(2, 1))]);
    assert_eq!(small.input(960, (0, 1), 1, 4), [(1, resend(2, 3))]);
    let replies = small.input(960, (1, 2), 1, 2);
    assert_eq!(replies, [(2, Control::Done), (1, grant(4, 2))]);
    small.input(960, (0, 1), 2, 4);
    assert_eq!(small.input(1_020, (0, 1), 3, 4), [(1, Control::Done)]);
    assert_eq!(small.window(1_020, 0), 2);
}

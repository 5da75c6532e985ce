//! Rules that every state must obey.

use crate::case::Case;
use crate::world::{World, id};
use duetime_proto::due::{Announcement, Body, Control, MessageId, Receiver};

/// Source of the messages that test an idle receiver.
const PROBE_SOURCE: u32 = 1_000;
/// Number of packets of such a message.
const PROBE_PACKETS: u64 = 1_000;

/// Rule that a state breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A grant keeps the packets in flight of its message within the window.
    Window,
    /// A grant keeps the packets in flight of messages that respond within the cap.
    Cap,
    /// While fewer packets than the cap are in flight, each message that responds has as many as it can use. A message
    /// whose source is silent is passed over in time.
    Withheld,
    /// The background receives its share of the grants.
    Share,
    /// Messages that must be urgent are, and as many queries are kept as can be in time.
    Order,
    /// The receiver expects exactly the packets that are granted and have not arrived.
    Expectation,
    /// The receiver knows exactly the messages that are incomplete, and remembers exactly the finished ones.
    Memory,
    /// The receiver has a timer while it has messages.
    Timer,
    /// Missing packets are requested when a gap shows them or after the specified silence, and not before.
    Request,
    /// Done answers all packets, an abort and a repeated announcement of a finished message, and nothing else.
    Done,
    /// A new announcement is answered.
    Confirmation,
    /// A message is delivered once, when all of its packets have arrived.
    Delivery,
    /// A sender reports a message as complete only if it was delivered.
    Completion,
    /// Only a message that its sender does not have any more is forgotten, after 16 requests.
    Forget,
    /// At the end no state is left, each message of a live source is delivered or aborted, and the next messages
    /// receive all grants of the cap.
    End,
    /// The end comes.
    Progress,
}

impl World {
    /// Checks the rules about the end, when no packet is in flight and all timers are off.
    pub fn end(&self, case: &Case) -> Result<(), Rule> {
        let has_state =
            (0..case.messages.len()).any(|number| self.receiver.contains(id(case, number)));
        rule(!has_state && !self.receiver.can_transmit(), Rule::End)?;
        for (number, message) in self.messages.iter().enumerate() {
            let source = &self.sources[case.messages[number].source];
            let is_over = message.is_aborted || message.is_complete && message.was_delivered;
            let is_right = source.is_dead || is_over && source.sender.open().next().is_none();
            rule(is_right, Rule::End)?;
        }
        let granted = self.probe(case);
        let least = self.ledger.least(case.cap()).max(2);
        rule((least..=case.cap()).contains(&granted), Rule::End)
    }

    /// Announces long messages to the idle receiver and returns the number of packets that it grants.
    fn probe(&self, case: &Case) -> u64 {
        let mut receiver: Receiver<MessageId> = self.receiver.clone();
        let mut granted = 0;
        for number in 0..=case.cap() {
            let source = PROBE_SOURCE + number as u32;
            let id = MessageId { source, number };
            let announcement = Announcement {
                bytes: PROBE_PACKETS * case.config.payload(),
                deadline: None,
                query: None,
                is_request: false,
            };
            let body = Body::Payload {
                number: 0,
                is_retransmission: false,
                announced: PROBE_PACKETS,
                is_last: false,
            };
            let described = || Some((announcement, id));
            receiver.input(&case.config, self.now, id, body, described, false);
            if let Some(Control::Grant { up_to, .. }) = receiver.current_grant(id) {
                granted += up_to - 1;
            }
        }
        granted
    }
}

/// Returns an error if a rule does not apply.
pub fn rule(applies: bool, rule: Rule) -> Result<(), Rule> {
    applies.then_some(()).ok_or(rule)
}

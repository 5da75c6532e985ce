//! Interface of the port disciplines with their own queue.

use crate::packet::Packet;
use crate::setup::Setup;
use duetime_core::Time;
use duetime_link::{Offer, Port, Sent};
use duetime_scenario::Scenario;

/// A discipline with its own queue in front of the link; it may drop a packet other than the arriving one. The port's
/// statistics cover the packets sent and refused, but not the packets in this queue.
pub trait Queue: Sized {
    /// Creates the queue and the port of `link`, or returns `None` if the scenario does not use the discipline there.
    fn try_new(scenario: &Scenario, setup: &Setup, link: u32) -> Option<(Self, Port<Packet>)>;

    /// Offers a packet that arrives at the port at `now`. All dropped packets are added to `dropped`; if the result is
    /// [`Offer::Dropped`], the arriving packet is among them.
    fn offer(
        &mut self,
        port: &mut Port<Packet>,
        now: Time,
        packet: Packet,
        dropped: &mut Vec<Packet>,
    ) -> Offer;

    /// Sends the next packet. Called at the time that the last [`Offer::Queued`] or departure requested. Returns the
    /// packet sent and, if packets still wait, the time at which the link is free again.
    fn departure(&mut self, port: &mut Port<Packet>, now: Time) -> Option<(Sent, Option<Time>)>;

    /// Returns the queued packets.
    fn waiting(&self) -> impl Iterator<Item = Packet> + '_;
}

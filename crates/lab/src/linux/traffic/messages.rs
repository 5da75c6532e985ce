//! Messages of `due` on UDP.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use duetime_core::Time;
use duetime_proto::due::endpoint::{Endpoint, Event, Options, Outcome, Outgoing};
use duetime_proto::due::{Config, Link};
use duetime_sim::due_announcement;
use duetime_sim::topology::Network;
use nix::sys::epoll::Epoll;

use super::Inputs;
use super::connection::Waiting;
use super::datagrams::{BATCH_PACKETS, CATCH_UP_PACKETS, Carrier, Datagrams, FlowEvent};
use crate::LabError;
use crate::linux::clock::Clock;
use crate::linux::transport::{Due, Stack};

/// Maximum length of a message in bytes, and of all messages of a host.
const MAX_MESSAGE_BYTES: u64 = 1 << 28;
const MAX_BYTES: u64 = 1 << 34;
/// Number of bytes in a message that name it, if it is long enough.
const NAME_BYTES: usize = 8;

/// Name of a message at its destination: source, destination, length and first bytes.
type Name = (u32, u32, u64, u64);

/// Endpoints of all hosts, and their messages.
pub struct Messages {
    datagrams: Datagrams<Endpoint>,
    config: Config,
    /// Messages under way. Short messages can have the same name; they are interchangeable.
    under_way: BTreeMap<Name, VecDeque<Waiting>>,
}

impl Carrier for Messages {
    type Endpoint = Endpoint;

    fn datagrams(&mut self) -> &mut Datagrams<Endpoint> {
        &mut self.datagrams
    }

    fn poll(&mut self, clock: Clock, host: u32) {
        while let Some(event) = self.datagrams.endpoint(host).poll_event() {
            match event {
                Event::Incoming => self.receive(clock, host),
                Event::Ended(number) => self.end(host, number),
                Event::Writable => {}
            }
        }
    }
}

impl Messages {
    /// Opens the endpoints. Returns `None` if no transport is `due`.
    pub fn open(inputs: &Inputs<'_>, epoll: &Epoll) -> Result<Option<Self>, LabError> {
        let Some(Due { config, .. }) = inputs.stacks.iter().find_map(Stack::due) else {
            return Ok(None);
        };
        let datagrams = Datagrams::open(inputs, epoll, |host| {
            let options = options(config, inputs.network, host);
            // Only hosts of this run can send to it, so its identities need no secret.
            Endpoint::new(options, [u64::from(host), 0])
                .map_err(|error| LabError::Unsupported(error.to_string()))
        })?;
        Ok(Some(Self {
            datagrams,
            config: *config,
            under_way: BTreeMap::new(),
        }))
    }

    /// Submits a message of the application.
    pub fn submit(&mut self, now: Time, waiting: Waiting) {
        let message = &waiting.message;
        let (source, destination) = (message.source, message.destination);
        let announced = due_announcement(&self.config, message);
        let number = (waiting.record as u64).to_le_bytes();
        let length = usize::try_from(message.bytes).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length.min(MAX_MESSAGE_BYTES as usize)];
        let named = length.min(NAME_BYTES);
        bytes[..named].copy_from_slice(&number[..named]);
        let name = name(source, destination, &bytes);
        let outgoing = Outgoing {
            peer: address(destination),
            bytes: bytes.into(),
            deadline: announced.deadline.map(|at| at.since(now.min(at))),
            query: announced.query,
            is_request: announced.is_request,
        };
        match self.datagrams.endpoint(source).send(now, outgoing) {
            Ok(_) => {
                let queue = self.under_way.entry(name).or_default();
                queue.push_back(waiting);
                self.datagrams.mark_ready(source);
            }
            Err(error) => self.fail(format!("send to {}: {error}", address(destination))),
        }
    }

    /// Receives a host's next message.
    fn receive(&mut self, clock: Clock, host: u32) {
        let Some(message) = self.datagrams.endpoint(host).receive() else {
            return;
        };
        let source = Datagrams::<Endpoint>::host(message.peer);
        let waiting = source.and_then(|source| {
            let queue = self.under_way.get_mut(&name(source, host, &message.bytes));
            queue.and_then(VecDeque::pop_front)
        });
        match waiting {
            Some(waiting) => {
                let delivered = FlowEvent::Delivered(waiting, clock.now());
                self.datagrams.events.push(delivered);
            }
            None => self.fail(format!("unexpected message from {}", message.peer)),
        }
    }

    /// Checks the outcome of a message that its source has ended.
    fn end(&mut self, host: u32, number: u64) {
        match self.datagrams.endpoint(host).outcome(number) {
            Some(Outcome::Failed(failure)) => {
                self.fail(format!("message of {}: {failure}", address(host)));
            }
            Some(Outcome::Delivered | Outcome::Aborted) | None => {}
        }
    }
}

fn address(host: u32) -> SocketAddr {
    SocketAddr::V4(Datagrams::<Endpoint>::address(host))
}

fn name(source: u32, destination: u32, bytes: &[u8]) -> Name {
    let mut number = [0; NAME_BYTES];
    let named = bytes.len().min(NAME_BYTES);
    number[..named].copy_from_slice(&bytes[..named]);
    (
        source,
        destination,
        bytes.len() as u64,
        u64::from_le_bytes(number),
    )
}

/// Returns the options of a host's endpoint, with limits that no run reaches.
fn options(config: &Config, network: &Network, host: u32) -> Options {
    let [uplink, downlink] = [&network.uplink, &network.downlink]
        .map(|links| network.links[links[host as usize] as usize].rate);
    let packet = uplink.transmit(u64::from(config.mtu));
    let latency = network.links.iter().map(|link| link.latency).max();
    let path = u64::from(network.longest_path());
    let defaults = Options::new(downlink);
    Options {
        config: *config,
        link: Link {
            round_trip: latency.unwrap_or_default() * (2 * path),
            framing_bytes: 0,
            ..defaults.link
        },
        batch: packet * BATCH_PACKETS,
        catch_up: packet * CATCH_UP_PACKETS,
        max_message_bytes: MAX_MESSAGE_BYTES,
        max_incoming_bytes: MAX_BYTES,
        max_outgoing_bytes: MAX_BYTES,
        max_outgoing: usize::MAX,
        reply_timeout: defaults.silence_timeout,
        ..defaults
    }
}

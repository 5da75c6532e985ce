//! D3's flows on UDP.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use duetime_core::{Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::Config;
use duetime_proto::d3::endpoint::{Endpoint, Event, Options, StreamError, StreamId};
use duetime_sim::topology::Network;
use duetime_switch::D3Report;
use nix::sys::epoll::Epoll;

use super::connection::Waiting;
use super::datagrams::{BATCH_PACKETS, CATCH_UP_PACKETS, Carrier, Datagrams, FOREVER, FlowEvent};
use super::{BLOCK, Inputs};
use crate::LabError;
use crate::linux::clock::Clock;
use crate::linux::transport::{D3, Stack};

/// Bytes of a stream that may be in flight.
const STREAM_BUFFER: usize = 1 << 20;
/// Maximum number of unaccepted streams. The same thread accepts them, so they never wait long.
const BACKLOG: usize = 1 << 16;

/// Endpoints of all hosts, and their flows.
pub struct Flows {
    datagrams: Datagrams<Endpoint>,
    config: Config,
    /// Flows by source and stream.
    unfinished: BTreeMap<(u32, StreamId), Flow>,
    /// Incoming flows by destination and its stream, with their source and the source's stream.
    incoming: BTreeMap<(u32, StreamId), (u32, StreamId)>,
    /// Buffer for stream data.
    block: Vec<u8>,
}

struct Flow {
    waiting: Waiting,
    written: u64,
    /// Bytes read at the destination.
    read: u64,
}

impl Carrier for Flows {
    type Endpoint = Endpoint;

    fn datagrams(&mut self) -> &mut Datagrams<Endpoint> {
        &mut self.datagrams
    }

    fn poll(&mut self, clock: Clock, host: u32) {
        while let Some(event) = self.datagrams.endpoint(host).poll_event() {
            match event {
                Event::Incoming => self.accept(clock, host),
                Event::Changed(stream) => self.stream_changed(clock, host, stream),
            }
        }
    }
}

impl Flows {
    /// Opens the endpoints. Returns `None` if no transport is D3.
    pub fn open(inputs: &Inputs<'_>, epoll: &Epoll) -> Result<Option<Self>, LabError> {
        let Some(D3 { config, .. }) = inputs.stacks.iter().find_map(Stack::d3) else {
            return Ok(None);
        };
        let datagrams = Datagrams::open(inputs, epoll, |host| {
            let options = options(config, inputs.network, host);
            // Only hosts of this run can send to it, so its identifiers need no secret.
            let mut endpoint = Endpoint::new(options, [u64::from(host), 0])
                .map_err(|error| LabError::Unsupported(error.to_string()))?;
            endpoint.listen(BACKLOG);
            Ok(endpoint)
        })?;
        Ok(Some(Self {
            datagrams,
            config: *config,
            unfinished: BTreeMap::new(),
            incoming: BTreeMap::new(),
            block: vec![0; BLOCK],
        }))
    }

    /// Submits a message of the application.
    pub fn submit(&mut self, now: Time, stack: &D3, waiting: Waiting) {
        let Waiting { message, .. } = &waiting;
        let (source, destination) = (message.source, message.destination);
        let deadline = message.deadline.filter(|_| !stack.ignores_deadlines);
        let announced = Message::new(message.length(), deadline);
        let endpoint = self.datagrams.endpoint(source);
        let peer = address(destination);
        match endpoint.connect(now, peer, announced, &stack.policy) {
            Ok(stream) => {
                let flow = Flow {
                    waiting,
                    written: 0,
                    read: 0,
                };
                self.unfinished.insert((source, stream), flow);
                self.write(now, source, stream);
                self.datagrams.mark_ready(source);
            }
            Err(StreamError::Quenched) => self.datagrams.events.push(FlowEvent::Quenched(waiting)),
            Err(error) => self.fail(format!("open a stream to {peer}: {error}")),
        }
    }

    fn accept(&mut self, clock: Clock, number: u32) {
        loop {
            let endpoint = self.datagrams.endpoint(number);
            let Some((stream, peer)) = endpoint.accept(clock.now()) else {
                return;
            };
            let source = Datagrams::<Endpoint>::host(peer);
            let Some(flow) = source.zip(endpoint.peer_stream(stream)) else {
                self.fail(format!("unexpected stream from {peer}"));
                continue;
            };
            self.incoming.insert((number, stream), flow);
            self.read(clock, number, stream);
        }
    }

    /// Handles a change of a stream's state.
    fn stream_changed(&mut self, clock: Clock, host: u32, stream: StreamId) {
        if self.unfinished.contains_key(&(host, stream)) {
            let now = clock.now();
            self.write(now, host, stream);
            self.check_end(now, host, stream);
        } else {
            self.read(clock, host, stream);
        }
    }

    /// Writes as much as the stream's send buffer accepts, and ends the flow after its last byte.
    fn write(&mut self, now: Time, host: u32, stream: StreamId) {
        let Some(flow) = self.unfinished.get_mut(&(host, stream)) else {
            return;
        };
        let endpoint = self.datagrams.endpoint(host);
        let size = flow.waiting.message.bytes;
        if flow.written == size {
            return; // finished already
        }
        while flow.written < size {
            let left = usize::try_from(size - flow.written).unwrap_or(usize::MAX);
            let count = left.min(self.block.len());
            match endpoint.write(now, stream, &self.block[..count]) {
                Ok(count) => flow.written += count as u64,
                // The buffer is full or the flow has ended; an event follows.
                Err(_) => return,
            }
        }
        // Fails if the flow has ended, which an event reports.
        let _ = endpoint.finish(now, stream);
    }

    /// Checks whether the sender is done.
    fn check_end(&mut self, now: Time, host: u32, stream: StreamId) {
        let endpoint = self.datagrams.endpoint(host);
        match endpoint.delivery(stream) {
            Err(StreamError::Blocked) => {}
            Ok(()) => self.end(now, host, stream),
            Err(StreamError::Quenched) => {
                // The FIN returns its allocation to the routers in the background.
                if let Some(flow) = self.unfinished.get(&(host, stream)) {
                    let waiting = flow.waiting.clone();
                    self.datagrams.events.push(FlowEvent::Quenched(waiting));
                }
                self.end(now, host, stream);
            }
            Err(error) => {
                self.fail(format!("stream of {}: {error}", address(host)));
                self.end(now, host, stream);
            }
        }
    }

    fn end(&mut self, now: Time, host: u32, stream: StreamId) {
        let endpoint = self.datagrams.endpoint(host);
        if let Some(flow) = self.unfinished.remove(&(host, stream)) {
            let count = flow.count(endpoint, stream);
            self.datagrams.events.push(count);
        }
        self.datagrams.endpoint(host).release(now, stream);
    }

    /// Reads available data.
    fn read(&mut self, clock: Clock, number: u32, stream: StreamId) {
        // The stream is not accepted yet.
        let Some(key) = self.incoming.get(&(number, stream)) else {
            return;
        };
        loop {
            let now = clock.now();
            let endpoint = self.datagrams.endpoint(number);
            let count = match endpoint.read(now, stream, &mut self.block) {
                Err(StreamError::Blocked) => return,
                // The sender has ended the flow, perhaps early.
                Ok(0) | Err(StreamError::PeerAborted) => break,
                Ok(count) => count as u64,
                Err(error) => {
                    let failure = format!("stream to {}: {error}", address(number));
                    self.datagrams.events.push(FlowEvent::Failed(failure));
                    break;
                }
            };
            if let Some(flow) = self.unfinished.get_mut(key) {
                flow.read += count;
                if flow.read == flow.waiting.message.bytes {
                    let delivered = FlowEvent::Delivered(flow.waiting.clone(), now);
                    self.datagrams.events.push(delivered);
                }
            }
        }
        self.incoming.remove(&(number, stream));
        let endpoint = self.datagrams.endpoint(number);
        endpoint.release_one_way(clock.now(), stream);
    }

    /// Abandons unfinished flows at the end of the run and notifies the routers.
    pub fn abandon(&mut self, now: Time) -> Vec<FlowEvent> {
        for ((source, stream), flow) in std::mem::take(&mut self.unfinished) {
            let endpoint = self.datagrams.endpoint(source);
            let count = flow.count(endpoint, stream);
            let _ = endpoint.abort(now, stream);
            endpoint.release(now, stream);
            self.datagrams.events.push(count);
            self.datagrams.mark_ready(source);
        }
        std::mem::take(&mut self.datagrams.events)
    }

    /// Returns true while the ends of some flows are unacknowledged, or the counters of a host's uplink are nonzero,
    /// until the allocators' repair clears them.
    pub fn is_ending(&self) -> bool {
        self.datagrams.endpoints().any(|endpoint| {
            let uplink = endpoint.uplink().allocator();
            endpoint.is_sending() || uplink.flows() + uplink.demand() + uplink.allocated() > 0
        })
    }

    /// Returns the reports of the allocators of the hosts' uplinks, by host.
    pub fn uplinks(&self) -> Vec<D3Report> {
        let scale = self.config.exponent();
        let report = |endpoint: &Endpoint| D3Report::of(endpoint.uplink().allocator(), scale);
        self.datagrams.endpoints().map(report).collect()
    }

    /// Returns the time without packets after which a port is idle (D3 §4.4).
    pub fn idle_time(&self) -> Span {
        self.config.interval() * u64::from(self.config.router.reset_intervals + 2)
    }
}

impl Flow {
    fn count(&self, endpoint: &Endpoint, stream: StreamId) -> FlowEvent {
        FlowEvent::Counted {
            record: self.waiting.record,
            statistics: endpoint.statistics(stream).unwrap_or_default(),
            read: self.read,
        }
    }
}

fn address(host: u32) -> SocketAddr {
    SocketAddr::V4(Datagrams::<Endpoint>::address(host))
}

/// Returns the options of a host's endpoint, with limits and timeouts that no run reaches: only the scenario ends a
/// run.
fn options(config: &Config, network: &Network, host: u32) -> Options {
    let [uplink, downlink] = [&network.uplink, &network.downlink]
        .map(|links| network.links[links[host as usize] as usize].rate);
    let packet = uplink.transmit(u64::from(config.wire.mtu));
    Options {
        config: *config,
        downlink,
        batch: packet * BATCH_PACKETS,
        catch_up: packet * CATCH_UP_PACKETS,
        send_buffer: STREAM_BUFFER,
        receive_buffer: STREAM_BUFFER,
        unaccepted_buffer: STREAM_BUFFER,
        max_streams: usize::MAX,
        max_streams_per_peer: usize::MAX,
        max_half_open: BACKLOG,
        half_open_timeout: FOREVER,
        connect_timeout: FOREVER,
        idle_timeout: FOREVER,
        linger: config.host.rto_min * 16,
        ..Options::new(uplink)
    }
}

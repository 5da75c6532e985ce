//! Applications: a client sends bytes and waits for the answer; a server reads and checks them, and answers.

use super::content::{byte, query_byte};
use super::world::{World, address};
use duetime_core::{Span, Time};
use duetime_proto::Message;
use duetime_proto::d3::Policy;
use duetime_proto::d3::endpoint::{Statistics, StreamError, StreamId};

/// Request of a client, and its outcome.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub host: usize,
    pub server: usize,
    pub bytes: u64,
    pub announced: u64,
    /// Length of the answer, which is in the head of the query.
    pub answer: u64,
    pub deadline: Option<Span>,
    pub policy: Policy,
    pub number: u64,
    pub stream: Option<StreamId>,
    pub written: u64,
    pub read: u64,
    pub outcome: Option<Result<(), StreamError>>,
    pub ended_at: Time,
    pub statistics: Statistics,
}

/// State of a server's work on an accepted stream.
#[derive(Debug)]
pub struct Service {
    pub host: usize,
    pub stream: StreamId,
    pub read: u64,
    head: Vec<u8>,
    pub query: Option<(u64, u64)>,
    pub written: u64,
    pub finished: bool,
    announced: bool,
    pub outcome: Option<Result<(), StreamError>>,
}

impl Exchange {
    pub fn new(number: u64, bytes: u64, answer: u64) -> Self {
        Self {
            host: 1,
            server: 0,
            bytes,
            announced: bytes,
            answer,
            deadline: None,
            policy: Policy::default(),
            number,
            stream: None,
            written: 0,
            read: 0,
            outcome: None,
            ended_at: Time::ZERO,
            statistics: Statistics::default(),
        }
    }

    fn byte(&self, position: u64) -> u8 {
        query_byte(self.number, self.answer, position)
    }

    /// Performs all steps that do not block.
    pub fn run(&mut self, world: &mut World) {
        if self.outcome.is_some() || world.dead[self.host] {
            return;
        }
        let now = world.now;
        let endpoint = &mut world.endpoints[self.host];
        let Some(id) = self.stream else {
            let message = Message::new(self.announced, self.deadline.map(|span| now + span));
            match endpoint.connect(now, address(self.server), message, &self.policy) {
                Ok(id) => self.stream = Some(id),
                Err(error) => self.end(world, Err(error)),
            }
            return;
        };
        while self.written < self.bytes {
            let end = self.bytes.min(self.written + 4_000);
            let data: Vec<u8> = (self.written..end).map(|p| self.byte(p)).collect();
            match endpoint.write(now, id, &data) {
                Ok(accepted) => self.written += accepted as u64,
                Err(StreamError::Blocked) => break,
                Err(error) => return self.end(world, Err(error)),
            }
            if self.written == self.bytes {
                endpoint.finish(now, id).unwrap();
            }
        }
        if self.bytes == 0 {
            endpoint.finish(now, id).unwrap();
        }
        let mut buffer = [0; 3_000];
        loop {
            match endpoint.read(now, id, &mut buffer) {
                Ok(0) => {
                    let outcome = endpoint.delivery(id);
                    if outcome == Err(StreamError::Blocked) {
                        return;
                    }
                    let complete = self.read == self.answer;
                    assert!(complete || outcome.is_err(), "{self:?}: partial answer");
                    return self.end(world, outcome);
                }
                Ok(length) => {
                    for read in &buffer[..length] {
                        assert_eq!(*read, byte(!self.number, self.read), "a corrupted byte");
                        self.read += 1;
                    }
                }
                Err(StreamError::Blocked) => return,
                Err(error) => return self.end(world, Err(error)),
            }
        }
    }

    fn end(&mut self, world: &mut World, outcome: Result<(), StreamError>) {
        self.outcome = Some(outcome);
        self.ended_at = world.now;
        let endpoint = &mut world.endpoints[self.host];
        if let Some(id) = self.stream {
            self.statistics = endpoint.statistics(id).unwrap();
            endpoint.release(world.now, id);
        }
    }
}

impl Service {
    pub fn new(host: usize, stream: StreamId) -> Self {
        Self {
            host,
            stream,
            read: 0,
            head: Vec::new(),
            query: None,
            written: 0,
            finished: false,
            announced: false,
            outcome: None,
        }
    }

    pub fn run(&mut self, world: &mut World) {
        if self.outcome.is_some() || world.dead[self.host] {
            return;
        }
        let now = world.now;
        let (endpoint, id) = (&mut world.endpoints[self.host], self.stream);
        while self.query.is_none() {
            let mut head = [0; 16];
            match endpoint.read(now, id, &mut head[self.head.len()..]) {
                Ok(0) => self.query = Some((0, 0)), // shorter than a head: no answer
                Ok(length) => {
                    let start = self.head.len();
                    self.head.extend_from_slice(&head[start..start + length]);
                }
                Err(StreamError::Blocked) => return,
                Err(error) => {
                    self.outcome = Some(Err(error));
                    return endpoint.release(now, id);
                }
            }
            if self.head.len() == 16 {
                let long = |i: usize| u64::from_be_bytes(self.head[i..i + 8].try_into().unwrap());
                self.query = Some((long(0), long(8)));
                self.read = 16;
            }
        }
        let Some((number, answer)) = self.query else {
            return;
        };
        let mut buffer = [0; 5_000];
        while !self.finished {
            match endpoint.read(now, id, &mut buffer) {
                Ok(0) => self.finished = true,
                Ok(length) => {
                    for read in &buffer[..length] {
                        assert_eq!(*read, byte(number, self.read), "a corrupted byte");
                        self.read += 1;
                    }
                }
                Err(StreamError::Blocked) => return,
                Err(error) => {
                    self.outcome = Some(Err(error));
                    return endpoint.release(now, id);
                }
            }
        }
        if let Some(span) = world.answer_deadline
            && !self.announced
        {
            self.announced = true;
            let message = Message::new(answer, Some(now + span));
            let policy = endpoint.options().config.host.policy;
            endpoint.open(now, id, message, &policy).unwrap();
        }
        while self.written < answer {
            let end = answer.min(self.written + 6_000);
            let data: Vec<u8> = (self.written..end).map(|p| byte(!number, p)).collect();
            match endpoint.write(now, id, &data) {
                Ok(accepted) => self.written += accepted as u64,
                Err(StreamError::Blocked) => return,
                Err(error) => {
                    self.outcome = Some(Err(error));
                    return endpoint.release(now, id);
                }
            }
        }
        self.outcome = Some(Ok(()));
        endpoint.release(now, id);
    }
}

/// Runs exchanges and their services until all have an outcome and no stream lingers. Returns the services.
pub fn run(world: &mut World, exchanges: &mut [Exchange], until: Time) -> Vec<Service> {
    run_with(world, exchanges, until, |_| {})
}

/// Like [`run`], with a callback at each step.
pub fn run_with(
    world: &mut World,
    exchanges: &mut [Exchange],
    until: Time,
    at_each_step: impl FnMut(&mut World),
) -> Vec<Service> {
    let services = run_to_outcomes(world, exchanges, until, at_each_step);
    let left = |world: &World| {
        let alive = world.endpoints.iter().zip(&world.dead);
        alive
            .filter(|(_, dead)| !**dead)
            .any(|(endpoint, _)| endpoint.streams() > 0)
    };
    while world.now < until && left(world) && world.step() {}
    services
}

/// Runs until all exchanges and services have an outcome.
pub fn run_to_outcomes(
    world: &mut World,
    exchanges: &mut [Exchange],
    until: Time,
    mut at_each_step: impl FnMut(&mut World),
) -> Vec<Service> {
    let mut services: Vec<Service> = Vec::new();
    for endpoint in &mut world.endpoints {
        endpoint.listen(128);
    }
    while world.now < until {
        for exchange in &mut *exchanges {
            exchange.run(world);
        }
        let now = world.now;
        for host in 0..world.endpoints.len() {
            while let Some((id, _)) = world.endpoints[host].accept(now) {
                services.push(Service::new(host, id));
            }
        }
        for service in &mut services {
            service.run(world);
        }
        let exchanged = exchanges
            .iter()
            .all(|item| item.outcome.is_some() || world.dead[item.host]);
        let served = services
            .iter()
            .all(|item| item.outcome.is_some() || world.dead[item.host]);
        at_each_step(world);
        if exchanged && served || !world.step() {
            break;
        }
    }
    services
}

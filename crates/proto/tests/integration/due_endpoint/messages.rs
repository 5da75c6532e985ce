//! An application that sends messages and checks the messages that arrive.

use super::world::World;
use duetime_core::random::mix;
use duetime_core::{Span, Time};
use duetime_proto::due::endpoint::{Event, Outcome, Outgoing, SendError};

/// Message of the test, known by its index, which is also its query.
#[derive(Clone, Debug)]
pub struct Message {
    pub from: usize,
    pub to: usize,
    pub bytes: u64,
    pub deadline: Option<Span>,
    pub is_request: bool,
    /// Time of the submission.
    pub at: Time,
    pub abort_at: Time,
    pub number: Option<u64>,
    pub outcome: Option<Outcome>,
    pub ended_at: Time,
    /// Times at which the message arrived at the application.
    pub arrivals: Vec<Time>,
}

impl Message {
    pub fn new(from: usize, to: usize, bytes: u64) -> Self {
        Self {
            from,
            to,
            bytes,
            deadline: None,
            is_request: false,
            at: Time::ZERO,
            abort_at: Time::MAX,
            number: None,
            outcome: None,
            ended_at: Time::ZERO,
            arrivals: Vec::new(),
        }
    }
}

/// Returns the contents of a message.
pub fn content(index: usize, bytes: u64) -> Vec<u8> {
    (0..bytes)
        .map(|position| mix(index as u64, position / 8).to_be_bytes()[position as usize % 8])
        .collect()
}

/// Submits a message now, unless the endpoint is blocked.
pub fn submit(world: &mut World, index: usize, message: &mut Message) {
    if world.endpoints[message.from].may_send(message.bytes) == Err(SendError::Blocked) {
        return;
    }
    let outgoing = Outgoing {
        peer: world.address(message.to),
        bytes: content(index, message.bytes).into(),
        deadline: message.deadline,
        query: Some(index as u64),
        is_request: message.is_request,
    };
    let sent = world.endpoints[message.from].send(world.now, outgoing);
    message.number = Some(sent.expect("not blocked"));
}

/// Performs the application's work at all hosts. `reads` returns true if a host takes its messages now.
pub fn work(world: &mut World, messages: &mut [Message], reads: impl Fn(usize) -> bool) {
    let now = world.now;
    for (index, message) in messages.iter_mut().enumerate() {
        if world.dead[message.from] {
            continue;
        }
        if message.number.is_none() && message.at <= now {
            submit(world, index, message);
        }
        if let Some(number) = message.number
            && message.abort_at <= now
        {
            message.abort_at = Time::MAX;
            world.endpoints[message.from].abort(number);
        }
    }
    for host in 0..world.endpoints.len() {
        if world.dead[host] {
            continue;
        }
        while let Some(event) = world.endpoints[host].poll_event() {
            let Event::Ended(number) = event else {
                continue;
            };
            let outcome = world.endpoints[host].outcome(number);
            let mut own = messages.iter_mut().filter(|message| message.from == host);
            let message = own.find(|message| message.number == Some(number));
            let message = message.expect("an event of a submitted message");
            assert!(outcome.is_some() && message.outcome.is_none());
            (message.outcome, message.ended_at) = (outcome, now);
        }
        if reads(host) {
            take(world, host, messages);
        }
    }
}

/// Takes the messages that arrived at a host, and checks them.
pub fn take(world: &mut World, host: usize, messages: &mut [Message]) {
    while let Some(incoming) = world.endpoints[host].receive() {
        let index = incoming.query.expect("all messages have queries") as usize;
        let message = &mut messages[index];
        assert_eq!(incoming.peer, world.address(message.from));
        assert_eq!(message.to, host);
        let is_same = incoming.bytes == content(index, message.bytes);
        assert!(is_same, "corrupted bytes in message {index}");
        assert_eq!(incoming.is_request, message.is_request);
        assert_eq!(incoming.deadline.is_some(), message.deadline.is_some());
        message.arrivals.push(world.now);
        assert_eq!(message.arrivals.len(), 1, "message {index} arrived twice");
    }
}

/// Runs until no event is left or `end`, with the application at work. Returns true if no event is left.
pub fn run(world: &mut World, messages: &mut [Message], end: Time) -> bool {
    while world.now < end {
        work(world, messages, |_| true);
        let next = messages
            .iter()
            .filter(|message| !world.dead[message.from])
            .map(|message| match message.number {
                None => message.at,
                Some(_) => message.abort_at,
            })
            .min()
            .unwrap_or(Time::MAX);
        if next == Time::MAX {
            if !world.step_before(end) {
                return world.now < end;
            }
        } else if next > world.now && !world.step_before(next.min(end)) {
            world.now = next.min(end);
        } else if next <= world.now {
            // Blocked.
            world.step_before(end);
        }
    }
    false
}

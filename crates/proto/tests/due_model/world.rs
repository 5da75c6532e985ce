//! The receiver and the senders of the crate, with the packets in flight between them.

use crate::case::Case;
use crate::ledger::Ledger;
use crate::order::deadline;
use crate::packets::{Fate, Flight, Reply};
use crate::rules::Rule;
use duetime_core::Time;
use duetime_proto::due::{Announcement, Body, MessageId, Receiver, Sender};
use std::collections::VecDeque;

/// Limit of the timers that expire between two choices. Messages whose sources are dead are forgotten after fewer.
const MAX_TIMERS: u32 = 10_000;
/// Round trips by which the timer is late if no source has answered many requests. The driver contract permits it.
const LATE_TIMER: u64 = 15;
/// Time at which all must have ended: less than the time for which finished messages are remembered.
const HORIZON: Time = Time::from_ps(4_000_000_000_000);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub now: Time,
    pub receiver: Receiver<MessageId>,
    pub sources: Vec<Source>,
    pub messages: Vec<Message>,
    /// Packets to the receiver, by source and in the order in which they were sent.
    pub packets: Vec<Flight>,
    /// Packets to the sources that arrive now, in the order in which they were sent.
    pub replies: VecDeque<Reply>,
    /// Packets to the sources that are late.
    pub late_replies: Vec<(Time, Reply)>,
    pub ledger: Ledger,
    /// Number of faults, and of aborts, that may still happen.
    pub faults: u8,
    pub aborts: u8,
    /// Rule that the last step broke.
    pub broken: Option<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    pub sender: Sender<u64>,
    pub is_dead: bool,
}

/// A message as the applications see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Message {
    pub is_submitted: bool,
    pub is_aborted: bool,
    /// True if the sender reported that the receiver has all of it.
    pub is_complete: bool,
    pub was_delivered: bool,
}

impl World {
    pub fn new(case: &Case) -> Self {
        let source = Source {
            sender: Sender::new(&case.config, &case.link),
            is_dead: false,
        };
        let mut world = Self {
            now: Time::ZERO,
            receiver: Receiver::new(&case.config, &case.link),
            sources: vec![source; case.sources],
            messages: vec![Message::default(); case.messages.len()],
            packets: Vec::new(),
            replies: VecDeque::new(),
            late_replies: Vec::new(),
            ledger: Ledger::new(case),
            faults: case.faults.number,
            aborts: case.aborts,
            broken: None,
        };
        world.expire_senders(case);
        world
    }

    /// Records the first rule that is broken.
    pub fn check(&mut self, result: Result<(), Rule>) {
        self.broken = self.broken.or(result.err());
    }

    /// Submits due messages and calls due timers of the senders.
    fn expire_senders(&mut self, case: &Case) {
        for number in 0..self.messages.len() {
            let start = Time::ZERO + case.round_trip() * case.messages[number].start;
            if !self.messages[number].is_submitted && start <= self.now {
                self.messages[number].is_submitted = true;
                let announcement = announcement(case, number);
                let source = &mut self.sources[case.messages[number].source];
                if !source.is_dead {
                    let number = number as u64;
                    source
                        .sender
                        .send(&case.config, start, number, announcement, number);
                }
            }
        }
        for source in 0..self.sources.len() {
            self.sources[source].sender.timeout(self.now);
            self.poll_sender(case, source);
        }
    }

    fn poll_sender(&mut self, case: &Case, source: usize) {
        while let Some((data, ..)) = self.sources[source].sender.poll_transmit() {
            if !self.sources[source].is_dead {
                let at = self.now + case.round_trip();
                self.put(case, Flight { at, source, data });
            }
        }
    }

    pub fn arrive(&mut self, case: &Case, flight: &Flight) {
        let number = flight.data.message as usize;
        let id = id(case, number);
        let has_announcement = matches!(
            flight.data.body,
            Body::Payload { number: 0, .. } | Body::Abort
        );
        let described = || has_announcement.then(|| (announcement(case, number), id));
        let (config, now, body) = (&case.config, self.now, flight.data.body);
        let expected = self.ledger.input(case, now, number, body);
        let is_complete = self.receiver.input(config, now, id, body, described, false);
        let mut delivered = 0;
        while let Some(message) = self.receiver.take_delivered() {
            delivered += u8::from(message.tag == id);
        }
        self.check(expected.delivery(is_complete, delivered));
        if is_complete {
            self.messages[number].was_delivered = true;
        }
        let replies = self.poll_receiver();
        self.check(expected.replies(case, &replies, &self.ledger));
        self.settle(case, &replies, expected.is_processed);
    }

    /// Calls the receiver's timer.
    pub fn expire(&mut self, case: &Case) {
        let forgotten = self.receiver.timeout(&case.config, self.now);
        for id in forgotten {
            let number = id.number as usize;
            let source = &self.sources[id.source as usize];
            let has_sender =
                !source.is_dead && source.sender.open().any(|open| *open.0 == id.number);
            let result = self.ledger.forget(number, has_sender);
            self.check(result);
        }
        let replies = self.poll_receiver();
        let result = self.ledger.timeout(case, self.now, &replies);
        self.check(result);
        self.settle(case, &replies, true);
    }

    fn poll_receiver(&mut self) -> Vec<Reply> {
        let mut replies = Vec::new();
        while let Some((id, control)) = self.receiver.poll_transmit() {
            let message = id.number as usize;
            replies.push(Reply { message, control });
        }
        replies
    }

    /// Accounts for the receiver's replies, sends them and checks the rules. `has_scheduled` is true if the receiver
    /// has granted what its limits permit.
    fn settle(&mut self, case: &Case, replies: &[Reply], has_scheduled: bool) {
        let (now, receiver) = (self.now, &self.receiver);
        // While nothing is in flight and nothing is sent, the receiver's state does not change.
        let is_idle = self.packets.is_empty() && replies.is_empty();
        let has_ranked = has_scheduled && !is_idle && self.ledger.rank(case, now);
        let mut given = vec![0; self.messages.len()];
        let mut result = self.ledger.settle(case, now, replies, &mut given);
        let ranking = &self.ledger.ranking;
        if has_ranked && case.has_true_sizes() {
            result = result.and_then(|()| ranking.check(case, now, receiver));
        }
        if !is_idle {
            let follows = || ranking.follows(case, now, &self.ledger, &given, receiver);
            result = result.and_then(|()| follows());
            result = result.and_then(|()| self.ledger.compare(case, now, receiver));
        }
        self.check(result);
        let sources = &self.sources;
        let is_alive = |reply: &&Reply| !sources[case.messages[reply.message].source].is_dead;
        self.replies.extend(replies.iter().filter(is_alive));
    }

    pub fn answer(&mut self, case: &Case, reply: Reply) {
        let source = case.messages[reply.message].source;
        if self.sources[source].is_dead {
            return;
        }
        let number = reply.message as u64;
        let sender = &mut self.sources[source].sender;
        let completed = sender.input(self.now, number, reply.control);
        if completed.is_some() {
            let message = &mut self.messages[reply.message];
            message.is_complete = true;
            let is_right = message.was_delivered && !message.is_aborted;
            self.check(is_right.then_some(()).ok_or(Rule::Completion));
        }
        self.poll_sender(case, source);
    }

    /// Stops a source. Its packets in flight may arrive.
    pub fn kill(&mut self, case: &Case, source: usize) {
        let source = &mut self.sources[source];
        source.is_dead = true;
        source.sender = Sender::new(&case.config, &case.link);
    }

    /// Restarts the receiver without its state.
    pub fn restart(&mut self, case: &Case) {
        self.receiver = Receiver::new(&case.config, &case.link);
        self.ledger.restart(case);
    }

    pub fn abort(&mut self, case: &Case, number: usize) {
        self.messages[number].is_aborted = true;
        let source = case.messages[number].source;
        self.sources[source].sender.abort_number(number as u64);
        self.poll_sender(case, source);
    }

    /// Returns true if the application can abort a message.
    pub fn may_abort(&self, case: &Case, number: usize) -> bool {
        let (message, source) = (
            &self.messages[number],
            &self.sources[case.messages[number].source],
        );
        message.is_submitted && !message.is_aborted && !message.is_complete && !source.is_dead
    }

    /// Returns true if a timer of the receiver is due.
    pub fn is_timer_due(&self) -> bool {
        self.receiver.next_timeout() <= self.now
    }

    /// Returns the time at which the receiver's timer expires.
    fn next_timer(&self, case: &Case) -> Time {
        let at = self.receiver.next_timeout();
        if at < Time::MAX && self.ledger.is_silent() {
            at + case.round_trip() * LATE_TIMER
        } else {
            at
        }
    }

    /// Moves the clock to the next event. Returns false if there is none.
    pub fn advance(&mut self, case: &Case) -> bool {
        let starts = self.messages.iter().zip(&case.messages);
        let starts = starts.filter(|(message, _)| !message.is_submitted);
        let starts = starts.map(|(_, of)| Time::ZERO + case.round_trip() * of.start);
        let alive = self.sources.iter().filter(|source| !source.is_dead);
        let next = alive
            .map(|source| source.sender.next_timeout())
            .chain(self.packets.iter().map(|flight| flight.at))
            .chain(self.late_replies.iter().map(|(at, _)| *at))
            .chain([self.next_timer(case)])
            .chain(starts)
            .min();
        let Some(next) = next.filter(|next| *next < Time::MAX) else {
            return false;
        };
        self.now = self.now.max(next);
        let (now, mut due) = (self.now, Vec::new());
        self.late_replies.retain(|&(at, reply)| {
            due.extend((at <= now).then_some(reply));
            at > now
        });
        for reply in due {
            self.answer(case, reply);
        }
        self.expire_senders(case);
        true
    }

    /// Continues until a choice exists, or nothing happens any more.
    pub fn run(&mut self, case: &Case) {
        let mut timers = 0;
        while self.broken.is_none() && timers < MAX_TIMERS && self.now < HORIZON {
            if !self.replies.is_empty() {
                if self.faults > 0 {
                    return;
                }
                self.decide_reply(case, Fate::Arrive);
                continue;
            }
            let mut due = (0..self.packets.len()).filter(|&index| self.may_arrive(case, index));
            let (first, second) = (due.next(), due.next());
            let may_choose = self.faults > 0 || self.aborts > 0 || self.is_timer_due();
            match first {
                Some(_) if second.is_some() || may_choose => return,
                Some(index) => self.decide(case, index, Fate::Arrive),
                None if self.is_timer_due() => {
                    timers += 1;
                    self.expire(case);
                }
                None if self.advance(case) => timers += 1,
                None => {
                    let result = self.end(case);
                    self.check(result);
                    return;
                }
            }
        }
        if self.broken.is_none() {
            self.broken = Some(Rule::Progress);
        }
    }
}

/// Returns the identity of a message at the receiver.
pub fn id(case: &Case, number: usize) -> MessageId {
    MessageId {
        source: case.messages[number].source as u32,
        number: number as u64,
    }
}

fn announcement(case: &Case, number: usize) -> Announcement {
    let message = &case.messages[number];
    Announcement {
        bytes: case.bytes(number),
        deadline: deadline(case, message),
        query: message.query,
        is_request: message.is_request,
    }
}

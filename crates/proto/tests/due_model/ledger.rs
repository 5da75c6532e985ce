//! Expected state of the receiver by docs/due.md, kept per message and apart from the code under test.

use crate::case::Case;
use crate::entry::Entry;
use crate::expected::Expected;
use crate::order::{Ranking, is_request};
use crate::packets::Reply;
use crate::rules::{Rule, rule};
use crate::world::id;
use duetime_core::{Span, Time};
use duetime_proto::due::{Body, Control, MessageId, Receiver};

/// Incomplete and finished messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    pub entries: Vec<Option<Entry>>,
    /// Messages that are complete or aborted.
    pub finished: Vec<bool>,
    pub ranking: Ranking,
    /// True if messages came or went since the ranking.
    is_stale: bool,
    /// True if the receiver was restarted. Packets that it granted before can arrive right after the next grants, so
    /// that it measures the shortest delay, four packet times, and reduces the limits to 4/5.
    is_restarted: bool,
    /// Upper limit of the excess of S + 2 V over 2 R.
    slack: Span,
    /// Thousandths of a packet that urgent grants owe to the background while it waits.
    owed: u64,
    /// True if a background message can use grants.
    is_waiting: bool,
}

impl Ledger {
    pub fn new(case: &Case) -> Self {
        Self {
            entries: vec![None; case.messages.len()],
            finished: vec![false; case.messages.len()],
            ranking: Ranking::default(),
            is_stale: false,
            is_restarted: false,
            slack: Span::ZERO,
            owed: 0,
            is_waiting: false,
        }
    }

    /// Records that the receiver lost its state.
    pub fn restart(&mut self, case: &Case) {
        *self = Self {
            is_restarted: true,
            ..Self::new(case)
        };
    }

    /// Returns true if no source has answered many requests.
    pub fn is_silent(&self) -> bool {
        self.entries.iter().flatten().all(Entry::is_silent)
    }

    /// Returns the smallest value that the receiver can use instead of a limit of packets.
    pub const fn least(&self, limit: u64) -> u64 {
        if self.is_restarted {
            limit * 4 / 5
        } else {
            limit
        }
    }

    /// Returns true if a message responds and can use more grants.
    pub fn can_use(&self, case: &Case, now: Time, number: usize) -> bool {
        self.entries[number].is_some_and(|entry| {
            entry.responds(case, now)
                && entry.granted < case.messages[number].packets
                && entry.in_flight() < self.least(case.window()).max(1)
        })
    }

    fn sum(&self, counts: impl Fn(&Entry) -> bool) -> u64 {
        let entries = self.entries.iter().flatten();
        let counted = entries.filter(|entry| counts(entry));
        counted.map(Entry::in_flight).sum()
    }

    /// Records a packet before the receiver processes it.
    pub fn input(&mut self, case: &Case, now: Time, message: usize, body: Body) -> Expected {
        let mut expected = Expected::new(message);
        let Body::Payload {
            number, is_last, ..
        } = body
        else {
            self.is_stale |= self.entries[message].take().is_some();
            self.finished[message] = true;
            (expected.is_done, expected.is_processed) = (true, true);
            return expected;
        };
        if self.entries[message].is_none() && number == 0 {
            if self.finished[message] {
                expected.is_done = true;
                return expected;
            }
            expected.is_first = true;
            self.is_stale = true;
            self.entries[message] = Some(Entry::new(now));
        }
        let Some(entry) = &mut self.entries[message] else {
            return expected;
        };
        if !entry.expects(number) {
            return expected;
        }
        expected.is_processed = true;
        let highest = u64::from(entry.highest());
        let returns = entry.is_written_off();
        expected.gap = (number > highest && !returns).then_some((highest, number));
        let is_requested = returns || expected.gap.is_some() && case.link.keeps_order;
        let delay = entry.arrive(now, number, is_last, is_requested);
        // S and V change by at most 1/16 of the excess of a delay.
        self.slack += delay.saturating_sub(case.round_trip()) * 3 / 16;
        if entry.received() == u64::from(case.messages[message].packets) {
            self.entries[message] = None;
            self.finished[message] = true;
            self.is_stale = true;
            self.ranking.note_end(case, now, message);
            (expected.is_complete, expected.is_done) = (true, true);
        }
        expected
    }

    /// Records that the receiver forgot a message. `has_sender` is true if the sender still has it.
    pub fn forget(&mut self, message: usize, has_sender: bool) -> Result<(), Rule> {
        let entry = self.entries[message].take().ok_or(Rule::Forget)?;
        self.is_stale = true;
        rule(entry.is_given_up() && !has_sender, Rule::Forget)
    }

    /// Records the effects of the timer, before the grants.
    pub fn timeout(&mut self, case: &Case, now: Time, replies: &[Reply]) -> Result<(), Rule> {
        // The packets in flight need the link.
        let transit = case.packet_time() * self.sum(|entry| !entry.is_written_off());
        let slack = self.slack;
        let mut entries = self.entries.iter_mut().enumerate();
        entries.try_for_each(|(message, entry)| {
            let Some(entry) = entry else {
                return Ok(());
            };
            let granted = u64::from(entry.granted);
            let mut own = replies.iter().filter(|reply| reply.message == message);
            let is_requested = own.any(|reply| match reply.control {
                Control::Resend { from, .. } => from < granted,
                _ => false,
            });
            entry.timeout(case, now, (transit, slack), is_requested)
        })
    }

    /// Records a ranking if the receiver must rank. Returns true if so.
    pub fn rank(&mut self, case: &Case, now: Time) -> bool {
        let is_due = self.is_stale || self.ranking.is_old(case, now);
        if is_due {
            self.is_stale = false;
            self.ranking.record(case, now, &self.entries);
        }
        is_due
    }

    /// Records the grants among the replies and checks their limits. Adds the new packets of each message to `given`.
    pub fn settle(
        &mut self,
        case: &Case,
        now: Time,
        replies: &[Reply],
        given: &mut [u64],
    ) -> Result<(), Rule> {
        let (cap, window) = (case.cap(), case.window());
        let (mut urgent, mut background) = (0, 0);
        for reply in replies {
            let Some(entry) = &mut self.entries[reply.message] else {
                continue;
            };
            let granted = u64::from(entry.granted);
            let (packets, at, counter) = match reply.control {
                Control::Grant {
                    up_to,
                    is_background,
                    ..
                } if is_background => (granted..up_to, Some(now), &mut background),
                Control::Grant { up_to, .. } => (granted..up_to, Some(now), &mut urgent),
                Control::Resend { from, to } => (from.max(granted)..to, None, &mut 0),
                Control::Done => continue,
            };
            let is_right = at.is_none() || packets.is_empty() || !entry.is_withdrawn();
            rule(is_right, Rule::Request)?;
            let more = entry.grant(now, packets, at);
            *counter += more;
            given[reply.message] += more;
            if more == 0 {
                continue;
            }
            rule(entry.in_flight() <= window, Rule::Window)?;
            let counted = self.sum(|entry| !entry.is_written_off() && entry.responds(case, now));
            rule(counted <= cap, Rule::Cap)?;
        }
        self.conserve(case, now)?;
        let was_waiting = self.is_waiting;
        self.is_waiting = self.waits(case, now);
        let share = u64::from(case.config.background_permille);
        self.owed = if was_waiting && self.is_waiting {
            (self.owed + share * urgent).saturating_sub(1_000 * background)
        } else {
            0
        };
        // The background receives its packet before the next urgent one, unless all of the cap was granted at once.
        rule(self.owed < 1_000 + share * cap, Rule::Share)
    }

    /// Checks that no grant is withheld: while fewer packets than the cap are in flight, each message that responds has
    /// as many as its window or size permits.
    fn conserve(&self, case: &Case, now: Time) -> Result<(), Rule> {
        let most = self.sum(Entry::may_count);
        if most >= self.least(case.cap()).max(2) || !case.has_true_sizes() {
            return Ok(());
        }
        let is_served = (0..self.entries.len()).all(|number| !self.can_use(case, now, number));
        rule(is_served, Rule::Withheld)
    }

    /// Returns true if a message that is always in the background can use grants.
    fn waits(&self, case: &Case, now: Time) -> bool {
        let mut messages = case.messages.iter().enumerate();
        messages.any(|(number, message)| {
            message.deadline.is_none() && !is_request(message) && self.can_use(case, now, number)
        })
    }

    /// Compares the state of the receiver.
    pub fn compare(
        &self,
        case: &Case,
        now: Time,
        receiver: &Receiver<MessageId>,
    ) -> Result<(), Rule> {
        for (number, entry) in self.entries.iter().enumerate() {
            let id = id(case, number);
            let is_known = receiver.contains(id) == entry.is_some();
            rule(
                is_known && receiver.is_finished(id) == self.finished[number],
                Rule::Memory,
            )?;
            for packet in 0..=case.messages[number].packets.into() {
                let is_expected = entry.is_some_and(|entry| entry.expects(packet));
                rule(
                    receiver.expects(id, packet).is_some() == is_expected,
                    Rule::Expectation,
                )?;
            }
        }
        let has_messages = self.entries.iter().any(Option::is_some);
        rule(
            !has_messages || receiver.next_timeout() <= now + case.round_trip(),
            Rule::Timer,
        )
    }
}

//! Order in which messages receive grants.
//!
//! Messages with a deadline are served earliest deadline first, after an overload check: if not all can be in time, the
//! rule of Moore and Hodgson (Management Science 15, 1968) postpones the fewest. It is applied to whole queries, so that
//! late answers concentrate in few queries; then to the answers of kept queries; then to those of postponed queries,
//! which may still fit after the kept ones. Postponed, late and deadline-free messages form the background, fewest
//! remaining packets first.

use core::hash::{Hash, Hasher};
use duetime_core::{Span, Time};
use std::collections::{BTreeMap, BinaryHeap};

/// Number of remaining packets above which background messages count as equally long and share.
const LONG_PACKETS: u64 = 20_000;

/// Upper limit of the time that one message counts in the overload check, so that sums do not overflow.
const MAX_WORK: Span = Span::from_secs(100);

/// A message as the order sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Index of the message at the receiver.
    pub index: u32,
    /// Number of the announcement, which breaks ties.
    pub serial: u64,
    /// Packets that have not arrived.
    pub left: u64,
    /// Packets that have arrived.
    pub received: u64,
    /// True if packets remain to be granted, so that postponing the message helps others.
    pub is_open: bool,
    pub deadline: Option<Time>,
    pub query: Option<u64>,
    /// True if another answer of the query was late.
    pub is_spoiled: bool,
    /// True for a request, which comes before all deadlines.
    pub is_request: bool,
}

/// Times that decide whether a message can meet its deadline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    pub now: Time,
    /// Time per packet at the rate at which granted packets arrive.
    pub service: Span,
    /// Time from a grant to the first packet.
    pub latency: Span,
}

/// Grant order, with buffers that are kept between calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// Indices of all messages: the urgent ones, then the background.
    pub messages: Vec<u32>,
    /// Number of urgent messages.
    pub urgent: usize,
    /// Messages with deadlines in the future, earliest first, and the job of each one's query.
    with_deadline: Vec<(Entry, usize)>,
    background: Vec<Entry>,
    jobs: Vec<Job>,
    job_of_query: BTreeMap<u64, usize>,
    longest: BinaryHeap<(bool, Span, usize)>,
}

/// Compares the order only. Each ranking overwrites the buffers.
impl PartialEq for Order {
    fn eq(&self, other: &Self) -> bool {
        self.messages == other.messages && self.urgent == other.urgent
    }
}

impl Eq for Order {}

impl Hash for Order {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.messages.hash(state);
        self.urgent.hash(state);
    }
}

/// Work in the overload check: the answers of a query, or one message.
#[derive(Clone, Copy, Debug)]
struct Job {
    deadline: Time,
    work: Span,
    /// True if the job can be postponed.
    is_open: bool,
    is_spoiled: bool,
    is_postponed: bool,
}

impl Order {
    /// Orders the messages: requests, then those that can meet their deadlines, then the background.
    pub fn rank(&mut self, pace: Pace, entries: impl Iterator<Item = Entry>) {
        self.with_deadline.clear();
        self.background.clear();
        self.messages.clear();
        for entry in entries {
            match entry.deadline {
                _ if entry.is_request => self.messages.push(entry.index),
                Some(deadline) if deadline > pace.now => self.with_deadline.push((entry, 0)),
                _ => self.background.push(entry),
            }
        }
        if !self.with_deadline.is_empty() {
            self.with_deadline
                .sort_unstable_by_key(|(entry, _)| (entry.deadline, entry.serial));
            self.check_overload(pace);
        }
        self.urgent = self.messages.len();
        self.background.sort_unstable_by_key(|entry| {
            (entry.left.min(LONG_PACKETS), entry.received, entry.serial)
        });
        let background = self.background.iter().map(|entry| entry.index);
        self.messages.extend(background);
    }

    /// Returns the indices of the urgent messages.
    pub fn urgent_messages(&self) -> impl Iterator<Item = u32> + '_ {
        self.messages.iter().take(self.urgent).copied()
    }

    /// Moves the due messages to the order, or to the background if they are postponed.
    fn check_overload(&mut self, pace: Pace) {
        let mut due = std::mem::take(&mut self.with_deadline);
        self.group_by_query(pace, &mut due);
        let kept_end = self.postpone_fewest(pace, pace.now);
        let is_postponed: Vec<bool> = due
            .iter()
            .map(|&(_, job)| self.jobs[job].is_postponed)
            .collect();
        for (postponed, start) in [(false, pace.now), (true, kept_end)] {
            let entries = due.iter().zip(&is_postponed);
            let entries = entries.filter(|&(_, &is_postponed)| is_postponed == postponed);
            self.keep_answers(pace, start, entries.map(|(&(entry, _), _)| entry));
        }
        self.with_deadline = due;
    }

    /// Creates a job for each query and for each message without one, in the order of their latest deadlines.
    fn group_by_query(&mut self, pace: Pace, due: &mut [(Entry, usize)]) {
        self.jobs.clear();
        self.job_of_query.clear();
        for (entry, job) in due.iter_mut().rev() {
            let new = self.jobs.len();
            *job = entry
                .query
                .map_or(new, |query| *self.job_of_query.entry(query).or_insert(new));
            if *job == new {
                self.jobs.push(Job {
                    work: Span::ZERO,
                    is_open: true,
                    ..Job::new(pace, entry)
                });
            }
            self.jobs[*job].work += pace.work(entry.left);
        }
        // The last deadline was visited first.
        self.jobs.reverse();
        let last = self.jobs.len() - 1;
        for (_, job) in due {
            *job = last - *job;
        }
    }

    /// Applies the overload check to messages of kept, or of postponed, queries.
    fn keep_answers(
        &mut self,
        pace: Pace,
        start: Time,
        entries: impl Iterator<Item = Entry> + Clone,
    ) {
        self.jobs.clear();
        let jobs = entries.clone().map(|entry| Job::new(pace, &entry));
        self.jobs.extend(jobs);
        self.postpone_fewest(pace, start);
        for (entry, job) in entries.zip(&self.jobs) {
            if job.is_postponed {
                self.background.push(entry);
            } else {
                self.messages.push(entry.index);
            }
        }
    }

    /// Postpones the fewest jobs so that the others end in time (Moore and Hodgson): whenever a job in the order of the
    /// deadlines is late, the longest so far is postponed, spoiled queries first. Returns the end of the kept work.
    fn postpone_fewest(&mut self, pace: Pace, start: Time) -> Time {
        let mut end = start;
        self.longest.clear();
        for index in 0..self.jobs.len() {
            let job = self.jobs[index];
            end += job.work;
            if job.is_open {
                self.longest.push((job.is_spoiled, job.work, index));
            }
            while end + pace.latency > job.deadline {
                let Some((_, work, longest)) = self.longest.pop() else {
                    break;
                };
                end = end - work;
                self.jobs[longest].is_postponed = true;
            }
        }
        end
    }
}

impl Job {
    fn new(pace: Pace, entry: &Entry) -> Self {
        Self {
            deadline: entry.deadline.unwrap_or(Time::MAX),
            work: pace.work(entry.left),
            is_open: entry.is_open,
            is_spoiled: entry.is_spoiled,
            is_postponed: false,
        }
    }
}

impl Pace {
    /// Returns the time that a message can lose and still meet its deadline; zero without a deadline.
    pub fn laxity(&self, deadline: Option<Time>, left: u64) -> Span {
        let left = self.work(left) + self.latency;
        deadline.map_or(Span::ZERO, |at| at.since(self.now).saturating_sub(left))
    }

    /// Returns the time that packets need.
    fn work(&self, packets: u64) -> Span {
        let most = MAX_WORK.as_ps() / self.service.as_ps().max(1);
        self.service * packets.min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace {
        now: Time::ZERO,
        service: Span::from_us(1),
        latency: Span::ZERO,
    };

    fn entry(index: u32, left: u64, deadline_us: u64) -> Entry {
        Entry {
            index,
            serial: u64::from(index),
            left,
            received: 0,
            is_open: true,
            deadline: Some(Time::ZERO + Span::from_us(deadline_us)),
            query: None,
            is_spoiled: false,
            is_request: false,
        }
    }

    fn rank(entries: &[Entry]) -> (Vec<u32>, Vec<u32>) {
        let mut order = Order::default();
        order.rank(PACE, entries.iter().copied());
        let (urgent, background) = order.messages.split_at(order.urgent);
        (urgent.to_vec(), background.to_vec())
    }

    #[test]
    fn deadlines_that_can_be_met_are_served_earliest_first() {
        let entries = [entry(0, 5, 30), entry(1, 5, 10), entry(2, 5, 20)];
        assert_eq!(rank(&entries), (vec![1, 2, 0], vec![]));
    }

    /// The example of Moore and Hodgson: one long message is postponed instead of two short ones.
    #[test]
    fn overload_postpones_the_longest_message() {
        let entries = [entry(0, 8, 10), entry(1, 4, 11), entry(2, 4, 12)];
        assert_eq!(rank(&entries), (vec![1, 2], vec![0]));
    }

    #[test]
    fn overload_postpones_whole_queries() {
        let of_query = |index, left, deadline, query| Entry {
            query: Some(query),
            ..entry(index, left, deadline)
        };
        // 12 packets are due in 10 us: query 7 is longer and postponed, one of its answers fits after query 8.
        let entries = [
            of_query(0, 4, 10, 7),
            of_query(1, 3, 10, 7),
            of_query(2, 3, 10, 8),
            of_query(3, 2, 10, 8),
        ];
        assert_eq!(rank(&entries), (vec![2, 3, 1], vec![0]));
    }

    #[test]
    fn a_query_with_a_late_answer_is_postponed_first() {
        let spoiled = Entry {
            is_spoiled: true,
            ..entry(0, 2, 5)
        };
        let entries = [spoiled, entry(1, 4, 5)];
        assert_eq!(rank(&entries), (vec![1], vec![0]));
    }

    #[test]
    fn requests_first_and_shortest_background_first() {
        let request = Entry {
            is_request: true,
            deadline: None,
            ..entry(0, 1, 0)
        };
        let plain = |index, left| Entry {
            deadline: None,
            ..entry(index, left, 0)
        };
        let entries = [plain(1, 9), entry(2, 1, 5), plain(3, 4), request];
        assert_eq!(rank(&entries), (vec![0, 2], vec![3, 1]));
    }

    #[test]
    fn endless_messages_do_not_overflow() {
        let entries: Vec<Entry> = (0..1_000)
            .map(|index| entry(index, u64::MAX / 2, 10))
            .collect();
        assert_eq!(rank(&entries).1.len(), 1_000);
    }
}

//! Wake-ups requested by the workloads, and the timer for the next one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::AsFd;

use duetime_core::Time;
use duetime_sim::workload::Wake;
use nix::sys::epoll::{Epoll, EpollEvent, EpollFlags};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::TIMER;
use crate::LabError;
use crate::linux::clock::Clock;

/// Pending wake-ups.
pub struct Wakes {
    heap: BinaryHeap<Reverse<Entry>>,
    added: u64,
    timer: TimerFd,
    /// Time to which the timer is set.
    armed: Option<Time>,
}

/// Entry ordered by time, then by insertion.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Time,
    number: u64,
    host: u32,
    workload: u16,
    token: u64,
}

impl Wakes {
    /// Creates an empty queue. `epoll` watches its timer.
    pub fn new(epoll: &Epoll) -> Result<Self, LabError> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)
            .map_err(LabError::system("create a timer"))?;
        epoll
            .add(timer.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, TIMER))
            .map_err(LabError::system("watch the timer"))?;
        Ok(Self {
            heap: BinaryHeap::new(),
            added: 0,
            timer,
            armed: None,
        })
    }

    /// Adds a wake-up.
    pub fn add(&mut self, wake: Wake) {
        let Wake {
            host,
            at,
            workload,
            token,
        } = wake;
        self.heap.push(Reverse(Entry {
            at,
            number: self.added,
            host,
            workload,
            token,
        }));
        self.added += 1;
    }

    /// Removes and returns the next wake-up if it is due.
    pub fn due(&mut self, now: Time) -> Option<Wake> {
        if self.next()? > now {
            return None;
        }
        let Reverse(entry) = self.heap.pop()?;
        Some(Wake {
            host: entry.host,
            at: entry.at,
            workload: entry.workload,
            token: entry.token,
        })
    }

    /// Returns the time of the next wake-up.
    pub fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// Returns true if no wake-up is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Sets the timer.
    pub fn arm(&mut self, clock: Clock, at: Time) -> Result<(), LabError> {
        if self.armed == Some(at) {
            return Ok(());
        }
        self.armed = Some(at);
        let expiration = Expiration::OneShot(clock.monotonic(at));
        self.timer
            .set(expiration, TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            .map_err(LabError::system("set a timer"))
    }

    /// Handles the expired timer.
    pub fn acknowledge(&mut self) {
        self.armed = None;
        // The descriptor is non-blocking, and the count of expirations is not needed.
        let _ = self.timer.wait();
    }
}

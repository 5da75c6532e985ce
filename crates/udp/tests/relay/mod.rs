//! Datagram relay between a client and a server, with faults, for the tests of the protocols' crates.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time at which the routers lose their state.
const RESTART: Duration = Duration::from_millis(15);

/// Fault probabilities in 1/1000.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    pub lost: u64,
    pub repeated: u64,
    pub damaged: u64,
    pub delayed: u64,
    /// Time after which no datagram passes.
    pub silent_after: Option<Duration>,
}

impl Faults {
    /// Returns the faults of a test run.
    pub fn new(seed: u64) -> Self {
        Self {
            lost: seed % 3 * 40,
            repeated: seed % 2 * 100,
            damaged: seed % 5 * 10,
            delayed: seed % 4 * 60,
            silent_after: (seed % 4 == 3).then(|| Duration::from_millis(20 + seed * 7 % 50)),
        }
    }
}

/// Addresses of the relay.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Address of the relay for clients; port 0 for any.
    pub address: SocketAddr,
    pub server: SocketAddr,
}

/// Routers on the way of the datagrams.
pub trait Routers: Send + 'static {
    /// Processes a datagram to the server (direction 0) or to the client (1).
    fn pass(&mut self, direction: usize, elapsed: Duration, datagram: &mut [u8]);

    /// Loses all state. Returns false if there is none.
    fn restart(&mut self) -> bool;
}

/// Routers that do not look at datagrams.
impl Routers for () {
    fn pass(&mut self, _: usize, _: Duration, _: &mut [u8]) {}

    fn restart(&mut self) -> bool {
        false
    }
}

pub struct Relay {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    injected: Arc<Injected>,
    thread: Option<thread::JoinHandle<()>>,
}

/// Faults that the relay has injected.
#[derive(Default)]
struct Injected {
    lost: AtomicU64,
    repeated: AtomicU64,
    damaged: AtomicU64,
    delayed: AtomicU64,
    restarts: AtomicU64,
    silences: AtomicU64,
}

/// Counts one fault.
fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Relay {
    /// Starts to relay, until dropped.
    pub fn start(route: Route, faults: Faults, seed: u64, routers: impl Routers) -> Self {
        let socket = UdpSocket::bind(route.address).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(1)))
            .unwrap();
        let address = socket.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let injected = Arc::new(Injected::default());
        let mut relaying = Relaying {
            socket,
            route,
            client: None,
            faults,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            began: Instant::now(),
            routers,
            delayed: BinaryHeap::new(),
            injected: Arc::clone(&injected),
        };
        let ends = Arc::clone(&stop);
        let thread = thread::spawn(move || relaying.run(&ends));
        Self {
            address,
            stop,
            injected,
            thread: Some(thread),
        }
    }

    /// Returns the address for clients.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of damaged datagrams that were sent.
    pub fn damaged(&self) -> u64 {
        self.injected.damaged.load(Ordering::Relaxed)
    }

    /// Returns the number of faults of each kind.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        let Injected {
            lost,
            repeated,
            damaged,
            delayed,
            restarts,
            silences,
        } = &*self.injected;
        let faults = [
            ("losses", lost),
            ("duplicates", repeated),
            ("corruptions", damaged),
            ("reorderings", delayed),
            ("restarts", restarts),
            ("silences", silences),
        ];
        let load = |(kind, counter): (_, &AtomicU64)| (kind, counter.load(Ordering::Relaxed));
        faults.map(load).to_vec()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Delayed datagram: the time at which it is sent, its destination, its bytes, and true if it is damaged.
type Delayed = (Duration, SocketAddr, Vec<u8>, bool);

struct Relaying<R> {
    socket: UdpSocket,
    route: Route,
    client: Option<SocketAddr>,
    faults: Faults,
    random: u64,
    began: Instant,
    routers: R,
    delayed: BinaryHeap<Reverse<Delayed>>,
    injected: Arc<Injected>,
}

impl<R: Routers> Relaying<R> {
    fn run(&mut self, stop: &AtomicBool) {
        let (mut restart, mut buffer) = (Some(RESTART), vec![0; 65_536]);
        while !stop.load(Ordering::Relaxed) {
            let received = self.socket.recv_from(&mut buffer);
            let elapsed = self.began.elapsed();
            if self.faults.silent_after.is_some_and(|end| elapsed >= end) {
                self.injected.silences.store(1, Ordering::Relaxed);
                continue;
            }
            if restart.is_some_and(|at| elapsed >= at) {
                if self.routers.restart() {
                    count(&self.injected.restarts);
                }
                restart = None;
            }
            while let Some(Reverse(first)) = self.delayed.peek()
                && first.0 <= elapsed
                && let Some(Reverse((_, to, bytes, is_damaged))) = self.delayed.pop()
            {
                self.send(to, &bytes, is_damaged);
            }
            if let Ok((length, from)) = received {
                self.relay(elapsed, from, &buffer[..length]);
            }
        }
    }

    fn relay(&mut self, elapsed: Duration, from: SocketAddr, datagram: &[u8]) {
        let (to, direction) = if from == self.route.server {
            (self.client, 1)
        } else {
            self.client = Some(from);
            (Some(self.route.server), 0)
        };
        let Some(to) = to else { return };
        if self.happens(self.faults.lost) {
            count(&self.injected.lost);
            return;
        }
        let copies = 1 + u64::from(self.happens(self.faults.repeated));
        self.injected
            .repeated
            .fetch_add(copies - 1, Ordering::Relaxed);
        for _ in 0..copies {
            let mut bytes = datagram.to_vec();
            self.routers.pass(direction, elapsed, &mut bytes);
            let is_damaged = self.happens(self.faults.damaged);
            if is_damaged {
                let bit = self.draw() as usize % (bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            if self.happens(self.faults.delayed) {
                count(&self.injected.delayed);
                let until = elapsed + Duration::from_micros(self.draw() % 3_000);
                self.delayed.push(Reverse((until, to, bytes, is_damaged)));
            } else {
                self.send(to, &bytes, is_damaged);
            }
        }
    }

    /// Sends a datagram, and counts it if it is damaged: a silent relay keeps those that it delays.
    fn send(&self, to: SocketAddr, bytes: &[u8], is_damaged: bool) {
        if self.socket.send_to(bytes, to).is_ok() && is_damaged {
            count(&self.injected.damaged);
        }
    }

    fn happens(&mut self, permille: u64) -> bool {
        permille > 0 && self.draw() % 1_000 < permille
    }

    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}

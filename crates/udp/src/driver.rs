//! Thread of a socket: moves datagrams between the socket and the protocol's endpoint, and runs its timers.

use crate::Protocol;
use crate::shared::Shared;
use duetime_core::{Span, Time};
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, IoSliceMut, Read};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread;

/// Maximum number of bytes that one system call sends to a peer.
const MAX_RUN_BYTES: usize = 65_000;
/// Number of datagrams to collect before they are sent and received ones are processed: about as many as two system calls
/// send, so that they are still in the processor's cache. The last run is completed, up to twice as many datagrams, since
/// the cost of a call hardly depends on its datagrams.
const DATAGRAMS: usize = 88;
/// Number of buffers for one call that receives. Each takes up to 64 datagrams of one peer; with more buffers, the first
/// would no longer be in the processor's cache when they are read.
const BUFFERS: usize = 8;
/// Number of datagrams after which the clock is read again: read for each, it took 3 % of a sender's time.
const DATAGRAMS_PER_CLOCK: usize = 16;
/// Maximum number of system calls that receive datagrams before others are sent, so that a flood does not stop the
/// protocol.
const MAX_RECEIVES: usize = 32;
/// Maximum time for which a dropped socket sends its remaining data.
const LINGER: Span = Span::from_secs(10);
/// Length of the last wait up to which the thread polls, and the maximum time of polling before it sleeps. Sleeping and
/// waking take processor time on both hosts; with polling, a flow needs a fifth less per byte.
const MAX_POLLING: Span = Span::from_us(50);
/// Maximum wait for space in a full socket, in nanoseconds.
const FULL_SOCKET_WAIT_NS: i64 = 1_000_000;

pub struct Driver<P: Protocol> {
    pub shared: Arc<Shared<P>>,
    pub socket: UdpSocket,
    pub state: UdpSocketState,
    /// ECN codepoint of sent datagrams.
    pub ecn: Option<EcnCodepoint>,
    /// Becomes readable when an application thread wakes the driver.
    pub wakeup: UnixStream,
    /// True if the last wait was shorter than [`MAX_POLLING`].
    pub is_busy: bool,
}

const _: () = assert!(BUFFERS <= BATCH_SIZE);

/// Consecutive datagrams of equal length for one peer; the last may be shorter.
struct Run {
    peer: SocketAddr,
    start: usize,
    end: usize,
    segment: usize,
    /// Number of datagrams.
    count: usize,
    closed: bool,
}

impl<P: Protocol> Driver<P> {
    /// Runs until the socket is dropped and all data is sent. After an error, or a panic, all calls fail.
    pub fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        guard(&shared, || self.drive());
    }

    fn drive(&mut self) -> io::Result<()> {
        let longest = self.state.gro_segments().max(1) * 1_500;
        let mut incoming = vec![0; longest.max(usize::from(u16::MAX)) * BUFFERS];
        let (mut outgoing, mut runs) = (Vec::new(), Vec::new());
        let mut last = None;
        loop {
            self.receive(&mut incoming)?;
            outgoing.clear();
            runs.clear();
            let next = self.collect(&mut outgoing, &mut runs, &mut last);
            for run in &runs {
                self.send(run, &outgoing[run.start..run.end])?;
            }
            let Some(next) = next else {
                return Ok(());
            };
            if runs.is_empty() {
                self.wait(next)?;
            }
        }
    }

    /// Collects the datagrams that may leave now. Returns the time of the next call, or `None` if the thread
    /// ends.
    fn collect(
        &self,
        outgoing: &mut Vec<u8>,
        runs: &mut Vec<Run>,
        last: &mut Option<Time>,
    ) -> Option<Time> {
        let mut state = self.shared.lock();
        let mut now = self.shared.now();
        if state.protocol.next_timeout() <= now {
            state.protocol.timeout(now);
        }
        let max_segments = self.state.max_gso_segments();
        for count in 1..=2 * DATAGRAMS {
            let Some(transmit) = state.protocol.poll_transmit(now, outgoing) else {
                break;
            };
            extend(runs, transmit.peer, transmit.bytes, max_segments);
            let is_full = |run: &Run| !run.has_room(run.segment, max_segments);
            if count >= DATAGRAMS && runs.last().is_some_and(is_full) {
                break;
            }
            if count.is_multiple_of(DATAGRAMS_PER_CLOCK) {
                now = self.shared.now();
            }
        }
        state.notify();
        let mut next = state.protocol.next_timeout();
        if state.closing && runs.is_empty() {
            let end = *last.get_or_insert(now + LINGER);
            if !state.protocol.is_sending() || end <= now {
                self.shared.unlock(state);
                return None;
            }
            next = next.min(end);
        }
        // With datagrams to send, the loop continues immediately.
        state.planned = if runs.is_empty() { next } else { Time::ZERO };
        self.shared.unlock(state);
        Some(next)
    }

    fn send(&self, run: &Run, contents: &[u8]) -> io::Result<()> {
        let transmit = Transmit {
            destination: run.peer,
            ecn: self.ecn,
            contents,
            segment_size: (contents.len() > run.segment).then_some(run.segment),
            src_ip: None,
        };
        for retry in [true, false] {
            match self
                .state
                .try_send(UdpSockRef::from(&self.socket), &transmit)
            {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && retry => {
                    let timeout = Timespec {
                        tv_sec: 0,
                        tv_nsec: FULL_SOCKET_WAIT_NS,
                    };
                    poll(
                        &mut [PollFd::new(&self.socket, PollFlags::OUT)],
                        Some(&timeout),
                    )?;
                }
                // The error of a report about another datagram.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && retry => {}
                Err(error) if quinn_udp::is_msg_size_err(&error) => {
                    let mut state = self.shared.lock();
                    state.protocol.too_long(self.shared.now(), run.peer);
                    break;
                }
                // Other errors count as loss in the network: no route, or an unreachable host.
                Ok(()) | Err(_) => break,
            }
        }
        Ok(())
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<()> {
        for _ in 0..MAX_RECEIVES {
            let length = buffer.len() / BUFFERS;
            let mut pieces: [IoSliceMut<'_>; BUFFERS] = {
                let mut chunks = buffer.chunks_mut(length);
                std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()))
            };
            let mut metas = [RecvMeta::default(); BUFFERS];
            let socket = UdpSockRef::from(&self.socket);
            let count = match self.state.recv(socket, &mut pieces, &mut metas) {
                Ok(count) => count,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(()),
                    io::ErrorKind::Interrupted => continue,
                    // The error of a report about a sent datagram.
                    _ if self.take_reports() > 0 => continue,
                    io::ErrorKind::ConnectionRefused => continue,
                    _ => return Err(error),
                },
            };
            let mut state = self.shared.lock();
            let now = self.shared.now();
            for (piece, meta) in pieces.iter().zip(&metas).take(count) {
                let stride = meta.stride.max(1);
                let is_marked = meta.ecn == Some(EcnCodepoint::Ce);
                for datagram in piece[..meta.len.min(piece.len())].chunks(stride) {
                    state.protocol.input(now, meta.addr, datagram, is_marked);
                }
            }
            if count < BUFFERS {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Processes the network's reports about sent datagrams. Returns their number.
    fn take_reports(&self) -> usize {
        #[cfg(target_os = "linux")]
        {
            let (taken, closed) = crate::reports::take(&self.socket);
            let mut state = self.shared.lock();
            let now = self.shared.now();
            for peer in closed {
                state.protocol.port_closed(now, peer);
            }
            taken
        }
        #[cfg(not(target_os = "linux"))]
        0
    }

    /// Waits until a datagram arrives, the application wakes the driver, or `until`. Polls at first if the last wait was
    /// short, and lets other threads run in between.
    fn wait(&mut self, until: Time) -> io::Result<()> {
        let started = self.shared.now();
        let mut wanted = [
            PollFd::new(&self.socket, PollFlags::IN),
            PollFd::new(&self.wakeup, PollFlags::IN),
        ];
        let mut now = started;
        loop {
            let polls = self.is_busy && now < until && now.since(started) < MAX_POLLING;
            let timeout = if polls {
                Span::ZERO
            } else {
                until.since(now.min(until))
            };
            let timeout = (until != Time::MAX || polls).then(|| timespec(timeout));
            let ready = match poll(&mut wanted, timeout.as_ref()) {
                Err(rustix::io::Errno::INTR) => 0,
                ready => ready?,
            };
            now = self.shared.now();
            if ready > 0 || !polls {
                break;
            }
            thread::yield_now();
        }
        self.is_busy = now.since(started) < MAX_POLLING;
        if wanted[0].revents().contains(PollFlags::ERR) {
            self.take_reports();
        }
        if !wanted[1].revents().is_empty() {
            let mut wakeups = [0; 64];
            match (&self.wakeup).read(&mut wakeups) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Run {
    /// Returns true if the kernel can send another datagram of `bytes` in the same call.
    fn has_room(&self, bytes: usize, max_segments: usize) -> bool {
        !self.closed && self.end - self.start + bytes <= MAX_RUN_BYTES && self.count < max_segments
    }
}

/// Converts a timeout, rounded up to whole nanoseconds.
fn timespec(timeout: Span) -> Timespec {
    let nanoseconds = timeout.as_ps().div_ceil(1_000);
    Timespec {
        tv_sec: i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(nanoseconds % 1_000_000_000).unwrap_or(0),
    }
}

/// Runs the thread's loop. After an error or a panic, all calls fail.
fn guard<P: Protocol>(shared: &Shared<P>, run: impl FnOnce() -> io::Result<()>) {
    let error = match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error,
        // The message of the panic is on stderr.
        Err(_) => io::Error::other("the endpoint's thread panicked"),
    };
    shared.lock().fail(&error);
}

/// Adds a datagram after the collected ones. It joins the last run if the kernel can send both in one call.
fn extend(runs: &mut Vec<Run>, peer: SocketAddr, bytes: usize, max_segments: usize) {
    if let Some(run) = runs.last_mut()
        && run.peer == peer
        && bytes <= run.segment
        && run.has_room(bytes, max_segments)
    {
        run.end += bytes;
        run.count += 1;
        run.closed = bytes < run.segment;
        return;
    }
    let start = runs.last().map_or(0, |run| run.end);
    runs.push(Run {
        peer,
        start,
        end: start + bytes,
        segment: bytes,
        count: 1,
        closed: false,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Poll;

    /// Protocol that never does anything.
    #[derive(Debug)]
    struct Silent;

    impl Protocol for Silent {
        type Key = ();
        fn reads_marks(&self) -> bool {
            false
        }
        fn input(&mut self, _: Time, _: SocketAddr, _: &[u8], _: bool) {}
        fn timeout(&mut self, _: Time) {}
        fn next_timeout(&self) -> Time {
            Time::MAX
        }
        fn poll_transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<crate::Transmit> {
            None
        }
        fn poll_event(&mut self) -> Option<()> {
            None
        }
        fn too_long(&mut self, _: Time, _: SocketAddr) {}
        fn port_closed(&mut self, _: Time, _: SocketAddr) {}
        fn is_sending(&self) -> bool {
            false
        }
        fn stop(&mut self) {}
    }

    #[test]
    fn panic_of_the_thread_ends_all_calls() {
        let (wakeup, _woken) = UnixStream::pair().unwrap();
        let shared = Arc::new(Shared::new(Silent, wakeup));
        let call = |shared: &Shared<Silent>| {
            let blocked = shared.wait_until(None, &(), |_, _| Poll::<()>::Pending);
            blocked.unwrap_err().to_string()
        };
        let waiting = thread::spawn({
            let shared = Arc::clone(&shared);
            move || call(&shared)
        });
        guard(&shared, || panic!("a panic for the test"));
        let text = "the endpoint's thread panicked";
        assert_eq!(waiting.join().unwrap(), text);
        assert_eq!(call(&shared), text);
    }

    #[test]
    fn equal_datagrams_share_a_run() {
        let peer = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let mut runs = Vec::new();
        let datagrams = [
            (1, 66),
            (1, 100),
            (1, 100),
            (1, 40),
            (1, 40),
            (2, 40),
            (2, 60),
            (2, 60),
            (2, 60),
        ];
        for (port, bytes) in datagrams {
            extend(&mut runs, peer(port), bytes, 2);
        }
        let runs: Vec<_> = runs
            .iter()
            .map(|run| (run.peer.port(), run.start, run.end, run.segment))
            .collect();
        let expected = [
            (1, 0, 66, 66),
            (1, 66, 266, 100),
            (1, 266, 346, 40),
            (2, 346, 386, 40),
            (2, 386, 506, 60),
            (2, 506, 566, 60),
        ];
        assert_eq!(runs, expected);
    }
}

//! File descriptors for applications that wait for several sources at once.

use crate::{Protocol, Socket};
use duetime_core::Time;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

/// Attempts of a call, and a file descriptor that is readable when the next attempt may succeed. The descriptor is
/// opened at its first use.
#[derive(Debug, Default)]
pub struct Descriptor(OnceLock<Pipe>);

#[derive(Debug)]
struct Pipe {
    readable: UnixStream,
    /// Makes the other end readable.
    waker: Waker,
}

/// End of a pipe that wakes by writing.
#[derive(Debug)]
struct WriteEnd(UnixStream);

impl Wake for WriteEnd {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // If the pipe is full, the other end is readable already.
        let _ = (&self.0).write(&[1]);
    }
}

impl Descriptor {
    /// Returns the descriptor, which `poll(2)` and event loops report readable when an attempt may succeed, and before
    /// the first one. Do not read from it. Fails if too many files are open.
    pub fn readable(&self) -> io::Result<BorrowedFd<'_>> {
        let pipe = if let Some(pipe) = self.0.get() {
            pipe
        } else {
            let new = Pipe::new()?;
            self.0.get_or_init(|| new)
        };
        Ok(pipe.readable.as_fd())
    }

    /// Calls the protocol once, without waiting. Returns `None` if the call is not ready; the descriptor becomes
    /// readable at the next event of `key`. Use one key per descriptor. Returns an error if the socket's thread has
    /// ended.
    pub fn attempt<P: Protocol, T>(
        &self,
        socket: &Socket<P>,
        key: &P::Key,
        call: impl FnOnce(&mut P, Time) -> Poll<T>,
    ) -> io::Result<Option<T>> {
        let waker = self.0.get().map_or(Waker::noop(), |pipe| {
            // Before the call: it sees the events until then, and later ones fill the pipe again.
            pipe.drain();
            &pipe.waker
        });
        match socket.poll(key, &mut Context::from_waker(waker), call) {
            Poll::Pending => Ok(None),
            Poll::Ready(result) => {
                // The next attempt may succeed too.
                waker.wake_by_ref();
                result.map(Some)
            }
        }
    }
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let (readable, written) = UnixStream::pair()?;
        readable.set_nonblocking(true)?;
        written.set_nonblocking(true)?;
        let waker = Waker::from(Arc::new(WriteEnd(written)));
        waker.wake_by_ref();
        Ok(Self { readable, waker })
    }

    fn drain(&self) {
        while matches!((&self.readable).read(&mut [0; 64]), Ok(1..)) {}
    }
}

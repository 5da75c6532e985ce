//! A pipe that keeps one wake-up, like the socket's.

use loom::sync::{Condvar, Mutex};
use std::io::{self, Write};
use std::sync::Arc;

/// Both ends of a pipe.
#[derive(Clone, Debug, Default)]
pub struct Pipe(Arc<(Mutex<bool>, Condvar)>);

impl Pipe {
    /// Waits until the pipe has been written to since the last call.
    pub fn wait(&self) {
        let (is_written, wake) = &*self.0;
        let mut is_written = is_written.lock().expect("no thread panics");
        while !*is_written {
            is_written = wake.wait(is_written).expect("no thread panics");
        }
        *is_written = false;
    }
}

impl Write for &Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (is_written, wake) = &*self.0;
        *is_written.lock().expect("no thread panics") = true;
        wake.notify_one();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

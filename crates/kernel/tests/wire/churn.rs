//! Many short connections next to long ones, while the controllers are attached and detached.

use super::{Connection, Marking, RECEIVER, Wire, attach};
use duetime_kernel::Options;
use duetime_kernel::deadline::{self, Deadline};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Number of concurrent connections.
const WORKERS: usize = 8;
const PORT: u16 = 9000;
const CONTROL: &str = "duetime_d2tcp";

/// Results of a churn.
#[derive(Clone, Debug, Default)]
pub struct Churn {
    /// Number of short connections that were opened, answered and closed.
    pub finished: usize,
    /// Number of these under the controller; the others started while none was attached.
    pub under_control: usize,
    /// Errors of connections that got stuck or were reset.
    pub failed: Vec<String>,
    /// Number of times that the controllers were attached and detached meanwhile.
    pub attachments: usize,
    /// Number of marked packets.
    pub marked: u64,
    /// Number of entries in the socket storage maps: the maximum, and after all connections were closed with the
    /// controllers still attached. `None` if the kernel permits no tracing programs.
    pub entries: Option<(usize, usize)>,
    /// Errors in the kernel's log.
    pub complaints: Vec<String>,
}

/// Opens and closes at least `connections` connections, with messages of different lengths and mostly with deadlines,
/// while attaching and detaching at least `attachments` times. A tenth as many connections follow under the last
/// attachment.
pub fn churn(connections: usize, attachments: usize) -> Churn {
    let mut log = Log::open();
    let wire = Wire::new(Some("tbf rate 500mbit burst 6000 limit 3000000"));
    wire.mark(Marking::above(20));
    let mut attachment = Some(attach(&Options::default()));
    let listener = wire.listen(CONTROL, PORT);
    let load = [9001, 9002].map(|port| Connection::new(&wire, CONTROL, port).flood());
    let mut churn = Churn::default();
    let (next, limit) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let controlled = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let mut most = 0;
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| serve(&listener, &stop));
        }
        let workers: Vec<_> = (0..WORKERS)
            .map(|_| scope.spawn(|| work(&wire, &next, &limit, &controlled)))
            .collect();
        while next.load(Ordering::Relaxed) < connections || churn.attachments < attachments {
            drop(attachment.take());
            attachment = Some(attach(&Options::default()));
            deadline::choose(listener.as_fd(), CONTROL).expect("attached");
            churn.attachments += 1;
            thread::sleep(Duration::from_millis(100));
            most = most.max(entries(&wire).unwrap_or(0));
        }
        limit.store(
            next.load(Ordering::Relaxed) + connections / 10,
            Ordering::Relaxed,
        );
        for worker in workers {
            let (finished, failed) = worker.join().expect("no panic");
            churn.finished += finished;
            churn.failed.extend(failed);
        }
        stop.store(true, Ordering::Relaxed);
        // Wake the threads that wait for a connection.
        for _ in 0..WORKERS {
            drop(wire.sender.within(|| TcpStream::connect((RECEIVER, PORT))));
        }
    });
    drop((load, listener));
    churn.under_control = controlled.into_inner();
    churn.marked = wire.counts().marked;
    churn.entries = settled(&wire).map(|left| (most, left));
    churn.complaints = log.complaints();
    churn
}

fn entries(wire: &Wire) -> Option<usize> {
    Some(wire.entries("duetime_flows")? + wire.entries("duetime_origins")?)
}

/// Waits until the entries are gone and returns the remaining number. A closed socket ends a moment later, after the
/// other end's last packets, which cannot arrive once the link is gone. Waits a second if entries cannot be counted.
fn settled(wire: &Wire) -> Option<usize> {
    let mut left = entries(wire);
    if left.is_none() {
        thread::sleep(Duration::from_secs(1));
    }
    for _ in 0..200 {
        if matches!(left, None | Some(0)) {
            break;
        }
        thread::sleep(Duration::from_millis(50));
        left = entries(wire);
    }
    left
}

/// Reads each connection to its end and replies with the number of bytes.
fn serve(listener: &TcpListener, stop: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while !stop.load(Ordering::Relaxed) {
        // The other end has closed the connection; its worker reports the reason.
        let Ok((mut stream, _)) = listener.accept() else {
            continue;
        };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
        let mut bytes = 0_u64;
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            bytes += count as u64;
        }
        let _ = stream.write_all(&bytes.to_ne_bytes());
    }
}

/// Opens connections until the limit. Returns the number of answered connections, and the errors of others.
fn work(
    wire: &Wire,
    next: &AtomicUsize,
    limit: &AtomicUsize,
    controlled: &AtomicUsize,
) -> (usize, Vec<String>) {
    let (mut finished, mut failed) = (0, Vec::new());
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= limit.load(Ordering::Relaxed) {
            return (finished, failed);
        }
        match exchange(wire, number) {
            Ok(under_control) => {
                finished += 1;
                controlled.fetch_add(usize::from(under_control), Ordering::Relaxed);
            }
            Err(error) => failed.push(format!("connection {number}: {error}")),
        }
    }
}

/// Opens one short connection. Returns true if the controller was attached.
fn exchange(wire: &Wire, number: usize) -> std::io::Result<bool> {
    let length = 1_000 + (number * 7_919) % 30_000;
    let socket = wire.sender.within(super::unconnected);
    let under_control = deadline::choose(socket.as_fd(), CONTROL).is_ok();
    let mut stream = super::connected(socket, PORT)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.set_write_timeout(Some(Duration::from_secs(30)))?;
    if !number.is_multiple_of(4) {
        let message = Deadline {
            bytes: length as u64,
            within: Duration::from_millis(5 + number as u64 % 50),
        };
        // The option may be detached already.
        let _ = deadline::set(stream.as_fd(), &message);
    }
    stream.write_all(&vec![0; length])?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = [0; 8];
    stream.read_exact(&mut answer)?;
    if u64::from_ne_bytes(answer) == length as u64 {
        Ok(under_control)
    } else {
        Err(std::io::Error::other("not all data arrived"))
    }
}

/// Kernel log from its opening on.
struct Log(File);

impl Log {
    fn open() -> Self {
        let mut options = File::options();
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let file = options.read(true).custom_flags(flags).open("/dev/kmsg");
        let mut file = file.expect("the kernel's log");
        file.seek(SeekFrom::End(0)).expect("the end of the log");
        Self(file)
    }

    /// Returns the lines since then that report an error in the kernel.
    fn complaints(&mut self) -> Vec<String> {
        const SIGNS: [&str; 6] = [
            "WARNING:",
            "BUG:",
            "Oops",
            "Call Trace",
            "general protection",
            "stall",
        ];
        let mut lines = Vec::new();
        let mut record = vec![0; 8192];
        // Each read returns one record and fails without a further one.
        while let Ok(length) = self.0.read(&mut record) {
            let line = String::from_utf8_lossy(&record[..length]).into_owned();
            if SIGNS.iter().any(|sign| line.contains(sign)) {
                lines.push(line);
            }
        }
        lines
    }
}

//! Queries and answers as messages of `due`.

use crate::carrier::Interface;
use crate::query::Query;
use duetime_due::{Message, Options, Received, Socket};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which the root's thread checks whether the run has ended.
const CHECK_EVERY: Duration = Duration::from_millis(100);
/// Maximum length of a message.
const MAX_BYTES: u64 = 1 << 26;

/// Returns the address at which a server receives messages: UDP at the port after the server's.
pub fn message_address(server: SocketAddr) -> io::Result<SocketAddr> {
    let no_port = || io::Error::new(ErrorKind::InvalidInput, "port 65535 has none after it");
    let port = server.port().checked_add(1).ok_or_else(no_port)?;
    Ok(SocketAddr::new(server.ip(), port))
}

/// Opens a socket on the interface.
pub fn bind(address: SocketAddr, interface: Interface) -> io::Result<Socket> {
    let options = Options {
        max_message_bytes: MAX_BYTES,
        ..Options::new(interface.rate)
    };
    Socket::bind(address, options)
}

/// Answers one query, or sends the error in its place.
pub fn answer(socket: &Socket, received: &Received) -> io::Result<()> {
    let head = received.bytes.first_chunk();
    let short = || io::Error::new(ErrorKind::InvalidData, "not a query of duetime load");
    let query = head.ok_or_else(short).and_then(Query::decode)?;
    let length = usize::try_from(query.answer_bytes).map_err(io::Error::other)?;
    if query.answer_bytes > MAX_BYTES {
        let text = "an answer over due has at most 64 MiB";
        socket.send(received.from, received.answer(format!("\u{1}{text}")))?;
        return Err(io::Error::new(ErrorKind::InvalidInput, text));
    }
    socket.send(received.from, received.answer(vec![0; length]))?;
    Ok(())
}

/// Answer and the time of its arrival.
type Arrived = (Instant, Vec<u8>);
/// Threads that wait for answers of a server to a query, in the order of their requests.
type Waiting = BTreeMap<(SocketAddr, u64), VecDeque<Sender<Arrived>>>;

/// Root's socket, with a thread that passes answers to the threads that wait for them.
#[derive(Clone, Debug)]
pub struct Root {
    socket: Socket,
    waiting: Arc<Mutex<Waiting>>,
}

impl Root {
    /// Opens the socket and starts the thread, which ends with the last clone.
    pub fn open(address: SocketAddr, interface: Interface) -> io::Result<Self> {
        let socket = bind(address, interface)?;
        let waiting = Arc::new(Mutex::new(Waiting::new()));
        let (from, to) = (socket.clone(), Arc::downgrade(&waiting));
        thread::Builder::new()
            .name("load-answers".to_owned())
            .spawn(move || distribute(&from, &to))?;
        Ok(Self { socket, waiting })
    }

    /// Sends a query and waits for its answer. Returns the time of its arrival and its bytes.
    pub fn query(
        &self,
        server: SocketAddr,
        bytes: Vec<u8>,
        within: Option<Duration>,
        number: u64,
        timeout: Duration,
    ) -> io::Result<Arrived> {
        let server = message_address(server)?;
        let (sender, receiver) = mpsc::channel();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = waiting.entry((server, number)).or_default();
        queue.push_back(sender);
        drop(waiting);
        let message = Message::new(bytes).of_query(number);
        let message = match within {
            Some(within) => message.within(within),
            None => message,
        };
        let end = Instant::now() + timeout;
        let mut sending = Some(self.socket.send(server, message)?);
        loop {
            match receiver.recv_timeout(CHECK_EVERY) {
                Ok(arrived) => return Ok(arrived),
                Err(RecvTimeoutError::Timeout) if Instant::now() < end => {
                    // A failure of the query ends the wait.
                    if let Some(under_way) = &mut sending
                        && under_way.wait_timeout(Duration::ZERO)?
                    {
                        sending = None;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(io::Error::new(ErrorKind::TimedOut, "no answer arrived"));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the socket failed"));
                }
            }
        }
    }
}

/// Passes answers on until the root is dropped or the socket fails.
fn distribute(socket: &Socket, waiting: &Weak<Mutex<Waiting>>) {
    loop {
        let received = socket.receive_timeout(CHECK_EVERY);
        let arrived = Instant::now();
        let Some(waiting) = waiting.upgrade() else {
            return;
        };
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        match received {
            Ok(None) => {}
            Ok(Some(answer)) => {
                let key = (answer.from, answer.query.unwrap_or_default());
                let mut answer = (arrived, answer.bytes);
                let mut queue = waiting.remove(&key).unwrap_or_default();
                while let Some(thread) = queue.pop_front() {
                    // A thread whose time has passed is gone.
                    match thread.send(answer) {
                        Ok(()) => break,
                        Err(returned) => answer = returned.0,
                    }
                }
                if !queue.is_empty() {
                    waiting.insert(key, queue);
                }
            }
            Err(_) => {
                // Ends all waits.
                waiting.clear();
                return;
            }
        }
    }
}

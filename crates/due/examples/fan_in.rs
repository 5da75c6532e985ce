//! Sends queries to workers and prints the number of answers that arrived within the deadline.
//!
//! ```sh
//! cargo run --release -p duetime-due --example fan_in                 # 40 workers, 20,000 bytes each, within 20 ms
//! cargo run --release -p duetime-due --example fan_in -- 100 5000 50  # 100 workers, 5,000 bytes each, within 50 ms
//! ```
//!
//! All sockets are in this process, on loopback. The parent's `Options` have a rate of 1 Gbps, so it grants the answers
//! at this rate.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use duetime_due::{Message, Options, Rate, Socket, random_query};
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

const RATE: Rate = Rate::from_gbps(1);
const QUERIES: usize = 10;
/// Maximum time to wait for an answer.
const LIMIT: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (workers, answer_bytes, deadline_ms) = match arguments[..] {
        [] => (40, 20_000, 20),
        [workers, bytes, deadline] => (workers.parse()?, bytes.parse()?, deadline.parse()?),
        _ => return Err("usage: fan_in [WORKERS ANSWER_BYTES DEADLINE_MS]".into()),
    };
    let addresses = start_workers(workers, answer_bytes)?;
    let parent = Socket::bind("127.0.0.1:0", Options::new(RATE))?;
    let deadline = Duration::from_millis(deadline_ms);
    println!("{workers} workers, answers of {answer_bytes} bytes, within {deadline:?}");
    for number in 1..=QUERIES {
        let (in_time, last) = ask(&parent, &addresses, deadline)?;
        let last = last.as_secs_f64() * 1e3;
        println!(
            "query {number}: {in_time} of {workers} answers in time, the last after {last:.1} ms"
        );
    }
    Ok(())
}

/// Starts workers, each with a socket and a thread. Returns their addresses.
fn start_workers(workers: usize, answer_bytes: usize) -> io::Result<Vec<SocketAddr>> {
    let mut addresses = Vec::new();
    for _ in 0..workers {
        let socket = Socket::bind("127.0.0.1:0", Options::new(RATE))?;
        addresses.push(socket.local_addr()?);
        thread::spawn(move || -> io::Result<()> {
            loop {
                let query = socket.receive()?;
                // The answer has the query's deadline.
                socket.send(query.from, query.answer(vec![7; answer_bytes]))?;
            }
        });
    }
    Ok(addresses)
}

/// Sends a query to all workers and waits for their answers, including late ones. Returns the number of answers that
/// arrived within `deadline`, and the time of the last answer.
fn ask(
    parent: &Socket,
    workers: &[SocketAddr],
    deadline: Duration,
) -> io::Result<(usize, Duration)> {
    let query = random_query()?;
    let sent = Instant::now();
    for worker in workers {
        let left = deadline.saturating_sub(sent.elapsed());
        let message = Message::new("query").within(left).of_query(query);
        parent.send(worker, message)?;
    }
    let (mut in_time, mut elapsed) = (0, Duration::ZERO);
    for _ in workers {
        if parent.receive_timeout(LIMIT)?.is_none() {
            break;
        }
        elapsed = sent.elapsed();
        in_time += usize::from(elapsed <= deadline);
    }
    Ok((in_time, elapsed))
}

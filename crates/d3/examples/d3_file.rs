//! Sends a file with a deadline and reports whether it was met.
//!
//! ```sh
//! cargo build --release -p duetime-d3 --example d3_file
//! target/release/examples/d3_file serve 0.0.0.0:7000 10G > copy
//! target/release/examples/d3_file send HOST:7000 10G 500 < file     # within 500 ms
//! ```
//!
//! Both sides name the rate of their interface, followed after a slash by that of the slowest link if it differs, such
//! as `10G/1G`. The receiver replies with a hash of the data, which the sender compares with its own.

#![expect(clippy::print_stderr, reason = "an example prints its results")]

use duetime_d3::{Endpoint, Flow, Options, Rate, Stream};
use std::error::Error;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", address, rates] => serve(&endpoint(address, rates)?),
        ["send", address, rates] => send(&endpoint("0.0.0.0:0", rates)?, address, None),
        ["send", address, rates, ms] => {
            let deadline = Duration::from_millis(ms.parse()?);
            send(&endpoint("0.0.0.0:0", rates)?, address, Some(deadline))
        }
        _ => Err("usage: d3_file serve ADDRESS RATE[/SLOWEST] | send ADDRESS RATE[/SLOWEST] [MILLISECONDS]".into()),
    }
}

/// Receives one file and writes it to standard output.
fn serve(endpoint: &Endpoint) -> Result<(), Box<dyn Error>> {
    let (mut stream, peer) = endpoint.listen(16).accept()?;
    let (mut buffer, mut hash, mut bytes) = (vec![0; 1 << 16], FNV, 0);
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        hash = fnv(hash, &buffer[..length]);
        bytes += length;
        io::stdout().write_all(&buffer[..length])?;
    }
    eprintln!("received {bytes} bytes from {peer}, hash {hash:016x}");
    let answer = hash.to_be_bytes();
    stream.open(Flow::new(answer.len() as u64, None))?;
    stream.write_all(&answer)?;
    stream.close()?;
    Ok(())
}

/// Sends standard input.
fn send(
    endpoint: &Endpoint,
    address: &str,
    deadline: Option<Duration>,
) -> Result<(), Box<dyn Error>> {
    let mut file = Vec::new();
    io::stdin().read_to_end(&mut file)?;
    let began = Instant::now();
    let bytes = file.len() as u64;
    let mut stream = endpoint.connect(address, Flow::new(bytes, deadline))?;
    let (mut granted, mut highest) = (0.0, Rate::from_bps(0));
    let mut before = began;
    for part in file.chunks(1 << 18) {
        stream.write_all(part)?;
        let rate = stream.statistics().granted;
        granted += rate.as_bps() as f64 * before.elapsed().as_secs_f64();
        before = Instant::now();
        highest = highest.max(rate);
    }
    stream.close()?;
    let took = began.elapsed();
    // Writing an empty file takes no time.
    let wrote = before.duration_since(began).as_secs_f64();
    let mean = granted / wrote.max(f64::MIN_POSITIVE) / 1e6;
    let statistics = stream.statistics();
    let counters = statistics.counters;
    eprintln!(
        "{bytes} bytes delivered in {:.1} ms{}",
        took.as_secs_f64() * 1e3,
        match deadline {
            None => String::new(),
            Some(deadline) => format!(
                ": the deadline of {} ms was {}",
                deadline.as_millis(),
                if took <= deadline { "met" } else { "MISSED" }
            ),
        }
    );
    eprintln!(
        "granted {mean:.1} Mbps on average, at most {highest}, by {} interfaces; {} requests, {} retransmissions",
        statistics.hops, counters.requests, counters.retransmits,
    );
    let sent_hash = fnv(FNV, &file);
    let received_hash = answer(&mut stream)?;
    if sent_hash != received_hash {
        return Err(format!("hash {sent_hash:016x} sent, {received_hash:016x} received").into());
    }
    eprintln!("hash {sent_hash:016x} at both ends");
    Ok(())
}

/// Returns the receiver's hash.
fn answer(stream: &mut Stream) -> io::Result<u64> {
    let mut bytes = [0; 8];
    stream.read_exact(&mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

fn endpoint(address: &str, rates: &str) -> Result<Endpoint, Box<dyn Error>> {
    let (interface, slowest) = rates.split_once('/').unwrap_or((rates, rates));
    let mut options = Options::new(rate(interface)?).slowest_link(rate(slowest)?);
    options.send_buffer = 4 << 20;
    options.receive_buffer = 4 << 20;
    Ok(Endpoint::bind(address, options)?)
}

/// Parses a rate such as `10G` or `100M`.
fn rate(word: &str) -> Result<Rate, Box<dyn Error>> {
    let number = |digits: &str| digits.parse::<u64>();
    if let Some(digits) = word.strip_suffix('G') {
        return Ok(Rate::from_gbps(number(digits)?));
    }
    let digits = word
        .strip_suffix('M')
        .ok_or("expected a rate such as 10G or 100M")?;
    Ok(Rate::from_mbps(number(digits)?))
}

const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// Updates an FNV-1a hash.
fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

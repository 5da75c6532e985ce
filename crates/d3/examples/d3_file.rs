//! Sends a file with a deadline, and says whether it was met.
//!
//! ```sh
//! cargo run --release -p duetime-d3 --example d3_file -- serve 0.0.0.0:7000 10G > copy
//! cargo run --release -p duetime-d3 --example d3_file -- send HOST:7000 10G 500 < file     # within 500 ms
//! ```
//!
//! Both sides name the rate of their interface, and print a hash of what they sent or received.

#![expect(clippy::print_stderr, reason = "an example talks to its user")]

use duetime_d3::{Endpoint, Flow, Options, Rate};
use std::error::Error;
use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", address, rate] => serve(address, self::rate(rate)?),
        ["send", address, rate] => send(address, self::rate(rate)?, None),
        ["send", address, rate, ms] => {
            let deadline = Duration::from_millis(ms.parse()?);
            send(address, self::rate(rate)?, Some(deadline))
        }
        _ => Err("usage: d3_file serve ADDRESS RATE | send ADDRESS RATE [MILLISECONDS]".into()),
    }
}

/// Writes one file to standard output.
fn serve(address: &str, rate: Rate) -> Result<(), Box<dyn Error>> {
    let listener = endpoint(address, rate)?.listen(16);
    let (mut stream, peer) = listener.accept()?;
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
    stream.close()?;
    Ok(())
}

/// Sends standard input.
fn send(address: &str, rate: Rate, deadline: Option<Duration>) -> Result<(), Box<dyn Error>> {
    let mut file = Vec::new();
    io::stdin().read_to_end(&mut file)?;
    let endpoint = endpoint("0.0.0.0:0", rate)?;
    let began = Instant::now();
    let bytes = file.len() as u64;
    let mut stream = endpoint.connect(address, Flow { bytes, deadline })?;
    let (mut sent, mut highest) = (0, Rate::from_bps(0));
    for part in file.chunks(1 << 18) {
        stream.write_all(part)?;
        sent += part.len();
        highest = highest.max(stream.statistics().granted);
    }
    stream.finish()?;
    stream.delivered()?;
    let took = began.elapsed();
    let met = match deadline {
        None => "",
        Some(deadline) if took <= deadline => ", the deadline was met",
        Some(_) => ", the deadline was missed",
    };
    let statistics = stream.statistics();
    eprintln!(
        "sent {sent} bytes in {:.1} ms{met}; granted up to {highest}; {} requests, {} packets sent again; hash {:016x}",
        took.as_secs_f64() * 1e3,
        statistics.counters.requests,
        statistics.counters.retransmits,
        fnv(FNV, &file)
    );
    Ok(())
}

fn endpoint(address: &str, rate: Rate) -> io::Result<Endpoint> {
    let mut options = Options::new(rate);
    options.send_buffer = 4 << 20;
    options.receive_buffer = 4 << 20;
    Endpoint::bind(address, options)
}

/// `10G` or `100M`, in bits per second.
fn rate(word: &str) -> Result<Rate, Box<dyn Error>> {
    let number = |digits: &str| digits.parse::<u64>();
    if let Some(digits) = word.strip_suffix('G') {
        return Ok(Rate::from_gbps(number(digits)?));
    }
    let digits = word.strip_suffix('M').ok_or("a rate is like 10G or 100M")?;
    Ok(Rate::from_mbps(number(digits)?))
}

const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a.
fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

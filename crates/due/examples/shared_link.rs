//! Compares one process with two processes that receive answers over one link, with and without sharing the link.
//!
//! ```sh
//! cargo build --release -p duetime-due --example shared_link
//! sudo target/release/examples/shared_link     # two minutes
//! ```
//!
//! The link is a veth pair between two network namespaces, shaped to 100 Mbps. Queries arrive at random and together
//! ask for half of the link's rate. Each asks 20 workers for 20,000 bytes, within 40 to 100 ms.

#![expect(clippy::print_stdout, reason = "an example prints its results")]

use duetime_core::random::mix;
use duetime_due::{Message, Options, Rate, Socket, random_query};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const RATE: Rate = Rate::from_mbps(100);
const RECEIVERS: &str = "due-receivers";
const WORKERS: &str = "due-workers";
const FAN_IN: u16 = 20;
const ANSWER_BYTES: usize = 20_000;
const LOAD: f64 = 0.5;
const DURATION: Duration = Duration::from_secs(30);
const DEADLINE_MS: (f64, f64) = (40.0, 100.0);
/// Time after the last query in which answers still arrive.
const LINGER: Duration = Duration::from_secs(2);
const LINK_FILE: &str = "/run/duetime-shared-link-example";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => compare(),
        ["workers"] => work(),
        ["parent", link_file, ref streams @ ..] => ask(link_file, streams),
        _ => Err("usage: shared_link, as root".into()),
    }
}

fn compare() -> Result<()> {
    let _namespaces = Namespaces::new()?;
    let mut workers = start(WORKERS, &["workers"])?;
    thread::sleep(Duration::from_millis(500));
    println!("{:<36} answers in time  queries in time", "");
    let cases: [(&str, &str, &[&[&str]]); 3] = [
        ("one process", "-", &[&["1", "2"]]),
        ("two processes, shared link", LINK_FILE, &[&["1"], &["2"]]),
        ("two processes, each for itself", "-", &[&["1"], &["2"]]),
    ];
    for (name, link_file, processes) in cases {
        let parent =
            |streams: &&[&str]| start(RECEIVERS, &[&["parent", link_file], *streams].concat());
        let parents = processes
            .iter()
            .map(parent)
            .collect::<Result<Vec<Child>>>()?;
        let mut sums = [0.0; 4];
        for parent in parents {
            let output = parent.stdout.ok_or("no output")?;
            let line = BufReader::new(output).lines().next().ok_or("no line")??;
            for (sum, number) in sums.iter_mut().zip(line.split(' ')) {
                *sum += number.parse::<f64>()?;
            }
        }
        let [answers, all_answers, queries, all_queries] = sums;
        let [answers, queries] = [answers / all_answers, queries / all_queries];
        println!(
            "{name:<36} {:>13.2} %  {:>13.2} %",
            answers * 100.0,
            queries * 100.0
        );
    }
    workers.kill()?;
    workers.wait()?;
    let _ = std::fs::remove_file(LINK_FILE);
    Ok(())
}

/// Two namespaces with a link.
struct Namespaces;

impl Namespaces {
    fn new() -> Result<Self> {
        for command in [
            format!("ip netns add {RECEIVERS}"),
            format!("ip netns add {WORKERS}"),
            format!("ip link add due0 netns {RECEIVERS} type veth peer name due1 netns {WORKERS}"),
            format!("ip -n {RECEIVERS} addr add 10.99.0.1/24 dev due0"),
            format!("ip -n {WORKERS} addr add 10.99.0.2/24 dev due1"),
            format!("ip -n {RECEIVERS} link set due0 up"),
            format!("ip -n {WORKERS} link set due1 up"),
            format!("tc -n {WORKERS} qdisc add dev due1 root tbf rate 100mbit burst 5kb limit 1mb"),
        ] {
            let mut words = command.split(' ');
            let program = words.next().unwrap_or_default();
            if !Command::new(program).args(words).status()?.success() {
                return Err(format!("failed: {command}").into());
            }
        }
        Ok(Self)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for namespace in [RECEIVERS, WORKERS] {
            let _ = Command::new("ip")
                .args(["netns", "del", namespace])
                .status();
        }
    }
}

/// Starts this program in a namespace.
fn start(namespace: &str, arguments: &[&str]) -> Result<Child> {
    let program = std::env::current_exe()?;
    let mut command = Command::new("ip");
    command
        .args(["netns", "exec", namespace])
        .arg(program)
        .args(arguments);
    Ok(command.stdout(Stdio::piped()).spawn()?)
}

/// Answers all queries.
fn work() -> Result<()> {
    let workers = (0..FAN_IN).map(|index| {
        let socket = Socket::bind(worker(index), Options::new(RATE))?;
        Ok(thread::spawn(move || -> std::io::Result<()> {
            loop {
                let query = socket.receive()?;
                socket.send(query.from, query.answer(vec![7; ANSWER_BYTES]))?;
            }
        }))
    });
    for worker in workers.collect::<Result<Vec<_>>>()? {
        let _ended = worker.join();
    }
    Ok(())
}

fn worker(index: u16) -> SocketAddr {
    SocketAddr::from(([10, 99, 0, 2], 7000 + index))
}

/// Asks the queries of some streams. Prints the numbers of answers in time and of all, of queries in time and of all.
fn ask(link_file: &str, streams: &[&str]) -> Result<()> {
    let address = "10.99.0.1:0";
    let socket = match link_file {
        "-" => Socket::bind(address, Options::new(RATE))?,
        path => Socket::bind_shared(address, Options::new(RATE), path)?,
    };
    let mut queries = Vec::new();
    for stream in streams {
        queries.extend(arrivals(stream.parse()?));
    }
    queries.sort_by_key(|&(at, _)| Reverse(at));
    let count = queries.len();
    let start = Instant::now();
    // Answers in time by query.
    let mut in_time: BTreeMap<u64, u16> = BTreeMap::new();
    while start.elapsed() < DURATION + LINGER {
        while let Some((_, deadline)) = queries.pop_if(|(at, _)| *at <= start.elapsed()) {
            let query = random_query()?;
            in_time.insert(query, 0);
            for index in 0..FAN_IN {
                let message = Message::new("query").within(deadline).of_query(query);
                socket.send(worker(index), message)?;
            }
        }
        let next = queries
            .last()
            .map_or(LINGER, |&(at, _)| at.saturating_sub(start.elapsed()));
        let wait = next.max(Duration::from_micros(100));
        if let Some(answer) = socket.receive_timeout(wait)?
            && answer.time_left.is_some_and(|left| !left.is_zero())
            && let Some(count) = answer.query.and_then(|query| in_time.get_mut(&query))
        {
            *count += 1;
        }
    }
    let answers: u32 = in_time.values().map(|&answers| u32::from(answers)).sum();
    let complete = in_time
        .values()
        .filter(|&&answers| answers == FAN_IN)
        .count();
    println!(
        "{answers} {} {complete} {count}",
        count * usize::from(FAN_IN)
    );
    Ok(())
}

/// Returns the times and deadlines of a stream's queries: Poisson arrivals at half the load.
fn arrivals(stream: u64) -> Vec<(Duration, Duration)> {
    let query_time = (usize::from(FAN_IN) * ANSWER_BYTES * 8) as f64 / RATE.as_bps() as f64;
    let gap = query_time / (LOAD / 2.0);
    let mut draws = (0..).map(|draw| share(stream, draw));
    let mut draw = || draws.next().unwrap_or(1.0);
    let (mut at, mut queries) = (Duration::ZERO, Vec::new());
    loop {
        at += Duration::from_secs_f64(-gap * draw().ln());
        if at >= DURATION {
            return queries;
        }
        let (min, max) = DEADLINE_MS;
        queries.push((
            at,
            Duration::from_secs_f64((min + draw() * (max - min)) / 1e3),
        ));
    }
}

/// Returns random number `draw` of a stream, above 0 and at most 1.
fn share(stream: u64, draw: u64) -> f64 {
    (mix(stream, draw) >> 11) as f64 / (1_u64 << 53) as f64 + f64::EPSILON / 4.0
}

//! The root: sends queries, waits for answers, and records them.

use crate::carrier::{Carrier, Connection, Interface};
use crate::messages::Root;
use crate::query::Query;
use crate::scenario::Load;
use duetime_core::random::{Purpose, Streams};
use duetime_core::{Span, Time};
use duetime_d3::{Endpoint, Flow};
use duetime_results::record::Class;
use duetime_results::{FlowRecord, QueryRecord, RunRecords, Totals};
use duetime_scenario::Scenario;
use duetime_sim::{Options, RunOutput};
use duetime_study::Engine;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum wait for an answer after its deadline.
const GRACE: Duration = Duration::from_secs(10);
/// Interval between progress reports.
const REPORT_EVERY: Duration = Duration::from_secs(1);
/// Maximum number of open answers; further queries wait and are late.
const MAX_OPEN: usize = 8_192;
/// Stack size of a thread, in bytes.
const STACK: usize = 128 * 1024;
/// Maximum number of bytes per read of an answer.
const BLOCK: usize = 64 * 1024;
/// Maximum length of a leaf's error message, in bytes.
const MAX_REASON_BYTES: u64 = 1_000;

/// Progress since the beginning of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Time since the beginning.
    pub elapsed: Duration,
    /// Number of queries with all answers received or failed.
    pub queries: u64,
    /// Number of queries with all answers in time.
    pub queries_in_time: u64,
    /// Number of answers received or failed.
    pub answers: u64,
    /// Number of answers in time.
    pub answers_in_time: u64,
    /// Number of failed answers.
    pub failed: u64,
}

/// Root of a tree with one layer, which sends queries to servers.
pub struct Asker<'a> {
    /// Load to generate.
    pub load: Load,
    /// Servers; leaf i is at server i modulo their number.
    pub servers: Vec<SocketAddr>,
    /// Interface of D3 and `due`.
    pub interface: Interface,
    /// Called each second and at the end with the name of the carrier and the progress.
    pub on_progress: &'a (dyn Fn(&str, &Live) + Sync),
}

/// Result of one answer.
struct Answer {
    query: usize,
    leaf: u32,
    /// Time of the last byte.
    outcome: io::Result<Instant>,
    /// Bytes received.
    delivered: u64,
}

/// Inputs of all answers of a run.
#[derive(Clone)]
struct Client {
    access: Access,
    load: Load,
}

/// Access of a run to its servers.
#[derive(Clone)]
enum Access {
    /// A connection for each answer, with the congestion control of this name.
    Tcp(String),
    /// A stream for each answer.
    D3(Endpoint),
    Due(Root),
}

impl Engine for Asker<'_> {
    fn run(
        &self,
        scenario: &Scenario,
        transport: usize,
        run: u64,
        options: &Options,
    ) -> Result<RunOutput, String> {
        let name = &scenario.transports[transport].name;
        let carrier = Carrier::from_name(name);
        let failed = |error: io::Error| format!("{name}: {error}");
        let any = match self.servers[0] {
            SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
            SocketAddr::V6(_) => SocketAddr::from(([0_u16; 8], 0)),
        };
        let access = match carrier {
            Carrier::Tcp(name) => Access::Tcp(name),
            Carrier::D3 => Access::D3(self.interface.endpoint(any).map_err(failed)?),
            Carrier::Due => Access::Due(Root::open(any, self.interface).map_err(failed)?),
        };
        let client = Client {
            access,
            load: self.load.clone(),
        };
        let results = self.query(&client, Streams::new(scenario.seed, run), name, options);
        if let Some(reason) = &results.first_failure
            && results.live.failed == results.live.answers
        {
            return Err(format!("{name}: no answer arrived: {reason}"));
        }
        Ok(results.output())
    }
}

impl Asker<'_> {
    /// Sends queries for the load's duration and waits for the remaining answers.
    fn query(&self, client: &Client, streams: Streams, name: &str, options: &Options) -> Results {
        let mut gaps = streams.stream(0, Purpose::Arrival);
        let (sender, receiver) = mpsc::channel();
        let mut results = Results::new(&self.load);
        let (duration, mut next) = (wall(self.load.duration), Duration::ZERO);
        let mut reported = Duration::ZERO;
        let stopped = || {
            let progress = options.progress.as_ref();
            progress.is_some_and(|progress| progress.cancel.load(Ordering::Relaxed))
        };
        loop {
            let active = next < duration && !stopped();
            if !active && results.open == 0 {
                break;
            }
            let elapsed = results.began.elapsed();
            if elapsed >= reported + REPORT_EVERY {
                reported = elapsed;
                (self.on_progress)(name, &results.live());
            }
            if active && elapsed >= next && results.open < MAX_OPEN {
                self.submit(client, &mut results, next, &sender);
                next += wall(gaps.exponential(self.load.every));
                continue;
            }
            let wait = if active && results.open < MAX_OPEN {
                next.saturating_sub(elapsed)
            } else {
                REPORT_EVERY
            };
            collect(&receiver, &mut results, wait.min(REPORT_EVERY));
        }
        (self.on_progress)(name, &results.live());
        results
    }

    /// Submits one query, due at a time since the beginning of the run. Its clock starts when it is due.
    fn submit(
        &self,
        client: &Client,
        results: &mut Results,
        due: Duration,
        sender: &Sender<Answer>,
    ) {
        let query = results.add_query(due);
        let submitted = results.began + due;
        // A query number that is not random only affects the order of the answers.
        let number = duetime_due::random_query().unwrap_or(query as u64);
        for leaf in 0..self.load.fan_in {
            let to = self.servers[leaf as usize % self.servers.len()];
            let (client, sender) = (client.clone(), sender.clone());
            results.open += 1;
            let failure_sender = sender.clone();
            let started = thread::Builder::new().stack_size(STACK).spawn(move || {
                let mut delivered = 0;
                let outcome = client.query(to, (number, submitted), &mut delivered);
                // The receiver is gone if the run was stopped.
                let _ = sender.send(Answer {
                    query,
                    leaf,
                    outcome,
                    delivered,
                });
            });
            if let Err(error) = started {
                let _ = failure_sender.send(Answer {
                    query,
                    leaf,
                    outcome: Err(error),
                    delivered: 0,
                });
            }
        }
    }
}

impl Client {
    /// Sends a query and receives its answer. `number` identifies the query for its answers. Returns the time of the
    /// last byte.
    fn query(
        &self,
        to: SocketAddr,
        (number, submitted): (u64, Instant),
        delivered: &mut u64,
    ) -> io::Result<Instant> {
        let load = &self.load;
        let deadline = load.deadline.map(wall);
        let timeout = deadline.unwrap_or_default() + GRACE;
        let began = Instant::now();
        let connection = match &self.access {
            Access::Tcp(name) => Connection::tcp(to, name, timeout)?,
            Access::D3(endpoint) => {
                let flow = Flow::new(load.query_bytes, deadline);
                Connection::d3(endpoint, to, flow, timeout)?
            }
            Access::Due(root) => {
                let query = self.encode(submitted, Duration::ZERO, "");
                let within = deadline.map(|deadline| left(deadline, submitted, Duration::ZERO));
                let (arrived, answer) = root.query(to, query, within, number, timeout)?;
                receive(&mut &*answer, load.answer_bytes, delivered)?;
                return Ok(arrived);
            }
        };
        self.query_over(connection, (began, submitted), delivered)
    }

    /// Sends a query over a connection whose opening began at `began`, and receives its answer.
    fn query_over(
        &self,
        mut connection: Connection,
        (began, submitted): (Instant, Instant),
        delivered: &mut u64,
    ) -> io::Result<Instant> {
        // The query needs half of the handshake's round trip.
        let one_way_delay = began.elapsed() / 2;
        let congestion_control = match &self.access {
            Access::Tcp(name) => name,
            Access::D3(_) | Access::Due(_) => "",
        };
        let query = self.encode(submitted, one_way_delay, congestion_control);
        connection.write_all(&query)?;
        connection.finish()?;
        receive(&mut connection, self.load.answer_bytes, delivered)
    }

    /// Returns the bytes of a query.
    fn encode(&self, submitted: Instant, one_way_delay: Duration, with: &str) -> Vec<u8> {
        let deadline = self.load.deadline.map(wall);
        let query = Query {
            answer_bytes: self.load.answer_bytes,
            within: deadline.map(|deadline| left(deadline, submitted, one_way_delay)),
            congestion_control: with.to_owned(),
        };
        let mut bytes = query.encode().to_vec();
        let length = usize::try_from(self.load.query_bytes).unwrap_or(usize::MAX);
        bytes.resize(length.max(Query::BYTES), 0);
        bytes
    }
}

/// Returns the time until the deadline when the query arrives.
fn left(deadline: Duration, submitted: Instant, one_way_delay: Duration) -> Duration {
    let left = deadline.saturating_sub(submitted.elapsed() + one_way_delay);
    left.max(Duration::from_micros(1))
}

/// Reads an answer. A nonzero first byte means that the leaf's error message follows instead.
fn receive(connection: &mut impl Read, length: u64, delivered: &mut u64) -> io::Result<Instant> {
    let early = || io::Error::new(ErrorKind::UnexpectedEof, "the answer ended early");
    let mut first = [0];
    connection
        .read_exact(&mut first)
        .map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => early(),
            _ => error,
        })?;
    if first != [0] {
        let mut reason = Vec::new();
        connection.take(MAX_REASON_BYTES).read_to_end(&mut reason)?;
        let reason = String::from_utf8_lossy(&reason);
        return Err(io::Error::other(format!("the server reports: {reason}")));
    }
    *delivered = 1;
    let mut buffer = vec![0; BLOCK];
    while *delivered < length {
        let remaining = usize::try_from(length - *delivered).unwrap_or(BLOCK);
        match connection.read(&mut buffer[..remaining.min(BLOCK)]) {
            Ok(0) => return Err(early()),
            Ok(read) => *delivered += read as u64,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Instant::now())
}

fn collect(receiver: &Receiver<Answer>, results: &mut Results, wait: Duration) {
    match receiver.recv_timeout(wait) {
        Ok(answer) => {
            results.add_answer(answer);
            while let Ok(answer) = receiver.try_recv() {
                results.add_answer(answer);
            }
        }
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
    }
}

/// Results of a run so far.
struct Results {
    load: Load,
    began: Instant,
    /// Number of open answers.
    open: usize,
    live: Live,
    flows: Vec<FlowRecord>,
    queries: Vec<QueryRecord>,
    /// Number of received or failed answers, by query.
    done: Vec<u32>,
    first_failure: Option<String>,
}

impl Results {
    fn new(load: &Load) -> Self {
        Self {
            load: load.clone(),
            began: Instant::now(),
            open: 0,
            live: Live::default(),
            flows: Vec::new(),
            queries: Vec::new(),
            done: Vec::new(),
            first_failure: None,
        }
    }

    fn live(&self) -> Live {
        Live {
            elapsed: self.began.elapsed(),
            ..self.live
        }
    }

    /// Adds a query and returns its index.
    fn add_query(&mut self, due: Duration) -> usize {
        let number = self.queries.len();
        let (start, fan_in) = (at(due), self.load.fan_in);
        self.queries.push(QueryRecord {
            query: number as u64,
            start,
            children: fan_in,
            measured: true,
            asked: fan_in,
            leaves: fan_in,
            needed: fan_in,
            judged: self.load.deadline.is_some(),
            ..QueryRecord::default()
        });
        for leaf in 0..fan_in {
            self.flows.push(FlowRecord {
                flow: self.flows.len() as u64,
                class: Class::Response,
                query: Some(number as u64),
                source: leaf + 1,
                size_bytes: self.load.answer_bytes,
                start,
                deadline: self.load.deadline.map(|span| start + span),
                measured: true,
                leaves: 1,
                ..FlowRecord::default()
            });
        }
        self.done.push(0);
        number
    }

    fn add_answer(&mut self, answer: Answer) {
        self.open -= 1;
        self.live.answers += 1;
        let flow = &mut self.flows[answer.query * self.load.fan_in as usize + answer.leaf as usize];
        let query = &mut self.queries[answer.query];
        flow.delivered_bytes = answer.delivered;
        match answer.outcome {
            Ok(instant) => {
                let finish = at(instant.duration_since(self.began));
                flow.finish = Some(finish);
                query.answered += 1;
                query.leaves_answered += 1;
                if flow.met() != Some(false) {
                    query.in_time += 1;
                    query.leaves_in_time += 1;
                    self.live.answers_in_time += 1;
                }
                if query.answered == query.children {
                    query.complete = Some(finish.max(query.start));
                    query.enough = query.complete;
                }
            }
            Err(error) => {
                self.live.failed += 1;
                self.first_failure.get_or_insert_with(|| error.to_string());
            }
        }
        self.done[answer.query] += 1;
        if self.done[answer.query] == query.children {
            self.live.queries += 1;
            self.live.queries_in_time += u64::from(query.in_time == query.children);
        }
    }

    fn output(self) -> RunOutput {
        let end = at(self.began.elapsed());
        RunOutput {
            records: RunRecords {
                flows: self.flows,
                queries: self.queries,
                totals: Totals {
                    end,
                    ..Totals::default()
                },
                ..RunRecords::default()
            },
            complete: true,
            ..RunOutput::default()
        }
    }
}

fn wall(span: Span) -> Duration {
    Duration::from_nanos(span.as_ns())
}

fn at(elapsed: Duration) -> Time {
    Time::ZERO + Span::from_ns(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX / 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads an answer of this length. Returns its result and the number of bytes received.
    fn received(mut bytes: &[u8], length: u64) -> (Result<(), String>, u64) {
        let mut delivered = 0;
        let outcome = receive(&mut bytes, length, &mut delivered);
        (
            outcome.map(drop).map_err(|error| error.to_string()),
            delivered,
        )
    }

    #[test]
    fn errors_are_distinguished_from_answers() {
        assert_eq!(received(&vec![0; 100_000], 100_000), (Ok(()), 100_000));
        let early = Err("the answer ended early".to_owned());
        assert_eq!(received(&[0; 99], 100), (early.clone(), 99));
        assert_eq!(received(&[], 100), (early, 0));
        let refused = Err("the server reports: no such thing".to_owned());
        for length in [1, 5, 1_000] {
            assert_eq!(received(b"\x01no such thing", length), (refused.clone(), 0));
        }
    }
}

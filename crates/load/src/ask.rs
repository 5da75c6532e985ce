//! The root: asks, waits, and records.

use crate::carrier::{Carrier, Connection, Interface};
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

/// How long an answer is waited for beyond its deadline.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two lines of what is going on.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// Answers that may be awaited at one time; queries above wait, and are late.
const MOST_OPEN: usize = 8_192;
/// Bytes of a thread's stack.
const STACK: usize = 128 * 1024;
/// Bytes of an answer that are read at once.
const BLOCK: usize = 64 * 1024;
/// Bytes that are read of a leaf's reason not to answer.
const LONGEST_REASON: u64 = 1_000;

/// What is going on, since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// How long it has run.
    pub elapsed: Duration,
    /// Queries that are answered, or have failed.
    pub queries: u64,
    /// Of them, those of which all answers were in time.
    pub queries_in_time: u64,
    /// Answers that came, or failed.
    pub answers: u64,
    /// Of them, those in time.
    pub answers_in_time: u64,
    /// Answers that failed.
    pub failed: u64,
}

/// Asks servers, as the root of a tree of one layer.
pub struct Asker<'a> {
    /// What is asked.
    pub load: Load,
    /// Leaf i is at server i, in turn.
    pub servers: Vec<SocketAddr>,
    /// The interface that D3 leaves through.
    pub interface: Interface,
    /// Is told what is going on, each second and at the end, with the name of the carrier.
    pub tell: &'a (dyn Fn(&str, &Live) + Sync),
}

/// What became of one answer.
struct Answer {
    query: usize,
    leaf: u32,
    /// When the last byte came.
    outcome: io::Result<Instant>,
    /// Bytes that came.
    delivered: u64,
}

/// What every answer of a run needs.
#[derive(Clone)]
struct Way {
    carrier: Carrier,
    endpoint: Option<Endpoint>,
    load: Load,
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
        let carrier = Carrier::of(name);
        let failed = |error: io::Error| format!("{name}: {error}");
        let endpoint = match &carrier {
            Carrier::D3 => {
                let any = match self.servers[0] {
                    SocketAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
                    SocketAddr::V6(_) => SocketAddr::from(([0_u16; 8], 0)),
                };
                Some(self.interface.endpoint(any).map_err(failed)?)
            }
            Carrier::Tcp(_) => None,
        };
        let way = Way {
            carrier,
            endpoint,
            load: self.load.clone(),
        };
        let seen = self.ask(&way, Streams::new(scenario.seed, run), name, options);
        if let Some(why) = &seen.first_failure
            && seen.live.failed == seen.live.answers
        {
            return Err(format!("{name}: no answer came: {why}"));
        }
        Ok(seen.output())
    }
}

impl Asker<'_> {
    /// Asks for as long as the load says, and waits for the rest.
    fn ask(&self, way: &Way, streams: Streams, name: &str, options: &Options) -> Seen {
        let mut gaps = streams.stream(0, Purpose::Arrival);
        let (sender, receiver) = mpsc::channel();
        let mut seen = Seen::new(&self.load);
        let (duration, mut next) = (wall(self.load.duration), Duration::ZERO);
        let mut told = Duration::ZERO;
        let stopped = || {
            let progress = options.progress.as_ref();
            progress.is_some_and(|progress| progress.cancel.load(Ordering::Relaxed))
        };
        loop {
            let asking = next < duration && !stopped();
            if !asking && seen.open == 0 {
                break;
            }
            let elapsed = seen.began.elapsed();
            if elapsed >= told + TELL_EVERY {
                told = elapsed;
                (self.tell)(name, &seen.live());
            }
            if asking && elapsed >= next && seen.open < MOST_OPEN {
                self.submit(way, &mut seen, next, &sender);
                next += wall(gaps.exponential(self.load.every));
                continue;
            }
            let wait = if asking && seen.open < MOST_OPEN {
                next.saturating_sub(elapsed)
            } else {
                TELL_EVERY
            };
            collect(&receiver, &mut seen, wait.min(TELL_EVERY));
        }
        (self.tell)(name, &seen.live());
        seen
    }

    /// One query, due at a time since the run's begin. Its clock starts when it is due.
    fn submit(&self, way: &Way, seen: &mut Seen, due: Duration, sender: &Sender<Answer>) {
        let query = seen.query(due);
        let submitted = seen.began + due;
        for leaf in 0..self.load.fan_in {
            let to = self.servers[leaf as usize % self.servers.len()];
            let (way, sender) = (way.clone(), sender.clone());
            seen.open += 1;
            let told = sender.clone();
            let started = thread::Builder::new().stack_size(STACK).spawn(move || {
                let mut delivered = 0;
                let outcome = way.ask(to, submitted, &mut delivered);
                // Nobody is there to hear when the run was stopped.
                let _ = sender.send(Answer {
                    query,
                    leaf,
                    outcome,
                    delivered,
                });
            });
            if let Err(error) = started {
                let _ = told.send(Answer {
                    query,
                    leaf,
                    outcome: Err(error),
                    delivered: 0,
                });
            }
        }
    }
}

impl Way {
    /// One answer: when its last byte came.
    fn ask(&self, to: SocketAddr, submitted: Instant, delivered: &mut u64) -> io::Result<Instant> {
        let load = &self.load;
        let deadline = load.deadline.map(wall);
        let timeout = deadline.unwrap_or_default() + PATIENCE;
        let began = Instant::now();
        let mut connection = match (&self.carrier, &self.endpoint) {
            (Carrier::D3, Some(endpoint)) => {
                let flow = Flow {
                    bytes: load.query_bytes,
                    deadline,
                };
                Connection::d3(endpoint, to, flow, timeout)?
            }
            (carrier, _) => Connection::tcp(to, carrier.congestion_control(), timeout)?,
        };
        // What is left when the query arrives: half of the round trip that opened the connection is still to go.
        let on_the_way = began.elapsed() / 2;
        let left = |deadline: Duration| {
            let left = deadline.saturating_sub(submitted.elapsed() + on_the_way);
            left.max(Duration::from_micros(1))
        };
        let query = Query {
            answer_bytes: load.answer_bytes,
            within: deadline.map(left),
            congestion_control: self.carrier.congestion_control().to_owned(),
        };
        let mut bytes = query.encode().to_vec();
        let length = usize::try_from(load.query_bytes).unwrap_or(usize::MAX);
        bytes.resize(length.max(Query::BYTES), 0);
        connection.write_all(&bytes)?;
        connection.finish()?;
        receive(&mut connection, load.answer_bytes, delivered)
    }
}

/// Reads an answer. Its first byte says whether it is one; if not, the leaf's reason follows.
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
        connection.take(LONGEST_REASON).read_to_end(&mut reason)?;
        let reason = String::from_utf8_lossy(&reason);
        return Err(io::Error::other(format!("the server says: {reason}")));
    }
    *delivered = 1;
    let mut buffer = vec![0; BLOCK];
    while *delivered < length {
        let most = usize::try_from(length - *delivered).unwrap_or(BLOCK);
        match connection.read(&mut buffer[..most.min(BLOCK)]) {
            Ok(0) => return Err(early()),
            Ok(read) => *delivered += read as u64,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Instant::now())
}

fn collect(receiver: &Receiver<Answer>, seen: &mut Seen, wait: Duration) {
    match receiver.recv_timeout(wait) {
        Ok(answer) => {
            seen.answer(answer);
            while let Ok(answer) = receiver.try_recv() {
                seen.answer(answer);
            }
        }
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
    }
}

/// What a run has seen so far.
struct Seen {
    load: Load,
    began: Instant,
    /// Answers that are awaited.
    open: usize,
    live: Live,
    flows: Vec<FlowRecord>,
    queries: Vec<QueryRecord>,
    /// Per query: answers that came or failed.
    heard: Vec<u32>,
    first_failure: Option<String>,
}

impl Seen {
    fn new(load: &Load) -> Self {
        Self {
            load: load.clone(),
            began: Instant::now(),
            open: 0,
            live: Live::default(),
            flows: Vec::new(),
            queries: Vec::new(),
            heard: Vec::new(),
            first_failure: None,
        }
    }

    fn live(&self) -> Live {
        Live {
            elapsed: self.began.elapsed(),
            ..self.live
        }
    }

    /// A query is asked; the answer is its number.
    fn query(&mut self, due: Duration) -> usize {
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
        self.heard.push(0);
        number
    }

    fn answer(&mut self, answer: Answer) {
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
        self.heard[answer.query] += 1;
        if self.heard[answer.query] == query.children {
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

    /// What became of an answer of so many bytes, and how much of it came.
    fn received(mut bytes: &[u8], length: u64) -> (Result<(), String>, u64) {
        let mut delivered = 0;
        let outcome = receive(&mut bytes, length, &mut delivered);
        (
            outcome.map(drop).map_err(|error| error.to_string()),
            delivered,
        )
    }

    #[test]
    fn an_answer_is_told_from_a_reason_of_any_length() {
        assert_eq!(received(&vec![0; 100_000], 100_000), (Ok(()), 100_000));
        let early = Err("the answer ended early".to_owned());
        assert_eq!(received(&[0; 99], 100), (early.clone(), 99));
        assert_eq!(received(&[], 100), (early, 0));
        let refused = Err("the server says: no such thing".to_owned());
        for length in [1, 5, 1_000] {
            assert_eq!(received(b"\x01no such thing", length), (refused.clone(), 0));
        }
    }
}

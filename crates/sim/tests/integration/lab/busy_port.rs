//! D3 port that is never idle, while requests are lost and hosts die. Every random draw has a separate stream, so that
//! runs with and without faults have the same flows.

use super::{DeadlineFlows, missed, run, star, trace};
use duetime_core::random::{Purpose, Streams};
use duetime_core::{Bytes, Rate, Span, Time};
use duetime_proto::d3;
use duetime_results::FlowRecord;
use duetime_scenario::model::{Protocol, Scenario, TraceFlow};
use duetime_sim::{Death, Faults, Options};

/// Load of the port.
#[derive(Clone, Copy, Debug)]
pub struct BusyPort {
    pub rate: Rate,
    pub seconds: u64,
    /// Number of concurrent long flows, so that the port is never idle.
    pub long: usize,
    /// Share of the link that deadline flows offer.
    pub load: f64,
    /// Minimum and maximum of the uniform sizes of deadline flows.
    pub bytes: (u64, u64),
    /// Mean and floor of the exponential deadlines.
    pub deadline: (Span, Span),
}

/// Results of one run, as shares in [0, 1].
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Utilisation of the port up to the end of the run.
    pub utilisation: f64,
    pub missed: f64,
    pub flows: u64,
    /// Share of misses in the first and in the last tenth of the run.
    pub first: f64,
    pub last: f64,
}

/// Number of sending hosts; host 0 receives.
const SENDERS: u32 = 12;
/// One-way latency of each link, for a round trip of 500 us.
const LATENCY: Span = Span::from_us(125);

impl BusyPort {
    pub fn deaths(&self) -> Vec<Death> {
        let mut stream = Streams::new(7, 0).stream(0, Purpose::Fault);
        (1..self.seconds)
            .map(|second| Death {
                at: Span::from_secs(second),
                host: 1 + stream.below(u64::from(SENDERS)) as u32,
            })
            .collect()
    }

    /// Creates the flows. Other hosts take over the long flows of a host that dies.
    fn flows(&self, deaths: &[Death]) -> Vec<TraceFlow> {
        let streams = Streams::new(7, 1);
        let long = |host: u32, start| TraceFlow {
            start,
            source: host,
            destination: 0,
            size: Bytes(1 << 40),
            deadline: None,
        };
        let mut owners: Vec<u32> = (0..self.long as u32)
            .map(|i| 1 + i * SENDERS / self.long as u32)
            .collect();
        let mut flows: Vec<TraceFlow> = owners.iter().map(|&host| long(host, Span::ZERO)).collect();
        let mut successors = streams.stream(0, Purpose::Placement);
        for death in deaths {
            for owner in owners.iter_mut().filter(|owner| **owner == death.host) {
                // Choose any other host.
                *owner = 1 + (*owner + successors.below(u64::from(SENDERS) - 1) as u32) % SENDERS;
                flows.push(long(*owner, death.at));
            }
        }
        let deadline_flows = DeadlineFlows {
            senders: u64::from(SENDERS),
            rate: self.rate,
            load: self.load,
            bytes: self.bytes,
            deadline: self.deadline,
        };
        let mut arrivals = streams.stream(0, Purpose::Arrival);
        flows.extend(deadline_flows.draw(&mut arrivals, Span::from_secs(self.seconds)));
        flows
    }

    fn scenario(&self, config: d3::Config, deaths: &[Death]) -> Scenario {
        let mut scenario = star(
            SENDERS + 1,
            self.rate,
            LATENCY,
            Protocol::D3(config),
            Span::from_secs(self.seconds),
        );
        scenario.workloads = vec![trace(self.flows(deaths))];
        scenario.drain = Span::from_secs(1);
        scenario
    }

    /// Runs the port. Flows whose host dies during them are excluded in all runs, because no router could have served
    /// them.
    pub fn run(&self, config: d3::Config, request_loss: f64, with_deaths: bool) -> Figures {
        let deaths = self.deaths();
        let active: &[Death] = if with_deaths { &deaths } else { &[] };
        let faults = Faults {
            request_loss,
            deaths: active.to_vec(),
            misbehaving: Vec::new(),
        };
        let records = run(
            &self.scenario(config, active),
            &Options::with_faults(faults),
        )
        .records;
        let mut by_host: Vec<Vec<Time>> = vec![Vec::new(); SENDERS as usize + 1];
        for death in &deaths {
            by_host[death.host as usize].push(Time::ZERO + death.at);
        }
        // Exclude, in both kinds of runs, flows whose host dies before their deadline.
        let judged = |flow: &&FlowRecord| {
            flow.deadline.is_some_and(|deadline| {
                !by_host[flow.source as usize]
                    .iter()
                    .any(|&death| flow.start <= death && death < deadline)
            })
        };
        let flows: Vec<&FlowRecord> = records.flows.iter().filter(judged).collect();
        let (share, number) = missed(flows.iter().copied());
        let tenth = Span::from_ms(self.seconds * 100);
        let part = |from: Span, to: Span| {
            let within = |flow: &&FlowRecord| {
                flow.start >= Time::ZERO + from && flow.start < Time::ZERO + to
            };
            missed(flows.iter().copied().filter(within)).0
        };
        let port = records
            .ports
            .iter()
            .find(|port| port.link == "switch->host0")
            .expect("the port was used");
        Figures {
            utilisation: port.utilisation,
            missed: share,
            flows: number,
            first: part(Span::ZERO, tenth),
            last: part(tenth * 9, tenth * 10),
        }
    }
}

/// Returns the default options, with or without the repair of the counters.
pub fn config(repair: bool) -> d3::Config {
    d3::Config::default().with(|c| c.router.repair = repair)
}

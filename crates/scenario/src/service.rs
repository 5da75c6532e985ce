//! First scenario of a service from a few numbers, for `duetime new`.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers of checked ranges, rounded"
)]

mod network;
mod text;

pub use network::{line, longest_way, network};

use crate::quantity::{FREQUENCY, InvalidQuantity, RATE, SIZE, TIME, Units};
use duetime_core::{Bytes, Rate, Span};
use std::fmt;

/// Kind of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceKind {
    /// One root queries many leaves and needs nearly all answers.
    Search,
    /// Two layers: aggregators query shards, and most answers are enough.
    Feed,
    /// Reads of fragments, of which a quarter are spare.
    Storage,
    /// A sharded model: inputs are as large as outputs, and all outputs are needed.
    Inference,
}

impl ServiceKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Search, Self::Feed, Self::Storage, Self::Inference];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Feed => "feed",
            Self::Storage => "storage",
            Self::Inference => "inference",
        }
    }

    /// Describes the service.
    pub fn about(self) -> &'static str {
        match self {
            Self::Search => "a root queries its leaves and ranks their answers",
            Self::Feed => {
                "a root queries aggregators, each queries its shards, and most posts are enough"
            }
            Self::Storage => {
                "a reader requests fragments of an object, of which a quarter are spare"
            }
            Self::Inference => {
                "a front end sends its input to the shards of a model and needs every output"
            }
        }
    }

    /// Returns the kind of that name, or `None`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Number of a service that `duetime new` prompts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Children per node, by layer.
    FanIn,
    /// Time from a query's arrival until it has enough answers.
    Budget,
    /// Size of each answer.
    Answer,
    /// Queries per second of the whole service.
    Rate,
    /// Number of hosts of the network.
    Hosts,
    /// Rate of a host's link.
    Link,
}

impl Question {
    /// All questions, in the order of the prompts.
    pub const ALL: [Self; 6] = [
        Self::FanIn,
        Self::Budget,
        Self::Answer,
        Self::Rate,
        Self::Hosts,
        Self::Link,
    ];

    /// Returns the flag, without dashes.
    pub fn flag(self) -> &'static str {
        match self {
            Self::FanIn => "fan-in",
            Self::Budget => "budget",
            Self::Answer => "answer",
            Self::Rate => "rate",
            Self::Hosts => "hosts",
            Self::Link => "link",
        }
    }

    /// Returns the text of the prompt.
    pub fn words(self) -> &'static str {
        match self {
            Self::FanIn => "How many servers does a query contact (two layers: 4,10)?",
            Self::Budget => "What is the time budget of a query?",
            Self::Answer => "How large is each answer?",
            Self::Rate => "How many queries arrive per second in total?",
            Self::Hosts => "How many hosts does the network have?",
            Self::Link => "How fast is the link of each host?",
        }
    }
}

/// Service, described by a few numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    kind: ServiceKind,
    fan_in: Vec<u32>,
    budget: Span,
    answer: Bytes,
    /// Queries per second, in thousandths.
    rate: u64,
    hosts: u32,
    link: Rate,
}

/// Error for a number that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidNumber {
    /// Question that the number answers.
    pub question: Question,
    /// Number as given.
    pub value: String,
    /// Description of the error.
    pub message: String,
    /// Allowed values.
    pub allowed: String,
}

impl fmt::Display for InvalidNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flag = self.question.flag();
        write!(f, "--{flag} {}: {}", self.value, self.message)?;
        write!(f, "; allowed: {}", self.allowed)
    }
}

const FAN_IN: (u64, u64) = (1, 1_000);
const BUDGET: (u64, u64) = (100_000_000, 60_000_000_000_000);
const ANSWER: (u64, u64) = (1, 100_000_000);
const QUERIES: (u64, u64) = (1_000, 1_000_000_000);
const HOSTS: (u64, u64) = (2, 10_000);
const LINK: (u64, u64) = (100_000_000, 1_000_000_000_000);

/// Maximum mean load of a host's link by answers.
const MAX_LOAD: f64 = 0.5;
/// Minimum budget, as a multiple of the transmission time of a query's answers on idle links.
const MIN_BUDGET_FACTOR: u64 = 4;

impl Service {
    /// Returns a service of this kind with default numbers.
    pub fn usual(kind: ServiceKind) -> Self {
        let (fan_in, budget_ms, answer_kb, per_s) = match kind {
            ServiceKind::Search => (vec![40], 50, 20, 2_000),
            ServiceKind::Feed => (vec![4, 10], 20, 30, 1_000),
            ServiceKind::Storage => (vec![12], 20, 128, 1_000),
            ServiceKind::Inference => (vec![8], 10, 64, 1_000),
        };
        Self {
            kind,
            fan_in,
            budget: Span::from_ms(budget_ms),
            answer: Bytes(answer_kb * 1_000),
            rate: per_s * 1_000,
            hosts: 48,
            link: Rate::from_gbps(10),
        }
    }

    /// Returns the current answer to a question, formatted as input.
    pub fn answer_to(&self, question: Question) -> String {
        match question {
            Question::FanIn => self.layers(","),
            Question::Budget => (TIME.show)(self.budget.as_ps()),
            Question::Answer => (SIZE.show)(self.answer.0),
            Question::Rate => (FREQUENCY.show)(self.rate),
            Question::Hosts => self.hosts.to_string(),
            Question::Link => (RATE.show)(self.link.as_bps()),
        }
    }

    /// Sets the answer to a question. [`Service::check`] checks all answers together.
    pub fn take(&mut self, question: Question, text: &str) -> Result<(), InvalidNumber> {
        let wrong = |message: String, allowed: String| InvalidNumber {
            question,
            value: text.to_owned(),
            message,
            allowed,
        };
        let quantity = |units: &Units, (low, high): (u64, u64)| {
            let allowed = format!("{} to {}", (units.show)(low), (units.show)(high));
            match units.parse(text) {
                Ok(value) if (low..=high).contains(&value) => Ok(value),
                Ok(value) if value < low => Err(wrong("too small".to_owned(), allowed)),
                Ok(_) => Err(wrong("too large".to_owned(), allowed)),
                Err(InvalidQuantity { message, allowed }) => Err(wrong(message, allowed)),
            }
        };
        let whole = |text: &str, (low, high): (u64, u64), allowed: String| {
            let parsed = text.trim().parse::<u64>();
            match parsed.ok().filter(|value| (low..=high).contains(value)) {
                Some(value) => Ok(value as u32),
                None => Err(wrong(format!("not {low} to {high}"), allowed)),
            }
        };
        match question {
            Question::FanIn => {
                let allowed = || "one or two numbers of 1 to 1000, such as 40 or 4,10".to_owned();
                let layers = text.split(',').map(|part| whole(part, FAN_IN, allowed()));
                let layers: Vec<u32> = layers.collect::<Result<_, _>>()?;
                if layers.len() > 2 {
                    return Err(wrong("more than two layers".to_owned(), allowed()));
                }
                self.fan_in = layers;
            }
            Question::Budget => self.budget = Span::from_ps(quantity(&TIME, BUDGET)?),
            Question::Answer => self.answer = Bytes(quantity(&SIZE, ANSWER)?),
            Question::Rate => self.rate = quantity(&FREQUENCY, QUERIES)?,
            Question::Hosts => {
                let allowed = format!("a whole number, {} to {}", HOSTS.0, HOSTS.1);
                self.hosts = whole(text, HOSTS, allowed)?;
            }
            Question::Link => self.link = Rate::from_bps(quantity(&RATE, LINK)?),
        }
        Ok(())
    }

    /// Checks that the network can carry the service: enough hosts, moderate load, and a budget that allows the
    /// answers.
    pub fn check(&self) -> Result<(), InvalidNumber> {
        let wrong = |question: Question, message: String, allowed: String| {
            Err(InvalidNumber {
                question,
                value: self.answer_to(question),
                message,
                allowed,
            })
        };
        let nodes = 1 + self.asked();
        if nodes > u64::from(self.hosts) {
            let message = format!(
                "a query needs {nodes} hosts, including its root, but the network has {}",
                self.hosts
            );
            let allowed = format!("a smaller fan-in, or --hosts {nodes} and more");
            return wrong(Question::FanIn, message, allowed);
        }
        let alone = self.alone();
        let least = Span::from_ps(alone.as_ps().saturating_mul(MIN_BUDGET_FACTOR));
        if self.budget < least {
            let message = format!(
                "the answers of a query take {} on idle links, without computation and queues",
                (TIME.show)(alone.as_ps())
            );
            let allowed = format!("at least {}", (TIME.show)(least.as_ps()));
            return wrong(Question::Budget, message, allowed);
        }
        if self.load() > MAX_LOAD {
            let message = format!(
                "answers take {:.0} % of each host's link on average",
                self.load() * 100.0
            );
            let most = self.rate as f64 * MAX_LOAD / self.load();
            let allowed = format!(
                "at most {}, which is {:.0} %",
                (FREQUENCY.show)(most as u64 / 1_000 * 1_000),
                MAX_LOAD * 100.0
            );
            return wrong(Question::Rate, message, allowed);
        }
        Ok(())
    }

    /// Returns the number of answers of a query in all layers.
    fn asked(&self) -> u64 {
        let layers = self.fan_in.iter().scan(1, |width, children| {
            *width *= u64::from(*children);
            Some(*width)
        });
        layers.sum()
    }

    /// Returns the number of messages of the size of an answer per answer.
    fn both_ways(&self) -> u64 {
        if self.kind == ServiceKind::Inference {
            2
        } else {
            1
        }
    }

    /// Returns the transmission time of a query's answers on the idle links of its root and of one aggregator.
    fn alone(&self) -> Span {
        let children: u64 = self
            .fan_in
            .iter()
            .map(|&children| u64::from(children))
            .sum();
        let bytes = children * self.answer.0 * self.both_ways();
        let seconds = bytes as f64 * 8.0 / self.link.as_bps() as f64;
        // Allowance for headers and a few packets in flight.
        Span::from_us((seconds * 1.05e6).ceil() as u64 + 20)
    }

    /// Returns the mean load of a host's link by the messages of queries.
    fn load(&self) -> f64 {
        let bytes = self.asked() * self.answer.0 * self.both_ways();
        let bps = bytes as f64 * 8.0 * self.per_second();
        bps / (f64::from(self.hosts) * self.link.as_bps() as f64)
    }

    fn per_second(&self) -> f64 {
        self.rate as f64 / 1e3
    }

    /// Returns the number of roots: at least 4, and enough to keep the answers below a fifth of each root's link.
    fn roots(&self) -> u32 {
        let bytes = u64::from(self.fan_in[0]) * self.answer.0 * self.both_ways();
        let bps = bytes as f64 * 8.0 * self.per_second();
        let enough = (bps / (0.2 * self.link.as_bps() as f64)).ceil();
        (enough.min(f64::from(self.hosts)) as u32).clamp(self.hosts.min(4), self.hosts)
    }

    fn layers(&self, separator: &str) -> String {
        let layers: Vec<String> = self.fan_in.iter().map(u32::to_string).collect();
        layers.join(separator)
    }
}

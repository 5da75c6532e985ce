//! Poisson arrivals between random hosts.

use super::common::COMMON;
use super::hosts::{HOST, host};
use super::load::load_or;
use crate::diagnostic::Result;
use crate::expected::{Expected, Form, Forms};
use crate::keys::Kind::{self, Any, Choice, Share};
use crate::keys::declare;
use crate::model::{Destination, Intensity, WorkloadKind};
use crate::place::Place;
use crate::values::{Readable, Resolved};
use serde_json::{Value, json};

declare! {
    /// Poisson arrivals between random hosts.
    pub(super) static POISSON: "workload of kind \"poisson\"" after COMMON {
        /// Size of each flow.
        size: Kind::Sizes;
        /// Deadline of each flow, from its start.
        deadline: Kind::Deadline, default "none";
        /// Mean bytes on the wire per second, as a share of each sender's access link.
        load: Share(0.0001, 0.99), otherwise "one of `load` and `rate`";
        /// Flows per second of all hosts together.
        rate: Kind::Frequency, otherwise "see `load`";
        /// `"uniform"`: any other host. A host: all flows go from the others to this one.
        destination: Any(&[Choice(&["uniform"]), HOST]), default "uniform";
    } for WorkloadKind::Poisson {
        size, deadline, destination, intensity: |reader, _| {
            load_or(reader, "rate", "\"2000 /s\"", Intensity::Load, Intensity::FlowsPerSecond)
        }
    }
}

impl Resolved for Intensity {
    fn resolved(&self) -> Value {
        match self {
            Self::Load(load) => json!({ "load": load }),
            Self::FlowsPerSecond(rate) => json!({ "flows_per_second": rate }),
        }
    }
}

impl Readable for Destination {
    fn read(place: &Place<'_>, kind: &'static Kind) -> Result<Self> {
        if place.node.str().is_some() {
            let choice = place.choice(&["uniform"]).map(|_| Self::Uniform);
            let last = place.scope.hosts.saturating_sub(1);
            let allowed = format!("\"uniform\", or a host: 0..={last}");
            let allowed = Expected::of(allowed, Forms::of(&[Form::Word, Form::Number]));
            return choice.map_err(|error| error.expected(allowed));
        }
        host(place, kind).map(Self::Host)
    }
}

impl Resolved for Destination {
    fn resolved(&self) -> Value {
        match self {
            Self::Uniform => json!("uniform"),
            Self::Host(host) => json!(host),
        }
    }
}

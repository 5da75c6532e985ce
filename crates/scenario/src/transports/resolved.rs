//! Transports with all options, as stored in the manifest.

use super::{cubic, d2tcp, d3, dctcp, due, homa, pdq, pfabric, sird, tcp};
use crate::model::{Protocol, Transport};
use duetime_proto::tcp::Config;
use duetime_proto::window::CongestionControl;
use serde_json::{Map, Value, json};

/// Returns the transport as stored in the manifest.
pub(crate) fn resolved(transport: &Transport) -> Value {
    let (family, options) = match &transport.protocol {
        Protocol::Tcp(config) => ("tcp", of_tcp(config)),
        Protocol::D3(config) => ("d3", d3::resolved(config)),
        Protocol::Due(config) => ("due", due::OPTIONS.resolved(config)),
        Protocol::PFabric(config) => ("pfabric", pfabric::OPTIONS.resolved(config)),
        Protocol::Homa(config) => ("homa", homa::OPTIONS.resolved(config)),
        Protocol::Pdq(config) => ("pdq", pdq::OPTIONS.resolved(config)),
        Protocol::Sird(config) => ("sird", sird::OPTIONS.resolved(config)),
    };
    json!({
        "name": transport.name,
        "priorities": transport.priorities,
        "family": family,
        "options": options,
    })
}

/// Returns the options of TCP and of its congestion controller.
fn of_tcp(config: &Config) -> Map<String, Value> {
    let congestion_control = match &config.congestion_control {
        CongestionControl::NewReno => json!({ "kind": "newreno" }),
        CongestionControl::Dctcp(marks) => {
            json!({ "kind": "dctcp", "marks": dctcp::OPTIONS.resolved(marks) })
        }
        CongestionControl::D2tcp(marks, deadlines) => json!({
            "kind": "d2tcp",
            "marks": dctcp::OPTIONS.resolved(marks),
            "deadlines": d2tcp::OPTIONS.resolved(deadlines),
        }),
        CongestionControl::Cubic(curve) => {
            json!({ "kind": "cubic", "curve": cubic::OPTIONS.resolved(curve) })
        }
    };
    let mut options = tcp::OPTIONS.resolved(config);
    options.insert("congestion_control".to_owned(), congestion_control);
    options
}

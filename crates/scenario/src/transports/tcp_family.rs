//! TCP's options with those of its congestion controller, as stored in the manifest.

use super::{cubic, d2tcp, dctcp, tcp};
use duetime_proto::tcp::Config;
use duetime_proto::window::CongestionControl;
use serde_json::{Map, Value, json};

/// Returns the options of TCP and of its congestion controller.
pub(super) fn resolved(config: &Config) -> Map<String, Value> {
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

//! The words for what an explanation holds.

use duetime_results::explain::query::Doing;
use duetime_results::explain::{Cause, Stage};
use duetime_results::{FlowEvent, FlowEventKind};
use duetime_study::{Names, text};

use super::moment;

/// Where a piece of a query's time was spent, what was waited for there, and what it went into.
pub fn doing(node: u32, doing: Doing, names: &Names) -> [String; 3] {
    let (host, parent) = (names.node(node), names.parent(node));
    let at = |place: &str, spent: &str| [place.to_owned(), String::new(), spent.to_owned()];
    match doing {
        Doing::Asking => at(parent, "start jitter before it asks"),
        Doing::Computing => at(host, "computing"),
        Doing::Patience => at(host, "waiting for answers until it stopped"),
        Doing::Joining => at(host, "start jitter before it answers"),
        Doing::Standing => at("", "after its last event, others went on"),
        Doing::Untraced => at("", "not traced"),
        Doing::Down(stage, cause) => [
            format!("query {parent} -> {host}"),
            waited(stage).to_owned(),
            spent(cause, names),
        ],
        Doing::Up(stage, cause) => [
            format!("answer {host} -> {parent}"),
            waited(stage).to_owned(),
            spent(cause, names),
        ],
    }
}

/// What the sender waited for.
pub fn waited(stage: Stage) -> &'static str {
    match stage {
        Stage::Handshake => "the handshake",
        Stage::Window => "window space",
        Stage::Rate => "the next grant, sending",
        Stage::Denied => "the next grant, denied the asked rate",
        Stage::Pause => "a grant, paused",
        Stage::Delivery => "delivery of the last packet",
    }
}

/// What happened meanwhile.
pub fn spent(cause: Cause, names: &Names) -> String {
    match cause {
        Cause::Queue(link) => format!("queue of {}", names.link(link)),
        Cause::Transmission(link) => format!("transmission on {}", names.link(link)),
        Cause::Propagation => "propagation".to_owned(),
        Cause::Reception => "receiving host: from the NIC to the transport".to_owned(),
        Cause::RtoIdle => "silence until the retransmission timeout".to_owned(),
        Cause::Receiver => "receiver holding the acknowledgement".to_owned(),
        Cause::Host => "sending host: jitter, its NIC, earlier messages".to_owned(),
        Cause::Untraced => "network, hops not traced".to_owned(),
        Cause::Unfinished => "never finished".to_owned(),
    }
}

/// One event.
pub fn happened(event: &FlowEvent, names: &Names) -> String {
    use FlowEventKind as Kind;
    match event.what {
        Kind::Submitted => "submitted".to_owned(),
        Kind::Sent {
            seq,
            len,
            retransmit: false,
        } => format!("sent {seq}+{len}"),
        Kind::Sent {
            seq,
            len,
            retransmit: true,
        } => format!("sent again {seq}+{len}"),
        Kind::Departed {
            link,
            seq,
            len,
            waited,
            sending,
        } => format!(
            "left {} {seq}+{len} (waited {}, sending {})",
            names.link(link),
            moment(waited),
            moment(sending)
        ),
        Kind::Received { seq, len, held, .. } => {
            format!("received {seq}+{len} (held {})", moment(held))
        }
        Kind::Dropped { link } => format!("dropped at {}", names.link(link)),
        Kind::Lost { link } => format!("lost on {}", names.link(link)),
        Kind::Marked { link } => format!("marked at {}", names.link(link)),
        Kind::Delivered { seq, len } => format!("delivered {seq}+{len}"),
        Kind::Acked { seq } => format!("acknowledged to {seq}"),
        Kind::Timeout => "timeout".to_owned(),
        Kind::RequestSent { desired_bps } => {
            format!("request for {}", text::rate(desired_bps as f64))
        }
        Kind::Granted { allocation_bps } => {
            format!("granted {}", text::rate(allocation_bps as f64))
        }
        Kind::Denied { link } => format!("denied at {}", names.link(link)),
        Kind::Paused => "paused".to_owned(),
        Kind::Established => "established".to_owned(),
        Kind::Finished => "finished".to_owned(),
    }
}

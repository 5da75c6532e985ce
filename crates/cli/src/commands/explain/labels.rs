//! Labels of the parts and events of an explanation.

use duetime_analysis::explain::{Activity, Cause, Names, Stage};
use duetime_results::{FlowEvent, FlowEventKind, Timer};
use duetime_study::text;

use super::moment;

/// Returns the labels of a part of a query's time: its place, the state of the sender there and its cause.
pub fn activity_labels(node: u32, activity: Activity, names: &Names) -> [String; 3] {
    let (host, parent) = (names.node(node), names.parent(node));
    let at = |place: &str, spent: &str| [place.to_owned(), String::new(), spent.to_owned()];
    match activity {
        Activity::QueryJitter => at(parent, "start jitter before it asks"),
        Activity::Hedging => at(parent, &format!("waiting to hedge {}", names.first(node))),
        Activity::Retrying => at(parent, &format!("waiting to retry {}", names.first(node))),
        Activity::Parent => at(parent, "before it asks"),
        Activity::Queueing => at(host, "waiting for a server"),
        Activity::Computing => at(host, "computing"),
        Activity::AggregatorTimeout => at(host, "waiting for answers until its timeout"),
        Activity::Aggregating => at(host, "computing its answer"),
        Activity::AnswerJitter => at(host, "start jitter before it answers"),
        Activity::Pending => at("", "after its last event, others went on"),
        Activity::Untraced => at("", "not traced"),
        Activity::Down(stage, cause) => [
            format!("query {parent} -> {host}"),
            stage_label(stage).to_owned(),
            cause_label(cause, names),
        ],
        Activity::Up(stage, cause) => [
            format!("answer {host} -> {parent}"),
            stage_label(stage).to_owned(),
            cause_label(cause, names),
        ],
    }
}

/// Returns the label of the sender's state.
pub fn stage_label(stage: Stage) -> &'static str {
    match stage {
        Stage::Handshake => "the handshake",
        Stage::Window => "window space",
        Stage::Loss => "loss recovery",
        Stage::Rate => "the next grant, sending",
        Stage::Pace => "the next packet at the allocated rate",
        Stage::Denied => "the next grant, denied the asked rate",
        Stage::Pause => "a grant, paused",
        Stage::Grant => "the next grant of the receiver",
        Stage::Postponed => "a grant, postponed by the overload check",
        Stage::Delivery => "delivery of the last packet",
    }
}

/// Returns the label of a cause.
pub fn cause_label(cause: Cause, names: &Names) -> String {
    match cause {
        Cause::Queue(link) => format!("queue of {}", names.link(link)),
        Cause::Transmission(link) => format!("transmission on {}", names.link(link)),
        Cause::Propagation => "propagation".to_owned(),
        Cause::Reception => "receiving host: from the NIC to the transport".to_owned(),
        Cause::SendJitter => "sending host: send jitter".to_owned(),
        Cause::Timer(timer) => timer_label(timer).to_owned(),
        Cause::Nic => "sending host: NIC busy with other flows".to_owned(),
        Cause::ReplyNic => "receiving host: NIC busy with other packets".to_owned(),
        Cause::Receiver => "receiver holding the acknowledgement".to_owned(),
        Cause::Grant => "receiver: serves more urgent messages".to_owned(),
        Cause::Resend => "silence until the receiver requested lost packets".to_owned(),
        Cause::Aborted => "waiting until it was aborted".to_owned(),
        Cause::EarlierMessages => "earlier messages of the connection".to_owned(),
        Cause::Host => "sending host: other".to_owned(),
        Cause::Untraced => "network, hops not traced".to_owned(),
        Cause::Unfinished => "never finished".to_owned(),
    }
}

/// Returns the label of the time before a timer expires.
fn timer_label(timer: Timer) -> &'static str {
    match timer {
        Timer::Handshake => "silence until the SYN was sent again",
        Timer::Retransmission => "silence until the retransmission timeout",
        Timer::TailLossProbe => "silence until the tail loss probe",
        Timer::Reordering => "RACK's wait for reordered segments",
        Timer::DelayedAck => "delayed acknowledgement",
        Timer::Request => "silence until the rate request was sent again",
        Timer::Pause => "pause before the next rate request",
        Timer::Pace => "gap between packets at the allocated rate",
        Timer::Announcement => "silence until the announcement was sent again",
    }
}

/// Returns the label of an event.
pub fn event_label(event: &FlowEvent, names: &Names) -> String {
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
            ..
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
        Kind::Timer(timer) => expiry_label(timer).to_owned(),
        Kind::Ready => "ready, NIC busy".to_owned(),
        Kind::ReplyQueued { seq } => format!("reply {seq} made, NIC busy"),
        Kind::Aborted => "aborted".to_owned(),
        Kind::Behind => "behind earlier messages".to_owned(),
        Kind::RequestSent { desired_bps } => {
            format!("request for {}", text::rate(desired_bps as f64))
        }
        Kind::Granted { allocation_bps } => {
            format!("granted {}", text::rate(allocation_bps as f64))
        }
        Kind::Denied { link } => format!("denied at {}", names.link(link)),
        Kind::Paused => "paused".to_owned(),
        Kind::Permitted {
            up_to,
            is_background: false,
        } => format!("granted to {up_to}"),
        Kind::Permitted {
            up_to,
            is_background: true,
        } => format!("granted to {up_to} as background"),
        Kind::ResendRequested { from, to } => {
            format!("resend requested {from}+{}", to.saturating_sub(from))
        }
        Kind::Established => "established".to_owned(),
        Kind::Finished => "finished".to_owned(),
    }
}

/// Returns the label of a timer's expiry.
fn expiry_label(timer: Timer) -> &'static str {
    match timer {
        Timer::Handshake => "handshake timer",
        Timer::Retransmission => "timeout",
        Timer::TailLossProbe => "tail loss probe timer",
        Timer::Reordering => "reordering timer",
        Timer::DelayedAck => "delayed acknowledgement timer",
        Timer::Request => "request timer",
        Timer::Pause => "pause timer",
        Timer::Pace => "pacing timer",
        Timer::Announcement => "announcement timer",
    }
}

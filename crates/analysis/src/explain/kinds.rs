//! Events of a flow, by kind.

use duetime_core::Time;
use duetime_results::{FlowEvent, FlowEventKind, Timer};

/// Events by kind, each sorted by time.
pub(super) struct Kinds {
    pub(super) delivered: Vec<FlowEvent>,
    pub(super) sent: Vec<FlowEvent>,
    pub(super) data_sent: Vec<FlowEvent>,
    pub(super) requests: Vec<FlowEvent>,
    pub(super) granted: Vec<FlowEvent>,
    pub(super) paused: Vec<FlowEvent>,
    pub(super) denied: Vec<FlowEvent>,
    /// `due`: events that permit packets.
    pub(super) permissions: Vec<FlowEvent>,
    pub(super) ready: Vec<FlowEvent>,
    pub(super) replies: Vec<FlowEvent>,
    /// Events that start the retransmission and probe timers: data sent, new data acknowledged, and their own expiry.
    pub(super) progress: Vec<FlowEvent>,
}

impl Kinds {
    pub(super) fn of(events: &[FlowEvent]) -> Self {
        let only = |wanted: fn(FlowEventKind) -> bool| -> Vec<FlowEvent> {
            let of_kind = events.iter().filter(|event| wanted(event.what));
            of_kind.copied().collect()
        };
        let mut highest = None;
        let progress = events.iter().filter(|event| match event.what {
            FlowEventKind::Acked { seq } => {
                let is_new = highest.is_none_or(|highest| seq > highest);
                if is_new {
                    highest = Some(seq);
                }
                is_new
            }
            what => starts_timer(what),
        });
        Self {
            progress: progress.copied().collect(),
            delivered: only(|what| matches!(what, FlowEventKind::Delivered { .. })),
            sent: only(|what| matches!(what, FlowEventKind::Sent { .. })),
            data_sent: only(|what| matches!(what, FlowEventKind::Sent { len: 1.., .. })),
            requests: only(|what| matches!(what, FlowEventKind::RequestSent { .. })),
            granted: only(|what| matches!(what, FlowEventKind::Granted { .. })),
            paused: only(|what| what == FlowEventKind::Paused),
            denied: only(|what| matches!(what, FlowEventKind::Denied { .. })),
            permissions: only(is_permission),
            ready: only(|what| what == FlowEventKind::Ready),
            replies: only(|what| matches!(what, FlowEventKind::ReplyQueued { .. })),
        }
    }
}

/// Returns the events up to and including `at`.
pub(super) fn until(events: &[FlowEvent], at: Time) -> &[FlowEvent] {
    &events[..events.partition_point(|event| event.at <= at)]
}

/// Returns the events before `at`.
pub(super) fn earlier(events: &[FlowEvent], at: Time) -> &[FlowEvent] {
    &events[..events.partition_point(|event| event.at < at)]
}

/// Returns the timer of the sender that expired.
pub(super) fn sender_timer(what: FlowEventKind) -> Option<Timer> {
    match what {
        FlowEventKind::Timer(Timer::DelayedAck) => None,
        FlowEventKind::Timer(timer) => Some(timer),
        _ => None,
    }
}

/// Returns true for an event that can allow a sender to transmit.
pub(super) fn is_enabler(what: FlowEventKind) -> bool {
    matches!(
        what,
        FlowEventKind::Submitted
            | FlowEventKind::Acked { .. }
            | FlowEventKind::Granted { .. }
            | FlowEventKind::Established
            | FlowEventKind::Aborted
    ) || is_permission(what)
        || sender_timer(what).is_some()
}

/// Returns true for an event that permits packets under `due`.
fn is_permission(what: FlowEventKind) -> bool {
    matches!(
        what,
        FlowEventKind::Permitted { .. }
            | FlowEventKind::ResendRequested { .. }
            | FlowEventKind::Timer(Timer::Announcement)
    )
}

/// Returns true for an event at a sender.
pub(super) fn at_sender(what: FlowEventKind) -> bool {
    is_enabler(what) || matches!(what, FlowEventKind::Sent { .. })
}

/// Returns true for an event, other than an acknowledgement, that starts the retransmission or the probe timer.
fn starts_timer(what: FlowEventKind) -> bool {
    matches!(
        what,
        FlowEventKind::Sent { len: 1.., .. }
            | FlowEventKind::Timer(Timer::Retransmission | Timer::TailLossProbe)
    )
}

//! Check that the largest packet of each transport fits into a port of a switch.

use crate::diagnostic::Diagnostic;
use crate::model::{Amount, Buffer, Oldi, Scenario, Size, Transport};
use crate::model::{Switch, WorkloadKind};
use crate::place::Place;
use crate::quantity::SIZE;

impl Switch {
    /// Returns the number of bytes that one port of an empty switch can hold, or `None` without a limit in bytes.
    pub fn port_space_bytes(&self) -> Option<u64> {
        match self.buffer {
            Buffer::Unlimited | Buffer::Static(Amount::Packets(_)) => None,
            Buffer::Static(Amount::Bytes(bytes)) => Some(bytes),
            // A port accepts a packet of up to `alpha` times the free memory.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "at most the pool"
            )]
            Buffer::Dynamic { pool, alpha } => Some((pool.0 as f64 * alpha.min(1.0)) as u64),
        }
    }
}

/// Refuses a buffer that is too small for the largest packet of a workload's transport, whose flows would never end.
pub(crate) fn check(scenario: &Scenario, root: &Place<'_>) -> Result<(), Diagnostic> {
    let Some(space) = scenario.switch.port_space_bytes() else {
        return Ok(());
    };
    let overhead = u64::from(scenario.host.frame_overhead);
    for workload in &scenario.workloads {
        let fixed = workload.transport.as_ref();
        let used: Vec<&Transport> =
            fixed.map_or_else(|| scenario.transports.iter().collect(), |fixed| vec![fixed]);
        for transport in used {
            let packet = transport.protocol.largest_packet(largest(&workload.kind)) + overhead;
            if packet <= space {
                continue;
            }
            let show = SIZE.show;
            let message = format!(
                "an empty port holds packets of up to {}, but workload `{}` sends packets of {} under `{}`, which would \
                 all be dropped",
                show(space),
                workload.name,
                show(packet),
                transport.name
            );
            let key = transport.protocol.mtu_key();
            return Err(root
                .at("switch")
                .at("buffer")
                .wrong(message)
                .allowed(format!("space for at least {} at a port", show(packet)))
                .help(format!("or a smaller `{key}` of the transport")));
        }
    }
    Ok(())
}

/// Returns the size of the largest message of a workload, in bytes.
fn largest(kind: &WorkloadKind) -> u64 {
    match kind {
        WorkloadKind::Oldi(Oldi {
            query,
            response,
            layer_response,
            ..
        }) => {
            let answers = response.iter().chain(layer_response);
            answers.map(Size::largest).fold(query.0, u64::max)
        }
        WorkloadKind::Burst { size, .. }
        | WorkloadKind::Poisson { size, .. }
        | WorkloadKind::Background { size, .. }
        | WorkloadKind::Permutation { size, .. } => size.largest(),
        WorkloadKind::Long { .. } => u64::MAX,
        WorkloadKind::Trace { flows } => flows.iter().map(|flow| flow.size.0).max().unwrap_or(0),
        WorkloadKind::Spans(spans) => {
            let nodes = spans.queries.iter().flat_map(|query| &query.nodes[1..]);
            let sizes = nodes.map(|node| node.request.0.max(node.response.0));
            sizes.max().unwrap_or(0)
        }
    }
}

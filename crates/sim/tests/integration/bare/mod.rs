//! Minimal scenario for tests to extend.

use duetime_core::Span;
use duetime_scenario::model::{
    Buffer, Connection, Gap, Host, Lab, LoadBalancing, Nic, Record, Scenario, Servers, Switch,
    Topology, Workload, WorkloadKind,
};

/// Creates a scenario of one second with a drain of ten seconds and unlimited buffers, without transports, jitter,
/// warm-up, ECN or series.
pub fn scenario(topology: Topology, workloads: Vec<Workload>) -> Scenario {
    Scenario {
        name: "test".into(),
        transports: Vec::new(),
        seeds: 1,
        seed: 1,
        warm_up: Span::ZERO,
        duration: Span::from_secs(1),
        drain: Span::from_secs(10),
        topology,
        switch: Switch {
            buffer: Buffer::Unlimited,
            ecn_threshold: Vec::new(),
            load_balancing: LoadBalancing::Flows,
        },
        host: Host {
            nic: Nic::Pull,
            frame_overhead: 0,
            start_jitter: false,
            send_jitter: Span::ZERO,
            receive_delay: Span::ZERO,
            receive_jitter: Gap::ZERO,
            servers: Servers::Unlimited,
        },
        workloads,
        lab: Lab::default(),
        record: Record {
            every: None,
            links: Vec::new(),
            pcap: Vec::new(),
            snap_length: 64,
        },
    }
}

/// Creates a workload that uses the scenario's transports, with one connection per flow.
pub fn workload(name: &str, kind: WorkloadKind) -> Workload {
    Workload {
        name: name.into(),
        kind,
        transport: None,
        connection: Connection::PerFlow,
        priority: None,
    }
}
